"""A streamed reply, event by event. It does no I/O and folds nothing: an event becomes a chunk, or nothing.

When is a stream whole? When its answer has a finish reason; from a server that is not known to send one, also at
``[DONE]``. Everything after that may be missing: usage, which is then None, and ``[DONE]`` itself, which is then recorded
as ``response_metadata["stream_end"] = "no [DONE]"``. A stream that ends before is truncated, whatever it said.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from pydantic_core import from_json, to_json

from hocket.errors import InvalidReply, LLMError, StreamTruncated
from hocket.http.failures import classify_error, has_failed
from hocket.http.sse import ServerSentEvent, ServerSentEvents
from hocket.messages.base import Content
from hocket.messages.fast_chunk import fast_chunk
from hocket.messages.formats.openai_responses import CUSTOM_INPUT
from hocket.messages.tool_calls import ToolCallChunk, tool_call_chunk
from hocket.outputs import ChatGenerationChunk
from hocket.providers.openai.decode import (
    answer_facts,
    beside,
    decode_call,
    decode_content,
    finish_facts,
    header_facts,
    reply_facts,
    shown,
)
from hocket.providers.openai.dialects import Dialect
from hocket.providers.openai.usage import decode_usage

__all__ = ["ChatDecoder", "EventDecoder"]

T = TypeVar("T")

DONE = b"[DONE]"
_PAGE = 1000  # bytes of the body's start that are kept, to tell what it is
_USUAL = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint", "obfuscation"}
)
_USUAL_OF_ANSWER = frozenset({"index", "delta", "finish_reason", "logprobs"})


class EventDecoder(ABC, Generic[T]):
    """Reads a stream of the format's events: one JSON object each, and ``[DONE]``.

    Args:
        dialect: of the server.

    Attributes:
        done: whether ``[DONE]`` has come.
        ended: whether the answer has: set by the subclass.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.done = False
        self.ended = False
        self._events = ServerSentEvents()
        self._start: bytes | None = b""  # of the body, until an event has come

    @abstractmethod
    def chunk(self, data: dict[str, Any]) -> T | None:
        """Return what one event says; None: nothing. What it raises because of an odd shape becomes an `InvalidReply`."""

    def closing(self) -> Iterable[T]:
        """Return what is left to say when the stream has ended well, with or without ``[DONE]``."""
        return ()

    def feed(self, data: bytes) -> Iterator[T]:
        """Yield the chunks that these bytes complete.

        Raises:
            LLMError: the stream says that the request has failed.
            InvalidReply: an event is not what the format says.
        """
        events = self._events.feed(data)
        if self._start is not None:
            self._start = None if events else self._start + data[:_PAGE]
        for event in events:
            if event.data == DONE:
                self.done = True
                return
            made = self._read(event)
            if made is not None:
                yield made

    def close(self) -> Iterable[T]:
        """Return what is left to say, the body having ended.

        Raises:
            StreamTruncated: it ended before the answer.
            InvalidReply: it was no stream of events but a page or a document.
        """
        if self._start and self._start.lstrip()[:1] in (b"<", b"{", b"["):
            raise InvalidReply(f"the reply is no stream of events: {shown(self._start)}")
        if not self.ended and (self.dialect.finishes or not self.done):
            seen = "[DONE] came" if self.done else "it ended"
            raise StreamTruncated(
                f"the stream is not whole: {seen} before a finish reason; what came is in `partial`",
                provider=self.dialect.name,
                retryable=True,
            )
        return self.closing()

    def _read(self, event: ServerSentEvent) -> T | None:
        try:
            data = from_json(event.data)
        except ValueError as error:
            if event.event == "error":
                raise classify_error(None, {}, event.data, provider=self.dialect.name) from error
            raise InvalidReply(f"an event of the stream is not JSON: {shown(event.data)}") from error
        try:
            if "error" in data or "choices" not in data or "x_groq" in data:
                self._check(data)
            return self.chunk(data)
        except LLMError:
            raise
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise InvalidReply(f"an event of the stream has another shape: {shown(event.data)}") from error

    def _check(self, data: dict[str, Any]) -> None:
        for place in (data, data.get("x_groq")):
            if has_failed(place):
                raise classify_error(None, {}, place, provider=self.dialect.name)


