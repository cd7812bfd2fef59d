"""Compressed bodies (RFC 9110 §8.4), decompressed piece by piece and never further than is allowed."""

import zlib
from collections.abc import Mapping
from typing import Protocol

from hocket.errors import InvalidReply

__all__ = ["SLICE", "Decompressor", "find_decompressor"]

GZIP = zlib.MAX_WBITS | 16
ZLIB = zlib.MAX_WBITS
RAW = -zlib.MAX_WBITS

ENCODINGS = ("gzip", "x-gzip", "deflate")

SLICE = 4096
"""Bytes that zlib gets at a time. Of those behind the end of a gzip member it makes a copy, and members may be short."""


class _ZlibStream(Protocol):
    """What ``zlib.decompressobj`` returns; its own type has no public name."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes: ...


class Decompressor:
    """Decompresses one body.

    Args:
        encoding: ``gzip`` or ``deflate``. Some servers leave out the zlib wrapper of "deflate"; both forms are read.
    """

    __slots__ = ("_encoding", "_start", "_stream")

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._stream: _ZlibStream | None = None  # of the current member; None: before its first byte
        self._start = b""  # the first byte of a body whose second tells its form

    def feed(self, data: bytes, limit: int) -> bytes:
        """Return what ``data`` decompresses to: all of it, or more than ``limit`` bytes and then no more.

        Raises:
            InvalidReply: it is not what the encoding says, or goes on behind its end.
        """
        parts: list[bytes] = []
        try:
            for at in range(0, len(data), SLICE):
                rest = data[at : at + SLICE]
                while rest and limit >= 0:
                    rest, part = self._feed(rest, limit + 1)
                    parts.append(part)
                    limit -= len(part)
        except zlib.error as error:
            raise InvalidReply(f"the reply says that it is {self._encoding}, and is not: {error}") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _feed(self, data: bytes, limit: int) -> tuple[bytes, bytes]:
        """Return the bytes behind the end of the current member, and what the others decompress to."""
        if self._stream is None:
            data = self._start + data
            if self._encoding == "deflate" and len(data) < 2:
                self._start = data
                return b"", b""
            self._stream = zlib.decompressobj(GZIP if self._encoding != "deflate" else _deflate_form(data))
        elif self._stream.eof and self._encoding == "deflate":
            raise zlib.error("there are bytes behind its end")
        elif self._stream.eof:
            self._stream = zlib.decompressobj(GZIP)  # another member (RFC 1952 §2.2)
        part = self._stream.decompress(data, limit)
        return self._stream.unused_data, part

    def close(self) -> None:
        """Say that the body has ended.

        Raises:
            InvalidReply: something is missing.
        """
        if (self._start and self._stream is None) or (self._stream is not None and not self._stream.eof):
            raise InvalidReply(f"the reply ended in the middle of its {self._encoding} data")


def _deflate_form(start: bytes) -> int:
    """Return which form a body has that begins so. Only a zlib header (RFC 1950 §2.2) names the method and is a multiple."""
    return ZLIB if start[0] & 15 == zlib.DEFLATED and not int.from_bytes(start[:2], "big") % 31 else RAW


def find_decompressor(headers: Mapping[str, str]) -> Decompressor | None:
    """Return what decompresses the body of a reply with these headers; None: it is not compressed.

    Raises:
        InvalidReply: it is compressed in a way that was not asked for.
    """
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in ENCODINGS:
        raise InvalidReply(f"the reply is compressed as {encoding[:40]!r}, which was not asked for")
    return Decompressor(encoding)
