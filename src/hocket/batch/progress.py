"""Where a bulk run shows how far it is: a function, or a progress bar."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from hocket.batch.report import BatchReport, describe_cost, describe_row
from hocket.errors import InvalidInput

__all__ = ["Listener", "Progress", "ProgressBar", "make_listener"]

Listener = Callable[[BatchReport], object]
"""Is given the report of a run as it goes on."""


@runtime_checkable
class ProgressBar(Protocol):
    """A progress bar that is moved on by so many steps, as tqdm's are. It stays its maker's to close."""

    def update(self, n: int, /) -> object:
        """Move it on."""
        ...


Progress = Listener | ProgressBar
"""Told how far a run is, twice a second and at its end: a function of the report, which may be async, or a bar."""


def make_listener(progress: Progress | None) -> Listener | None:
    """Return what is to be called with the report.

    Raises:
        InvalidInput: it is neither a function nor a bar.
    """
    if isinstance(progress, type):
        raise InvalidInput(f"progress is a class: make one, as in progress={progress.__name__}(total=len(rows))")
    if isinstance(progress, ProgressBar):
        return _move_bar(progress)
    if progress is not None and not callable(progress):  # a caller's mistake
        raise InvalidInput(f"progress is {type(progress).__name__}; it is a function of the report, or a progress bar")
    return progress


def _move_bar(bar: ProgressBar) -> Listener:
    told = 0
    named = 0

    def move(report: BatchReport) -> None:
        nonlocal told, named
        # tqdm writes lines above its bar, to standard output unless it is told where the bar is
        write: object = getattr(bar, "write", None)
        file: object = getattr(bar, "fp", None)
        if callable(write) and file is not None:
            for failure in report.failures[named:]:
                write(describe_row(failure), file=file)
            named = len(report.failures)
        set_postfix: object = getattr(bar, "set_postfix", None)  # tqdm's words behind the bar
        if callable(set_postfix):
            set_postfix({"failed": report.failed, "cost": describe_cost(report, 2)}, refresh=False)
        bar.update(report.rows - told)
        told = report.rows

    return move
