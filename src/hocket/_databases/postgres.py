"""Connections to PostgreSQL: a pool that threads share, and statements over whatever a user has opened.

The pool is a stack, so that the few that are needed stay warm. psycopg's own pool is a package of its own, with threads of
its own; it may be given to a store instead.
"""

import atexit
import collections
import os
import selectors
import threading
import weakref
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar
from urllib.parse import urlsplit, urlunsplit

import anyio
from pydantic import SecretStr

from hocket._databases.server import DatabaseServer, NotSent, maybe_await
from hocket._runtime.fork import after_fork
from hocket._secrets import Secret, redact_url
from hocket.errors import HocketError, InvalidInput, MissingDependency

try:
    import psycopg
    from psycopg import ClientCursor, Error as PostgresError
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.errors import QueryCanceled, UndefinedFunction, UndefinedTable
    from psycopg.pq import TransactionStatus
    from psycopg.rows import tuple_row
except ImportError as error:
    raise MissingDependency("PostgreSQL needs a package; run `pip install 'hocket[postgres]'`") from error

__all__ = [
    "AsyncConnection",
    "AsyncPool",
    "ClientCursor",
    "Connection",
    "ConnectionPool",
    "PostgresClient",
    "PostgresError",
    "QueryCanceled",
    "SyncPool",
    "UndefinedTable",
    "check_postgres_url",
    "close_pools",
    "execute",
    "execute_if_there",
    "execute_or_create",
    "hold_connection",
    "is_postgres_unavailable",
    "postgres_server",
]

S = TypeVar("S")
A = TypeVar("A")
Connection: TypeAlias = psycopg.Connection[Any]  # Any: of whatever rows
AsyncConnection: TypeAlias = psycopg.AsyncConnection[Any]
Rows: TypeAlias = list[tuple[Any, ...]]


class SyncPool(Protocol):
    """A pool of sync connections: ours, or psycopg's."""

    def connection(self) -> AbstractContextManager[Connection]:
        """Borrow a connection."""
        ...


