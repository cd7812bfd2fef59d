"""How a provider's server words what a scripted model says: the class that every format derives from.

A behaviour decides what is said and when; a format turns it into documents and events, by pure functions. It says two
things at least, how a whole reply and how a streamed one look. The rest has a neutral default, which most providers'
clients understand.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, cast

from pydantic_core import from_json, to_json

from hocket.errors import InvalidInput
from hocket.testing.server.batch_formats import BatchFormat
from hocket.testing.server.reply_content import ReplyContent, VectorContent
from hocket.testing.server.wire import ReceivedRequest, WireAnswer

__all__ = ["Format", "ReplyEvents", "WholeReply", "cut_text", "measure_text", "read_body", "write_event"]


@dataclass(frozen=True)
class WholeReply:
    """A reply in a provider's words: a JSON document and the tokens that it costs."""

    content: Any
    tokens: int = 0


@dataclass(frozen=True)
class ReplyEvents:
    """A stream in a provider's words.

    Attributes:
        rounds: the events that say something; those of one round are sent together (one for each choice).
        finish: what follows when all is well: reason, usage, end marker.
        input_tokens: charged when the answer begins.
        output_tokens: charged as the rounds are sent.
    """

    rounds: Sequence[bytes]
    finish: bytes
    input_tokens: int = 0
    output_tokens: int = 0


class Format(ABC):
    """A provider's format, as its server speaks it: `document` and `stream`, and what differs from the defaults here.

        class ParlourFormat(Format):
            def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
                [text] = reply.texts(1)
                return WholeReply({"text": text, "why": reply.finish_reason or "done"})

            def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
                [text] = reply.texts(1)
                pieces = [write_event({"text": piece}) for piece in cut_text(text, reply.pieces)]
                return ReplyEvents(pieces, write_event({"why": reply.finish_reason or "done"}))

    A request that does not fit the script is refused with `InvalidInput`: the server answers 500 and notes it in its
    ``problems``.

    Attributes:
        prefix: what a client's base URL has after the host: ``/v1``.
        stream_type: the media type of a stream.
        ping: what a stream carries that says nothing; a format without such a thing leaves it empty.
        batches: the words of the provider's batch endpoints; None: it has none.
    """

    prefix: ClassVar[str] = ""
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    ping: ClassVar[bytes] = b": ping\n\n"
    batches: ClassVar[BatchFormat | None] = None

    @abstractmethod
    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        """Return ``reply`` whole."""

    @abstractmethod
    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        """Return ``reply`` as events."""

    def wants_stream(self, request: ReceivedRequest) -> bool:
        """Return whether the reply is to be streamed. Default: whether the body's field ``stream`` is true.

        A provider whose requests say it otherwise, by another field or by the path, overrides this.
        """
        return bool(read_body(request).get("stream"))

    def unscripted(self, request: ReceivedRequest) -> WireAnswer | None:
        """Return the answer to a request that is no part of a script, such as for the list of models. Default: none is."""
        return None

    def vectors(self, request: ReceivedRequest, vectors: VectorContent) -> WholeReply:
        """Return the embeddings of the texts of ``request``. Default: the provider has none.

        Raises:
            InvalidInput: it has none.
        """
        raise InvalidInput(f"the script has Vectors here, but {type(self).__name__} defines no vectors(...)")

    def error(self, status: int, message: str, more: Mapping[str, Any]) -> Any:
        """Return the JSON document of an error. Default: ``{"error": {"message": ..., "code": status}}``.

        Args:
            status: of the reply.
            message: what happened; empty: nothing is said.
            more: goes over what the format says by itself.
        """
        text = message or f"The server was told to answer {status}."
        return {"error": {"message": text, "code": status, **more}}

    def error_event(self, message: str, more: Mapping[str, Any]) -> bytes:
        """Return the event of an error within a stream. Default: `error`, as a server-sent event."""
        return write_event(self.error(500, message or "The server had an error.", more))


def read_body(request: ReceivedRequest) -> dict[str, Any]:
    """Return the body of ``request``, a JSON object; an empty one where there is no body.

    Raises:
        InvalidInput: it is no JSON object.
    """
    try:
        body: object = from_json(request.body or b"{}")
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise InvalidInput(f"the body of a request is a JSON object, not {request.body[:80]!r}")
    return cast("dict[str, Any]", body)


def write_event(document: object, name: str = "") -> bytes:
    """Return a JSON document as a server-sent event, with its ``event:`` field where it has a name."""
    head = b"event: %b\n" % name.encode() if name else b""
    return head + b"data: " + to_json(document) + b"\n\n"


def cut_text(text: str, pieces: int | None) -> list[str]:
    """Return ``text`` in so many pieces, as even as can be; None: a word each, with the space before it."""
    if not text:
        return []
    if pieces is None:
        first, *words = text.split(" ")
        return [part for part in (first, *(f" {word}" for word in words)) if part]
    bounds = [len(text) * number // pieces for number in range(pieces + 1)]
    return [text[start:end] for start, end in pairwise(bounds)]


def measure_text(text: str | Sequence[int]) -> int:
    """Return the tokens of a text, a word each, so that a test can say what an answer must cost; or of token ids."""
    return len(text.split() if isinstance(text, str) else text)
