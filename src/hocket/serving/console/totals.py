"""What the ledgers of a gateway say of its days: calls, tokens and cost, by model or by tenant."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from hocket.ledger import Ledger, LedgerTotal, get_ledger
from hocket.messages.content import Fields
from hocket.serving.model_parts import walk_parts

__all__ = ["find_ledgers", "sum_days"]

_COUNTS = ("calls", "failed", "cached", "input_tokens", "output_tokens", "cache_read", "cost", "unpriced")


def find_ledgers(models: Iterable[object]) -> list[Ledger]:
    """Return the ledgers that models book in: that of the process, and their own."""
    return [one for one in walk_parts((get_ledger(), *models)) if isinstance(one, Ledger)]


def sum_days(ledgers: Sequence[Ledger], by: str, days: int, tenant: str | None) -> list[Fields]:
    """Return a row for each day (UTC) and each model or tenant: what its calls came to. It reads, so call it in a thread.

    Args:
        ledgers: that are read.
        by: what makes a row.
        days: how many, with today.
        tenant: whose calls are counted; None: all.

    Raises:
        HocketError: a ledger cannot be read.
    """
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    where = {} if tenant is None else {"tenant": tenant}
    totals: dict[tuple[str, str], LedgerTotal] = {}
    for ledger in ledgers:
        ledger.flush()
        for entry in ledger.entries(today - timedelta(days=days - 1), **where):
            key = entry.at.astimezone(UTC).date().isoformat(), str(entry[by] or "")
            totals.setdefault(key, LedgerTotal()).add(entry)
    return [
        {"day": day, "name": name, **{count: getattr(total, count) for count in _COUNTS}}
        for (day, name), total in sorted(totals.items())
    ]
