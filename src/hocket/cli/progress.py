"""How far a bulk run is, and what it has left: for each command that asks for many things."""

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING

from hocket.cli.exits import LIMITED, PAUSED, explain
from hocket.cli.output import note, print_lines, write_status
from hocket.errors import InvalidInput

if TYPE_CHECKING:
    from hocket.batch import BatchReport

__all__ = ["ProgressLine", "explain_stop", "note_pending"]


def explain_stop(stopped: Exception | None, arguments: argparse.Namespace) -> int | None:
    """Say what has ended a run early, and return the exit code for it; None: nothing has."""
    from hocket.batch.errors import BatchPending

    if isinstance(stopped, BatchPending):
        note_pending(arguments)
        return PAUSED
    if stopped is not None:
        note(f"{explain(stopped)}; run it again with more to go on")
        return LIMITED
    return None


def note_pending(arguments: argparse.Namespace) -> None:
    """Say that rows are under way, if some are, and what to do with them by the options that the command has."""
    from hocket.batch.replay import read_open_batches

    with contextlib.suppress(OSError, InvalidInput):
        if count := sum(entry.waiting for entry in read_open_batches(arguments.out)):
            ends = ", and with --cancel ends them" if "cancel" in arguments else ""
            note(f"{count} rows are under way at the provider: the same command collects them{ends}")


class ProgressLine:
    """How far a run is, in one line of a terminal that is written over; elsewhere, in one last line.

    Args:
        rows: in all.
        is_begun: whether an earlier run has left some; else what a run asks for in parts has all been asked by itself.
    """

    def __init__(self, rows: int, *, is_begun: bool = True) -> None:
        self._is_begun = is_begun
        self._rows = rows
        self._is_live = sys.stderr.isatty()
        self._last: str | None = None
        self._is_open = False

    def show(self, report: "BatchReport") -> None:
        """Write the line over."""
        self._last = self._describe(report)
        if self._is_live:
            write_status(self._last)
            self._is_open = True

    def end_row(self) -> None:
        """Leave the line as it is, for something else that is to be written; the next one is written below."""
        if self._is_open:
            print_lines([""], is_answer=False)
            self._is_open = False

    def finish(self) -> None:
        """Write the last line, if the run has begun."""
        if self._last is None:
            return
        if self._is_live:
            write_status(self._last, is_last=True)
        else:
            note(self._last)

    def _describe(self, report: "BatchReport") -> str:
        from hocket.batch.report import describe_cost

        parts = [f"{report.ok + report.failed} of {self._rows} rows done", f"{report.failed} failed"]
        if report.skipped and self._is_begun:
            parts.append(f"{report.skipped} from an earlier run")
        parts.append(f"{report.rows_per_second:.1f} rows/s")
        parts.append(f"{report.usage['total_tokens']} tokens")
        parts.append("cost unknown" if report.cost is None else describe_cost(report, 4))
        if report.pending:
            parts.append(f"{report.pending} at the provider")
        left = self._rows - report.rows - report.pending
        if left > 0 and report.rows_per_second:
            parts.append(f"{left / report.rows_per_second:.0f} s left")
        return ", ".join(parts)
