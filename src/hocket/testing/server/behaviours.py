"""What a scripted server can be told to do.

A behaviour is data. Asked with a request, it returns an `WireAnswer`: the bytes and pauses to play. It knows nothing of
sockets, and nothing of a provider's words either, which are the business of a `Format`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, Literal, Protocol, cast, runtime_checkable

from pydantic_core import to_json

from hocket.errors import InvalidInput
from hocket.testing.server.format import Format, ReplyEvents
from hocket.testing.server.reply_content import ReplyContent, VectorContent
from hocket.testing.server.wire import Bill, End, ReceivedRequest, Step, Wait, WireAnswer

__all__ = ["Behaviour", "Body", "Cut", "Events", "Hangup", "Reply", "Split", "Status", "Stream", "Vectors"]

JSON_HEADERS = {"content-type": "application/json"}
EVENT_STREAM = Format.stream_type


@runtime_checkable
class Behaviour(Protocol):
    """Anything that answers a request."""

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return what to send."""
        ...


@dataclass(frozen=True, kw_only=True)
class _HTTPReply:
    """What every behaviour with a reply has.

    Args:
        delay: seconds of silence before the headers; infinite: for ever.
        headers: of the reply, over the usual ones.
    """

    delay: float = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def _reply(
        self, steps: Iterable[Step], usual: Mapping[str, str], status: int = 200, then: End = "end"
    ) -> WireAnswer:
        """Return an answer of unknown length."""
        return WireAnswer(status, {**usual, **self.headers}, steps, delay=self.delay, then=then)

    def _reply_whole(self, body: bytes, usual: Mapping[str, str], status: int = 200, tokens: int = 0) -> WireAnswer:
        """Return an answer that announces its length."""
        return replace(self._reply([Bill(tokens), body], usual, status), length=len(body))


@dataclass(frozen=True)
class Reply(_HTTPReply, ReplyContent):
    """A model's reply, whole or streamed, as the request asks; streamed, it comes at once.

    Its arguments are those of `ReplyContent`, and ``delay`` and ``headers``.
    """

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return it as ``request`` wants it."""
        if format.wants_stream(request):
            quick = Stream(**{part.name: getattr(self, part.name) for part in fields(Reply)})
            return quick.answer(request, format)
        document = format.document(request, self)
        return self._reply_whole(to_json(document.content), JSON_HEADERS, tokens=document.tokens)


@dataclass(frozen=True)
class Stream(Reply):
    """A model's reply as a stream, in its own time. A request that does not ask for a stream is refused.

    Args:
        first_after: seconds between the headers and the first event.
        pings: so many pings before the first event, with ``every`` seconds after each.
        every: seconds before each further event.
        then: what follows the last piece: ``finish``, all that a stream should end with; ``end``, the proper end of the
            body without any of that; ``ping``, a ping every ``every`` seconds, for ever; ``stall``, silence with the
            connection open; ``eof`` or ``reset``, the connection closed.
        error: sent after the last piece, as an error event, and nothing after it: a message, or fields of the error.
    """

    _: KW_ONLY
    first_after: float = 0
    pings: int = 0
    every: float = 0
    then: Literal["finish", "end", "ping", "stall", "eof", "reset"] = "finish"
    error: str | Mapping[str, Any] | None = None

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return it as ``request`` wants it.

        Raises:
            InvalidInput: it wants no stream.
        """
        if not format.wants_stream(request):
            raise InvalidInput(
                f"the script has a Stream here, but {type(format).__name__}.wants_stream(request) says that the request "
                "asks for none: make it a Reply, or let wants_stream know such a request"
            )
        then: End = "end" if self.then == "finish" or self.then == "ping" else self.then
        return self._reply(
            self._make_steps(format.stream(request, self), format), _stream_headers(format.stream_type), then=then
        )

    def _make_steps(self, stream: ReplyEvents, format: Format) -> Iterator[Step]:
        yield Bill(stream.input_tokens)
        yield Wait(self.first_after)
        for _ in range(self.pings):
            yield from (format.ping, Wait(self.every))

        billed = 0
        for number, events in enumerate(stream.rounds, start=1):
            if number > 1:
                yield Wait(self.every)
            due = stream.output_tokens * number // len(stream.rounds)
            yield from (Bill(due - billed), events)
            billed = due

        if self.error is not None:
            message = self.error if isinstance(self.error, str) else str(self.error.get("message", ""))
            yield format.error_event(message, {} if isinstance(self.error, str) else self.error)
        elif self.then == "finish":
            yield stream.finish
        elif self.then == "ping":
            while True:
                yield from (Wait(self.every), format.ping)


