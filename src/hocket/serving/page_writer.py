"""What writes the items of a stream for a page, whichever protocol the page speaks: `PageWriter`.

A stream goes to one reader, or is kept for many that come and go. Both need the same of a protocol: whole events, one
after another, and exactly one end, also where the stream failed or was stopped.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Literal

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt

__all__ = ["PageWriter", "StreamProtocol", "check_id"]

StreamProtocol = Literal["hocket", "vercel", "ag-ui"]
"""How a page is told: hocket's own events; Vercel's UI message stream (``useChat``), version 1; or AG-UI's events, 1.0."""

_LONGEST_ID = 200


class PageWriter(ABC):
    """Writes the items of one stream, and how it ended. What is written are whole events; after an end there are none.

    Attributes:
        headers: of the reply, beside `SSE_HEADERS`.
    """

    headers: Mapping[str, str]

    @abstractmethod
    def write(self, item: object) -> bytes:
        """Return the events of an item; nothing, if it says nothing to a page."""

    @abstractmethod
    def end(self) -> bytes:
        """Return what says that this was all."""

    @abstractmethod
    def fail(self, error: Exception) -> bytes:
        """Return what says that the stream broke off, in words for anybody. It may be the first that is written."""

    @abstractmethod
    def stop(self) -> bytes:
        """Return what says that somebody has stopped the stream, which gives no more."""


def check_id(name: str, value: str, longest: int = _LONGEST_ID) -> str:
    """Return the id of a run, a conversation or a call.

    Raises:
        InvalidInput: it is not one line of at most so many printable characters.
    """
    if not isinstance(value, str) or not 0 < len(value) <= longest or not value.isprintable():  # pyright: ignore[reportUnnecessaryIsInstance]  # of a stranger
        raise InvalidInput(f"{name} is {excerpt(value)}; it is one line of 1 to {longest:,} printable characters")
    return value
