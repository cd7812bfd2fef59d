"""The clients of PyPI, each a class that asks as its own documents say: python clients.py NAME ADDRESS KEY SCENES.

It runs in a process of its own, so that what a package does when it is imported is its own affair. SCENES is JSON: a list
of scenes, each [what, model]. On standard output stands a JSON list of what each scene came to.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks another host for prices
os.environ["LLM_USER_PATH"] = "/nonexistent"  # llm's own settings

QUESTION = "Weather in Oslo?"


def weather(city: str) -> str:
    """Tell the weather of a city."""
    CALLS.append({"city": city})
    return "rain"


CALLS: list[Any] = []


class LangChain:
    """A chat model of LangChain's."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key

    def make(self, model: str) -> Any:
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(model=model, base_url=f"{self.url}/v1", api_key=self.key)  # type: ignore[arg-type]

    async def answer(self, model: str) -> str:
        return str((await self.make(model).ainvoke(QUESTION)).text)

    async def stream(self, model: str) -> AsyncIterator[str]:
        async for chunk in self.make(model).astream(QUESTION):
            yield str(chunk.text)

    async def tool(self, model: str) -> str:
        from langchain_core.messages import HumanMessage, ToolMessage

        asked = self.make(model).bind_tools([weather])
        talk: list[Any] = [HumanMessage(QUESTION)]
        talk.append(await asked.ainvoke(talk))
        (call,) = talk[-1].tool_calls
        talk.append(ToolMessage(weather(**call["args"]), tool_call_id=call["id"]))
        return str((await asked.ainvoke(talk)).text)

    async def typed(self, model: str) -> Any:
        return (await self.make(model).with_structured_output(_city()).ainvoke(QUESTION)).model_dump()

    async def embed(self, model: str) -> list[float]:
        from langchain_openai import OpenAIEmbeddings

        # By default it sends tokens in place of texts, made by the tokenizer of OpenAI's models.
        options: Any = {"base_url": f"{self.url}/v1", "api_key": self.key, "check_embedding_ctx_length": False}
        return await OpenAIEmbeddings(model=model, **options).aembed_query(QUESTION)


class LangChainResponses(LangChain):
    """The same, at the Responses API."""

    def make(self, model: str) -> Any:
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(model=model, base_url=f"{self.url}/v1", api_key=self.key, use_responses_api=True)  # type: ignore[arg-type]


class LangChainAnthropic(LangChain):
    """Anthropic's."""

    def make(self, model: str) -> Any:
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model=model, base_url=self.url, api_key=self.key)  # type: ignore[call-arg, arg-type]


class PydanticAI:
    """An agent of pydantic-ai's."""

    def __init__(self, url: str, key: str) -> None:
        from pydantic_ai.providers.openai import OpenAIProvider

        self.url, self.key = url, key
        self.provider: Any = OpenAIProvider(base_url=f"{url}/v1", api_key=key)

    def make(self, model: str) -> Any:
        from pydantic_ai.models.openai import OpenAIChatModel

        return OpenAIChatModel(model, provider=self.provider)

    def agent(self, model: str, **options: Any) -> Any:
        from pydantic_ai import Agent

        return Agent(self.make(model), instructions="Be brief.", **options)

    async def answer(self, model: str) -> str:
        return str((await self.agent(model).run(QUESTION)).output)

    async def stream(self, model: str) -> AsyncIterator[str]:
        async with self.agent(model).run_stream(QUESTION) as reply:
            async for text in reply.stream_text(delta=True, debounce_by=None):
                yield text

    async def tool(self, model: str) -> str:
        return str((await self.agent(model, tools=[weather]).run(QUESTION)).output)

    async def typed(self, model: str) -> Any:
        return (await self.agent(model, output_type=_city()).run(QUESTION)).output.model_dump()


class PydanticAIResponses(PydanticAI):
    """The same, at the Responses API."""

    def make(self, model: str) -> Any:
        from pydantic_ai.models.openai import OpenAIResponsesModel

        return OpenAIResponsesModel(model, provider=self.provider)


class PydanticAIAnthropic(PydanticAI):
    """Anthropic's."""

    def make(self, model: str) -> Any:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(model, provider=AnthropicProvider(base_url=self.url, api_key=self.key))


