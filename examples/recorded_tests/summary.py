"""What is tested: a function that asks a model, once for a summary and once for the facts in it."""

from pydantic import BaseModel, Field

from hocket import init_chat_model


class Notice(BaseModel):
    """What a notice says."""

    date: str = Field(description="ISO date, such as 2026-05-01")
    urgent: bool


async def summarise(text: str, model: str = "openai:gpt-5-mini") -> str:
    """Return a text in one sentence."""
    reply = await init_chat_model(model).ainvoke([("system", "Say it in one sentence."), ("human", text)])
    return reply.text


async def read_notice(text: str, model: str = "openai:gpt-5-mini") -> Notice:
    """Return what a notice says, as an object."""
    return await init_chat_model(model).with_structured_output(Notice).ainvoke(text)


async def summarise_all(texts: list[str], model: str = "openai:gpt-5-mini") -> list[str | Exception]:
    """Return a sentence for each text, or what kept the model from it."""
    ask = init_chat_model(model)
    replies = await ask.abatch([f"Say it in one sentence: {text}" for text in texts], return_exceptions=True)
    return [reply if isinstance(reply, Exception) else reply.text for reply in replies]
