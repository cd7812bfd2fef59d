"""A scriptable model, at parity with a real one.

It says, calls tools, reasons, reports usage, takes its time, and fails before or in the middle of a stream, as a script
tells it; it records what it was asked; and when its script is over it raises, where a fake that starts again would hide
that a program calls its model more often than its author thinks.
"""

import itertools
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NotRequired, cast

from pydantic import PrivateAttr, SkipValidation, field_validator
from typing_extensions import TypedDict

from hocket._pipeline.chat_answer import as_chunk
from hocket._runtime import clock
from hocket.errors import InvalidInput, ScriptExhausted
from hocket.errors.hints import excerpt
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.structured.with_structured_output import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall, UsageMetadata
from hocket.messages.base import Content, copy_message
from hocket.messages.content import Fields, FieldsView
from hocket.outputs import ChatGenerationChunk

__all__ = ["ScriptedCall", "ScriptedChatModel", "ScriptedRequest", "Turn"]

_lock = threading.Lock()  # not the model's: a lock cannot be pickled


class ScriptedCall(TypedDict):
    """A tool call of a script. Without ``id``, it gets one."""

    name: str
    args: Fields
    id: NotRequired[str | None]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer of a script.

    Args:
        text: what is said; a list: in these chunks.
        tool_calls: what the model wants called; one without an ``id`` gets the next of a script's: ``call_1``, ``call_2`` …
        reasoning: said before the text, as a reasoning block.
        usage: token usage, reported with the last chunk.
        metadata: response metadata, sent with the last chunk.
        delay: seconds before anything comes.
        pause: seconds before each further chunk.
        error: raised instead of what is left, after ``error_after`` chunks.

    Raises:
        InvalidInput: something of ``tool_calls`` is no tool call.
    """

    text: str | Sequence[str] = ""
    tool_calls: Sequence[ToolCall | ScriptedCall] = ()
    reasoning: str | None = None
    usage: UsageMetadata | None = None
    metadata: dict[str, Any] = field(default_factory=lambda: {"finish_reason": "stop", "model_name": "scripted"})
    delay: float = 0
    pause: float = 0
    error: BaseException | None = None
    error_after: int = 0

    def __post_init__(self) -> None:
        for call in cast("Sequence[object]", self.tool_calls):
            _check_call(call)


@dataclass(frozen=True)
class ScriptedRequest:
    """What a scripted model was asked: copies."""

    messages: list[BaseMessage]
    stop: list[str] | None
    params: dict[str, Any]


class ScriptedChatModel(BaseChatModel):
    """A chat model that follows a script, one turn a call.

    An answer ends before the first of a call's stop words, as real ones do, with the finish reason "stop".

    Args:
        script: turns; a text stands for `Turn(text=...)`, a message for itself, an exception for failing at once.

    Attributes:
        requests: what it was asked, in order.

    Raises:
        ScriptExhausted: it is called once more than its script has turns.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> model = ScriptedChatModel(script=["Hello!"])
        >>> model.invoke("hi").content
        'Hello!'
        >>> [message.content for message in model.requests[0].messages]
        ['hi']
    """

    script: SkipValidation[Sequence[Turn | str | AIMessage | BaseException]]

    _tool_choices: ClassVar = frozenset(ToolChoiceKind)  # recorded with each request, in ``params``

    _requests: list[ScriptedRequest] = PrivateAttr(default_factory=list[ScriptedRequest])

    @field_validator("script")
    @classmethod
    def _check_script(cls, script: object) -> object:
        if isinstance(script, str) or not isinstance(script, Sequence):
            raise ValueError(f"a script is a list of turns, not {type(script).__name__}")
        for turn in cast("Sequence[object]", script):
            if not isinstance(turn, Turn | str | AIMessage | BaseException):
                raise ValueError(f"a turn is a Turn, a str, an AIMessage or an exception, not {type(turn).__name__}")
        return cast("object", script)

    @property
    def requests(self) -> list[ScriptedRequest]:
        """What the model was asked, in order."""
        return self._requests

    @property
    def _llm_type(self) -> str:
        return "scripted-chat-model"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        return ("json_schema", "function_calling", "json_mode")

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        turn = self._next_turn(ScriptedRequest([copy_message(message) for message in messages], stop, kwargs))
        chunks = [turn] if isinstance(turn, AIMessageChunk) else _chunks(turn, self._count_calls_before(turn))
        if stop:
            chunks = _cut(chunks, stop)
        plan = turn if isinstance(turn, Turn) else Turn()
        for index, chunk in enumerate(chunks):
            seconds = plan.pause if index else plan.delay
            if seconds:
                await clock.current().sleep(seconds)
            if plan.error is not None and index >= plan.error_after:
                raise plan.error
            yield ChatGenerationChunk(message=chunk)
        if plan.error is not None:
            raise plan.error

    def _count_calls_before(self, turn: Turn) -> int:
        """Return how many tool calls the script has before a turn: their ids are not to come again."""
        before = itertools.takewhile(lambda other: other is not turn, self.script)
        return sum(len(other.tool_calls) for other in before if isinstance(other, Turn))

    def _next_turn(self, request: ScriptedRequest) -> Turn | AIMessageChunk:
        with _lock:
            index = len(self._requests)
            if index >= len(self.script):
                raise ScriptExhausted(
                    f"the script has {len(self.script)} turns, and this is call {index + 1}; "
                    "add a turn, or find out who calls once too often"
                )
            self._requests.append(request)
        turn = self.script[index]
        if isinstance(turn, AIMessage):
            chunk = as_chunk(copy_message(turn))
            assert isinstance(chunk, AIMessageChunk)
            return chunk
        if isinstance(turn, BaseException):
            return Turn(error=turn)
        return Turn(text=turn) if isinstance(turn, str) else turn


_KEYS = ToolCall.__required_keys__ | ToolCall.__optional_keys__


def _check_call(call: object) -> None:
    """Refuse what is no tool call when a script is made, not when it is played."""
    match call:
        case {"name": str(), "args": dict()} if cast("FieldsView", call).keys() <= _KEYS:
            return
        case _:
            raise InvalidInput(
                f"{excerpt(call)} is no tool call; it looks like {{'name': 'weather', 'args': {{'city': 'Oslo'}}}}, and may "
                "have an 'id'"
            )


def _chunks(turn: Turn, calls_before: int) -> list[AIMessageChunk]:
    """The chunks of a turn: reasoning, text (cut into words unless it comes in pieces), tool calls, and a last one."""
    chunks: list[AIMessageChunk] = []
    texts = turn.text.split(" ") if isinstance(turn.text, str) else list(turn.text)
    if isinstance(turn.text, str):
        texts = [text if not index else f" {text}" for index, text in enumerate(texts) if text or index]
    if turn.reasoning is not None:
        chunks.append(AIMessageChunk(content=[{"type": "reasoning", "reasoning": turn.reasoning, "index": 0}]))
        chunks += [AIMessageChunk(content=[{"type": "text", "text": text, "index": 1}]) for text in texts]
    else:
        chunks += [AIMessageChunk(text) for text in texts]
    if turn.tool_calls:
        named: list[Any] = [
            {"id": f"call_{number}", **call} for number, call in enumerate(turn.tool_calls, start=calls_before + 1)
        ]
        calls = as_chunk(AIMessage(content="", tool_calls=named))
        assert isinstance(calls, AIMessageChunk)
        for call in calls.tool_call_chunks:
            start = {**call, "args": ""}
            chunks.append(AIMessageChunk(content="", tool_call_chunks=[start]))
            chunks.append(AIMessageChunk(content="", tool_call_chunks=[{**call, "name": None, "id": None}]))
    last = AIMessageChunk(
        content="", usage_metadata=turn.usage, response_metadata=dict(turn.metadata), chunk_position="last"
    )
    return [*chunks, last]


def _cut(chunks: list[AIMessageChunk], stop: Sequence[str]) -> list[AIMessageChunk]:
    """The chunks up to the first stop word in their text, and an end; all of them where there is none."""
    text = "".join(chunk.text for chunk in chunks)
    found = [text.find(word) for word in stop if word in text]
    if not found:
        return chunks
    left, at = min(found), 0
    while len(chunks[at].text) <= left:
        left -= len(chunks[at].text)
        at += 1
    whole, last = chunks[at], chunks[-1]
    cut = AIMessageChunk(_cut_content(whole.content, left), additional_kwargs=whole.additional_kwargs, id=whole.id)
    end = AIMessageChunk(
        content="",
        usage_metadata=last.usage_metadata,
        response_metadata={**last.response_metadata, "finish_reason": "stop"},
        chunk_position="last",
    )
    return [*chunks[:at], *([cut] if cut.content or cut.id else []), end]


def _cut_content(content: Content, length: int) -> Content:
    """The first ``length`` characters of the text of a content, and what stands before them."""
    if isinstance(content, str):
        return content[:length]
    kept: list[str | dict[str, Any]] = []
    for block in content:
        text = block if isinstance(block, str) else block["text"] if block.get("type") == "text" else ""
        if len(text) > length:
            return [*kept, text[:length] if isinstance(block, str) else {**block, "text": text[:length]}]
        kept.append(block)
        length -= len(text)
    return kept
