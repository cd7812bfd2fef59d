"""Entries are written behind the back of the calls: a call adds its entry to a queue, and a thread writes it down.

The thread begins with the first entry and ends when there has been none for a while. It writes what has come in 50 ms at
once. Where the store fails, the entries go to a spool, a file on this machine, and from there to the store when it is back:
an answer never waits, and is never lost, for its entry.

What is in flight is noted too, but only once it has been so for some time: then, should the process be killed, an entry
without an end is left, and most calls are still written once.
"""

import _thread
import atexit
import contextlib
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from time import monotonic

from hocket._databases.circuit import Circuit
from hocket._runtime.fork import after_fork
from hocket._runtime.mode import BLOCKING, drive
from hocket.errors import StoreError
from hocket.ledger.entry import LedgerEntry
from hocket.ledger.spool import Spool

__all__ = ["EntryWriter"]

_log = logging.getLogger("hocket.ledger")

TICK = 0.05
"""Seconds for which entries are collected before they are written."""

OPEN_AFTER = 0.25
"""Seconds after which an attempt in flight gets an entry of its own."""

IDLE = 5.0
"""Seconds without an entry after which the thread ends."""

BOUND = 10_000
"""Entries that wait for the store; what comes beyond goes to the spool."""

WRITTEN = -1.0
"""Stands for the time of an attempt that has an entry."""

LAST_WORDS = 5.0
"""Seconds for which the end of the process waits until all is written."""


