"""HTTP/1.1 as bytes (RFC 9112), without any I/O: a request is written, a reply is read.

h11, which httpx reads replies with, takes 64 µs for a call and 6 µs for each chunk of a stream: more than the socket, the
pool and the event loop together. This reads replies only, hands out what it can without waiting for the rest of a chunk,
and looks at each byte once. The tests hold it against h11.
"""

import re
from collections.abc import Iterable

__all__ = ["ReplyParser", "encode_head"]

MAX_HEAD = 100 * 1024
"""Bytes that the head of a reply may have."""

MAX_LINE = 4096
"""Bytes that a line between two chunks may have: with each piece that comes it is read again."""

TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
METHOD = re.compile(TOKEN)
TARGET = re.compile(r"[\x21-\x7e]+")
NAME = re.compile(TOKEN)
VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")

BLANK_LINE = re.compile(rb"\r?\n\r?\n")
FOLD = re.compile(rb"\r?\n[ \t]+")
STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) ([1-9][0-9]{2})(?: [^\r\n\0]*)?")
FIELD = re.compile(rb"(" + TOKEN.encode() + rb"):([^\r\n\0]*)")
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
LENGTH = re.compile(r"[0-9]{1,18}")


def encode_head(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Write what comes before the body of a request.

    Raises:
        ValueError: method, target or a header holds what HTTP cannot carry. The text shows none of it.
    """
    if not METHOD.fullmatch(method) or not TARGET.fullmatch(target):
        raise ValueError("its method or path")
    lines = [f"{method} {target} HTTP/1.1\r\n"]
    for name, value in headers:
        if not NAME.fullmatch(name) or not VALUE.fullmatch(value):
            raise ValueError("a header")
        lines.append(f"{name}: {value}\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("ascii")


class ReplyParser:
    """Reads one reply.

    Args:
        method: of the request; a ``HEAD`` is answered without a body.

    Attributes:
        status: its code; 0: the head has not come yet.
        headers: names in lower case, those that come twice joined by commas.
        is_complete: whether the whole reply has come.
        is_reusable: whether, then, the connection may carry another request.
    """

    __slots__ = (
        "_head_size",
        "_in_chunk",
        "_is_chunked",
        "_left",
        "_method",
        "_rest",
        "_searched",
        "headers",
        "is_complete",
        "is_reusable",
        "status",
    )

    def __init__(self, method: str) -> None:
        self.status: int = 0
        self.headers: dict[str, str] = {}
        self.is_complete: bool = False
        self.is_reusable: bool = False
        self._method = method
        self._rest = b""  # what has come and cannot be understood yet
        self._searched = 0  # bytes of it that are known not to end the head
        self._head_size = 0  # bytes so far, interim replies included
        self._is_chunked = False
        self._left: int | None = None  # bytes to come, of the body or of the chunk; None: until the connection closes
        self._in_chunk = False  # whether we are inside a chunk, the line break at its end included

    def feed(self, data: bytes) -> bytes:
        """Read the next data; return the part of the body in it.

        Raises:
            ValueError: this is not HTTP.
        """
        if self._rest:
            data, self._rest = self._rest + data, b""
        if not self.status:
            data = self._read_head(data)
            if not self.status:
                return b""
        if self._is_chunked:
            return self._read_chunks(data)
        if self._left is None:
            return data
        body, self._left = data[: self._left], max(0, self._left - len(data))
        if not self._left:
            self._end(len(body) == len(data))
        return body

    def close(self) -> bool:
        """Say that the connection is closed; return whether that is the end of the reply."""
        if self.status and not self._is_chunked and self._left is None:
            self._end(clean=False)
        return self.is_complete

    def _end(self, clean: bool) -> None:
        self.is_complete = True
        self.is_reusable &= clean  # more than was asked for: whose reply would it be?

    def _read_head(self, data: bytes) -> bytes:
        """Read the head if all of it is there; return the data after it. Interim replies (1xx) are passed over."""
        while not self.status:
            end = BLANK_LINE.search(data, max(0, self._searched - 3))
            self._head_size += (len(data) if end is None else end.end()) - self._searched
            if self._head_size > MAX_HEAD:
                raise ValueError(f"a head of more than {MAX_HEAD:,} bytes, interim replies included")
            if end is None:
                self._rest, self._searched = data, len(data)
                return b""
            self._searched = 0
            self._read_fields(data[: end.start()])
            data = data[end.end() :]
        return data

    def _read_fields(self, head: bytes) -> None:
        first, *lines = FOLD.sub(b" ", head).replace(b"\r\n", b"\n").split(b"\n")
        line = STATUS_LINE.fullmatch(first)
        if line is None:
            raise ValueError(f"{first[:60]!r} where a status line should be")
        status = int(line[2])
        if status < 200:
            if status == 101:
                raise ValueError("a change to another protocol")
            return
        for field in map(FIELD.fullmatch, lines):
            if field is None:
                raise ValueError("a header that is none")
            name, value = field[1].decode("ascii").lower(), field[2].strip(b" \t").decode("latin-1")
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self.status = status
        self._read_frame(is_old=line[1] == b"0")

    def _read_frame(self, is_old: bool) -> None:
        """Find out where the body ends (RFC 9112 §6.3)."""
        headers = self.headers
        self.is_reusable = not is_old and "close" not in headers.get("connection", "").lower()
        if self.status in (204, 304) or self._method == "HEAD":
            self._left = 0
        elif "transfer-encoding" in headers:
            if headers["transfer-encoding"].lower() != "chunked":
                raise ValueError("a transfer-encoding other than chunked")
            self._is_chunked, self._left = True, 0
            self.is_reusable &= "content-length" not in headers  # two truths: one who stands between may see the other
        elif "content-length" in headers:
            lengths = {length.strip() for length in headers["content-length"].split(",")}
            length = lengths.pop()
            if lengths or not LENGTH.fullmatch(length):
                raise ValueError("a content-length that is none")
            self._left = int(length)
        else:
            self.is_reusable = False

    def _read_chunks(self, data: bytes) -> bytes:
        """Return what is in the chunks; keep what is left of a line that is cut."""
        parts: list[bytes] = []
        at, size = 0, len(data)
        left = self._left or 0
        while at < size:
            if self._in_chunk:
                if left:
                    part = data[at : at + left]
                    parts.append(part)
                    at += len(part)
                    left -= len(part)
                    if left:
                        break
                if size - at < 2:
                    break
                if data[at : at + 2] != b"\r\n":
                    raise ValueError("a chunk that is longer than it says")
                at += 2
                self._in_chunk = False
                continue
            line = CHUNK_LINE.match(data, at)
            if line is None:
                if data.find(b"\r\n", at) >= 0 or size - at > MAX_LINE:
                    raise ValueError("a chunk without its length")
                break
            left = int(line[1], 16)
            if not left:
                at = self._read_trailers(data, at, line.end())
                break
            at = line.end()
            self._in_chunk = True
        self._left = left
        self._rest = data[at:] if not self.is_complete else b""
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_trailers(self, data: bytes, before: int, after: int) -> int:
        """Skip the trailers behind the last chunk. Return where they end, or ``before`` if some have not come yet."""
        if data.startswith(b"\r\n", after):
            end = after + 2
        elif (found := data.find(b"\r\n\r\n", after)) >= 0:
            end = found + 4
        elif len(data) - after > MAX_HEAD:
            raise ValueError(f"trailers of more than {MAX_HEAD:,} bytes")
        else:
            return before  # the line of the last chunk is read again, with more behind it
        self._end(end == len(data))
        return end
