"""What reads a streamed reply."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

__all__ = ["StreamDecoder"]

T_co = TypeVar("T_co", covariant=True)


class StreamDecoder(Protocol[T_co]):
    """Reads one streamed reply, piece by piece. It knows no sockets, so that a test may cut a reply at every byte."""

    @property
    def done(self) -> bool:
        """Whether the stream's last event has come, so that nothing more need be read."""
        ...

    @property
    def ended(self) -> bool:
        """Whether it is certain that all of the answer has come; what may follow are facts about it, such as its usage.

        Where this is False, a connection that breaks is an error, whatever `close` says. A format that says nothing of an
        end leaves it so: then only the proper end of the body is one.
        """
        ...

    def feed(self, data: bytes) -> Iterable[T_co]:
        """Return the chunks that these bytes complete.

        Raises:
            LLMError: the stream says that the request has failed, or is not what its format says.
        """
        ...

    def close(self) -> Iterable[T_co]:
        """Return what is left, the body having ended.

        Raises:
            StreamTruncated: the terminal event has not come.
        """
        ...