class EntryWriter:
    """Writes the entries of one ledger.

    Args:
        owner: the ledger, as errors show it.
        write: writes entries, in the thread; raises `StoreError` if it cannot.
        spool: where they go then.
        batch_size: entries that are written at once at most.

    Attributes:
        errors: entries that the store did not take when they came. They are in the spool, or have been written since, or
            were set aside.
    """

    def __init__(
        self, owner: str, write: Callable[[Sequence[LedgerEntry]], None], spool: Spool, batch_size: int
    ) -> None:
        self.errors: int = 0
        self._owner = owner
        self._write = write
        self._spool = spool
        self._batch_size = batch_size
        self._circuit = Circuit(owner, 0.0, _log, "its entries are kept in a file on this machine, see `spool_path`")
        self.reset()
        _writers.add(self)
        _flush_before_others_close()

    def reset(self) -> None:
        """Begin again, without a thread and without entries, as in a forked child: the parent writes its own."""
        self._changed = threading.Condition(threading.Lock())
        self._queue: list[LedgerEntry] = []
        self._open: dict[str, tuple[LedgerEntry, float]] = {}
        self._booked = 0
        self._written = 0
        self._is_hurried = False
        self._is_running = False

    def open(self, entry: LedgerEntry) -> None:
        """Note an attempt that begins, an entry with the outcome "open". Never waits."""
        with self._changed:
            self._open[entry.id] = (entry, monotonic())
            self._start()
            if len(self._open) == 1:
                self._changed.notify_all()

    def withdraw(self, entry: LedgerEntry) -> None:
        """Forget an attempt that was not made after all; if it has waited long, it is written as one that has failed."""
        with self._changed:
            noted = self._open.pop(entry.id, None)
        if noted is not None and noted[1] == WRITTEN:
            self.put(replace(entry, outcome="cancelled", attempt=0, input_tokens=0, output_tokens=0, cost=Decimal(0)))

    def put(self, entry: LedgerEntry) -> None:
        """Write an entry soon. Never waits."""
        with self._changed:
            self._open.pop(entry.id, None)
            self._queue.append(entry)
            self._booked += 1
            self._start()
            if len(self._queue) > BOUND:
                overflow, self._queue = self._queue, []
                _thread.start_new_thread(self._spool_overflow, (overflow,))
            if len(self._queue) == 1:
                self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all entries that have come are written, or spooled.

        Args:
            timeout: seconds; None: as long as it takes.

        Returns:
            whether they are.
        """
        with self._changed:
            goal, self._is_hurried = self._booked, True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._written >= goal or not self._is_running, timeout)

    # -- the thread

    def _start(self) -> None:
        if not self._is_running:
            self._is_running = True
            _flush_before_child_ends()
            _thread.start_new_thread(self._run, ())  # Thread.start() would wait for it

    def _run(self) -> None:
        while self._write_next():
            pass

    def _write_next(self) -> bool:
        """Wait for entries and write them; whether the thread is to go on."""
        with self._changed:
            until = self._find_next_opening(monotonic())
            self._changed.wait_for(lambda: self._queue or self._is_hurried, IDLE if until is None else until)
            if not (self._queue or self._open or self._is_hurried):
                self._is_running = False
                return False
            if self._queue and not self._is_hurried:
                self._changed.wait_for(lambda: self._is_hurried, TICK)
            batch, self._queue = self._queue, []
            count = len(batch)
            self._is_hurried = False
            batch += self._take_openings(monotonic())
        self._store(batch)
        with self._changed:
            self._written += count
            self._changed.notify_all()
        return True

    def _find_next_opening(self, now: float) -> float | None:
        """Return the seconds until an attempt in flight is due for an entry; None: there is none."""
        for _, began in self._open.values():
            if began != WRITTEN:
                return max(0.0, began + OPEN_AFTER - now)
        return None

    def _take_openings(self, now: float) -> list[LedgerEntry]:
        """Return the entries of attempts that have been in flight for long, and mark them as written."""
        due: list[LedgerEntry] = []
        for key, (entry, began) in self._open.items():
            if began != WRITTEN and began <= now - OPEN_AFTER:
                due.append(entry)
                self._open[key] = (entry, WRITTEN)
        return due

    def _store(self, batch: Sequence[LedgerEntry]) -> None:
        for start in range(0, len(batch), self._batch_size):
            part = batch[start : start + self._batch_size]

            async def write(part: Sequence[LedgerEntry] = part) -> None:
                refused = self._spool.hand_over(part, self._write)
                self._count_errors(refused)

            try:
                drive(self._circuit.run(BLOCKING, write))
            except (StoreError, OSError):
                self._keep(part)
            except Exception:  # nothing may end the thread
                self._count_errors(len(part))
                _log.exception("%s: %d entries are lost", self._owner, len(part))
            else:
                self._restore_spool()

    def _restore_spool(self) -> None:
        """Bring what was kept to the store, now that it has taken something; what it does not take stays."""
        if self._spool.has_entries:
            try:
                self._spool.restore(self._write, self._batch_size)
            except (StoreError, OSError) as error:
                _log.warning("%s: what is kept in %s stays there: %s", self._owner, self._spool.path, error)

    def keep_rest(self) -> None:
        """Give what still waits to the spool: the process ends."""
        with self._changed:
            rest, self._queue = self._queue, []
        self._spool_overflow(rest)

    def _spool_overflow(self, batch: Sequence[LedgerEntry]) -> None:
        if batch:
            self._keep(batch)
        with self._changed:
            self._written += len(batch)
            self._changed.notify_all()

    def _count_errors(self, count: int) -> None:
        with self._changed:
            self.errors += count

    def _keep(self, batch: Sequence[LedgerEntry]) -> None:
        self._count_errors(len(batch))
        try:
            self._spool.add(batch)
        except OSError as error:
            where = self._spool.path
            _log.error("%s: %d entries are lost: %s cannot be written: %s", self._owner, len(batch), where, error)


_writers: weakref.WeakSet[EntryWriter] = weakref.WeakSet()


def _flush_before_others_close() -> None:
    """Have the end of the process write what waits before connections are closed.

    What was registered last runs first there. Finalisers, which close connections, are registered with the first of them.
    """
    if not _anchors:
        _anchors.append(weakref.finalize(EntryWriter, int))
    atexit.unregister(_flush_all)
    atexit.register(_flush_all)


_anchors: list[object] = []


def _flush_before_child_ends() -> None:
    """Have a child of `multiprocessing` write what waits at its end, which comes without the functions of `atexit`."""
    global _prepared
    if "multiprocessing.util" not in sys.modules or _prepared == os.getpid():
        return
    from multiprocessing import parent_process
    from multiprocessing.util import Finalize

    _prepared = os.getpid()
    if parent_process() is not None:
        Finalize(None, _flush_all, exitpriority=10)


_prepared = 0  # the last process that was looked at


def _flush_all() -> None:
    for writer in list(_writers):
        with contextlib.suppress(Exception):
            if not writer.flush(LAST_WORDS):
                writer.keep_rest()


@after_fork
def _start_anew() -> None:
    for writer in list(_writers):
        writer.reset()
