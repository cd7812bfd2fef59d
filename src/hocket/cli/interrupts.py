"""Ctrl-C, and SIGTERM, by which service managers and containers end a program: a command ends in the same way by both."""

import contextlib
import signal
import threading
from collections.abc import Generator
from typing import NoReturn

from hocket.cli.exits import TERMINATED
from hocket.cli.output import note

__all__ = ["Interrupt", "end_by_sigterm"]


@contextlib.contextmanager
def end_by_sigterm() -> Generator[None]:
    """Have SIGTERM raise `SystemExit`, so that what a command holds is released and written, as after Ctrl-C.

    Without it the process would end on the spot; or, as the first one of a container, not at all. A program that calls the
    command in a thread of its own, or has its own way with the signal, keeps it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, frame: _raise(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class Interrupt:
    """The first Ctrl-C or SIGTERM, which is noted for the command to come to an end; the second one ends it at once."""

    def __init__(self) -> None:
        self._number: int | None = None

    @property
    def has_come(self) -> bool:
        """Whether nothing more is to begin."""
        return self._number is not None

    @contextlib.contextmanager
    def hold(self) -> Generator[None]:
        """Note the signal while the block runs."""
        usual = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in usual.items():
                signal.signal(number, handler)

    def raise_again(self) -> None:
        """Raise what the signal would have raised, if it has come.

        Raises:
            KeyboardInterrupt: Ctrl-C.
            SystemExit: SIGTERM, with the code for it.
        """
        if self._number is not None:
            _raise(self._number)

    def _handle(self, number: int, frame: object) -> None:
        if self.has_come:
            _raise(number)
        self._number = number
        note("finishing what is in flight; the same command goes on; Ctrl-C or SIGTERM once more breaks it off")


def _raise(number: int) -> NoReturn:
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(TERMINATED)
