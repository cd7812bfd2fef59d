"""An answer as it comes: Markdown or wrapped text on a terminal, and elsewhere as the model says it."""

import os
import threading
import time
from contextlib import ExitStack
from typing import Protocol, Self, TextIO

from hocket.cli.output import keep_line_open, make_printable
from hocket.cli.screen import ScreenEnd, find_size
from hocket.cli.word_wrap import Layout, WordWrap
from hocket.messages import AIMessage, AIMessageChunk

__all__ = ["Printer", "read_reasoning"]

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_SHARE = 0.5  # of the time may go into drawing; what comes meanwhile is drawn together
_HEAD_START = 0.1  # seconds of it that need not be earned


class Printer:
    """Prints an answer as it comes, in a ``with`` block, which ends it: in a line of its own, in plain letters.

    On a terminal it is laid out: as Markdown where rich is installed and styles are welcome, else with its lines broken
    between words.

    Args:
        out: where to.
        reasoning: whether to print reasoning; None: on a terminal.
        is_prose: whether to lay it out; if not, it is printed as it is.
    """

    def __init__(self, out: TextIO, *, reasoning: bool | None = None, is_prose: bool = True) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        is_dumb = os.environ.get("TERM") == "dumb"
        self._has_styles = self._is_terminal and not is_dumb and not os.environ.get("NO_COLOR")
        self._is_laid_out = self._is_terminal and not is_dumb and is_prose
        self._reasons = self._is_terminal if reasoning is None else reasoning
        self._is_reasoning = False
        self._lock = threading.Lock()
        self._part = self._begin_part()
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        if self._is_terminal:
            self._ends.enter_context(keep_line_open(self._break_off))
        return self

    def __exit__(self, *exc: object) -> None:
        self._ends.close()
        self._part.end()
        self._style(_PLAIN if self._is_reasoning else "")
        self._out.flush()

    def show(self, chunk: AIMessageChunk) -> None:
        """Print what a chunk says."""
        with self._lock:
            if self._reasons and (reasoning := read_reasoning(chunk)):
                self._turn_to(reasoning=True)
                self._write(reasoning)
            if chunk.text:
                self._turn_to(reasoning=False)
                self._write(chunk.text)
            self._out.flush()

    def _break_off(self) -> None:
        """Go to a new line, for something else that is to be written."""
        with self._lock:
            self._part.end()
            self._part = self._begin_part()

    def _turn_to(self, *, reasoning: bool) -> None:
        if reasoning == self._is_reasoning:
            return
        self._part.end()
        self._style(_DIM if reasoning else _PLAIN)
        if not reasoning:
            self._out.write("\n")
        self._is_reasoning = reasoning
        self._part = self._begin_part()

    def _begin_part(self) -> "_Part":
        if not self._is_laid_out:
            return _Verbatim(self._out)
        return _LaidOut(self._out, _choose_layout(has_styles=self._has_styles and not self._is_reasoning))

    def _write(self, text: str) -> None:
        self._part.write(make_printable(text) if self._is_terminal else text)

    def _style(self, code: str) -> None:
        if self._has_styles:
            self._out.write(code)


class _Part(Protocol):
    """Reasoning, or an answer, from the beginning of a line to the end of one."""

    def write(self, text: str) -> None: ...

    def end(self) -> None: ...


class _Verbatim:
    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last = "\n"

    def write(self, text: str) -> None:
        self._out.write(text)
        self._last = text[-1:] or self._last

    def end(self) -> None:
        if self._last != "\n":
            self.write("\n")


class _LaidOut:
    def __init__(self, out: TextIO, layout: Layout) -> None:
        self._out = out
        self._layout = layout
        self._screen = ScreenEnd(out)
        self._waiting = ""
        self._began_at = time.monotonic()
        self._spent = -_HEAD_START

    def write(self, text: str) -> None:
        self._waiting += text
        began_at = time.monotonic()
        if self._spent <= _SHARE * (began_at - self._began_at):
            self._draw(is_last=False)
            self._spent += time.monotonic() - began_at

    def end(self) -> None:
        self._draw(is_last=True)

    def _draw(self, *, is_last: bool) -> None:
        text, self._waiting = self._waiting, ""
        size = find_size(self._out)
        self._screen.draw(self._layout.add(text, size.columns, is_last=is_last), size)


def _choose_layout(*, has_styles: bool) -> Layout:
    if not has_styles:
        return WordWrap()
    try:
        from hocket.cli.markdown import MarkdownLayout
    except ImportError:  # rich makes it prettier where it is there
        return WordWrap()
    return MarkdownLayout()


def read_reasoning(chunk: AIMessage | AIMessageChunk) -> str:
    """Return the reasoning in an answer, or a piece of one, where the provider shows it."""
    if chunk.content.__class__ is str and not chunk.additional_kwargs:
        return ""
    return "".join(block.get("reasoning") or "" for block in chunk.content_blocks if block["type"] == "reasoning")
