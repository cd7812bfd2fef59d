"""A connection as bytes: what a loop's own streams have in common, and no more than HTTP needs of it.

Each loop is used directly. anyio's streams switch the socket's reading off and on again around every read, which costs
as much as a whole call over a bare transport; and they close by waiting, while a wire's `abort` never waits, so that
nothing that cancels a task can come between and leave a connection behind.
"""

from typing import NamedTuple, Protocol

__all__ = ["READ", "Origin", "Wire"]

READ = 256 * 1024
"""Bytes that one read takes at most."""


class Origin(NamedTuple):
    """The server that a connection leads to."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class Wire(Protocol):
    """An open connection. One task sends and receives; `abort` may come from any task of the loop."""

    @property
    def is_stale(self) -> bool:
        """Whether, idle, it has heard from the other side, which can only be that it is closed."""
        ...

    async def send(self, data: bytes | memoryview) -> None:
        """Write all of ``data``.

        Raises:
            OSError: the connection is broken.
        """
        ...

    async def receive(self) -> bytes:
        """Wait for data and return what is there; nothing: the other side has closed.

        Raises:
            OSError: the connection is broken.
        """
        ...

    def abort(self) -> None:
        """Close it at once, without waiting for anything. Safe to call twice."""
        ...
