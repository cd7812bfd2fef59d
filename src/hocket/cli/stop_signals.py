"""Ctrl-C, and SIGTERM, by which service managers and containers end a program: a command ends in the same way by both."""

import contextlib
import signal
import threading
from collections.abc import Callable, Generator
from typing import NoReturn

from hocket.cli.exits import TERMINATED
from hocket.cli.output import note

__all__ = ["StopSignal", "end_by_hangup", "end_by_sigterm"]


@contextlib.contextmanager
def end_by_sigterm() -> Generator[None]:
    """Have SIGTERM raise `SystemExit`, so that what a command holds is released and written, as after Ctrl-C.

    Without it the process would end on the spot; or, as the first one of a container, not at all. A program that calls the
    command in a thread of its own, or has its own way with the signal, keeps it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    is_free = is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with _handle(_raise, signal.SIGTERM) if is_free else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def end_by_hangup() -> Generator[None]:
    """Have SIGHUP, which a terminal sends that is closed, do what SIGTERM does; unless it is ignored, as by ``nohup``."""
    number = getattr(signal, "SIGHUP", None)  # Windows has none
    is_main = threading.current_thread() is threading.main_thread()
    if number is None or not is_main or signal.getsignal(number) is not signal.SIG_DFL:
        yield
        return
    with _handle(_terminate, number):
        yield


class StopSignal:
    """The first Ctrl-C or SIGTERM, which is noted for the command to come to an end; the second one ends it at once.

    Attributes:
        number: of the signal that has come; None: none has.
    """

    number: int | None = None

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Return a block in which it is noted."""
        return _handle(self._note, signal.SIGINT, signal.SIGTERM)

    def raise_again(self) -> None:
        """Raise what the signal would have raised, if it has come: `KeyboardInterrupt`, or `SystemExit`."""
        if self.number is not None:
            _raise(self.number)

    def _note(self, number: int, frame: object) -> None:
        self.raise_again()
        self.number = number
        note("finishing what is in flight; the same command goes on; Ctrl-C or SIGTERM once more breaks it off")


@contextlib.contextmanager
def _handle(handler: Callable[[int, object], None], *numbers: int) -> Generator[None]:
    usual = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in usual.items():
            signal.signal(number, before)


def _terminate(number: int, frame: object) -> None:
    signal.raise_signal(signal.SIGTERM)


def _raise(number: int, frame: object = None) -> NoReturn:
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(TERMINATED)