@dataclass(frozen=True)
class Vectors(_HTTPReply, VectorContent):
    """The embeddings of the texts of a request.

    Its arguments are those of `VectorContent`, and ``delay`` and ``headers``.
    """

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return them in the words of ``format``."""
        document = format.vectors(request, self)
        return self._reply_whole(to_json(document.content), JSON_HEADERS, tokens=document.tokens)


@dataclass(frozen=True)
class Status(_HTTPReply):
    """An error, in the words of the format.

    Args:
        status: the code.
        message: what happened; empty: what the code says.
        error: fields of the error object, over the usual ones for this status: ``{"code": "insufficient_quota"}``.
    """

    status: int
    message: str = ""
    _: KW_ONLY
    error: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return the error."""
        return self._reply_whole(
            to_json(format.error(self.status, self.message, self.error)), JSON_HEADERS, self.status
        )


@dataclass(frozen=True)
class Body(_HTTPReply):
    """Any body, in nobody's format.

    Args:
        content: str: a page of HTML; bytes: as they are; an iterator: bytes, and `Wait`s between them, sent in chunks; it
            need not end and serves one request; anything else: JSON.
        status: of the reply.
    """

    content: object
    _: KW_ONLY
    status: int = 200

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return the body."""
        content = self.content
        if isinstance(content, Iterator):
            return self._reply(cast("Iterator[Step]", content), {}, self.status)
        if isinstance(self.content, str):
            return self._reply_whole(self.content.encode(), {"content-type": "text/html; charset=utf-8"}, self.status)
        if isinstance(self.content, bytes):
            return self._reply_whole(self.content, {"content-type": "application/octet-stream"}, self.status)
        return self._reply_whole(to_json(self.content), JSON_HEADERS, self.status)


@dataclass(frozen=True)
class Events(_HTTPReply):
    """Server-sent events as they are given, in nobody's format.

    Args:
        events: an event each: a str: its data; bytes: sent as they are; anything else: its data as JSON. They need not
            end.
        status: of the reply.
        every: seconds before each further event.
        then: what follows the last one.
    """

    events: Iterable[object]
    _: KW_ONLY
    status: int = 200
    every: float = 0
    then: End = "end"

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return the events."""
        return self._reply(self._make_steps(), _stream_headers(EVENT_STREAM), self.status, self.then)

    def _make_steps(self) -> Iterator[Step]:
        for number, event in enumerate(self.events):
            if number:
                yield Wait(self.every)
            if isinstance(event, bytes):
                yield event
            else:
                data = event.encode() if isinstance(event, str) else to_json(event)
                yield b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n"


@dataclass(frozen=True)
class Hangup:
    """The connection is closed without a byte of an answer.

    Args:
        how: in peace (``eof``) or by a reset.
        delay: seconds before that.
    """

    how: Literal["eof", "reset"] = "eof"
    _: KW_ONLY
    delay: float = 0

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return no answer."""
        return WireAnswer(0, delay=self.delay, then=self.how)


@dataclass(frozen=True)
class Cut:
    """The first bytes of another behaviour's body, and no more; its own end does not come.

    The headers go out whole, with the length of the whole body unless ``how`` is ``end``.

    Args:
        behaviour: what is cut.
        at_byte: the number of bytes of the body that are sent.
        how: what follows them; ``end``: the body ends properly, so that only its content is truncated. A reset takes with
            it what has not reached the client yet: nothing, unless the client reads slowly.
    """

    behaviour: Behaviour
    _: KW_ONLY
    at_byte: int
    how: End = "eof"

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return the answer of the other, cut."""
        whole = self.behaviour.answer(request, format)
        length = whole.length
        if length is not None and self.how == "end":
            length = min(length, self.at_byte)
        return replace(whole, steps=_cut_steps(self.at_byte, whole.steps), length=length, then=self.how)


@dataclass(frozen=True)
class Split:
    """Another behaviour's body in pieces of a given size, written one by one.

    What the client reads at once is for the network to decide; ``every`` above 0 keeps the pieces apart.

    Args:
        behaviour: what is split.
        size: of a piece, in bytes.
        every: seconds after each piece.
    """

    behaviour: Behaviour
    _: KW_ONLY
    size: int = 1
    every: float = 0

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        """Return the answer of the other, split."""
        whole = self.behaviour.answer(request, format)
        return replace(whole, steps=self._split(whole.steps))

    def _split(self, steps: Iterable[Step]) -> Iterator[Step]:
        for step in steps:
            if isinstance(step, bytes):
                for start in range(0, len(step), self.size):
                    yield from (step[start : start + self.size], Wait(self.every))
            else:
                yield step


def _cut_steps(size: int, steps: Iterable[Step]) -> Iterator[Step]:
    """Return the steps up to the byte ``size`` of the body."""
    for step in steps:
        if not isinstance(step, bytes):
            yield step
            continue
        yield step[:size]
        size -= len(step)
        if size <= 0:
            return


def _stream_headers(media_type: str) -> dict[str, str]:
    return {"content-type": media_type, "cache-control": "no-cache"}
