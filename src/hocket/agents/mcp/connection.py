"""Connections to an MCP server: each held by a task that belongs to no caller, and followed by another if the server goes.

The SDK's client is a stack of task groups, which has to be left in the task that entered it. A user of tools cannot
promise that: a pytest fixture, a web framework's lifespan and `contextlib.AsyncExitStack` close elsewhere, and then anyio
says "Attempted to exit cancel scope in a different task" (python-sdk#577). So one detached task enters the client, waits
for the end, and leaves it. Calls need no such task: the SDK hands requests over in memory, from wherever they are made.

A server dies, is deployed again, or forgets a session that was idle, and the agent behind it goes on for hours. So the next
call connects again. What it must not do is make a call twice: nobody knows what a call did whose server died. Only a tool
that says that it is idempotent is called again, and once; so is a request that the server says it has not taken.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar, cast

import anyio
from anyio.lowlevel import EventLoopToken, current_token
from mcp import Client, Implementation, MCPError, Tool
from mcp.client import Transport
from mcp.server import MCPServer, Server
from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST, METHOD_NOT_FOUND
from mcp.types.methods import parse_server_result
from pydantic import ValidationError

from hocket._runtime import clock
from hocket._runtime.cancellation import only, wait_shielded
from hocket._runtime.clock import Alarm
from hocket._runtime.detached import Detached, spawn
from hocket._version import __version__
from hocket.agents.mcp.address import SDKServer, ServerAddress
from hocket.agents.mcp.incoming import BROKEN, LARGEST_MESSAGE, watch
from hocket.errors import InvalidInput, ToolException, ToolServerUnavailable, ToolTimeout
from hocket.errors.hints import excerpt
from hocket.messages.content import Fields

__all__ = ["ServerConnection", "read_pages"]

GRACE = 5.0  # seconds to say goodbye to a server; after that the SDK ends its process anyway
MOST_LISTED = 10_000
MOST_PAGES = 1_000
LARGEST_LIST = LARGEST_MESSAGE  # bytes of all pages together
MOST_RESTARTS = 3
WINDOW = 60.0  # seconds in which so many restarts are made at most: a server may die in each call

_OURSELVES = Implementation(name="hocket", version=__version__)
_UNKNOWN_SESSION = (INVALID_REQUEST, "Session terminated")  # what the SDK makes of a 404, as the specification has it
_ENDS = ("Connection closed", "SSE stream ended")

_log = logging.getLogger("hocket.agents.mcp")

T = TypeVar("T")


class _Page(Protocol):
    """A page of a list."""

    next_cursor: str | None

    def model_dump_json(self) -> str: ...


P = TypeVar("P", bound=_Page)
PageT = TypeVar("PageT", bound=_Page, covariant=True)


class _AskPage(Protocol[PageT]):
    """Asks for a page of a list."""

    async def __call__(self, *, cursor: str | None) -> PageT: ...


class _SessionLostError(ToolServerUnavailable):
    """The server does not know the connection any more, and so has not taken the request."""


class _Session:
    """One connection, from its opening to its end."""

    def __init__(self, address: ServerAddress, timeout: float | None) -> None:
        self._address = address
        self._timeout = timeout
        self._task: Detached | None = None
        self._client: Client | None = None  # None: not open yet
        self._version: str | None = None  # of the protocol
        self._tools: list[Tool] = []
        self._calls: set[anyio.CancelScope] = set()
        self._token: EventLoopToken = current_token()
        self._opened, self._closing, self._ended = anyio.Event(), anyio.Event(), anyio.Event()
        self._why_ended = "was closed"
        self._has_gone = False
        self._unreadable = 0

    @property
    def is_open(self) -> bool:
        """Whether requests are sent."""
        return not (self._client is None or self._has_gone or self._closing.is_set() or self._ended.is_set())

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it is left."""
        return self._task is None or self._ended.is_set()

    async def open(self) -> list[Tool]:
        self._task = spawn(self._hold)
        try:
            await self._opened.wait()
        except BaseException:
            self._task.cancel()
            await wait_shielded(self._ended)
            raise
        if self._client is None:
            raise ToolServerUnavailable(self.explain_end())
        return self._tools

    def stop(self) -> None:
        if self._task is None or self._ended.is_set():
            return
        self.check_loop()
        self._closing.set()
        self._stop_calls()
        if self._client is None:
            self._task.cancel()

    async def wait_ended(self) -> None:
        if self._task is not None:
            await wait_shielded(self._ended)

    async def ask(self, request: Callable[[Client], Awaitable[T]]) -> T:
        client = self._client
        if client is None or not self.is_open:
            raise ToolServerUnavailable(self.explain_end())
        self.check_loop()
        scope = anyio.CancelScope()
        self._calls.add(scope)
        try:
            with scope:
                return await request(client)
        except MCPError as error:
            if _is_end(error):
                self._note_end()
                raise ToolServerUnavailable(self.explain_end()) from None
            if (error.code, error.message) == _UNKNOWN_SESSION:
                self._note_end("has forgotten the session")
                raise _SessionLostError(self.explain_end()) from None
            raise ToolException(self._address.explain(error)) from None
        except BROKEN:
            self._note_end()
            raise ToolServerUnavailable(self.explain_end()) from None
        except Exception as error:  # the SDK's and pydantic's, of an answer
            raise ToolException(f"its answer cannot be used: {self._address.explain(error)}") from None
        finally:
            self._calls.discard(scope)
            self._end_if_gone()
        raise ToolServerUnavailable(self.explain_end())

    def explain_end(self) -> str:
        """Return why it cannot be used any more."""
        return f"{self._address.shown} {self._why_ended}"

    def check_loop(self) -> None:
        """Refuse another event loop than its own."""
        if current_token().native_token is not self._token.native_token:
            raise InvalidInput(
                f"the connection to {self._address.shown} belongs to another event loop; await its tools in the loop "
                "where `async with mcp_tools(...)` stands, and not with sync verbs"
            )

    async def _hold(self) -> None:
        """Enter the SDK's client, wait for the end, and leave it."""
        try:
            with Alarm() as alarm:
                alarm.set(self._timeout)
                async with (
                    self._address.connect() as server,
                    Client(self._watch(server), client_info=_OURSELVES, cache=None) as client,
                ):
                    self._version = client.protocol_version
                    self._tools = await read_pages("tools", client.list_tools, lambda page: page.tools)
                    alarm.set(None)
                    self._client = client
                    self._opened.set()
                    await self._closing.wait()
                    alarm.set(GRACE)
            if not self._opened.is_set():
                self._why_ended = f"did not answer within {self._timeout:g} s{self.explain_silence()}"
        except (Exception, BaseExceptionGroup) as error:  # of a server that is killed: in a group, from the SDK's tasks
            self._note_failure(error)
        finally:
            self._ended.set()
            self._opened.set()
            self._stop_calls()

    def _watch(self, server: SDKServer) -> SDKServer:
        if isinstance(server, Server | MCPServer):  # in this process
            return server
        return cast(Transport, watch(server, self._note_end, self._note_unreadable, self._leave_out_tools))

    def _leave_out_tools(self, listed: Fields) -> None:
        """Leave tools out of a list that the SDK would refuse, and with them the whole list."""
        try:
            parse_server_result("tools/list", self._version or "", listed)
        except ValidationError as error:
            if error.error_count() > MOST_LISTED:
                return
            found = [one["loc"] for one in error.errors(include_url=False, include_context=False, include_input=False)]
            wrong = {place[1]: place for place in found if place[0] == "tools" and len(place) > 1}
            for at, place in [*wrong.items()][:1]:
                tool = excerpt(listed["tools"][at])
                what = f"{len(wrong)} tools, as {tool}" if len(wrong) > 1 else tool
                _log.warning(
                    "%s: left out is %s: %s is not MCP's", self._address.shown, what, ".".join(map(str, place))
                )
            listed["tools"] = [tool for at, tool in enumerate(listed["tools"]) if at not in wrong]
        except (ValueError, KeyError):  # of a version that the SDK does not check
            pass

    def _note_end(self, why: str = "") -> None:
        """Note that the server has gone: calls that run may have an answer yet, and no other ones are sent."""
        if self._has_gone or self._closing.is_set():
            return
        self._has_gone = True
        self._why_ended = why or ("ended before it answered" if self._client is None else "has gone")
        if self._client is None:
            self._why_ended += self._address.clue
        else:
            _log.warning("%s %s", self._address.shown, self._why_ended)
        self._end_if_gone()

    def _note_unreadable(self) -> None:
        """Note that a message could not be read: it may have been an answer."""
        self._unreadable += 1

    def explain_silence(self) -> str:
        """Return what may be behind an answer that did not come; "": nothing is known."""
        return f"; {self._unreadable} of its messages could not be read" if self._unreadable else ""

    def _end_if_gone(self) -> None:
        if self._has_gone and not self._calls:
            self._closing.set()

    def _note_failure(self, error: BaseException) -> None:
        cause = only(error)
        if self._client is not None:
            self._note_end(f"has gone: {self._address.explain(cause)}")
        elif isinstance(cause, MCPError) and _is_end(cause):
            self._note_end()
        else:
            clue = self._address.clue if isinstance(cause, MCPError) else ""  # it was reached, and is another kind
            self._why_ended = f"cannot be used: {self._address.explain(cause)}{clue}"

    def _stop_calls(self) -> None:
        for scope in self._calls:
            scope.cancel()


