"""A connection to an MCP server, held by a task that belongs to no caller.

The SDK's client is a stack of task groups, which has to be left in the task that entered it. A user of tools cannot
promise that: a pytest fixture, a web framework's lifespan and `contextlib.AsyncExitStack` close elsewhere, and then anyio
says "Attempted to exit cancel scope in a different task" (python-sdk#577). So one detached task enters the client, waits
for the end, and leaves it. Calls need no such task: the SDK hands requests over in memory, from wherever they are made.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import anyio
from anyio.lowlevel import EventLoopToken, current_token
from mcp import Client, Implementation, MCPError, Tool
from mcp.types import CONNECTION_CLOSED, METHOD_NOT_FOUND

from hocket._runtime.cancellation import only, wait_shielded
from hocket._runtime.clock import Alarm
from hocket._runtime.detached import Detached, spawn
from hocket._version import __version__
from hocket.agents.mcp.address import ServerAddress
from hocket.errors import InvalidInput, ToolException, ToolServerUnavailable, ToolTimeout
from hocket.errors.hints import excerpt

__all__ = ["ServerConnection", "read_pages"]

GRACE = 5.0  # seconds to say goodbye to a server; after that the SDK ends its process anyway
MOST_LISTED = 10_000
MOST_PAGES = 1_000

_OURSELVES = Implementation(name="hocket", version=__version__)
_BROKEN = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)

_log = logging.getLogger("hocket.agents.mcp")

T = TypeVar("T")


class _Page(Protocol):
    """A page of a list."""

    next_cursor: str | None


P = TypeVar("P", bound=_Page)
PageT = TypeVar("PageT", bound=_Page, covariant=True)


class _AskPage(Protocol[PageT]):
    """Asks for a page of a list."""

    async def __call__(self, *, cursor: str | None) -> PageT: ...


class ServerConnection:
    """One connection, from its opening to its end.

    Args:
        address: of the server.
        timeout: seconds that opening it, and each call, may take; None: no limit.
    """

    def __init__(self, address: ServerAddress, timeout: float | None) -> None:
        self._address = address
        self._timeout = timeout
        self._task: Detached | None = None
        self._client: Client | None = None  # None: not open yet
        self._tools: list[Tool] = []
        self._calls: set[anyio.CancelScope] = set()
        self._why_ended = "was closed"

    async def open(self) -> list[Tool]:
        """Connect, and return all tools that the server lists.

        Raises:
            ToolServerUnavailable: the server cannot be started or reached, ends, or does not answer in time.
            InvalidInput: it was opened before.
        """
        if self._task is not None:
            raise InvalidInput("a connection to an MCP server is opened once; call mcp_tools again for another one")
        self._token: EventLoopToken = current_token()
        self._opened, self._closing, self._ended = anyio.Event(), anyio.Event(), anyio.Event()
        self._task = spawn(self._hold)
        try:
            await self._opened.wait()
        except BaseException:
            self._task.cancel()
            await wait_shielded(self._ended)
            raise
        if self._client is None:
            raise self._make_error()
        return self._tools

    def stop(self) -> None:
        """Begin to close it: calls that run end with an error. `aclose` waits for the end.

        Raises:
            InvalidInput: it belongs to another event loop, which has not ended it.
        """
        if self._task is None or self._ended.is_set():
            return
        self._check_loop()
        self._closing.set()
        self._stop_calls()
        if self._client is None:
            self._task.cancel()

    async def aclose(self) -> None:
        """Close it, from any task, any number of times: calls that run end with an error, and the server's process ends.

        Raises:
            InvalidInput: it belongs to another event loop, which has not ended it.
        """
        self.stop()
        if self._task is not None:
            await wait_shielded(self._ended)

    async def ask(self, request: Callable[[Client], Awaitable[T]]) -> T:
        """Ask the server something, from any task. If the caller is cancelled, the server is told to stop.

        Args:
            request: makes the request with the SDK's client.

        Raises:
            ToolServerUnavailable: the connection is closed, or ends meanwhile.
            ToolTimeout: it took too long.
            ToolException: the server refuses it, or its answer is not what MCP, or the tool's schema, says.
            InvalidInput: the connection belongs to another event loop.
        """
        if self._client is None or self._closing.is_set() or self._ended.is_set():
            raise self._make_error()
        self._check_loop()
        scope = anyio.CancelScope()
        self._calls.add(scope)
        try:
            with Alarm() as alarm, scope:
                alarm.set(self._timeout)
                return await request(self._client)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise self._make_error("has gone") from None
            raise ToolException(self._address.explain(error)) from None
        except _BROKEN:
            raise self._make_error("has gone") from None
        except (RuntimeError, ValueError) as error:  # the SDK's and pydantic's, of an answer
            raise ToolException(f"its answer cannot be used: {self._address.explain(error)}") from None
        finally:
            self._calls.discard(scope)
        if scope.cancel_called:
            raise self._make_error()
        raise ToolTimeout(f"it took longer than {self._timeout:g} s")

    async def _hold(self) -> None:
        """Enter the SDK's client, wait for the end, and leave it."""
        try:
            with Alarm() as alarm:
                alarm.set(self._timeout)
                async with (
                    self._address.connect() as server,
                    Client(server, client_info=_OURSELVES, cache=None) as client,
                ):
                    self._tools = await read_pages("tools", client.list_tools, lambda page: page.tools)
                    alarm.set(None)
                    self._client = client
                    self._opened.set()
                    await self._closing.wait()
                    alarm.set(GRACE)
            if not self._opened.is_set():
                self._why_ended = f"did not answer within {self._timeout:g} s"
        except (Exception, BaseExceptionGroup) as error:  # of a server that is killed: in a group, from the SDK's tasks
            self._note_failure(error)
        finally:
            self._ended.set()
            self._opened.set()
            self._stop_calls()

    def _note_failure(self, error: BaseException) -> None:
        cause = only(error)
        is_end = isinstance(cause, MCPError) and cause.code == CONNECTION_CLOSED
        if self._client is not None:
            self._why_ended = f"has gone: {self._address.explain(cause)}"
            _log.warning("%s %s", self._address.shown, self._why_ended)
        elif is_end:
            self._why_ended = f"ended before it answered{self._address.clue}"
        else:
            clue = self._address.clue if isinstance(cause, MCPError) else ""  # it was reached, and is another kind
            self._why_ended = f"cannot be used: {self._address.explain(cause)}{clue}"

    def _stop_calls(self) -> None:
        for scope in self._calls:
            scope.cancel()

    def _check_loop(self) -> None:
        if current_token().native_token is not self._token.native_token:
            raise InvalidInput(
                f"the connection to {self._address.shown} belongs to another event loop; await its tools in the loop "
                "where `async with mcp_tools(...)` stands, and not with sync verbs"
            )

    def _make_error(self, what: str | None = None) -> ToolServerUnavailable:
        return ToolServerUnavailable(f"{self._address.shown} {what or self._why_ended}")


async def read_pages(what: str, ask: _AskPage[P], take: Callable[[P], Sequence[T]]) -> list[T]:
    """Return what is on all pages of a list; nothing, where the server has no such list.

    Args:
        what: is listed; for errors.
        ask: asks for the page with a cursor.
        take: returns what is on a page.

    Raises:
        ToolException: the list has no end, or is longer than anybody can use.
    """
    found: list[T] = []
    cursors: set[str | None] = set()
    cursor: str | None = None
    while cursor not in cursors:
        cursors.add(cursor)
        try:
            page = await ask(cursor=cursor)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return found
            raise
        found += take(page)
        cursor = page.next_cursor
        if cursor is None:
            return found
        if len(found) > MOST_LISTED or len(cursors) > MOST_PAGES:
            raise ToolException(f"it lists more than {MOST_LISTED} {what}, or {MOST_PAGES} pages of them")
    raise ToolException(f"its list of {what} has no end: the page after {excerpt(cursor)} was sent before")
