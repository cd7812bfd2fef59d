"""One connection, and the reply that is being read from it."""

from contextlib import suppress

from hocket.errors import ConnectionFailed, InvalidReply
from hocket.http.http1 import ReplyParser
from hocket.http.wire import Origin, Wire

__all__ = ["Connection"]


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

    async def request(self, method: str, data: bytes) -> tuple[int, dict[str, str]]:
        """Send a request; return status and headers of its reply.

        Raises:
            ConnectionFailed: the connection broke.
            InvalidReply: the reply is not HTTP.
        """
        reply = self._reply = ReplyParser(method)
        with suppress(OSError):  # a server may refuse what it has read in part, and say why before it closes
            await self._wire.send(data)
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
            raise InvalidReply(f"{self.origin} sent what is not HTTP: {error}") from error
        if not self._reply.close():
            when = "before the end of its reply" if self._reply.status else "without a reply"
            raise ConnectionFailed(f"{self.origin} closed the connection {when}", retryable=True)
        return b""

    def abort(self) -> None:
        """Close it at once. Safe to call twice."""
        self._wire.abort()
