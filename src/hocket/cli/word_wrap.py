"""Word wrap for a terminal: how wide characters are, where a line may break, and text laid out as it comes.

Nothing is taken away and nothing is added: code, and the rows of a table, stay as they are, so that they can be copied.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple, Protocol

__all__ = ["Laid", "Layout", "WordWrap", "break_hanging", "count_cells", "cut_line", "find_breaks"]

_STYLE = re.compile(r"\x1b\[[\d;]*m")
_IDEOGRAPHS = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\ua4cf\uf900-\ufaff\U00020000-\U0003fffd"
_CLOSERS = (
    "\u3001\u3002\uff0c\uff0e\uff01\uff1f\uff1a\uff1b\uff09\u300d\u300f\u3011\u300b\u2026\u201d"  # no line begins so
)
_PIECES = re.compile(rf"\s+|[{_IDEOGRAPHS}][{_CLOSERS}]*|[^\s{_IDEOGRAPHS}]+")
_HANGING = re.compile(r"\s*(?:(?:[-*+•>]|\d+[.)])\s+)*")
_FENCE = re.compile(rf"{_HANGING.pattern}(`{{3,}}|~{{3,}})")


class Laid(NamedTuple):
    """Lines of a terminal.

    Attributes:
        settled: those that more text will not change; each comes once.
        unsettled: those after them, which it may change.
    """

    settled: Sequence[str]
    unsettled: Sequence[str]


class Layout(Protocol):
    """Makes lines of a text that comes in pieces."""

    def add(self, text: str, width: int, *, is_last: bool = False) -> Laid:
        """Take the next piece; return the lines that have settled since, and those that may still change.

        Args:
            text: the piece.
            width: of the terminal, in cells.
            is_last: whether nothing comes after it; then all has settled.
        """
        ...


class WordWrap:
    """Text as it is, its lines broken between words; items of lists hang."""

    def __init__(self) -> None:
        self._rest = ""
        self._fence = ""  # of the code block that has begun

    def add(self, text: str, width: int, *, is_last: bool = False) -> Laid:
        """Take the next piece (see `Layout`)."""
        *whole, self._rest = (self._rest + text).split("\n")
        settled: list[str] = []
        for line in whole:
            settled += self._break_line(line, width)
            self._follow_fence(line)
        unsettled = self._break_line(self._rest, width) if self._rest else []
        if is_last:
            self._rest = ""
            return Laid([*settled, *unsettled], [])
        return Laid(settled, unsettled)

    def _break_line(self, line: str, width: int) -> list[str]:
        if self._fence or _FENCE.match(line) or line.lstrip().startswith("|"):
            return [line]
        line = line.expandtabs()
        hanging = len(line) - len(_HANGING.sub("", line, count=1))
        return break_hanging(line, width, hanging if hanging * 2 < width else 0)

    def _follow_fence(self, line: str) -> None:
        found = _FENCE.match(line)
        if found and not self._fence:
            self._fence = found[1]
        elif found and found[1].startswith(self._fence) and not line.strip(f"> {self._fence[0]}"):
            self._fence = ""


def break_hanging(line: str, width: int, indent: int) -> list[str]:
    """Return a line as several, those after the first indented.

    Args:
        line: without tabs.
        width: of a line, in cells.
        indent: of those after the first.
    """
    first = next(iter(find_breaks(line, width)), len(line))
    begins = [first, *(first + place for place in find_breaks(line[first:], width - indent))]
    parts = [line[start:end] for start, end in zip(begins, [*begins[1:], len(line)], strict=True)]
    return [row.rstrip() for row in (line[:first], *(" " * indent + part for part in parts if part))]


def find_breaks(text: str, width: int) -> list[int]:
    """Return where the lines after the first begin: between words where it can be, and inside those wider than a line.

    Args:
        text: without line breaks and tabs.
        width: of a line, in cells.
    """
    breaks: list[int] = []
    used = 0
    for found in _PIECES.finditer(text):
        piece, place = found[0], found.start()
        wide = count_cells(piece)
        if not piece.isspace() and used + wide > width:
            if used:
                breaks.append(place)
                used = 0
            if wide > width:
                inner, used = _chop(piece, width)
                breaks += [place + at for at in inner]
                continue
        used += wide
    return breaks


def cut_line(line: str, width: int) -> str:
    """Return as much of a line, without tabs, as fits into ``width`` cells; where some is left out, it ends with ``…``."""
    if count_cells(line) <= width:
        return line
    breaks, _ = _chop(line, max(width - 1, 1))
    return f"{line[: breaks[0]]}…"


def _chop(word: str, width: int) -> tuple[list[int], int]:
    """Return where a long word breaks, and how wide its last part is."""
    breaks: list[int] = []
    used = 0
    for place, letter in enumerate(word):
        wide = _measure_letter(letter)
        if used and used + wide > width:
            breaks.append(place)
            used = 0
        used += wide
    return breaks, used


def count_cells(text: str) -> int:
    """Return how many cells of a terminal a line takes; styles take none, and an emoji of several characters too many."""
    if "\x1b" in text:
        text = _STYLE.sub("", text)
    if "\t" in text:
        text = text.expandtabs()
    return len(text) if text.isascii() else sum(map(_measure_letter, text))


def _measure_letter(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1
