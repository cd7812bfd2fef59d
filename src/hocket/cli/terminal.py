"""What a person types: questions of one line or of several, with the lines of before."""

import contextlib
import os
from collections.abc import Callable, Generator
from pathlib import Path

from hocket.cli.folders import find_folder

__all__ = ["edit_lines", "find_history_file", "read_lines"]

HISTORY_LENGTH = 1000
PROMPT, MORE = "> ", ". "
QUOTES = '"""'


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
def edit_lines() -> Generator[Callable[[], str]]:
    """Make `input` edit its line and remember those before, of other days too.

    Yields what returns the line that is being typed, as far as that is known.
    """
    try:
        import readline
    except ImportError:  # Windows
        yield str
        return
    path = find_history_file()
    readline.set_history_length(HISTORY_LENGTH)
    if path is not None:
        with contextlib.suppress(OSError):  # none yet, or it cannot be read
            readline.read_history_file(path)
    try:
        yield readline.get_line_buffer
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
    return find_folder("STATE") / "history"
