"""Bodies that come packed (RFC 9110 §8.4), unpacked piece by piece and never further than is allowed."""

import zlib
from collections.abc import Mapping

from hocket.errors import InvalidReply

__all__ = ["Unpacker", "unpacker"]

WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class Unpacker:
    """Unpacks one body.

    Args:
        encoding: ``gzip`` or ``deflate``.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._stream = zlib.decompressobj(WINDOWS[encoding])
        self._is_begun = False

    def feed(self, data: bytes, most: int) -> bytes:
        """Return what these bytes unpack to, but at most ``most`` bytes and one: then the rest is of no interest.

        Raises:
            InvalidReply: they are not what they should be.
        """
        try:
            try:
                unpacked = self._stream.decompress(data, most + 1)
            except zlib.error:
                if self._is_begun or self._encoding != "deflate":
                    raise
                # Some servers leave the zlib wrapper of "deflate" away.
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
                unpacked = self._stream.decompress(data, most + 1)
        except zlib.error as error:
            raise InvalidReply(f"the reply says that it is {self._encoding}, and is not: {error}") from error
        self._is_begun = True
        return unpacked

    def close(self) -> None:
        """Say that the body has ended.

        Raises:
            InvalidReply: something is missing.
        """
        if self._is_begun and not self._stream.eof:
            raise InvalidReply(f"the reply ended in the middle of its {self._encoding} data")


def unpacker(headers: Mapping[str, str]) -> Unpacker | None:
    """Return what unpacks the body of a reply with these headers; None: it is not packed.

    Raises:
        InvalidReply: it is packed in a way that was not asked for.
    """
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in WINDOWS:
        raise InvalidReply(f"the reply is packed as {encoding[:40]!r}, which was not asked for")
    return Unpacker(encoding)
