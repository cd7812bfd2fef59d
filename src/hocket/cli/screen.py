"""The end of a terminal's screen, where an answer is written as it comes.

What has been written stays, but for the lines from the first one on that more text changes: mostly the last alone, and
mostly that only grows. So nothing flickers, and what has left the screen is never touched.
"""

import os
from collections.abc import Sequence
from typing import TextIO

from hocket.cli.word_wrap import Laid, count_cells

__all__ = ["ScreenEnd", "find_size"]

_USUAL = os.terminal_size((80, 24))


class ScreenEnd:
    """Draws lines at the end of a screen.

    Args:
        out: a terminal, its cursor at the beginning of a line.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._drawn: list[str] = []  # lines that may change; the cursor is at the end of the last

    def draw(self, laid: Laid, size: os.terminal_size) -> None:
        """Draw these lines in place of those that had not settled.

        Args:
            laid: the lines.
            size: of the terminal, now.
        """
        before, after = self._drawn, [*laid.settled, *laid.unsettled]
        self._drawn = [*laid.unsettled]
        text = _extend(before, after)
        if text is None:
            same = min(_count_same(before, after), max(len(after) - 1, 0))
            while _count_rows(before[same:], size.columns) > size.lines:  # it has left the screen
                same += 1
            up = _count_rows(before[same:], size.columns) - 1
            text = "\r" + (f"\x1b[{up}A" if up > 0 else "") + "\x1b[J" + "\n".join(after[same:])
        end = "\n" if after and not laid.unsettled else ""
        self._out.write(text + end)
        self._out.flush()


def _extend(before: Sequence[str], after: Sequence[str]) -> str | None:
    """Return what makes these lines of those, where nothing is to be taken away; None: something is."""
    last = len(before) - 1
    if last < 0:
        return "\n".join(after)
    if before[:last] != after[:last] or len(after) <= last or not after[last].startswith(before[last]):
        return None
    return "\n".join([after[last][len(before[last]) :], *after[last + 1 :]])


def _count_same(before: Sequence[str], after: Sequence[str]) -> int:
    pairs = zip(before, after, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(before), len(after)))


def _count_rows(lines: Sequence[str], columns: int) -> int:
    """Return the rows of a terminal that lines take; it goes on in the next row with what is wider than it is."""
    return sum(max(1, -(-count_cells(line) // columns)) for line in lines)


def find_size(out: TextIO) -> os.terminal_size:
    """Return how many columns and lines a terminal has; the usual ones where it does not tell."""
    try:
        size = os.get_terminal_size(out.fileno())
    except (OSError, ValueError):  # no terminal of the system's
        return _USUAL
    return size if size.columns and size.lines else _USUAL
