"""A ledger that hands its entries to a function."""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from typing import ClassVar

from hocket._runtime.portal import run_in_portal
from hocket.errors import InvalidInput, StoreError
from hocket.ledger.base import Ledger
from hocket.ledger.entry import LedgerEntry

__all__ = ["CallbackLedger"]


class CallbackLedger(Ledger):
    """Hands each entry to a function, one after another, in a thread of its own.

    An entry that the function raises at is kept in the spool and handed over again later. It keeps nothing itself, and so
    has no `entries` and no `total`.

    Args:
        function: takes a `LedgerEntry`. One that is ``async`` runs on hocket's own event loop.
        metadata, spool: as for `Ledger`.

    Raises:
        InvalidInput: ``function`` cannot be called; or `entries` or `total` is asked.
    """

    is_portable = False
    _batch_size: ClassVar[int] = 1

    def __init__(
        self,
        function: Callable[[LedgerEntry], object],
        *,
        metadata: Sequence[str] | None = None,
        spool: str | None = None,
    ) -> None:
        if not callable(function):
            raise InvalidInput(f"function is {function!r}; it must be a function that takes a LedgerEntry")
        self._function = function
        name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"
        super().__init__(name, metadata, spool)

    def _write(self, entries: Sequence[LedgerEntry]) -> None:
        [entry] = entries
        try:
            returned = self._function(entry)
            if inspect.isawaitable(returned):
                run_in_portal(lambda: _await(returned))
        except Exception as error:
            raise StoreError(f"{self!r} raised {error!r}") from error

    def _read(self, since: datetime | None) -> Iterator[LedgerEntry]:
        raise InvalidInput(
            f"{self!r} keeps no entries; take an SQLiteLedger, a PostgresLedger or a JSONLLedger to read them"
        )


async def _await(returned: Awaitable[object]) -> object:
    return await returned
