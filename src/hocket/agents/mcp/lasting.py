"""A connection to an MCP server that comes back.

A server dies, is deployed anew, or forgets a session that was idle, and the agent behind it goes on for hours. So the next
call connects again. What it must not do is make a call twice: nobody knows what a call did whose server died. Only a tool
that says that it is idempotent is called again, and once; so is a request that the server says it has not taken.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from mcp import Client, Tool

from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket.agents.mcp.address import ServerAddress
from hocket.agents.mcp.connection import ServerConnection, SessionLost
from hocket.errors import InvalidInput, ToolServerUnavailable, ToolTimeout

__all__ = ["LastingConnection"]

T = TypeVar("T")

MOST_RESTARTS = 3
WINDOW = 60.0
"""Seconds in which so many restarts are made at most: a server that dies in each call must not be started in each."""


class LastingConnection:
    """Connections to a server, one after the other.

    Args:
        address: of the server.
        timeout: seconds that opening one, and each request, may take; None: no limit.
        reconnect: whether there is another one after the first has gone.
    """

    def __init__(self, address: ServerAddress, timeout: float | None, reconnect: bool) -> None:
        self._address = address
        self._timeout = timeout
        self._reconnects = reconnect and address.is_reusable
        self._current = ServerConnection(address, timeout)
        self._former: list[ServerConnection] = []  # that may have requests under way
        self._restarts: deque[float] = deque(maxlen=MOST_RESTARTS)
        self._lock = anyio.Lock()
        self._is_opened = self._is_closed = False

    async def open(self) -> list[Tool]:
        """Connect, and return all tools that the server lists. They are those of later connections, too.

        Raises:
            ToolServerUnavailable: the server cannot be started or reached, ends, or does not answer in time.
            InvalidInput: it was opened before.
        """
        if self._is_opened:
            raise InvalidInput("a connection to an MCP server is opened once; call mcp_tools again for another one")
        self._is_opened = True
        return await self._current.open()

    def stop(self) -> None:
        """Begin to close it: requests that run end with an error. `aclose` waits for the end.

        Raises:
            InvalidInput: it belongs to another event loop, which has not ended it.
        """
        for connection in (self._current, *self._former):
            connection.stop()
        self._is_closed = True

    async def aclose(self) -> None:
        """Close it, from any task, any number of times.

        Raises:
            InvalidInput: it belongs to another event loop, which has not ended it.
        """
        self.stop()
        for connection in (self._current, *self._former):
            await connection.aclose()

    async def ask(self, request: Callable[[Client], Awaitable[T]], *, is_idempotent: bool = False) -> T:
        """Ask the server something, from any task. If the caller is cancelled, the server is told to stop.

        Args:
            request: makes the request with the SDK's client.
            is_idempotent: whether it may be made once more, if the server goes meanwhile.

        Raises:
            ToolServerUnavailable: the connection is closed, or goes meanwhile, or went too often.
            ToolTimeout: it took too long.
            ToolException: the server refuses it, or its answer is not what MCP, or the tool's schema, says.
            InvalidInput: the connection belongs to another event loop.
        """
        with Alarm() as alarm:
            alarm.set(self._timeout)
            connection = await self._connect()
            try:
                return await connection.ask(request)
            except ToolServerUnavailable as error:
                may_repeat = is_idempotent or isinstance(error, SessionLost)
                if not may_repeat or not self._reconnects or self._is_closed:
                    raise
            connection = await self._connect()
            return await connection.ask(request)
        raise ToolTimeout(f"it took longer than {self._timeout:g} s{self._current.explain_silence()}")

    def clean(self, said: str) -> str:
        """Return what the server said of a failure, without secrets, and not without end."""
        return self._address.clean(said)

    async def _connect(self) -> ServerConnection:
        """Return the current connection, or another one, if that has gone."""
        if self._current.is_open or self._is_closed or not self._reconnects:
            return self._current
        self._current.check_loop()
        async with self._lock:
            if not self._current.is_open and not self._is_closed:
                await self._reconnect()
        return self._current

    async def _reconnect(self) -> None:
        now = clock.current().now()
        if len(self._restarts) == MOST_RESTARTS and (left := self._restarts[0] + WINDOW - now) > 0:
            raise ToolServerUnavailable(
                f"{self._current.explain_end()}; it was started {MOST_RESTARTS} times again in a minute, and may be "
                f"started once more in {left:.0f} s"
            )
        self._restarts.append(now)
        self._former = [one for one in (*self._former, self._current) if not one.has_ended]
        self._current = ServerConnection(self._address, self._timeout)
        await self._current.open()