class AsyncPool(Protocol):
    """A pool of asyncio's connections: psycopg's."""

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Borrow a connection."""
        ...


PostgresClient: TypeAlias = Connection | AsyncConnection | SyncPool | AsyncPool

_SCHEMES = ("postgresql://", "postgres://")
_SIZE = "max_connections"
DEFAULT_SIZE = 10
PATIENCE = 20.0
"""Seconds to wait for a connection of the pool."""

_SETTINGS = {"connect_timeout": 10, "tcp_user_timeout": 20_000}
"""Seconds to connect, and milliseconds until a server that does not even confirm what it was sent counts as gone."""


class _URL(NamedTuple):
    """A URL, read.

    Attributes:
        conninfo: what libpq gets.
        size: connections at most.
    """

    conninfo: str
    size: int


def is_postgres_unavailable(error: Exception) -> bool:
    """Whether the server could not be reached, broke off, took too long, or takes no connection for now.

    A failure to connect has no code of PostgreSQL's. That the server itself refused, a password for one, its text says.
    """
    if not isinstance(error, psycopg.OperationalError):
        return False
    code, text = error.sqlstate, str(error)
    if code is not None:
        return code.startswith(("08", "53300", "57P"))
    return "FATAL" not in text or any(words in text for words in _PASSING)


_PASSING = (
    *("too many clients already", "too many connections for", "remaining connection slots are reserved"),
    *("the database system is", "not currently accepting connections"),  # starting up, shutting down, in recovery mode
)


class _NotConnected(psycopg.OperationalError, NotSent):
    """No connection was to be had."""


class ConnectionPool:
    """Connections to one URL, in autocommit mode, opened when they are needed and closed with the process at the latest.

    Args:
        url: its query says more, as for libpq; and ``max_connections``, which is ours (default: 10).
    """

    def __init__(self, url: str) -> None:
        bare, self._size = _read_url(url)
        named = conninfo_to_dict(bare)
        missing = {name: value for name, value in _SETTINGS.items() if name not in named}
        self._conninfo = Secret(make_conninfo(bare, **missing))
        self._free = threading.BoundedSemaphore(self._size)
        self._idle: collections.deque[Connection] = collections.deque()
        self._session: Connection | None = None
        self._session_users: set[object] = set()
        self._changing = threading.Lock()
        _pools.add(self)

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """Borrow a connection.

        Raises:
            psycopg.OperationalError: there is none: no server, no permission, none free in time.
        """
        if not self._free.acquire(timeout=PATIENCE):
            raise _NotConnected(
                f"none of {self._size} connections became free within {PATIENCE:g} s; {_SIZE}=... in the URL's query "
                "allows more"
            )
        try:
            try:
                connection = self._take_idle() or self._connect()
            except psycopg.OperationalError as error:
                raise _NotConnected(*error.args) from error
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            self._free.release()

    def lock_session(self, user: object) -> Connection:
        """Return the connection that all session locks of this process are on; it is one more than the pool's size.

        Args:
            user: needs it until `leave_session`.
        """
        with self._changing:
            if self._session is None or self._session.closed:
                self._session = self._connect()
            self._session_users.add(user)
            return self._session

    def leave_session(self, user: object) -> None:
        """Need the connection for session locks no longer. It stays open, for the next one."""
        with self._changing:
            self._session_users.discard(user)

    def leave_session_to_parent(self) -> None:
        """Let go of the parent's session in a forked child: with a copy of its socket the locks would outlive the parent."""
        if self._session is not None and not self._session.closed:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, self._session.fileno())  # to close it would tell the server that the parent has left
            os.close(nothing)

    def close_idle(self) -> None:
        """Close the connections that nobody has borrowed."""
        with self._changing:
            if self._session is not None and not self._session_users:
                self._session.close()
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # another thread was faster
                return

    def _take_idle(self) -> Connection | None:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                break
            if _is_silent(connection):
                return connection
            connection.close()
        return None

    def _connect(self) -> Connection:
        return psycopg.connect(self._conninfo, autocommit=True)

    def _give_back(self, connection: Connection) -> None:
        if connection.info.transaction_status is TransactionStatus.IDLE:
            self._idle.append(connection)
        else:
            connection.close()


_pools: weakref.WeakSet[ConnectionPool] = weakref.WeakSet()
"""Those that this process has made."""


@after_fork
def _leave_sessions_to_parent() -> None:
    for pool in list(_pools):
        pool.leave_session_to_parent()
    _pools.clear()  # the parent's connections are not to be closed here


@atexit.register
def close_pools() -> None:
    """Close what nobody has borrowed: psycopg warns of each connection that is open when its process ends."""
    for pool in list(_pools):
        pool.close_idle()


def _is_silent(connection: Connection) -> bool:
    """Whether the server has sent nothing on an idle connection, such as that it closes it."""
    if connection.closed:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        return not selector.select(0)


# -- servers


def postgres_server(
    owner: str,
    url: str | None,
    error_type: type[HocketError],
    unavailable_type: type[HocketError],
    client: PostgresClient | None = None,
    async_client: PostgresClient | None = None,
) -> DatabaseServer[PostgresClient]:
    """Return the way to a PostgreSQL server, for a store.

    Args:
        owner: the store, as errors show it, without secrets.
        url: of the server; None: there are clients.
        error_type, unavailable_type: what failures become.
        client: a connection or a pool that the user has opened.
        async_client: one of asyncio's.

    Raises:
        InvalidInput: the URL is none of PostgreSQL's.
    """
    return DatabaseServer(
        owner=owner,
        error_type=error_type,
        unavailable_type=unavailable_type,
        failures=(PostgresError,),
        is_unavailable=is_postgres_unavailable,
        connect=ConnectionPool,
        url=None if url is None else SecretStr(check_postgres_url(url)),
        max_connections=DEFAULT_SIZE if url is None else _read_url(url).size,
        client=client,
        async_client=async_client,
    )


# -- statements