def _is_end(error: MCPError) -> bool:
    """Whether the SDK says that nothing more comes: servers have errors of their own with its code."""
    return error.code == CONNECTION_CLOSED and error.message.startswith(_ENDS)


class ServerConnection:
    """A connection to a server that comes back.

    Args:
        address: of the server.
        timeout: seconds that opening it, and each request, may take; None: no limit.
        reconnect: whether there is another session after the first has gone.
    """

    def __init__(self, address: ServerAddress, timeout: float | None, reconnect: bool) -> None:
        self._address = address
        self._timeout = timeout
        self._reconnects = reconnect and address.is_reusable
        self._current = _Session(address, timeout)
        self._former: list[_Session] = []  # that may have requests under way
        self._restarts: deque[float] = deque(maxlen=MOST_RESTARTS)
        self._lock = anyio.Lock()
        self._is_closed = False

    async def open(self) -> list[Tool]:
        """Connect, and return all tools that the server lists. They are those of later sessions, too."""
        return await self._current.open()

    def stop(self) -> None:
        """Begin to close it: requests that run end with an error. `aclose` waits for the end."""
        for session in (self._current, *self._former):
            session.stop()
        self._is_closed = True

    async def aclose(self) -> None:
        """Close it, from any task of its event loop, any number of times."""
        self.stop()
        for session in (self._current, *self._former):
            await session.wait_ended()

    async def ask(self, request: Callable[[Client], Awaitable[T]], *, is_idempotent: bool = False) -> T:
        """Ask the server something, from any task. If the caller is cancelled, the server is told to stop.

        Args:
            request: makes the request with the SDK's client.
            is_idempotent: whether it may be made once more, if the server goes meanwhile.

        Raises:
            ToolServerUnavailable: the connection is closed, or goes meanwhile, or went too often.
            ToolTimeout: it took too long.
            ToolException: the server refuses it, or its answer is not what MCP, or the tool's schema, says.
        """
        with Alarm() as alarm:
            alarm.set(self._timeout)
            session = await self._connect()
            try:
                return await session.ask(request)
            except ToolServerUnavailable as error:
                may_repeat = is_idempotent or isinstance(error, _SessionLostError)
                if not may_repeat or not self._reconnects or self._is_closed:
                    raise
            session = await self._connect()
            return await session.ask(request)
        raise ToolTimeout(f"it took longer than {self._timeout:g} s{self._current.explain_silence()}")

    def clean(self, said: str) -> str:
        """Return what the server said of a failure, without secrets, and not without end."""
        return self._address.clean(said)

    async def _connect(self) -> _Session:
        """Return the current session, or another one, if that has gone."""
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
        self._current = _Session(self._address, self._timeout)
        await self._current.open()


async def read_pages(what: str, ask: _AskPage[P], take: Callable[[P], Sequence[T]]) -> list[T]:
    """Return what is on all pages of a list, ``what`` for errors; nothing, where the server has no such list."""
    found: list[T] = []
    size = 0
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
        size += len(page.model_dump_json())
        cursor = page.next_cursor
        if cursor is None:
            return found
        if len(found) > MOST_LISTED or len(cursors) > MOST_PAGES or size > LARGEST_LIST:
            limit = f"{MOST_LISTED} {what}, {MOST_PAGES} pages of them, or {LARGEST_LIST // 2**20} MiB"
            raise ToolException(f"it lists more than {limit}")
    raise ToolException(f"its list of {what} has no end: the page after {excerpt(cursor)} was sent before")
