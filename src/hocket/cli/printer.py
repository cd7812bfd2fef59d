"""An answer as it comes: Markdown on a terminal, and elsewhere as the model says it."""

import os
import threading
from contextlib import ExitStack, suppress
from typing import Protocol, Self, TextIO

from hocket.cli.output import keep_line_open, make_printable
from hocket.messages import AIMessage, AIMessageChunk

__all__ = ["Printer", "read_reasoning"]

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class Printer:
    """Prints an answer as it comes, in a ``with`` block, which ends it: in a line of its own, in plain letters.

    On a terminal it is laid out as Markdown, where rich is installed and styles are welcome.

    Args:
        out: where to.
        reasoning: whether to print reasoning; None: on a terminal.
        is_prose: whether to lay it out; if not, it is printed as it is.
    """

    def __init__(self, out: TextIO, *, reasoning: bool | None = None, is_prose: bool = True) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._has_styles = self._is_terminal and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
        self._is_prose = is_prose
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
        if self._has_styles and self._is_prose and not self._is_reasoning:
            with suppress(ImportError):  # rich makes it prettier where it is there
                from hocket.cli.markdown import MarkdownPart

                return MarkdownPart(self._out)
        return _Verbatim(self._out)

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


def read_reasoning(chunk: AIMessage | AIMessageChunk) -> str:
    """Return the reasoning in an answer, or a piece of one, where the provider shows it."""
    if chunk.content.__class__ is str and not chunk.additional_kwargs:
        return ""
    return "".join(block.get("reasoning") or "" for block in chunk.content_blocks if block["type"] == "reasoning")
