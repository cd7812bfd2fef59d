"""Files of JSON lines that are only appended to, and the one rule by which they are read and gone on with.

A last line that has no end, is no JSON and begins as its writer's lines do was never finished: the writer was killed, or
the machine went down, which leaves zeros. Nobody was told that it is there, so readers pass over it, and the next writer
takes its place. Any other line is somebody's, whether it can be read or not, and nothing is cut off: the next writer begins
a new line behind it, and readers say that it cannot be read.
"""

import json
import os

__all__ = ["append_lines", "is_half", "parse_line", "read_bytes", "read_tail"]

_BLOCK = 65_536  # bytes read at once


def parse_line(line: bytes) -> object:
    """Return the data of a line.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return json.loads(line.decode("utf-8-sig"))  # an editor may have put a mark before the first
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def is_half(line: bytes, *beginnings: bytes) -> bool:
    """Whether a line without an end is what a writer that was killed has left.

    Args:
        line: the last one of a file; an empty one is such, too.
        beginnings: of the lines of this writer.
    """
    if not line:  # nearly always
        return True
    start = line.strip(b"\0 \t\r")
    if line.endswith(b"\n") or not any(start.startswith(one) or one.startswith(start) for one in beginnings):
        return False
    try:
        parse_line(line)
    except ValueError:
        return True
    return False


def append_lines(file: int, data: bytes, *beginnings: bytes, tail: bytes | None = None, sync: bool = False) -> None:
    """Append whole lines, all or none.

    Args:
        file: open for reading and writing, and locked: nobody else writes.
        data: the lines, each with its end.
        beginnings: of the lines of this writer.
        tail: what `read_tail` has returned since it was locked, if the caller has read it.
        sync: whether to wait until the disk has them.

    Raises:
        OSError: they cannot be written; the file is as it was, but for half a line.
    """
    end = os.fstat(file).st_size
    if tail is None:
        tail = read_tail(file)
    if is_half(tail, *beginnings):
        end -= len(tail)
        tail = b""
    try:
        os.ftruncate(file, end)
        os.lseek(file, end, os.SEEK_SET)
        left = memoryview(b"\n" + data if tail else data)
        while left:
            left = left[os.write(file, left) :]
        if sync:
            os.fsync(file)
    except BaseException:  # the disk is full, say: half a line would hide what comes after it
        os.ftruncate(file, end)
        raise


def read_tail(file: int) -> bytes:
    """Return what comes after the last end of a line."""
    size = start = os.fstat(file).st_size
    tail = b""
    step = 1  # nearly always there is nothing
    while start and b"\n" not in tail:
        start = max(0, start - step)
        tail = read_bytes(file, start, size)
        step = _BLOCK
    return tail.rpartition(b"\n")[2]


def read_bytes(file: int, start: int, end: int) -> bytes:
    """Return the bytes of an open file from ``start`` to ``end``."""
    os.lseek(file, start, os.SEEK_SET)
    pieces: list[bytes] = []
    while start < end and (piece := os.read(file, end - start)):
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)
