"""A streamed reply, read event by event: framing, errors, odd shapes and truncation, once for all formats.

A provider says what one event means (`StreamDecoder.read`). It may also say when an answer is whole, how an event tells
that the request has failed, and what is left to say at the end.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from pydantic_core import from_json

from hocket.errors import HocketError, InvalidReply, StreamTruncated
from hocket.http.failures import classify_error, has_failed
from hocket.http.json_lines import JSONLines
from hocket.http.sse import ServerSentEvent, ServerSentEvents
from hocket.messages.content import Fields
from hocket.remote.reply import excerpt_reply

__all__ = ["Framing", "StreamDecoder"]

T = TypeVar("T")

START = 1000  # bytes of the body's start that are kept, to tell what it is


class Framing(Protocol):
    """Cuts a body into events. See `hocket.http.ServerSentEvents` and `hocket.http.JSONLines`."""

    def feed(self, data: bytes) -> Sequence[ServerSentEvent | bytes]:
        """Return the events that end in ``data``, the next piece of the body."""
        ...


class StreamDecoder(ABC, Generic[T]):
    """Reads one streamed reply, piece by piece. It knows no sockets, so a test may cut a reply at every byte.

        class ParlourDecoder(StreamDecoder[ChatGenerationChunk]):
            def read(self, data, event):
                self.ended = "why" in data
                return ChatGenerationChunk(message=AIMessageChunk(content=data.get("text", "")))

    Args:
        provider: its name, for errors.
        headers: of the reply.

    Attributes:
        done: whether the stream's last event has come, so that nothing more need be read. Set where the end marker comes;
            a format whose last event is JSON sets it in `read`.
        ended: whether it is certain that all of the answer has come; what may follow are facts about it, such as its
            usage. `read` sets it. Where it is False, a connection that breaks is an error, whatever `is_whole` says.
    """

    framing: ClassVar[type[Framing]] = ServerSentEvents
    """How events are told apart: server-sent events, `JSONLines`, or a class of one's own."""

    end_marker: ClassVar[bytes | None] = None
    """The data of an event that is no JSON and says that the stream is over; None: there is none."""

    def __init__(self, provider: str, headers: Mapping[str, str] | None = None) -> None:
        self.provider = provider
        self.headers: Mapping[str, str] = headers or {}
        self.done: bool = False
        self.ended: bool = False
        self._framing = self.framing()
        self._start: bytes | None = b""  # of the body, until an event has come

    @abstractmethod
    def read(self, data: Fields, event: str) -> T | None:
        """Return what one event says; None: nothing. What it raises because of an odd shape becomes an `InvalidReply`.

        Args:
            data: of the event, read from JSON.
            event: its name (`ServerSentEvent.event`); "" where it has none.
        """

    def find_error(self, data: Fields) -> object:
        """Return the part of an event that says that the request has failed; None: none does.

        What is returned is read as the body of an error is (`hocket.http.failures.classify_error`).
        """
        return data if has_failed(data) else None

    def is_whole(self) -> bool:
        """Whether the answer is complete, the body having ended. Some formats have streams that do not say so."""
        return self.ended

    def read_end(self) -> Iterable[T]:
        """Return what is left to say when the stream has ended well."""
        return ()

    def feed(self, data: bytes) -> Iterator[T]:
        """Yield the chunks that these bytes complete.

        Raises:
            LLMError: the stream says that the request has failed.
            InvalidReply: an event is not what the format says.
        """
        frames = self._framing.feed(data)
        if self._start is not None:
            self._start = None if frames else (self._start + data)[:START]
        for frame in frames:
            name, content = (frame.event, frame.data) if isinstance(frame, ServerSentEvent) else ("", frame)
            if content == self.end_marker:
                self.done = True
                return
            item = self._read(name, content)
            if item is not None:
                yield item
            if self.done:  # whatever follows is the same as if it had come later, when nobody reads any more
                return

    def close(self) -> Iterable[T]:
        """Return what is left, the body having ended.

        Raises:
            StreamTruncated: it ended before the answer.
            LLMError: it was no stream but a document that says that the request has failed.
            InvalidReply: it was no stream but a page, or some other document.
        """
        if isinstance(self._framing, JSONLines):
            last = [item for line in self._framing.close() if (item := self._read_last(line)) is not None]
        else:
            last = []
            self._check_start(self._start or b"")
        if not self.is_whole():
            seen = "its end marker came" if self.done else "it ended"
            raise StreamTruncated(
                f"the stream is not whole: {seen} before a finish reason; what came is in `partial`",
                provider=self.provider,
                retryable=True,
            )
        return [*last, *self.read_end()]

    def _read(self, name: str, content: bytes) -> T | None:
        try:
            data = from_json(content)
        except ValueError as error:
            if name == "error":
                raise classify_error(None, {}, content, provider=self.provider) from error
            raise InvalidReply(f"an event of the stream is not JSON: {excerpt_reply(content)}") from error
        try:
            failed = self.find_error(data)
            if failed is not None:
                raise classify_error(None, {}, failed, provider=self.provider)
            return self.read(data, name)
        except HocketError:
            raise
        except Exception as error:  # whatever a server says ends in one of hocket's errors
            raise InvalidReply(f"an event of the stream has another shape: {excerpt_reply(content)}") from error

    def _read_last(self, line: bytes) -> T | None:
        """Return what a line says that no line end has closed; None: nothing, or it was cut."""
        try:
            from_json(line)
        except ValueError:
            self._refuse_page(line)
            return None
        return self._read("", line)

    def _check_start(self, start: bytes) -> None:
        """Raise if a body without any event is something else than a stream that was cut."""
        self._refuse_page(start)
        if start.lstrip()[:1] not in (b"{", b"["):
            return
        try:
            document = from_json(start)
        except ValueError:
            document = None
        if has_failed(document):
            raise classify_error(None, {}, document, provider=self.provider)
        raise InvalidReply(f"the reply is no stream of events: {excerpt_reply(start)}")

    def _refuse_page(self, start: bytes) -> None:
        if start.lstrip()[:1] == b"<":
            raise InvalidReply(f"the reply is no stream of events: {excerpt_reply(start)}")
