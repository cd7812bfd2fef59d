"""The state in a bulk run's file, for its readers: the costs, and the batches under way.

The file is read without its lock, so it may be written meanwhile.
"""

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from hocket._metering.batch_row import BatchPlace
from hocket._runtime import clock
from hocket._runtime.mode import ASYNC
from hocket.batch.entry import BatchEntry
from hocket.batch.lines import HEADER, LineData, read_cost, scan_lines
from hocket.errors import InvalidInput
from hocket.prices.money import to_units, to_usd

if TYPE_CHECKING:
    from hocket.budgets import Budget
    from hocket.budgets.bookkeeper import Bookkeeper

__all__ = ["hold_for_files", "read_open_batches"]


@dataclass
class _FileState:
    """What a file says.

    Attributes:
        batches: that have not come to their end, by their keys.
        reservations: the name by which budgets know its rows; "": they hold nothing for any.
        spent: US dollars that all its lines came to, those of other models too, as far as it is known; and what was held for
            rows whose answers are lost.
    """

    batches: dict[str, BatchEntry] = field(default_factory=dict[str, BatchEntry])
    reservations: str = ""
    spent: Decimal = Decimal(0)

    def add(self, data: LineData) -> None:
        """Add a line."""
        if HEADER in data:
            self.batches.clear()  # another model's
        elif "row" in data:
            self.spent += read_cost(data) or 0
            self._finish([data["row"]])
        elif "reservations" in data:
            self.reservations = data["reservations"]
        elif "end" in data:
            self.batches.pop(data["batch"], None)
            self.spent += to_usd(data.get("lost", 0))
        elif "sent_at" not in data:
            entry = BatchEntry.read(data)
            known = self.batches.get(entry.key)
            if known is None:
                self._finish(entry.numbers)  # a row is in the last one alone
                known = self.batches[entry.key] = entry
            known.id = entry.id

    def _finish(self, rows: Iterable[int]) -> None:
        for entry in self.batches.values():
            for row in rows:
                entry.finish(row)


def _read_state(path: str | os.PathLike[str]) -> _FileState:
    state, is_ours = _FileState(), False
    for data in scan_lines(path):
        is_ours = is_ours or (data is not None and HEADER in data)
        if data is not None and is_ours:
            state.add(data)
    if not is_ours:
        raise InvalidInput(f"{os.fspath(path)} is no file of a batch")
    return state


def read_open_batches(path: str | os.PathLike[str]) -> list[BatchEntry]:
    """Return the batches of a file that have not come to their end.

    Raises:
        InvalidInput: it is no file of a batch.
        OSError: it cannot be read.
    """
    return [*_read_state(path).batches.values()]


@asynccontextmanager
async def hold_for_files(budget: "Budget | None", *paths: str | os.PathLike[str]) -> AsyncGenerator[None]:
    """Have a new budget in memory hold for all that the process asks, and for what earlier ones have asked for files.

    What these have spent is booked, and what was held for their batches is held, both also beyond its limit. A file that is
    not there, or none of a batch, has spent nothing. None: there is no budget.
    """
    if budget is None:
        yield
        return
    from hocket.budgets.block import hold_everywhere

    for path in paths:
        await _book_file(budget.bookkeeper, path)
    with hold_everywhere(budget):
        yield


async def _book_file(books: "Bookkeeper", path: str | os.PathLike[str]) -> None:
    from hocket.budgets.account import BATCH_LEASE, Amounts

    try:
        state = await ASYNC.call_sync(_read_state, path)
    except (OSError, InvalidInput):  # the run says it, if it matters
        return
    spent = await books.hold(ASYNC, None, Amounts(to_units(state.spent)), is_forced=True)
    await books.book(ASYNC, spent, spent.amounts)
    for entry in state.batches.values():
        for row in entry.list_waiting():
            place = BatchPlace(entry.key, f"{state.reservations}-{row}", clock.current().time())
            id, held = books.find_row(None, place).id, Amounts(entry.find_held(row))
            await books.hold(ASYNC, None, held, id=id, lease=BATCH_LEASE, is_forced=True)
