"""A connection on trio."""

import ssl

import trio

from hocket._runtime.cancellation import only
from hocket.http.wire import READ

__all__ = ["TrioWire", "open_wire"]


async def open_wire(host: str, port: int, tls: ssl.SSLContext | None) -> "TrioWire":
    """Open a connection, over the addresses of the host by turns (RFC 8305).

    Raises:
        OSError: there is none to be had.
    """
    try:
        tcp = await trio.open_tcp_stream(host, port)
    except BaseExceptionGroup as errors:  # Ctrl-C, by way of trio's own task group
        raise only(errors) from None
    stream: trio.SocketStream | trio.SSLStream[trio.SocketStream] = tcp
    if tls is not None:
        stream = trio.SSLStream(tcp, tls, server_hostname=host, https_compatible=True)
        try:
            await stream.do_handshake()
        except trio.BrokenResourceError as error:
            tcp.socket.close()
            raise _reason(error) from error
        except BaseException:
            tcp.socket.close()
            raise
    return TrioWire(tcp, stream)


class TrioWire:
    """See `hocket.http.wire.Wire`."""

    def __init__(self, tcp: trio.SocketStream, stream: "trio.SocketStream | trio.SSLStream[trio.SocketStream]") -> None:
        self._socket = tcp.socket
        self._stream = stream
        self._over = False

    @property
    def is_stale(self) -> bool:
        return self._over or self._socket.is_readable()

    async def send(self, data: bytes) -> None:
        try:
            await self._stream.send_all(data)
        except trio.BrokenResourceError as error:
            raise _reason(error) from error
        except trio.ClosedResourceError:  # aborted by another task
            return

    async def receive(self) -> bytes:
        if self._over:
            return b""
        try:
            data = await self._stream.receive_some(READ)
        except trio.BrokenResourceError as error:
            raise _reason(error) from error
        except trio.ClosedResourceError:  # aborted by another task
            return b""
        self._over = not data
        return bytes(data)

    def abort(self) -> None:
        self._over = True
        self._socket.close()  # the stream's own would wait for a turn of the loop


def _reason(error: trio.BrokenResourceError) -> OSError:
    """Return what broke the connection."""
    return error.__cause__ if isinstance(error.__cause__, OSError) else ConnectionError("the connection broke")
