"""What every ledger does: it takes entries, writes them behind the back of the calls, prices them, and sums them up."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any, ClassVar

from hocket._metering.attempt import Attempt
from hocket._runtime.mode import ASYNC
from hocket.errors import InvalidInput
from hocket.ledger.booking import Booking, make_hit
from hocket.ledger.entry import BATCH, EntryOutcome, LedgerEntry, encode_line
from hocket.ledger.spool import Spool
from hocket.ledger.writer import EntryWriter
from hocket.messages import UsageMetadata
from hocket.prices import price_of
from hocket.prices.batch import batch_price_of
from hocket.prices.money import EXACT

__all__ = ["Ledger", "LedgerTotal"]


@dataclass
class LedgerTotal:
    """What some entries come to.

    Attributes:
        group: what they have in common: the columns that they were grouped by.
        calls: entries. failed: of these, those that failed. cached: those that were not asked for, but had. open: those
            without an end: in flight, or of a process that died.
        input_tokens, output_tokens, cache_read, cache_write, reasoning, served_tokens: sums of the columns.
        cost: in US dollars, of the entries that have one.
        unpriced: entries without a known cost.
        estimated: entries whose tokens were counted here.
    """

    group: Mapping[str, Any] = field(default_factory=dict[str, Any])
    calls: int = 0
    failed: int = 0
    cached: int = 0
    open: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    served_tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0
    estimated: int = 0

    @property
    def cached_share(self) -> float | None:
        """How much of the input was read from the providers' caches, from 0 to 1; None: there was no input."""
        return self.cache_read / self.input_tokens if self.input_tokens else None

    def add(self, entry: LedgerEntry) -> None:
        """Add an entry."""
        self.calls += 1
        self.failed += entry.outcome == "failed"
        self.cached += entry.outcome in ("cached", "shared")
        self.open += entry.outcome == "open"
        self.input_tokens += entry.input_tokens or 0
        self.output_tokens += entry.output_tokens or 0
        self.cache_read += entry.cache_read
        self.cache_write += entry.cache_write
        self.reasoning += entry.reasoning
        self.served_tokens += entry.served_tokens
        self.unpriced += entry.cost is None
        self.estimated += entry.estimated
        if entry.cost is not None:
            with localcontext(EXACT):
                self.cost += entry.cost