class LLM:
    """Simon Willison's llm, with a model as `extra-openai-models.yaml` names one."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key

    def make(self, model: str) -> Any:
        from llm.default_plugins.openai_models import AsyncChat

        made = AsyncChat(model, model_name=model, api_base=f"{self.url}/v1", supports_tools=True, supports_schema=True)
        made.key = self.key
        return made

    async def answer(self, model: str) -> str:
        return str(await self.make(model).prompt(QUESTION, system="Be brief.", stream=False).text())

    async def stream(self, model: str) -> AsyncIterator[str]:
        async for text in self.make(model).prompt(QUESTION):
            yield text

    async def tool(self, model: str) -> str:
        return str(await self.make(model).chain(QUESTION, tools=[weather]).text())

    async def typed(self, model: str) -> Any:
        return json.loads(await self.make(model).prompt(QUESTION, schema=_city(), stream=False).text())


class LiteLLM:
    """LiteLLM as a client, by OpenAI's format."""

    prefix, path = "openai/", "/v1"

    def __init__(self, url: str, key: str) -> None:
        self.fields: Any = {"api_base": url + self.path, "api_key": key}

    async def ask(self, model: str, talk: list[Any], **fields: Any) -> Any:
        import litellm

        return await litellm.acompletion(model=self.prefix + model, messages=talk, **self.fields, **fields)

    def talk(self) -> list[Any]:
        return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]

    async def answer(self, model: str) -> str:
        return str((await self.ask(model, self.talk())).choices[0].message.content)

    async def stream(self, model: str) -> AsyncIterator[str]:
        async for chunk in await self.ask(model, self.talk(), stream=True):
            yield chunk.choices[0].delta.content or ""

    async def tool(self, model: str) -> str:
        properties = {"city": {"type": "string"}}
        schema = {"type": "object", "properties": properties, "required": ["city"]}
        tools = [{"type": "function", "function": {"name": "weather", "parameters": schema}}]
        talk = self.talk()
        said = (await self.ask(model, talk, tools=tools)).choices[0].message
        (call,) = said.tool_calls
        result = weather(**json.loads(call.function.arguments))
        talk += [said, {"role": "tool", "tool_call_id": call.id, "content": result}]
        return str((await self.ask(model, talk, tools=tools)).choices[0].message.content)

    async def typed(self, model: str) -> Any:
        return json.loads((await self.ask(model, self.talk(), response_format=_city())).choices[0].message.content)

    async def embed(self, model: str) -> list[float]:
        import litellm

        reply = await litellm.aembedding(model=self.prefix + model, input=[QUESTION], **self.fields)
        return list(reply.data[0]["embedding"])


class LiteLLMAnthropic(LiteLLM):
    """LiteLLM as a client, by Anthropic's format."""

    prefix, path = "anthropic/", ""


CLIENTS: dict[str, Any] = {
    "langchain-openai": LangChain,
    "langchain-openai-responses": LangChainResponses,
    "langchain-anthropic": LangChainAnthropic,
    "pydantic-ai-chat": PydanticAI,
    "pydantic-ai-responses": PydanticAIResponses,
    "pydantic-ai-anthropic": PydanticAIAnthropic,
    "llm": LLM,
    "litellm-openai": LiteLLM,
    "litellm-anthropic": LiteLLMAnthropic,
}


def _city() -> Any:
    from pydantic import BaseModel

    class City(BaseModel):
        name: str
        people: int

    return City


def _explain(error: BaseException) -> dict[str, Any]:
    """Return what a program is told: the nearest status, and all that was said."""
    status, said, at = None, str(error), error
    while at is not None:
        status = status or getattr(at, "status_code", None)
        said += f" {at}"
        at = at.__cause__ or at.__context__
    return {"failed": said[:2000], "status": status, "error": type(error).__name__}


async def play(name: str, url: str, key: str, what: str, model: str) -> Any:
    client = CLIENTS[name](url, "a-wrong-key-of-mine" if what == "unknown key" else key)
    try:
        match what:
            case "stream":
                return [text async for text in client.stream(model) if text]
            case "leave":
                stream = client.stream(model)
                async for text in stream:
                    if text:
                        await stream.aclose()
                        return text
            case "tool" | "typed":
                CALLS.clear()
                result = await getattr(client, what)(model)
                return [list(CALLS), result] if what == "tool" else result
            case "embed":
                return await client.embed(model)
            case _:
                return await client.answer(model)
        return None
    except Exception as error:
        return _explain(error)


async def main() -> None:
    name, url, key, scenes = sys.argv[1:]
    told = [await play(name, url, key, what, model) for what, model in json.loads(scenes)]
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