class ChatDecoder(EventDecoder[ChatGenerationChunk]):
    """Reads the stream of one chat completion.

    Args:
        dialect: of the server.
        headers: of the reply.
        include_headers: whether to tell all of them.
    """

    def __init__(
        self, dialect: Dialect, headers: Mapping[str, str] | None = None, *, include_headers: bool = False
    ) -> None:
        super().__init__(dialect)
        self._facts = {"model_provider": dialect.name, **header_facts(headers or {}, include_headers)}  # yet to be told
        self._told = False  # whether it has been told which model answers
        self._id: str | None = None
        self._index: int | None = None
        self._called = self._refused = False
        self._custom: list[int | None] = []  # indices of calls whose arguments are text, and so far without an end

    def chunk(self, data: dict[str, Any]) -> ChatGenerationChunk | None:
        """Return what one event says; None: nothing."""
        choices, usage = data.get("choices"), data.get("usage")
        if self._id is None and data.get("id"):
            self._id = str(data["id"])
        if not self._told or not data.keys() <= _USUAL:
            self._facts |= reply_facts(data)
            usage = usage or (data.get("x_groq") or {}).get("usage")
        choice: dict[str, Any] = self._choice(choices) if choices else {}
        content: Content = ""
        kwargs, calls, finish = None, None, None
        if delta := choice.get("delta"):
            content = decode_content(delta.get("content"))
            if not content or len(delta) > 1:
                kwargs = beside(delta)
                if raw := delta.get("tool_calls"):
                    calls = [self._call(one) for one in raw]
                    self._called = True
                self._refused = self._refused or "refusal" in kwargs
        if reason := choice.get("finish_reason"):
            finish = finish_facts(reason, called=self._called, refused=self._refused)
            self._facts |= {**reply_facts(data), **finish}
            calls = [*(calls or ()), *self._closed()]
            self.ended = True
        if choice and (choice.get("logprobs") or not choice.keys() <= _USUAL_OF_ANSWER):
            self._facts |= answer_facts(choice)
        if usage:
            self._facts["token_usage"] = usage
        if not (content or kwargs or calls or finish or usage):
            return None
        facts, self._facts, self._told = self._facts, {}, True
        message = fast_chunk(
            content,
            self._id,
            additional_kwargs=kwargs,
            response_metadata=facts,
            tool_call_chunks=calls,
            usage_metadata=decode_usage(usage) if usage else None,
        )
        if finish:
            return ChatGenerationChunk(message=message, generation_info={"finish_reason": reason})
        return ChatGenerationChunk(message=message)

    def closing(self) -> Iterable[ChatGenerationChunk]:
        """Return what has not been told, and that ``[DONE]`` is missing where the server sends it."""
        facts = self._facts
        if not self.done and self.dialect.sends_done:
            facts = {**facts, "stream_end": "no [DONE]"}
        if not (facts and self._told):  # of an answer that never came there is nothing to tell
            return ()
        return [ChatGenerationChunk(message=fast_chunk("", self._id, response_metadata=facts))]

    def _choice(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        choice = choices[0]
        index = choice.get("index") or 0
        if self._index is None:
            self._index = index
        if len(choices) > 1 or index != self._index:
            raise InvalidReply("the stream holds several answers at once; ask for them in one piece, or for n=1")
        return choice

    def _call(self, raw: dict[str, Any]) -> ToolCallChunk:
        custom = raw.get("custom")
        if custom is None:
            return decode_call(raw)
        index = raw.get("index")
        text = to_json(custom.get("input") or "")[1:-1].decode()
        if index in self._custom:
            return tool_call_chunk(args=text, index=index)
        self._custom.append(index)
        return {**decode_call(raw), "args": f'{{"{CUSTOM_INPUT}":"{text}'}

    def _closed(self) -> list[ToolCallChunk]:
        """The ends of the calls whose arguments are text: their input is a JSON string that nothing has closed."""
        ends, self._custom = [tool_call_chunk(args='"}', index=index) for index in self._custom], []
        return ends
