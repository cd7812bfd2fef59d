"""Models whose hooks are functions of a test.

`hocket.ScriptedChatModel` follows a script and stands where any model would do. These stand where the *hook* matters:
which of the four a model has, what it is asked, what it raises, waits for, or returns.
"""

import functools
import inspect
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, PrivateAttr

from hocket.language_models import BaseChatModel, BaseLLM
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, Generation, GenerationChunk, LLMResult

HOOKS = ("agenerate", "generate", "astream", "stream")
"""All that a model can have."""


@dataclass(frozen=True)
class HookCall:
    """What a hook was called with.

    Args:
        hook: which hook: ``"agenerate"``, ``"generate"``, ``"astream"`` or ``"stream"``.
        input: the messages; for a text model the prompts, and for its stream the prompt.
        stop: the stop words.
        run_manager: the run, if the model is watched.
        params: the other keyword arguments.
    """

    hook: str
    input: Any
    stop: list[str] | None
    run_manager: Any
    params: dict[str, Any]

    @property
    def text(self) -> str:
        """The text of the last message, or of the last prompt."""
        last = self.input if isinstance(self.input, str) else self.input[-1]
        return last.text if isinstance(last, BaseMessage) else last


class _HookFields:
    """The fields that both families of models share."""

    do: Any
    _requests: list[HookCall]

    def _answer_call(self, hook: str, input: Any, stop: Any, run_manager: Any, params: dict[str, Any]) -> Any:
        call = HookCall(hook, input, stop, run_manager, params)
        self._requests.append(call)
        answer = self.do(call) if callable(self.do) else self.do
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @property
    def requests(self) -> list[HookCall]:
        """What its hooks were asked, in order."""
        return self._requests

    @property
    def _llm_type(self) -> str:
        return "hooked"


class HookModel(_HookFields, BaseChatModel):
    """A chat model that does what a test says. Make one with `hook_model`, a class to extend with `hook_class`.

    Args:
        do: what each hook does: a text, a message, a `ChatResult`; a list or an iterator of texts, messages or chunks
            (pieces: one answer that comes in parts); an exception, which is raised; or a function, sync or async, that
            takes a `HookCall` and returns one of them. An async hook may be given an async iterator.
    """

    do: Any = Field(default="yes", exclude=True)

    _requests: list[HookCall] = PrivateAttr(default_factory=list)


class ToolHookModel(HookModel):
    """The same for a chat model that can be given tools, with every choice among them. Make one with `tool_model`."""

    _tool_choices = frozenset(ToolChoiceKind)


class TextHookModel(_HookFields, BaseLLM):
    """The same for a text model; a whole answer goes to every prompt."""

    do: Any = Field(default="yes", exclude=True)

    _requests: list[HookCall] = PrivateAttr(default_factory=list)


def _result(answer: Any) -> ChatResult:
    """Return the result that an answer stands for; pieces are joined."""
    if isinstance(answer, ChatResult):
        return answer
    if isinstance(answer, str):
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])
    if isinstance(answer, BaseMessage):
        return ChatResult(generations=[ChatGeneration(message=answer)])
    return _result("".join(_chunk(piece).text for piece in answer))


def _chunk(piece: Any) -> ChatGenerationChunk:
    if isinstance(piece, ChatGenerationChunk):
        return piece
    return ChatGenerationChunk(message=AIMessageChunk(piece) if isinstance(piece, str) else piece)


def _llm_result(answer: Any, prompts: Sequence[str]) -> LLMResult:
    if isinstance(answer, LLMResult):
        return answer
    text = answer if isinstance(answer, str) else "".join(_text_chunk(piece).text for piece in answer)
    return LLMResult(generations=[[Generation(text=text)] for _ in prompts])


def _text_chunk(piece: Any) -> GenerationChunk:
    return GenerationChunk(text=piece) if isinstance(piece, str) else piece


def _pieces(answer: Any) -> Iterable[Any]:
    return [answer] if isinstance(answer, str | BaseMessage | ChatGenerationChunk) else answer


async def _resolve(answer: Any) -> Any:
    answer = await answer if inspect.isawaitable(answer) else answer
    if isinstance(answer, BaseException):
        raise answer
    return answer


# The hooks, as a class that has them defines them: hocket looks for their names on the class.


async def _agenerate(self: Any, input: Any, stop: Any = None, run_manager: Any = None, **params: Any) -> Any:
    answer = await _resolve(self._answer_call("agenerate", input, stop, run_manager, params))
    return _llm_result(answer, input) if isinstance(self, BaseLLM) else _result(answer)


def _generate(self: Any, input: Any, stop: Any = None, run_manager: Any = None, **params: Any) -> Any:
    answer = self._answer_call("generate", input, stop, run_manager, params)
    return _llm_result(answer, input) if isinstance(self, BaseLLM) else _result(answer)


async def _astream(
    self: Any, input: Any, stop: Any = None, run_manager: Any = None, **params: Any
) -> AsyncIterator[Any]:
    answer = await _resolve(self._answer_call("astream", input, stop, run_manager, params))
    convert = _text_chunk if isinstance(self, BaseLLM) else _chunk
    if isinstance(answer, AsyncIterator):
        try:
            async for piece in answer:
                yield convert(piece)
        finally:
            if inspect.isasyncgen(answer):
                await answer.aclose()
    else:
        for piece in _pieces(answer):
            yield convert(piece)


def _stream(self: Any, input: Any, stop: Any = None, run_manager: Any = None, **params: Any) -> Iterator[Any]:
    answer = self._answer_call("stream", input, stop, run_manager, params)
    convert = _text_chunk if isinstance(self, BaseLLM) else _chunk
    for piece in _pieces(answer):
        yield convert(piece)


_FUNCTIONS = dict(zip(HOOKS, (_agenerate, _generate, _astream, _stream), strict=True))


@functools.cache
def hook_class(*hooks: str, base: Any = HookModel) -> Any:
    """Return a model class with these hooks (default: ``"agenerate"``), for a test that adds fields or methods."""
    functions = {f"_{hook}": _FUNCTIONS[hook] for hook in hooks or ("agenerate",)}
    return type(base)(base.__name__, (base,), {"__module__": __name__, **functions})


def hook_model(do: Any = "yes", *hooks: str, **fields: Any) -> Any:
    """Make a chat model with these hooks (default: ``"agenerate"``) that do what ``do`` says (`HookModel`)."""
    return hook_class(*hooks)(do=do, **fields)


def tool_model(do: Any = "yes", *hooks: str, **fields: Any) -> Any:
    """Make a chat model that can be given tools, with these hooks (default: ``"agenerate"``) (`HookModel`)."""
    return hook_class(*hooks, base=ToolHookModel)(do=do, **fields)


def hook_llm(do: Any = "yes", *hooks: str, **fields: Any) -> Any:
    """Make a text model with these hooks (default: ``"agenerate"``) that do what ``do`` says (`HookModel`)."""
    return hook_class(*hooks, base=TextHookModel)(do=do, **fields)
