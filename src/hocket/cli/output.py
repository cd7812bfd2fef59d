"""The one door to the terminal: all that the command writes goes through it.

What a server says (an error, the name of a model, an answer) must not move the cursor, set a title, ring a bell, or turn
the direction of the writing round, so that a line reads as something else. A test holds the other files to this door.
"""

import contextlib
import io
import sys
from collections.abc import Callable, Generator, Iterable
from typing import cast

__all__ = [
    "accept_any_text",
    "keep_line_open",
    "make_printable",
    "note",
    "print_lines",
    "print_traceback",
    "squeeze",
    "write_status",
]

_CONTROLS = [code for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"]
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # embeddings, overrides, isolates and their ends
_STEERING = dict.fromkeys((*_CONTROLS, *_DIRECTIONS))

_enders: list[Callable[[], None]] = []  # each ends a line of the terminal that something is still written to


def accept_any_text() -> None:
    """Have standard output replace characters that it cannot show: such a one is not worth an answer."""
    stdout: object = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):
        cast("io.TextIOWrapper", stdout).reconfigure(errors="replace")


def make_printable(text: str) -> str:
    """Return ``text`` without the characters that steer a terminal; tabs and new lines stay."""
    return text.translate(_STEERING)


def squeeze(text: str) -> str:
    """Return ``text`` as one line, its white space single blanks."""
    return " ".join(text.split())


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
        from hocket.cli.screen import find_size
        from hocket.cli.word_wrap import break_hanging

        for end in _enders:
            end()
        line = "\n".join(break_hanging(line.expandtabs(), find_size(sys.stderr).columns, 0))
    print(line, file=sys.stderr, flush=True)


def print_lines(lines: Iterable[str], *, is_answer: bool = True) -> None:
    """Write a line each, to standard output; to standard error where it is no answer to what was asked."""
    for line in lines:
        print(make_printable(line), file=sys.stdout if is_answer else sys.stderr, flush=True)


def write_status(text: str, *, is_last: bool = False) -> None:
    """Write a line of standard error, a terminal, over the one before it; the last one stays.

    It is cut to the terminal's width, since what goes on in a second row stays there; of the last one nothing is left out.
    """
    from hocket.cli.screen import find_size
    from hocket.cli.word_wrap import break_hanging, cut_line

    line, columns = squeeze(make_printable(text)), find_size(sys.stderr).columns
    shown = "\n".join(break_hanging(line, columns, 0)) + "\n" if is_last else cut_line(line, columns - 1)
    print(f"\r\x1b[K{shown}", end="", file=sys.stderr, flush=True)


def print_traceback(error: BaseException) -> None:
    """Write the traceback of an error to standard error."""
    import traceback

    print(make_printable("".join(traceback.format_exception(error))), end="", file=sys.stderr, flush=True)
