"""The lines of the output file of a bulk run: how they are written, and what may be read of a file that is damaged."""

import json
import logging
import os
from collections.abc import Iterator
from decimal import Decimal
from typing import TypeAlias, cast

from hocket._databases.lines import is_half, parse_line
from hocket.batch.entry import is_batch_line
from hocket.batch.report import BatchRow
from hocket.errors import InvalidInput
from hocket.messages.content import Fields
from hocket.prices.money import trim_amount

__all__ = [
    "BEGINNINGS",
    "FIRST",
    "HEADER",
    "LineData",
    "format_line",
    "read_batch",
    "read_cost",
    "read_row",
    "scan_lines",
]

LineData: TypeAlias = Fields
"""A line of the file, as data."""

HEADER = "hocket_batch"
"""What tells the line that names a model."""

BEGINNINGS = (b'{"row":', b'{"hocket_batch":', b'{"batch":', b'{"reservations":')
"""How the lines begin that are written here: what else is at the end of a file is half a line."""

FIRST = 20
"""Lines that are looked at for one that names a model."""

_MOST_AHEAD = 1_000_000
"""Rows that may be in flight before one that is done with."""

_log = logging.getLogger("hocket.batch")


def read_batch(path: str | os.PathLike[str]) -> Iterator[BatchRow]:
    """Yield the rows of a file, as they were done with; of one that was tried again, the last line.

    The file may be written meanwhile; half a line at its end is left out. So is any other line that cannot be read, and the
    log (``hocket.batch``) says how many there are.

    Raises:
        InvalidInput: it is no file of a batch.
        OSError: it cannot be read.
    """
    last: dict[int, int] = {}
    unreadable = 0
    is_ours = False
    for number, data in enumerate(scan_lines(path)):
        if data is None:
            unreadable += 1
        elif HEADER in data:
            last.clear()  # another model's answers
            is_ours = True
        elif "row" in data:
            last[data["row"]] = number
        if not is_ours and number == FIRST:
            break
    if not is_ours:
        raise InvalidInput(f"{os.fspath(path)} is no file of a batch")
    if unreadable:
        _log.warning("%s: %d of its lines cannot be read, and are left out", os.fspath(path), unreadable)
    for number, data in enumerate(scan_lines(path)):
        if data is not None and "row" in data and last.get(data["row"]) == number:
            yield read_row(data)


def read_row(data: LineData) -> BatchRow:
    """Return what a line says."""
    names = ("row", "id", "output", "error", "usage", "attempts")
    return BatchRow(cost=read_cost(data), **{name: data[name] for name in names if name in data})


def read_cost(data: LineData) -> Decimal | None:
    """Return what a row has cost in US dollars, by its line; None: it is not known."""
    return None if data.get("cost") is None else trim_amount(Decimal(data["cost"]))


def scan_lines(path: str | os.PathLike[str]) -> Iterator[LineData | None]:
    """Yield the lines of a file, each of a model or of a row; None: it cannot be read. Half a line at the end is none."""
    with open(path, "rb") as lines:
        for number, line in enumerate(lines):
            if not is_half(line, *BEGINNINGS):
                yield _read_line(line, number)


def _read_line(line: bytes, lines: int) -> LineData | None:
    """Return the data of a line; ``lines`` came before it, so that the number of its row cannot be far above that."""
    try:
        data = parse_line(line)
        if not isinstance(data, dict):
            return None
        found = cast("LineData", data)
        return found if HEADER in found or is_batch_line(found) or _is_row(found, lines) else None
    except (ArithmeticError, TypeError, ValueError):
        return None


def _is_row(data: LineData, lines: int) -> bool:
    read_cost(data)
    row, digest, attempts = data.get("row"), data.get("digest"), data.get("attempts", 1)
    if not (isinstance(row, int) and isinstance(digest, int) and isinstance(attempts, int)):
        return False
    return 0 <= row < lines + _MOST_AHEAD and 0 <= digest < 2**32 and isinstance(data.get("usage"), dict | None)


def format_line(data: LineData) -> bytes:
    """Return a line of the file."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
