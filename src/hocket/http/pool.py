"""Connections of one event loop, each with the reply that is being read from it, and kept for the next request.

httpx's pool looks through all its connections and requests whenever one comes or goes, which at a hundred at a time costs
more than everything else together. Here nothing is looked through: permits for requests (first come, first served), and
for each origin a stack of idle connections. Idle ones count against the limit too; one that stands in the way of a
connection to somewhere else goes.

HTTP/1.1 only: a model's answer takes seconds and a connection costs milliseconds, so there is little to share.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

import anyio
import anyio.lowlevel

from hocket._runtime import clock
from hocket.errors import ConnectionFailed, InvalidInput, InvalidReply
from hocket.http.address import Address, parse_url
from hocket.http.connect import connect
from hocket.http.http1 import ReplyParser, encode_head
from hocket.http.request import HTTPRequest
from hocket.http.tls import get_tls_context
from hocket.http.wire import Origin, Wire
from hocket.timeouts import connect_limit

__all__ = ["Connection", "Pool", "PooledReply"]

KEPT = 30.0
"""Seconds that an idle connection is kept. One that the server closes sooner is noticed before it is used."""

PIECE = 2**18
"""Bytes of a body that are written at once: of a large one, no copy is made as a whole."""


class Connection:
    """A connection to a server, for one request at a time.

    Attributes:
        origin: the server.
        idle_since: when its last reply ended, on the clock of `hocket._runtime.clock`.
    """

    __slots__ = ("_early", "_reply", "_wire", "idle_since", "origin")

    def __init__(self, origin: Origin, wire: Wire) -> None:
        self.origin: Origin = origin
        self.idle_since: float = 0.0
        self._wire = wire
        self._reply = ReplyParser("")
        self._early = b""

    @property
    def is_stale(self) -> bool:
        """Whether, idle, it turns out to be closed by the other side."""
        return self._wire.is_stale

    @property
    def is_complete(self) -> bool:
        """Whether the reply has come, and was handed out."""
        return self._reply.is_complete and not self._early

    @property
    def is_reusable(self) -> bool:
        """Whether it may carry another request."""
        return self.is_complete and self._reply.is_reusable

    async def request(self, method: str, data: bytes, rest: Sequence[memoryview]) -> tuple[int, dict[str, str]]:
        """Send a request, and the rest of it piece by piece; return status and headers of its reply.

        Raises:
            ConnectionFailed: the connection broke.
            InvalidReply: the reply is not HTTP.
        """
        reply = self._reply = ReplyParser(method)
        with suppress(OSError):  # a server may refuse what it has read in part, and say why before it closes
            await self._wire.send(data)
            for piece in rest:
                await anyio.lowlevel.checkpoint()  # a fast server never has a wire wait
                await self._wire.send(piece)
        while not reply.status:
            self._early = await self._read_more()
        return reply.status, reply.headers

    async def receive(self) -> bytes:
        """Return the next piece of the body as it came, nothing at its end.

        Raises:
            ConnectionFailed: the connection broke, or was closed before the end of the body.
            InvalidReply: the reply is not HTTP.
        """
        piece, self._early = self._early, b""
        while not piece and not self._reply.is_complete:
            piece = await self._read_more()
        return piece

    async def _read_more(self) -> bytes:
        """Wait for data, and return what of it belongs to the body."""
        try:
            data = await self._wire.receive()
        except OSError as error:
            raise ConnectionFailed(f"the connection to {self.origin} broke: {error}", retryable=True) from error
        try:
            if data:
                return self._reply.feed(data)
        except Exception as error:  # whatever it is: the other side has sent it
            raise InvalidReply(f"{self.origin} sent a reply that is not HTTP: {error}") from error
        if not self._reply.close():
            when = "before the end of its reply" if self._reply.status else "without a reply"
            raise ConnectionFailed(f"{self.origin} closed the connection {when}", retryable=True)
        return b""

    def abort(self) -> None:
        """Close it at once. Safe to call twice."""
        self._wire.abort()


class Pool:
    """Sends requests, each on a connection of its own, and keeps the connections.

    Args:
        max_connections: open at once, idle ones included; further requests queue.
        verify: whose certificates are trusted, see `hocket.http.tls.get_tls_context`.
        is_public_only: whether hosts whose addresses are not public are refused.
    """

    def __init__(self, max_connections: int, verify: bool | str, is_public_only: bool = False) -> None:
        self._verify = verify
        self._is_public_only = is_public_only
        self._permits = anyio.Semaphore(max_connections, fast_acquire=True)
        self._idle: dict[Origin, dict[Connection, None]] = {}  # dicts keep order: the oldest first
        self._idle_count = 0
        self._busy: set[Connection] = set()
        self._retired = False

    async def open(self, request: HTTPRequest) -> "PooledReply":
        """Send a request and return its reply as soon as the head of it is there.

        Nothing is ever sent twice: an idle connection is looked at before a byte is written to it, and what happens
        afterwards is for the caller to judge.

        Raises:
            InvalidInput: this cannot be sent.
            ConnectTimeout: no connection in time.
            ConnectionFailed: no connection, or it broke.
            InvalidReply: the reply is not HTTP.
        """
        address = parse_url(request.url)
        data, rest = _encode(request, address)
        await self._permits.acquire()
        connection: Connection | None = None
        try:
            connection = self._take(address.origin) or await self._connect(address.origin)
            self._busy.add(connection)
            status, received = await connection.request(request.method, data, rest)
        except BaseException:
            if connection is not None:
                self._busy.discard(connection)
                connection.abort()
            self._permits.release()
            raise
        return PooledReply(self, connection, status, received)

    async def retire(self) -> None:
        """Close idle connections now, and the others when their requests end."""
        self._retired = True
        while self._idle:
            self._close_oldest(next(iter(self._idle)))

    async def aclose(self) -> None:
        """Close everything now; replies that are still being read end here."""
        self.abandon()

    def abandon(self) -> None:
        """Close everything now, also where the loop has been closed."""
        self._retired = True
        for connection in (*self._busy, *(one for idle in self._idle.values() for one in idle)):
            connection.abort()
        self._idle.clear()
        self._idle_count = 0

    def put_back(self, connection: Connection) -> None:
        """Take back a connection whose reply is read to its end, or is of no more use."""
        self._busy.discard(connection)
        if self._retired or not connection.is_reusable:
            connection.abort()
        else:
            connection.idle_since = clock.current().now()
            self._idle.setdefault(connection.origin, {})[connection] = None
            self._idle_count += 1
        self._permits.release()

    def _take(self, origin: Origin) -> Connection | None:
        """Return the idle connection that was used last, None if there is none that still stands."""
        while idle := self._idle.get(origin):
            oldest = next(iter(idle))
            if clock.current().now() - oldest.idle_since > KEPT:
                self._close_oldest(origin)
                continue
            connection, _ = idle.popitem()
            self._forget(origin)
            if not connection.is_stale:
                return connection
            connection.abort()
        return None

    async def _connect(self, origin: Origin) -> Connection:
        tls = await get_tls_context(self._verify) if origin.scheme == "https" else None
        while self._idle_count > self._permits.value:
            self._close_oldest(next(iter(self._idle)))
        return Connection(origin, await connect(origin, tls, connect_limit.get(), self._is_public_only))

    def _close_oldest(self, origin: Origin) -> None:
        idle = self._idle[origin]
        connection = next(iter(idle))
        del idle[connection]
        self._forget(origin)
        connection.abort()

    def _forget(self, origin: Origin) -> None:
        self._idle_count -= 1
        if not self._idle[origin]:
            del self._idle[origin]


class PooledReply:
    """A reply that is still being read. Its connection goes back by itself when the end has come."""

    __slots__ = ("_connection", "_pool", "headers", "status")

    is_worth_draining: ClassVar[bool] = True

    def __init__(self, pool: Pool, connection: Connection, status: int, headers: Mapping[str, str]) -> None:
        self.status: int = status
        self.headers: Mapping[str, str] = headers
        self._pool = pool
        self._connection: Connection | None = connection

    async def receive(self) -> bytes:
        """Return the next piece of the body as it came; nothing: it has ended, or was given up."""
        connection = self._connection
        if connection is None:
            return b""
        data = await connection.receive()
        if connection.is_complete:
            self._give_back()
        return data

    async def aclose(self) -> None:
        """Give up the rest. Never waits, so nothing can come between; safe to call twice."""
        self._give_back()

    def _give_back(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.put_back(connection)


def _encode(request: HTTPRequest, address: Address) -> tuple[bytes, Sequence[memoryview]]:
    """Return the request as bytes: all of it, or, where it is large, its head, and its body in pieces.

    Raises:
        InvalidInput: it cannot be one.
    """
    content = request.content
    headers = {"host": address.host, **request.headers}
    if address.authorization is not None:
        headers.setdefault("authorization", address.authorization)
    if content or request.method not in ("GET", "HEAD"):
        headers["content-length"] = str(len(content))
    try:
        head = encode_head(request.method, address.target, headers.items())
    except ValueError as error:
        raise InvalidInput(
            f"the request cannot be sent: {error} (with a key in it, perhaps) holds a line break, or another character "
            "that HTTP does not allow there"
        ) from None
    if len(content) <= PIECE:
        return head + content, ()
    body = memoryview(content)
    return head, [body[at : at + PIECE] for at in range(0, len(body), PIECE)]
