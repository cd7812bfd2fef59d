"""A book of what models were asked, and what it cost: every attempt, every hit of a cache, every stream that was left.

    from hocket.ledger import SQLiteLedger, set_ledger

    set_ledger(SQLiteLedger("usage.sqlite"))
    ...
    for total in SQLiteLedger("usage.sqlite").total(by=("model", "tenant")):
        print(total.group, total.calls, total.cost)

- `entry`: an entry, and how it is written as JSON.
- `booking`: the entries of attempts and hits.
- `default_ledger`: the ledger of the whole process.
- `base`: what all ledgers do: pricing, reading, sums.
- `writer`, `spool`: how entries are written behind the back of the calls, and where they go while the store is away.
- `sqlite`, `postgres`, `jsonl`, `function`: where entries are kept.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.ledger.base import Ledger, LedgerTotal
from hocket.ledger.default_ledger import get_ledger, set_ledger
from hocket.ledger.entry import LedgerEntry

if TYPE_CHECKING:
    from hocket.ledger.function import CallbackLedger
    from hocket.ledger.jsonl import JSONLLedger
    from hocket.ledger.opening import open_ledger
    from hocket.ledger.postgres import PostgresLedger
    from hocket.ledger.sqlite import SQLiteLedger

__all__ = [
    "CallbackLedger",
    "JSONLLedger",
    "Ledger",
    "LedgerEntry",
    "LedgerTotal",
    "PostgresLedger",
    "SQLiteLedger",
    "get_ledger",
    "open_ledger",
    "set_ledger",
]

_LATER = {
    "function": "CallbackLedger",
    "jsonl": "JSONLLedger",
    "opening": "open_ledger",
    "postgres": "PostgresLedger",
    "sqlite": "SQLiteLedger",
}

__getattr__: Loader = loader(__name__, _LATER)
