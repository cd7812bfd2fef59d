"""``--extract``: the code of an answer, without what is said around it, as it comes.

A line is handed on when it has ended: until then it may be the fence that ends the block.
"""

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal

from hocket.cli.output import note
from hocket.messages import AIMessageChunk

__all__ = ["Which", "cut_code", "show_code"]

Which = Literal["first", "last"]
"""Which of the blocks of an answer."""

_FENCE = re.compile(r"([ \t>]*)(`{3,}|~{3,})(.*)", re.DOTALL)


class _Cutter:
    def __init__(self, which: Which) -> None:
        self._which = which
        self._rest = ""  # the beginning of a line
        self._kept: list[str] = []  # the last block; until one begins, all that was said
        self._fence = self._indent = ""  # of the block that is open
        self.has_block = False

    def feed(self, text: str) -> str:
        """Take a piece of the answer; return what of the code is certain by it."""
        *lines, self._rest = (self._rest + text).split("\n")
        return "".join(self._take(f"{line}\n") for line in lines)

    def end(self) -> str:
        """Return what is left at the end of the answer: the whole of it, if it has no block."""
        return self._take(self._rest) + "".join(self._kept)

    def _take(self, line: str) -> str:
        fence = _FENCE.fullmatch(line)
        if self._fence and fence and fence[2].startswith(self._fence) and not fence[3].strip():
            self._fence = ""
        elif self._fence:
            line = line.removeprefix(self._indent)
            if self._which == "first":
                return line
            self._kept.append(line)
        elif fence and not (fence[2][0] == "`" and "`" in fence[3]):  # which would be code within a line
            if self._which == "last" or not self.has_block:
                self._indent, self._fence, self._kept, self.has_block = fence[1], fence[2], [], True
        elif not self.has_block:
            self._kept.append(line)
        return ""


@contextmanager
def show_code(
    show: Callable[[AIMessageChunk], None], which: Which | None
) -> Generator[Callable[[AIMessageChunk], None]]:
    """Yield what shows of an answer's chunks a block of code alone; None: all of them. That it has none is told."""
    if which is None:
        yield show
        return
    cutter = _Cutter(which)
    try:
        yield lambda chunk: show(AIMessageChunk(cutter.feed(chunk.text)))
    finally:
        show(AIMessageChunk(cutter.end()))
    if not cutter.has_block:
        note("the answer has no block of code; this is all of it")


def cut_code(text: str, which: Which) -> str:
    """Return a block of code of a text; the text, if it has none."""
    cutter = _Cutter(which)
    return cutter.feed(text) + cutter.end()
