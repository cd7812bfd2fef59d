"""How far a bulk run is, and what it came to."""

from dataclasses import dataclass, field
from decimal import Decimal, localcontext

from hocket.messages import UsageMetadata, add_usage
from hocket.messages.html import write_table, write_text
from hocket.prices.money import EXACT

__all__ = ["BatchReport"]


@dataclass
class BatchReport:
    """What a file holds, earlier runs included; while a run goes on, as far as it is.

    Attributes:
        ok: rows that are answered.
        failed: rows whose last try failed.
        skipped: of these two, the rows that an earlier run had done with, and that were not asked for again.
        usage: tokens of all tries, failed ones too.
        cost: in US dollars, of what has a price.
        unpriced: tries of models that nobody knows the price of.
        seconds: that this run has taken.
        stopped: what ended the run before its end, such as `BudgetExceeded`; the file can be gone on with. None: nothing.
    """

    ok: int = 0
    failed: int = 0
    skipped: int = 0
    usage: UsageMetadata = field(default_factory=lambda: UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0))
    cost: Decimal = Decimal(0)
    unpriced: int = 0
    seconds: float = 0.0
    stopped: Exception | None = None

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
        cost = f"${self.cost:.4f}{'+' if self.unpriced else ''}"  # a plus: some tries have no price
        rows = [(self.ok, self.failed, self.skipped, f"{self.usage['total_tokens']:,}", cost, f"{self.seconds:.1f}")]
        stopped = "" if self.stopped is None else write_text(f"stopped by {self.stopped}")
        return write_table(("ok", "failed", "skipped", "tokens", "cost", "seconds"), rows) + stopped

    def add_usage(self, usage: UsageMetadata | None, cost: Decimal | None) -> None:
        """Add what a try came to; None: it said nothing, or has no price."""
        if usage is not None:
            self.usage = add_usage(self.usage, usage)
        if cost is None:
            self.unpriced += 1
        else:
            with localcontext(EXACT):
                self.cost += cost
