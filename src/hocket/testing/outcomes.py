"""Errors that end a test, whatever the code under test catches.

They are no ``Exception``. Test runners take such a one for a Ctrl-C, and anyio's ends the event loop of all further tests of
a module; but not if it is one of pytest's own outcomes. So where pytest is running, it is one, too.
"""

import sys
from types import TracebackType
from typing import Any, TypeVar

__all__ = ["end_test", "hide_inside"]

T = TypeVar("T", bound=BaseException)

_outcomes: dict[type[BaseException], Any] = {}  # the classes that are pytest's, too


def end_test(kind: type[T], message: str) -> T:
    """Return the error to raise: of this class, and of pytest's for a failed test where pytest is running."""
    if "pytest" in sys.modules and kind not in _outcomes:
        import pytest

        names = {"__module__": kind.__module__, "__doc__": kind.__doc__}
        bases: tuple[Any, ...] = (kind, pytest.fail.Exception)
        _outcomes[kind] = type(kind.__name__, bases, names)
    outcome: type[T] = _outcomes.get(kind, kind)
    return outcome(message)


def hide_inside(error: BaseException) -> None:
    """Take the last frames of an error's traceback away that are hocket's own: what is wrong is in those before."""
    frames: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    while frames and frames[-1].tb_frame.f_globals.get("__name__", "").partition(".")[0] == "hocket":
        frames.pop()
    for one in reversed(frames):
        trace = TracebackType(trace, one.tb_frame, one.tb_lasti, one.tb_lineno)
    error.__traceback__ = trace
