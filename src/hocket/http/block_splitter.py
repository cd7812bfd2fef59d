"""Where one event of a stream ends and the next begins: what the parsers of `hocket.http.sse` and `json_lines` share.

They work on bytes and not on text because text is cut in too many places: ``str.splitlines``, and with it the line
readers of HTTP clients, also splits at U+2028, U+2029, U+0085, VT and FF, which may stand inside a JSON string. Bytes
need no decoder that remembers half of a character either, and JSON is parsed from them directly.

However the body is cut into pieces, the same events come out, each with the piece that ends it, and the cost is linear
in the size of the body.
"""

from hocket.errors import InvalidReply
from hocket.http.json_size import UNCHECKED, check_json_size

__all__ = ["BlockSplitter"]

BOM = b"\xef\xbb\xbf"


class BlockSplitter:
    """Cuts a body at ``separator`` (LF, once or twice), and strips the byte order mark that it may begin with.

    What has no end yet is kept in one growing buffer, and only what is new is searched, so that an event in ten thousand
    pieces costs no more than in one.
    """

    def __init__(self, separator: bytes, limit: int, what: str, option: str) -> None:
        self._separator = separator
        self._partial_separator = separator[:-1]
        self._limit = limit
        self._unchecked = min(limit, UNCHECKED)
        self._what, self._option = what, option
        self._rest = bytearray()
        self._at_start = True

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes as they came, and return the blocks that are whole now."""
        rest = self._rest
        if self._separator not in (rest[-1:] + data if rest else data):
            rest += data
            if len(rest) > self._limit:
                self._check(rest.removesuffix(self._partial_separator))
            return []

        whole = bytes(rest) + data if rest else data
        blocks = whole.split(self._separator)
        last = blocks.pop()
        if rest or last:
            self._rest = bytearray(last)
        if len(whole) > self._unchecked:
            for block in (*blocks, last.removesuffix(self._partial_separator)):
                self._check(block)
        if self._at_start:
            self._at_start = False
            blocks[0] = blocks[0].removeprefix(BOM)
        return blocks

    def _check(self, block: bytes | bytearray) -> None:
        if len(block) > self._limit:
            raise InvalidReply(
                f"one {self._what} is larger than the limit of {self._limit} bytes; "
                f"raise `{self._option}` if events of this size are meant"
            )
        check_json_size(block, self._limit)
