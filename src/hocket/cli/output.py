"""The one door to the terminal: all that the command writes goes through it.

What a server says (an error, the name of a model, an answer) must not move the cursor, set a title, ring a bell, or turn
the direction of the writing round, so that a line reads as something else. A test holds the other files to this door.
"""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TextIO, cast

__all__ = [
    "accept_any_text",
    "find_size",
    "keep_line_open",
    "make_printable",
    "note",
    "print_lines",
    "print_traceback",
    "squeeze",
    "wrap_line",
    "write_columns",
    "write_status",
]

_CONTROLS = [code for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"]
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # embeddings, overrides, isolates and their ends
_STEERING = dict.fromkeys((*_CONTROLS, *_DIRECTIONS))

_USUAL = os.terminal_size((80, 24))

_enders: list[Callable[[], None]] = []  # each ends a line of the terminal that something is still written to


def accept_any_text() -> None:
    """Have standard output replace characters that it cannot show: such a one is not worth an answer."""
    stdout: object = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):
        cast("io.TextIOWrapper", stdout).reconfigure(errors="replace")


def make_printable(text: str) -> str:
    """Return ``text`` without the characters that steer a terminal; tabs and new lines stay."""
    return text.translate(_STEERING)


def find_size(out: TextIO) -> os.terminal_size:
    """Return how many columns and lines a terminal has; the usual ones where it does not tell."""
    try:
        size = os.get_terminal_size(out.fileno())
    except (OSError, ValueError):  # no terminal of the system's
        return _USUAL
    return size if size.columns and size.lines else _USUAL


def wrap_line(line: str, columns: int, indent: int = 0) -> list[str]:
    """Return a line as several, broken between words, and inside those that are wider than a line.

    Args:
        line: without line breaks.
        columns: of a line.
        indent: of those after the first.
    """
    import textwrap

    return textwrap.wrap(line, columns, subsequent_indent=" " * indent, break_on_hyphens=False) or [""]


def squeeze(text: str) -> str:
    """Return ``text`` as one line, its white space single blanks."""
    return " ".join(text.split())


def write_columns(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int) -> Iterator[str]:
    """Yield the lines of a table.

    Args:
        head: the names of its columns.
        rows: of as many cells.
        numbers: how many of the columns, the last ones, stand on the right.
    """
    table = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    texts = len(head) - numbers
    for row in table:
        cells = zip(row, widths, strict=True)
        yield "  ".join(
            cell.ljust(width) if at < texts else cell.rjust(width) for at, (cell, width) in enumerate(cells)
        )


@contextlib.contextmanager
def keep_line_open(end: Callable[[], None]) -> Generator[None]:
    """Have ``end`` called before a note is written: it ends the line that an answer has begun on the same terminal."""
    _enders.append(end)
    try:
        yield
    finally:
        _enders.remove(end)


def note(text: str) -> None:
    """Write something that is no part of an answer, to standard error, as the command's own words."""
    line = f"hocket: {make_printable(text)}"
    if sys.stderr.isatty():
        for end in _enders:
            end()
        line = "\n".join(wrap_line(line, find_size(sys.stderr).columns))
    print(line, file=sys.stderr, flush=True)


def print_lines(lines: Iterable[str], *, is_answer: bool = True) -> None:
    """Write a line each, to standard output; to standard error where it is no answer to what was asked."""
    for line in lines:
        print(make_printable(line), file=sys.stdout if is_answer else sys.stderr, flush=True)


def write_status(text: str, *, is_last: bool = False) -> None:
    """Write a line of standard error, a terminal, over the one before it; the last one stays.

    It is cut to the terminal's width, since what goes on in a second row stays there; of the last one nothing is left out.
    """
    line, columns = squeeze(make_printable(text)), find_size(sys.stderr).columns
    if is_last:
        shown = "\n".join(wrap_line(line, columns)) + "\n"
    else:
        shown = line if len(line) < columns else f"{line[: columns - 2]}…"
    print(f"\r\x1b[K{shown}", end="", file=sys.stderr, flush=True)


def print_traceback(error: BaseException) -> None:
    """Write the traceback of an error to standard error."""
    import traceback

    print(make_printable("".join(traceback.format_exception(error))), end="", file=sys.stderr, flush=True)
