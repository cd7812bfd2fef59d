"""``--extract``: the code of an answer, without what is said around it, as it comes.

A line is handed on when it has ended: until then it may be the fence that ends the block. What stands before the first
fence is kept, since an answer without a block is its own code.
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
        self._prose: list[str] = []  # until a block begins
        self._block: list[str] | None = None  # the last one that has begun
        self._fence = self._indent = ""  # of the block that is open

    @property
    def has_block(self) -> bool:
        return self._block is not None

    def feed(self, text: str) -> str:
        """Take a piece of the answer; return what of the code is certain by it."""
        *lines, self._rest = (self._rest + text).split("\n")
        return "".join(self._take(f"{line}\n") for line in lines)

    def end(self) -> str:
        """Return what is left at the end of the answer: the whole of it, if it has no block."""
        last = self._take(self._rest)
        if self._block is None:
            return "".join(self._prose)
        return last if self._which == "first" else "".join(self._block)

    def _take(self, line: str) -> str:
        fence = _FENCE.fullmatch(line)
        if self._fence:
            if fence and fence[2].startswith(self._fence) and not fence[3].strip():
                self._fence = ""
                return ""
            return self._keep(line.removeprefix(self._indent))
        if fence and not (fence[2][0] == "`" and "`" in fence[3]):  # which would be code within a line
            if self._which == "last" or self._block is None:
                self._indent, self._fence, self._block = fence[1], fence[2], []
        elif self._block is None:
            self._prose.append(line)
        return ""

    def _keep(self, line: str) -> str:
        if self._which == "last" and self._block is not None:
            self._block.append(line)
            return ""
        return line


@contextmanager
def show_code(
    show: Callable[[AIMessageChunk], None], which: Which | None
) -> Generator[Callable[[AIMessageChunk], None]]:
    """Yield what shows of an answer's chunks only a block of code; None: all of them.

    An answer that breaks off, or has no block, has been shown by then as far as it came; the latter is told.
    """
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
