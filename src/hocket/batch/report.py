"""The reports of a bulk run: a finished row, the progress, and the result."""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import TypeAlias

from hocket._json import JSON
from hocket.messages import UsageMetadata, add_usage
from hocket.messages.html import write_table, write_text
from hocket.prices.money import EXACT, trim_amount

__all__ = ["BatchReport", "BatchRow", "RetryFailed", "describe_cost", "describe_row"]

MOST_FAILURES = 10
"""Failed rows that a report names."""


@dataclass(frozen=True)
class BatchRow:
    """A line of the file.

    Attributes:
        row: its place among the rows, from 0.
        id: the row's own; None: it has none.
        output: the answer: a text; data; or, with tool calls, a mapping of ``content`` and ``tool_calls``.
        error: ``{"type": …, "message": …}``; None: it succeeded.
        usage: tokens of all tries of this run. cost: in US dollars; None: no price is known.
        attempts: requests that were made for it.
    """

    row: int
    id: JSON = None
    output: JSON = None
    error: dict[str, str] | None = None
    usage: UsageMetadata | None = None
    cost: Decimal | None = None
    attempts: int = 1


RetryFailed: TypeAlias = bool | Callable[[BatchRow], bool]
"""Whether rows that failed in an earlier run are asked again, or what says it of such a row."""


@dataclass
class BatchReport:
    """The content of a file, earlier runs included; during a run, the rows so far.

    Attributes:
        ok: rows that are answered.
        failed: rows whose last try failed; one that is in a batch again is ``pending``, and not failed.
        skipped: of these two, the rows that an earlier run had done with, and that were not asked for again.
        usage: tokens of all tries, in all runs, failed ones too.
        cost: in US dollars, of the same; where some tries have no price, of the others. None: no try has one.
        unpriced: attempts of models without a known price. priced: those of others.
        errors: how many rows this run has seen fail, by the class of the error.
        failures: the first ten of them; the file has all.
        unreadable: lines that could not be read, as of a file that was edited or damaged. They stay in it, and a row that
            has no other line was asked again.
        seconds: that this run has taken.
        stopped: what ended the run before its end, such as `BudgetExceeded`, or `BatchPending`; the file can be gone on
            with. None: nothing.
        pending: rows in batches that are under way at the provider.
    """

    ok: int = 0
    failed: int = 0
    skipped: int = 0
    usage: UsageMetadata = field(default_factory=lambda: UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0))
    cost: Decimal | None = Decimal(0)
    unpriced: int = 0
    priced: int = 0
    errors: dict[str, int] = field(default_factory=dict[str, int])
    failures: list[BatchRow] = field(default_factory=list[BatchRow])
    unreadable: int = 0
    seconds: float = 0.0
    stopped: Exception | None = None
    pending: int = 0

    @property
    def rows(self) -> int:
        """Rows that have been tried."""
        return self.ok + self.failed

    @property
    def rows_per_second(self) -> float:
        """Rows that this run has done with in a second."""
        return (self.rows - self.skipped) / self.seconds if self.seconds else 0.0

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it."""
        cost = describe_cost(self, 4)
        rows = [(self.ok, self.failed, self.skipped, f"{self.usage['total_tokens']:,}", cost, f"{self.seconds:.1f}")]
        notes = "" if self.stopped is None else write_text(f"stopped by {self.stopped}")
        if self.unreadable:
            notes += write_text(f"{self.unreadable} lines of the file could not be read")
        return (
            write_table(("ok", "failed", "skipped", "tokens", "cost", "seconds"), rows) + notes + self._write_errors()
        )

    def _write_errors(self) -> str:
        if not self.errors:
            return ""
        counts = write_table(("error", "rows"), self.errors.items())
        return counts + write_text("\n".join(map(describe_row, self.failures)))

    def add_failure(self, row: BatchRow) -> None:
        """Add a row that failed."""
        kind = "" if row.error is None else row.error["type"]
        self.errors[kind] = self.errors.get(kind, 0) + 1
        if len(self.failures) < MOST_FAILURES:
            self.failures.append(row)

    def add_usage(self, usage: UsageMetadata | None, cost: Decimal | None, attempts: int) -> None:
        """Add the cost of an attempt; None: not reported, or without a price. Without an attempt it has neither."""
        if usage is not None:
            self.usage = add_usage(self.usage, usage)
        if not attempts:
            return
        if cost is None:
            self.unpriced += 1
            self.cost = self.cost if self.priced else None
        else:
            self.priced += 1
            with localcontext(EXACT):
                self.cost = trim_amount((self.cost or Decimal(0)) + cost)


def describe_cost(report: BatchReport, digits: int) -> str:
    """Return what a run has cost."""
    if report.cost is None:
        return "unknown"
    return f"{'at least ' if report.unpriced else ''}${report.cost:.{digits}f}"


def describe_row(row: BatchRow) -> str:
    """Return which row failed, and of what."""
    name = f"row {row.row}" + ("" if row.id in (None, "") else f" ({row.id})")
    return name if row.error is None else f"{name}: {row.error['type']}: {row.error['message']}"
