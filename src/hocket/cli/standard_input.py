"""The question: from the command line, from what is piped in, or from both."""

import itertools
import os
import select
import stat
import sys
from collections.abc import Sequence

from hocket.cli.output import note
from hocket.errors import InvalidInput

__all__ = ["is_piped", "read_question", "replace_undecodable"]

PATIENCE = 5.0  # seconds in which something must come out of a pipe that nobody asked to be waited for
LONG_PATIENCE = 60.0  # seconds, where the question itself is to come out of it


def read_question(
    words: Sequence[str], command: str = 'hocket chat "Why is the sky blue?"', *, takes_input: bool = True
) -> str | None:
    """Return what to ask.

    Args:
        words: of the command line; ``-`` stands for what is piped in, which else follows them.
        command: an example, for the error.
        takes_input: whether what is piped in belongs to the question.

    Returns:
        The question; None: nothing yet, a person will type it.

    Raises:
        InvalidInput: it is empty, or standard input is an open pipe out of which nothing comes.
    """
    if not words and sys.stdin.isatty():
        return None
    if not takes_input:
        question = replace_undecodable(" ".join(words))
        return _check_question(question, command)
    if not words and is_piped():
        _await_question()
    if all(word == "-" for word in words):
        question = _read_piped()
    else:
        if "-" not in words and is_piped():
            _refuse_silence(
                PATIENCE, "</dev/null behind the command asks without it, and - behind the question waits for it"
            )
            words = (*words, "-")
        groups = itertools.groupby(words, lambda word: word == "-")
        parts = (_read_piped().strip("\n") if is_input else " ".join(group) for is_input, group in groups)
        question = "\n\n".join(filter(None, map(replace_undecodable, parts)))
    return _check_question(question, command)


def _check_question(question: str, command: str) -> str:
    if not question.strip():
        raise InvalidInput(f"the question is empty; write  {command}")
    return question


def replace_undecodable(text: str) -> str:
    """Return a text of the terminal, or of the command line, with its undecodable bytes replaced: no model takes them."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def is_piped(*, by_socket: bool = True) -> bool:
    """Return whether something can come: a terminal, and the null device, send nothing.

    Args:
        by_socket: whether a socket counts, which a process may have been given that nobody writes to.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # closed, or none at all
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or (by_socket and stat.S_ISSOCK(mode))


def _await_question() -> None:
    """Wait until a question comes, or the end, and say so where that takes a while.

    Raises:
        InvalidInput: neither came in time.
    """
    if _is_silent(PATIENCE):
        note(f"waiting for the question on standard input, an open pipe, for {LONG_PATIENCE:g} s at most")
        _refuse_silence(LONG_PATIENCE - PATIENCE, "a - behind the command waits for it without end", LONG_PATIENCE)


def _refuse_silence(seconds: float, way_out: str, waited: float | None = None) -> None:
    """Wait until something comes, or the end.

    Nothing tells a pipe that will speak later from one that was left open (by cron, CI or ssh) and never will. To ask
    without what is still to come would be a wrong answer in silence; to wait would be for ever.

    Raises:
        InvalidInput: neither came in time.
    """
    if _is_silent(seconds):
        raise InvalidInput(
            f"standard input is an open pipe, and nothing came out of it for {waited or seconds:g} s; {way_out}"
        )


def _is_silent(seconds: float) -> bool:
    """Whether neither something nor the end comes within this time."""
    try:
        ready, _, _ = select.select([sys.stdin.fileno()], [], [], seconds)
    except (OSError, ValueError):  # Windows can tell this of sockets only
        return False
    return not ready


def _read_piped() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"what is piped in is no UTF-8 text (byte {error.start + 1}): `iconv -f ENCODING -t UTF-8` makes it one, and "
            "-a - attaches a picture, a PDF or a recording"
        ) from None
