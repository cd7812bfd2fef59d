"""A package's provider, for the command's tests: the model's name says how it behaves. See `stage` in conftest."""

import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel

from hocket import errors
from hocket.language_models import BaseChatModel, ScriptedChatModel, Turn
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from hocket.prices import Price, set_prices
from hocket.providers.openai import ChatOpenAI

USAGE: Any = {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15}


class Echo(BaseChatModel):
    """Answers with the conversation that it was sent; asked to wait, it says some of its answer and no more."""

    model: str = "echo"
    temperature: float | None = None
    base_url: str | None = None

    @property
    def _llm_type(self) -> str:
        return "echo"

    async def _astream(self, messages: list[BaseMessage], **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        question = messages[-1].text
        if question in vars(errors):
            yield ChatGenerationChunk(message=AIMessageChunk("half an"))
            raise vars(errors)[question]("as asked", provider="acted")
        if question == "wait":
            yield ChatGenerationChunk(message=AIMessageChunk("and then"))
            await anyio.sleep_forever()
        said = json.dumps([[message.type, message.text] for message in messages], ensure_ascii=False)
        yield ChatGenerationChunk(message=AIMessageChunk(said, chunk_position="last"))

    async def alist_models(self) -> Sequence[str]:
        """Return what a server of this base URL would have."""
        return [f"{self.base_url} one", "two"]


class Listless(BaseChatModel):
    """Has to be told its model, and has no list of them."""

    model: str

    @property
    def _llm_type(self) -> str:
        return "listless"

    async def _agenerate(self, messages: list[BaseMessage], **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.model))])


class Dear(Echo):
    """Costs a dollar a token, of which its answers have one."""

    model: str = "dear"
    max_tokens: int = 1

    async def _astream(self, messages: list[BaseMessage], **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        usage: Any = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        yield ChatGenerationChunk(message=AIMessageChunk("yes", usage_metadata=usage, chunk_position="last"))


class Caller(BaseChatModel):
    """Makes the calls that it is asked for, as JSON, and answers with their results; answers other questions at once."""

    model: str = "caller"
    _tool_choices = frozenset(ToolChoiceKind)

    @property
    def _llm_type(self) -> str:
        return "caller"

    async def _agenerate(self, messages: list[BaseMessage], **kwargs: Any) -> ChatResult:
        await anyio.lowlevel.checkpoint()
        results = [message.text for message in messages if isinstance(message, ToolMessage)]
        if results:
            message = AIMessage("; ".join(results))
        elif messages[-1].text.startswith("["):
            calls = [
                {"type": "tool_call", "name": name, "args": args, "id": f"call_{number}"}
                for number, (name, args) in enumerate(json.loads(messages[-1].text), 1)
            ]
            message = AIMessage("Let me see.", tool_calls=calls)
        else:
            message = AIMessage(messages[-1].text)
        return ChatResult(generations=[ChatGeneration(message=message)])


MARKS = ("# On **blue", "**\n\nLight is scat", "tered, 光は散乱する, and **more", "** so if it is blue:\n\n-", " one")

TURNS: dict[str, Turn] = {
    "thinks": Turn(reasoning="hm, ", text="so be it", usage=USAGE),
    "counts": Turn(text=["one ", "two ", "three"], usage=USAGE),
    "cut": Turn(text="and so", metadata={"finish_reason": "length"}),
    "escapes": Turn(text="\x1b]0;title\x07tab\tgreen\x1b[32m\r\n\x9b1A\U0001f600"),
    "silent": Turn(text=""),
    "marks": Turn(text=[*MARKS]),
    "breaks": Turn(text=[*MARKS], error=errors.StreamTruncated("as asked", provider="acted"), error_after=3),
}


def make(model: str = "echo", **options: Any) -> BaseChatModel:
    """Return the model."""
    if model == "dear":
        set_prices({"*dear": Price(10**6, 10**6)})
        return Dear(**options)
    if model == "fixed":  # whoever wrote this provider says where it is
        return ChatOpenAI(model="x", base_url=os.environ["FIXED"], **options)
    if model in TURNS:
        return ScriptedChatModel(script=[TURNS[model]] * 9, **options)
    return Caller(**options) if model == "caller" else Echo(model=model, **options)


make.setup_needed = lambda: "press the red button"  # type: ignore[attr-defined]
plain: Callable[..., BaseChatModel] = Echo


class Keyed(ChatOpenAI):
    """Its server is on this machine, and what gives its keys is away."""

    model: str = "keyed"
    base_url: str = "http://127.0.0.1:9/v1"

    async def _authenticate(self, request: Any) -> Any:
        raise errors.ConnectionFailed("no connection to http://127.0.0.1:1")


def make_keyed(model: str) -> ChatOpenAI:
    """Return one that needs no setup."""
    return Keyed(model=model)
