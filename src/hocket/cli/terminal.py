"""What a person sees and types: an answer as it comes, and questions of one line or of several."""

import contextlib
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Protocol, TextIO

from hocket.cli.output import make_printable
from hocket.messages import AIMessage, AIMessageChunk

__all__ = ["LineEditor", "Printer", "edit_lines", "find_history_file", "read_lines", "read_reasoning"]

HISTORY_LENGTH = 1000
PROMPT, MORE = "> ", ". "
QUOTES = '"""'

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class LineEditor(Protocol):
    """What the command needs of `readline`."""

    def get_line_buffer(self) -> str:
        """Return what stands in the line that is being typed."""
        ...


class Printer:
    """Prints an answer as it comes, as plain text unless ``out`` is a terminal.

    Args:
        out: where to.
        reasoning: whether to print reasoning; None: on a terminal.
    """

    def __init__(self, out: TextIO, *, reasoning: bool | None = None) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._has_styles = self._is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._reasons = self._is_terminal if reasoning is None else reasoning
        self._is_reasoning = False
        self._last = "\n"

    def show(self, chunk: AIMessageChunk) -> None:
        """Print what a chunk says."""
        if self._reasons and (reasoning := read_reasoning(chunk)):
            self._turn_to(reasoning=True)
            self._write(reasoning)
        if chunk.text:
            self._turn_to(reasoning=False)
            self._write(chunk.text)
        self._out.flush()

    def end(self) -> None:
        """End the answer: in a line of its own, in plain letters."""
        self._style(_PLAIN if self._is_reasoning else "")
        self._is_reasoning = False
        if self._last != "\n":
            self._write("\n")
        self._out.flush()

    def _turn_to(self, *, reasoning: bool) -> None:
        if reasoning == self._is_reasoning:
            return
        if self._last != "\n":
            self._write("\n")
        self._style(_DIM if reasoning else _PLAIN)
        if not reasoning:
            self._write("\n")
        self._is_reasoning = reasoning

    def _write(self, text: str) -> None:
        text = make_printable(text) if self._is_terminal else text
        self._out.write(text)
        self._last = text[-1:] or self._last

    def _style(self, code: str) -> None:
        if self._has_styles:
            self._out.write(code)


def read_lines(read_line: Callable[[str], str]) -> str:
    '''Return what is typed: a line, lines that each end with a backslash but for the last, or a block between """.

    Args:
        read_line: is given a prompt and returns a line without its end, as `input` does.

    Raises:
        EOFError, KeyboardInterrupt: as ``read_line``.
    '''
    text = read_line(PROMPT)
    if text.lstrip().startswith(QUOTES):
        text = text.lstrip()[len(QUOTES) :]
        while not text.rstrip().endswith(QUOTES):
            text += "\n" + read_line(MORE)
        return text.rstrip()[: -len(QUOTES)].strip("\n")
    while text.endswith("\\"):
        text = text[:-1] + "\n" + read_line(MORE)
    return text


@contextlib.contextmanager
def edit_lines() -> Generator[LineEditor | None]:
    """Make `input` edit its line and remember those before, of other days too; yields readline, None where there is none."""
    try:
        import readline
    except ImportError:  # Windows
        yield None
        return
    path = find_history_file()
    readline.set_history_length(HISTORY_LENGTH)
    if path is not None:
        with contextlib.suppress(OSError):  # none yet, or it cannot be read
            readline.read_history_file(path)
    try:
        yield readline
    finally:
        if path is not None:
            mask = os.umask(0o077)  # what is asked may be private
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(path)
            os.umask(mask)


def find_history_file() -> Path | None:
    """Return where typed lines are kept: ``HOCKET_HISTORY``, None if that is empty; else the user's state directory."""
    path = os.environ.get("HOCKET_HISTORY")
    if path is not None:
        return Path(path).expanduser() if path else None
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "hocket" / "history"


def read_reasoning(chunk: AIMessage | AIMessageChunk) -> str:
    """Return the reasoning in an answer, or a piece of one, where the provider shows it."""
    if chunk.content.__class__ is str and not chunk.additional_kwargs:
        return ""
    return "".join(block.get("reasoning") or "" for block in chunk.content_blocks if block["type"] == "reasoning")