class Ledger(ABC):
    """A record of usage and costs of models: an entry for each attempt, and for each answer from a cache.

    A model has one as its ``ledger``, or all have the one of `set_ledger`. It never slows a call: entries are written by a
    thread, some 50 ms later. Where the store fails they go to a file, ``spool``, and to the store when it is back;
    ``errors`` counts them. An entry that the store refuses for what it is goes to a file beside that, ``.refused``, which
    the log says (``hocket.ledger``).

    Args:
        address: of the store, as errors show it, without secrets.
        metadata: the names of the entries of a call's metadata that are kept; None: all texts, numbers and truth values.
        spool: the path of the file for entries while the store is away; None: in the directory for temporary files.
    """

    is_portable: bool = True
    """Whether it means the same in another process, so that a model's pickle takes it along."""

    _batch_size: ClassVar[int] = 1000
    """Entries that `_write` gets at most."""

    def __init__(self, address: str, metadata: Sequence[str] | None = None, spool: str | None = None) -> None:
        if isinstance(metadata, str):
            raise InvalidInput(f"metadata is the text {metadata!r}; it must be a list of names: [{metadata!r}]")
        self._address = address
        self._metadata = None if metadata is None else frozenset(metadata)
        self._spool = Spool(self._find_address, spool)
        self._writer = EntryWriter(repr(self), self._write_priced, self._spool, self._batch_size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address!r})"

    @property
    def errors(self) -> int:
        """Entries that the store did not take when they came: they are in the spool, written since, or set aside."""
        return self._writer.errors

    @property
    def spool_path(self) -> str:
        """Where entries are kept while the store is away."""
        return self._spool.path

    def _find_address(self) -> str:
        """Return what tells the store from all others of this machine, without secrets. May look at the disk."""
        return self._address

    # -- in

    async def reserve(self, attempt: Attempt) -> Booking:
        """Note an attempt that begins; its end is booked when it is settled. Holds nothing back."""
        return Booking(self._writer, attempt, self._choose_metadata(attempt.metadata))

    def record_hit(self, attempt: Attempt, usage: UsageMetadata | None, is_shared: bool) -> None:
        """Book an answer out of a cache or, if ``is_shared``, out of an equal call in flight."""
        outcome: EntryOutcome = "shared" if is_shared else "cached"
        self._writer.put(make_hit(attempt, self._choose_metadata(attempt.metadata), usage, outcome))

    def book(self, entry: LedgerEntry) -> None:
        """Take an entry of your own. Never waits. One that has tokens and no cost is priced when it is written.

        Raises:
            InvalidInput: it is none, such as one whose ``at`` is no time.
        """
        try:
            encode_line(entry)
        except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
            raise InvalidInput(f"{entry!r:.300} is no entry of a ledger: {error}") from error
        self._writer.put(entry)

    def _choose_metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        if self._metadata is not None:
            return {name: value for name, value in metadata.items() if name in self._metadata}
        return {name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool)}

    def flush(self) -> None:
        """Wait until all entries that have come are written, or spooled."""
        self._writer.flush()

    async def aflush(self) -> None:
        """Wait until all entries that have come are written, without holding up the event loop."""
        await ASYNC.call_sync(self.flush)

    def _write_priced(self, entries: Sequence[LedgerEntry]) -> None:
        self._write([_price(entry) for entry in entries])

    @abstractmethod
    def _write(self, entries: Sequence[LedgerEntry]) -> None:
        """Write entries, in a thread. One whose id is there is replaced, unless it has ended.

        Raises:
            StoreError: none is written. With a DataError or an IntegrityError of a database as its cause: an entry is to
                blame.
        """

    # -- out

    def entries(self, since: datetime | timedelta | None = None, **where: object) -> Iterator[LedgerEntry]:
        """Yield the entries that are written, oldest first. What is under way comes after `flush`.

        Args:
            since: from this time on (without a time zone: this machine's), or for so long until now; None: all.
            where: what a column, or an entry of the metadata, has to be: ``model="gpt-5.2"``, ``tenant="acme"``.

        Raises:
            StoreError: the store cannot be read, or holds something else.
        """
        begin = None if since is None else _read_since(since)
        for entry in self._read(begin):
            if (begin is None or entry.at >= begin) and all(entry[name] == value for name, value in where.items()):
                yield entry

    def total(
        self, by: Sequence[str] = (), since: datetime | timedelta | None = None, **where: object
    ) -> list[LedgerTotal]:
        """Return the sums of the entries, the most expensive first.

        Args:
            by: the columns, or entries of the metadata, whose values make groups: ``("model", "tenant")``; none: one total.
            since, where: which entries, as for `entries`.

        Raises:
            StoreError: as for `entries`.
        """
        names = (by,) if isinstance(by, str) else tuple(by)
        totals: dict[tuple[str, ...], LedgerTotal] = {} if names else {(): LedgerTotal()}
        for entry in self.entries(since, **where):
            values = [entry[name] for name in names]
            key = tuple(map(repr, values))
            if key not in totals:
                totals[key] = LedgerTotal(dict(zip(names, values, strict=True)))
            totals[key].add(entry)
        return sorted(totals.values(), key=lambda total: (-total.cost, -total.calls, repr(total.group)))

    @abstractmethod
    def _read(self, since: datetime | None) -> Iterator[LedgerEntry]:
        """Yield the entries, oldest first; those before ``since`` may be left out."""

    # -- copies and pickles

    def __deepcopy__(self, memo: dict[int, object]) -> "Ledger":
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_writer": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._writer = EntryWriter(repr(self), self._write_priced, self._spool, self._batch_size)


def _price(entry: LedgerEntry) -> LedgerEntry:
    """Return an entry with its cost, where that can be known."""
    if entry.cost is not None or entry.input_tokens is None or entry.output_tokens is None or not entry.model:
        return entry
    is_batch = entry.price == BATCH
    price = (batch_price_of if is_batch else price_of)(entry.model, entry.provider)
    if price is None:
        return entry
    usage: UsageMetadata = {
        "input_tokens": entry.input_tokens,
        "output_tokens": entry.output_tokens,
        "total_tokens": entry.input_tokens + entry.output_tokens,
        "input_token_details": {"cache_read": entry.cache_read, "cache_creation": entry.cache_write},
        "output_token_details": {"reasoning": entry.reasoning},
    }
    shown = f"{price.input}/{price.output}"
    return replace(entry, cost=price.cost(usage), price=f"{BATCH} {shown}" if is_batch else shown)


def _read_since(since: datetime | timedelta) -> datetime:
    if isinstance(since, timedelta):
        return datetime.now().astimezone() - since
    if not isinstance(since, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"since is {since!r}; it is a datetime, or a timedelta until now")
    return since.astimezone()
