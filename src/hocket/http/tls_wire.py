"""TLS over a wire: the same few lines on both loops, in place of the streams that each loop has for it.

Nothing may be left on a connection behind the end of a reply, or it would be taken for the next reply. The loops' own TLS
hides what it has read from the socket. Here all of it can be seen: OpenSSL gets whole records only, and is read until it
has no more. asyncio's would also take a buffer of 256 KB for each connection.
"""

import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from hocket.http.wire import Wire

__all__ = ["TLSWire"]

T = TypeVar("T")

RECORD = 2**14
"""Bytes of data in one record, at most (RFC 8446 §5.1)."""

HEADER = 5
"""Bytes before a record's data: its type, version and length."""

RECORD_TYPES = b"\x14\x15\x16\x17"


class TLSWire:
    """See `hocket.http.wire.Wire`. `handshake` comes first.

    Args:
        wire: carries the records. Closed with this.
        context: which authorities to trust.
        host: whose certificate the other side must have.
    """

    __slots__ = ("_incoming", "_is_over", "_outgoing", "_rest", "_tls", "_wire")

    def __init__(self, wire: Wire, context: ssl.SSLContext, host: str) -> None:
        self._wire = wire
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._rest = b""  # a record that has come in part
        self._is_over = False

    @property
    def is_stale(self) -> bool:
        return self._is_over or bool(self._rest) or self._wire.is_stale

    async def handshake(self) -> None:
        """Agree on keys.

        Raises:
            OSError: the other side has no valid certificate, does not speak TLS, or has closed. (ssl.SSLError is one.)
        """
        try:
            await self._finish(self._tls.do_handshake)
        except ssl.SSLError:
            with suppress(OSError):
                await self._flush()  # the alert that says why
            raise
        await self._flush()

    async def send(self, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[await self._finish(partial(self._tls.write, rest)) :]
        await self._flush()

    async def receive(self) -> bytes:
        while not (data := self._decrypt()) and not self._is_over:
            await self._fill()
        return data

    def abort(self) -> None:
        self._wire.abort()

    async def _finish(self, step: Callable[[], T]) -> T:
        """Repeat a step, once more of what it waits for has come, until it succeeds."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                await self._flush()
                await self._fill()

    def _decrypt(self) -> bytes:
        """Return all that has come."""
        parts: list[bytes] = []
        try:
            while True:
                parts.append(self._tls.read(RECORD))
        except ssl.SSLWantReadError:
            pass
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):  # closed, with a word or without: HTTP knows what is missing
            self._is_over = True
        except ssl.SSLError:
            if not parts:
                raise
            self._is_over = True
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _flush(self) -> None:
        if self._outgoing.pending:
            await self._wire.send(self._outgoing.read())

    async def _fill(self) -> None:
        """Wait for data and hand what it completes to OpenSSL."""
        data = await self._wire.receive()
        if not data:
            self._incoming.write(self._rest)
            self._incoming.write_eof()
            self._rest = b""
            return
        data = self._rest + data
        end = 0
        while end + HEADER <= len(data):
            if data[end] not in RECORD_TYPES:  # not TLS: for OpenSSL to say so
                end = len(data)
                break
            after = end + HEADER + int.from_bytes(data[end + 3 : end + HEADER], "big")
            if after > len(data):
                break
            end = after
        self._incoming.write(data[:end])
        self._rest = data[end:]
