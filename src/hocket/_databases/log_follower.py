"""Waits for rows that other processes add to logs. One loop of a process looks for all who wait, in one trip.

To look again and again is the same for every store, works behind poolers and proxies, and loses nothing where a connection
breaks. Ten times a second is soon enough for a reader of news, and one trip however many they are. Who is behind, and finds
as many rows as there may be, asks for more at once: a look for new readers follows soon.
"""

import math
from collections.abc import Sequence

import anyio

from hocket._databases.store import GetOwner, Lease, ReadRows, StateStore
from hocket._runtime import clock
from hocket._runtime.detached import spawn
from hocket._runtime.mode import ASYNC

__all__ = ["LogFollower"]

PATIENCE = 5.0
"""Seconds for which a store may fail before waiting readers are told."""

MOST_READS = 500
"""Logs that are read in one trip."""

MOST_ROWS = 200
"""Rows of a log that are read at once: what a reader that is slow holds."""

EVERY = 0.1
"""Seconds between two looks for news."""

SOON = 0.005
"""Seconds until the look for readers that were behind."""

CHECK = 0.5
"""Seconds between two looks whether who writes a log lives."""


class _Look:
    """What some wait for: the rows of a log behind a place."""

    def __init__(self, log: str, after: int, lease: Lease) -> None:
        self.read = ReadRows(log, after, MOST_ROWS)
        self.owner = GetOwner(lease.key)
        self.writer = lease.owner
        self.waiting = 0
        self.is_new = True
        self.error: Exception | None = None
        self.is_over = anyio.Event()


class LogFollower:
    """Reads rows as they come, in one event loop.

    Args:
        store: has the logs.

    Attributes:
        is_looking: whether somebody waits, and its task runs.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._looks: dict[tuple[str, int], _Look] = {}
        self.is_looking: bool = False

    async def read(self, log: str, after: int, lease: Lease) -> Sequence[bytes]:
        """Return the rows that follow on the first ``after``, some 200 at most, as soon as there are any.

        Args:
            log: its name.
            after: how many are known.
            lease: of who writes it.

        Returns:
            the rows; none where there are none, and the lease is not, or no longer, its owner's.

        Raises:
            StoreError: the store has failed for some seconds.
        """
        look = self._looks.setdefault((log, after), _Look(log, after, lease))
        if not self.is_looking:
            self.is_looking = True
            spawn(self._look)
        look.waiting += 1
        try:
            await look.is_over.wait()
        finally:
            look.waiting -= 1
            if not look.waiting and self._looks.get((log, after)) is look:
                del self._looks[log, after]
        if look.error is not None:
            raise look.error
        return look.read.rows

    async def _look(self) -> None:
        fails_since: float | None = None
        checked_at = round_at = -math.inf
        try:
            while self._looks:
                now = clock.current().now()
                is_round = now >= round_at
                is_check = is_round and now >= checked_at + CHECK
                looks = [look for look in self._looks.values() if is_round or look.is_new]
                try:
                    for first in range(0, len(looks), MOST_READS):
                        some = looks[first : first + MOST_READS]
                        owners = [look.owner for look in some] if is_check else []  # first: of rows none come after it
                        await self._store.do(ASYNC, [*owners, *(look.read for look in some)])
                    fails_since = None if looks else fails_since
                    checked_at = now if is_check else checked_at
                except Exception as error:  # of any kind: waiting readers must get it
                    is_check = False
                    fails_since = now if fails_since is None else fails_since
                    self._fail(looks, error, clock.current().now() - fails_since >= PATIENCE)
                is_behind = False
                for look in looks:
                    look.is_new, is_behind = False, is_behind or len(look.read.rows) == MOST_ROWS
                    if look.read.rows or (is_check and look.owner.owner != look.writer):
                        self._finish(look)
                now = clock.current().now()
                round_at = now + EVERY if is_round else round_at
                await clock.current().sleep(SOON if is_behind else max(round_at - now, SOON))
        finally:
            self.is_looking = False

    def _fail(self, looks: Sequence[_Look], error: Exception, is_told: bool) -> None:
        for look in looks:
            if is_told and not look.read.rows:
                look.error = error
                self._finish(look)

    def _finish(self, look: _Look) -> None:
        if self._looks.get((look.read.log, look.read.after)) is look:
            del self._looks[look.read.log, look.read.after]
        look.is_over.set()