async def execute(client: PostgresClient, statement: str, *parameters: object) -> Rows:
    """Run one statement through a connection or a pool, and return its rows."""
    async with _borrow(client) as connection:
        cursor = connection.cursor(row_factory=tuple_row)
        executing: object = cursor.execute(statement.encode(), parameters or None)
        await maybe_await(executing)
        return await maybe_await(cursor.fetchall()) if cursor.description else []


async def execute_or_create(client: PostgresClient, create: str, statement: str, *parameters: object) -> Rows:
    """Run one statement, and return its rows. Where its tables and functions are missing, ``create`` makes them first."""
    try:
        return await execute(client, statement, *parameters)
    except (UndefinedFunction, UndefinedTable):
        await execute(client, create)
        return await execute(client, statement, *parameters)


async def execute_if_there(client: PostgresClient, statement: str, *parameters: object) -> Rows:
    """Run one statement, and return its rows: none where its table is not there."""
    try:
        return await execute(client, statement, *parameters)
    except UndefinedTable:
        return []


@asynccontextmanager
async def hold_connection(client: PostgresClient) -> AsyncGenerator[Connection | AsyncConnection]:
    """Have one connection of a pool for as long as the context is open, over any number of statements."""
    if isinstance(client, psycopg.Connection | psycopg.AsyncConnection):
        yield client
    else:
        async with _enter(client.connection()) as connection:
            yield connection


@asynccontextmanager
async def _borrow(client: PostgresClient) -> AsyncGenerator[Connection | AsyncConnection]:
    """Borrow a connection of a pool; or take a connection, for a transaction of our own unless each statement is one."""
    if not isinstance(client, psycopg.Connection | psycopg.AsyncConnection):
        borrowing: AbstractContextManager[Connection] | AbstractAsyncContextManager[AsyncConnection] = (
            client.connection()
        )
        async with _enter(borrowing) as connection:
            yield connection
    elif client.autocommit:
        yield client
    else:  # transactions of several tasks or threads on it would get into one another
        lock = anyio.Lock() if isinstance(client, psycopg.AsyncConnection) else threading.Lock()
        async with _enter(_locks.setdefault(client, lock)), _enter(client.transaction()):
            yield client


@asynccontextmanager
async def _enter(context: AbstractContextManager[S] | AbstractAsyncContextManager[A]) -> AsyncGenerator[S | A]:
    """Enter a context of either kind."""
    if isinstance(context, AbstractAsyncContextManager):
        async with context as entered:
            yield entered
    else:
        with context as entered:
            yield entered


_locks: weakref.WeakKeyDictionary[
    Connection | AsyncConnection, AbstractContextManager[object] | AbstractAsyncContextManager[object]
] = weakref.WeakKeyDictionary()


# -- URLs


def check_postgres_url(url: str) -> str:
    """Return ``url``.

    Raises:
        InvalidInput: libpq cannot read it, or ``max_connections`` in its query is no number above 0.
    """
    try:
        conninfo_to_dict(_read_url(url).conninfo)
    except (psycopg.ProgrammingError, UnicodeError):  # its text may show a part of the password
        raise _refuse(url) from None
    return url


def _read_url(url: str) -> _URL:
    if not url.startswith(_SCHEMES) or "\0" in url:
        raise _refuse(url)
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _refuse(url) from None
    size, query = str(DEFAULT_SIZE), list[str]()
    for pair in filter(None, parts.query.split("&")):
        name, _, value = pair.partition("=")
        if name == _SIZE:
            size = value
        else:
            query.append(pair)
    if not size.isdecimal() or not int(size):
        raise InvalidInput(f"{_SIZE} is {size!r} in {redact_url(url)!r}; it must be a number above 0")
    return _URL(urlunsplit(parts._replace(query="&".join(query))), int(size))


def _refuse(url: str) -> InvalidInput:
    shape = "postgresql://user:password@host:port/database"
    return InvalidInput(f"{redact_url(url)!r} is no URL of PostgreSQL: it is {shape}")
