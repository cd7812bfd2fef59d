"""A bound on the memory that JSON takes once it is parsed.

A reply of 6 MB that is nothing but ``{},{},…`` becomes 170 MB of Python objects, and one of 64 MB (which an answer with
images may have) 2 GB. Measured: an object or array takes 80 to 190 bytes beyond its text, another value up to 45; so to
count brackets and commas says, in a millisecond for each megabyte, what parsing would cost.
"""

from hocket.errors import InvalidReply

__all__ = ["MAX_PARSED", "MAX_REPLY", "UNCHECKED", "check_json_size"]

MAX_REPLY = 64 * 2**20
"""Bytes that a reply, or an event of a stream, may have unless told otherwise: it may carry images."""

MAX_PARSED = 256 * 2**20
"""Bytes that it may take parsed, by this estimate."""

UNCHECKED = 2**20
"""Bytes of JSON that cannot take too much, whatever is in them."""

CONTAINER = 128
VALUE = 32


def check_json_size(data: bytes | bytearray, max_bytes: int | None = MAX_REPLY) -> None:
    """Refuse JSON that would take too much memory. Other texts pass, unless they have as many brackets.

    Args:
        data: not parsed yet.
        max_bytes: the limit on the size of its text. One that is raised over `MAX_REPLY` raises this in proportion;
            None: no limit.

    Raises:
        InvalidReply: it takes more than `MAX_PARSED`, or than four times ``max_bytes``.
    """
    if max_bytes is None or len(data) <= UNCHECKED:
        return
    limit = MAX_PARSED * max(max_bytes, MAX_REPLY) // MAX_REPLY
    size = CONTAINER * (data.count(b"{") + data.count(b"[")) + VALUE * data.count(b",")
    if size > limit:
        raise InvalidReply(
            f"the reply has {len(data):,} bytes of JSON that would take some {size >> 20:,} MB parsed, more than the limit "
            f"of {limit >> 20:,} MB; a limit on its size over {MAX_REPLY >> 20} MB raises this one"
        )
