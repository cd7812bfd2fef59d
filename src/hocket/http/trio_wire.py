"""A connection on trio."""

import trio

from hocket._runtime.cancellation import only
from hocket.http.wire import READ

__all__ = ["TrioWire", "open_wire"]


async def open_wire(host: str, port: int) -> "TrioWire":
    """Open a connection, over the addresses of the host by turns (RFC 8305).

    Raises:
        OSError: there is none to be had.
    """
    try:
        return TrioWire(await trio.open_tcp_stream(host, port))
    except BaseExceptionGroup as errors:  # Ctrl-C, by way of trio's own task group
        raise only(errors) from None


class TrioWire:
    """See `hocket.http.wire.Wire`."""

    __slots__ = ("_is_over", "_socket", "_stream")

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._socket = stream.socket
        self._is_over = False

    @property
    def is_stale(self) -> bool:
        return self._is_over or self._socket.is_readable()

    async def send(self, data: bytes | memoryview) -> None:
        try:
            await self._stream.send_all(data)
        except trio.BrokenResourceError as error:
            raise _reason(error) from error
        except trio.ClosedResourceError:  # aborted by another task
            return

    async def receive(self) -> bytes:
        if self._is_over:
            return b""
        try:
            data = await self._stream.receive_some(READ)
        except trio.BrokenResourceError as error:
            raise _reason(error) from error
        except trio.ClosedResourceError:  # aborted by another task
            return b""
        self._is_over = not data
        return bytes(data)

    def abort(self) -> None:
        self._is_over = True
        self._socket.close()  # the stream's own would wait for a turn of the loop


def _reason(error: trio.BrokenResourceError) -> OSError:
    """Return what broke the connection."""
    return error.__cause__ if isinstance(error.__cause__, OSError) else ConnectionError("the connection broke")
