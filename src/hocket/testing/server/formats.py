"""Where what a server says meets how a provider words it.

A `Behaviour` decides what is said and when; a `Format` turns it into documents and events, by pure functions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from hocket.testing.server.wire import Answer, ReceivedRequest

if TYPE_CHECKING:
    from hocket.testing.server.behaviours import Reply, Stream, Vectors

__all__ = ["Behaviour", "Document", "EventStream", "Format"]


@dataclass(frozen=True)
class Document:
    """A reply in a provider's words: a JSON document and the tokens that it costs."""

    content: Any
    tokens: int = 0


@dataclass(frozen=True)
class EventStream:
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


class Format(Protocol):
    """A provider's format, as its server speaks it. A refusal of a request it does not know is an `InvalidInput`."""

    prefix: str
    """What a client's base URL has after the host: ``/v1``."""

    ping: bytes
    """What a stream carries that says nothing."""

    def unscripted(self, request: ReceivedRequest) -> Answer | None:
        """Return the answer to a request that is no part of a script, such as for the list of models."""
        ...

    def wants_stream(self, request: ReceivedRequest) -> bool:
        """Tell whether the reply is to be streamed."""
        ...

    def document(self, request: ReceivedRequest, reply: "Reply") -> Document:
        """Return ``reply`` whole."""
        ...

    def stream(self, request: ReceivedRequest, reply: "Stream") -> EventStream:
        """Return ``reply`` as events."""
        ...

    def vectors(self, request: ReceivedRequest, vectors: "Vectors") -> Document:
        """Return the embeddings of the texts of ``request``."""
        ...

    def error(self, status: int, message: str, more: Mapping[str, Any]) -> Any:
        """Return the JSON document of an error; ``more`` goes over what the format says by itself."""
        ...

    def error_event(self, message: str, more: Mapping[str, Any]) -> bytes:
        """Return the event of an error within a stream."""
        ...


@runtime_checkable
class Behaviour(Protocol):
    """Anything that answers a request."""

    def answer(self, request: ReceivedRequest, format: Format) -> Answer:
        """Return what to send."""
        ...
