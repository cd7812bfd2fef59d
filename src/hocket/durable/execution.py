"""One execution of a run: what earlier ones recorded, found again by what was asked, and what the run waits for now.

A place in the journal is a key, with ``#1``, ``#2`` where a key comes again in one run: equal keys asked the same, so that
it does not matter which of them is which. No order is asked of the code, only that it asks the same things.
"""

import math
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar

import anyio

from hocket._runtime import clock
from hocket.durable.engine import Journal
from hocket.durable.signals import SignalReader
from hocket.durable.standing import Signal, Standing, Waiting
from hocket.durable.store import RunStore

__all__ = ["Execution", "JournalPlace", "current_execution"]

_NUMBER = re.compile(r"#\d+$")
_BEGUN = "begun "
_LONGEST_NAP = 60.0
"""Seconds after which one that sleeps looks at the machine's clock again, which somebody may have set."""

_FIRST_LOOK = 1.0  # seconds: a signal that came in time is taken, though its run goes on much later


class JournalPlace:
    """A place in the journal of an execution.

    Attributes:
        name: of the place: a key, and which of several it is.
        text: what is recorded there; None: nothing.
        is_unknown: whether an earlier execution began what belongs here, and has not recorded its end.
    """

    def __init__(self, execution: "Execution", name: str, text: str | None, is_unknown: bool) -> None:
        self.name: str = name
        self.text: str | None = text
        self.is_unknown: bool = is_unknown
        self._execution = execution

    async def begin(self) -> None:
        """Record that it is begun, which nobody may begin again."""
        await self._execution.record(_BEGUN + self.name, "true")

    async def record(self, text: str) -> None:
        """Record what came of it."""
        await self._execution.record(self.name, text)
        self.text = text

    def release(self) -> None:
        """Give the place back where nothing was recorded."""
        if self.text is None and not self.is_unknown:
            self._execution.give_back(self.name)


class Execution:
    """One execution of a run, in this process.

    Args:
        id: of the run.
        store: where the run stands beside others.
        journal: the engine's.
        standing: of the run.
        signals: reads those of all runs of this process.
        places: of runs that work at once in this process; a run that waits has none.
    """

    def __init__(
        self,
        id: str,
        store: RunStore,
        journal: Journal,
        standing: Standing,
        signals: SignalReader,
        places: anyio.Semaphore,
    ) -> None:
        self.id: str = id
        self.store: RunStore = store
        self.standing: Standing = standing
        self._journal = journal
        self._signals = signals
        self._working = places
        self._places: dict[str, list[str]] = {}
        for name in journal.recorded:
            self._places.setdefault(_NUMBER.sub("", name), []).append(name)
        self._taken: set[str] = set()
        self._taken_signals: set[int] = set()
        self._waiting: list[Waiting] = []
        self._writing = anyio.Lock()
        self._has_place = False

    @property
    def is_halted(self) -> bool:
        """Whether another process goes on with the run."""
        return self._journal.is_halted

    # -- the journal

    def claim(self, key: str) -> JournalPlace:
        """Return a place for what ``key`` names: one that an earlier execution filled, if there is one left."""
        recorded = self._journal.recorded
        key = key.replace("#", "%23")
        for name in self._places.get(key, ()):
            if name not in self._taken:
                self._taken.add(name)
                return JournalPlace(self, name, recorded[name], is_unknown=False)
        name, number = key, 0
        while name in self._taken:
            number += 1
            name = f"{key}#{number}"
        self._taken.add(name)
        return JournalPlace(self, name, None, is_unknown=_BEGUN + name in recorded)

    def give_back(self, name: str) -> None:
        """Have a place be claimed by the next that asks the same."""
        self._taken.discard(name)

    def find(self, name: str) -> str | None:
        """Return what is recorded under a name; None: nothing."""
        return self._journal.recorded.get(name)

    def find_all(self, pattern: str) -> list[str]:
        """Return what is recorded under names that match."""
        return [text for name, text in self._journal.recorded.items() if re.fullmatch(pattern, name)]

    def list_unused(self) -> list[str]:
        """Return what earlier executions recorded and nobody has asked for in this one."""
        asked = ("model:", "step:", "sleep:", "signal:", "end ")
        return [name for name in self._journal.recorded if name.startswith(asked) and name not in self._taken]

    async def record(self, name: str, text: str) -> None:
        """Record something under a name."""

        async def keep() -> str:
            return text

        await self._journal.record(name, keep)

    # -- waiting

    async def sleep_until(self, time: float) -> None:
        """Return when the machine's clock shows a time, in seconds since 1970."""
        async with self.wait({"sleep": time}):
            while (left := time - clock.current().time()) > 0:  # noqa: ASYNC110  # nothing would set an event
                await anyio.sleep(min(left, _LONGEST_NAP))

    async def find_signals(
        self, waiting: Sequence[Waiting], take: Callable[[Signal], bool], until: float | None = None
    ) -> list[Signal]:
        """Return the next signals that ``take`` takes, which nobody else in this run gets; none: the time has passed.

        Args:
            waiting: what others are told of that.
            take: says whether a signal is meant.
            until: by the machine's clock, in seconds since 1970; None: as long as it takes.
        """

        taken: set[int] = set()

        def take_new(signal: Signal) -> bool:
            if signal.id in self._taken_signals or not take(signal):
                return False
            self._taken_signals.add(signal.id)
            taken.add(signal.id)
            return True

        try:
            async with self.wait(*waiting):
                while True:
                    left = math.inf if until is None else until - clock.current().time()
                    with anyio.move_on_after(min(max(left, _FIRST_LOOK), _LONGEST_NAP)):
                        return await self._signals.wait(self.id, take_new)
                    if left <= _LONGEST_NAP:
                        return []
        except BaseException:  # of whatever kind: who asks next gets them
            self._taken_signals -= taken
            raise

    def keep_signal(self, id: int) -> None:
        """Note that an earlier execution has recorded a signal, which is still there."""
        self._taken_signals.add(id)

    async def drop_signal(self, id: int) -> None:
        """Drop a signal that is recorded."""
        await self.store.call(lambda: self.store.database.tables.drop_signal(id))

    @asynccontextmanager
    async def wait(self, *waiting: Waiting) -> AsyncGenerator[None]:
        """Tell everybody for what the run waits, inside the block; another run may work meanwhile."""
        self._waiting += waiting
        try:
            await self._write_waiting()
            self.leave()
            yield
        finally:
            for one in waiting:  # another one may be equal
                self._waiting.remove(one)
            with anyio.CancelScope(shield=True):
                await self._write_waiting()
            if not self._waiting:
                await self.enter()

    async def enter(self) -> None:
        """Wait for a place among the runs that work."""
        if not self._has_place:
            await self._working.acquire()
            self._has_place = True

    def leave(self) -> None:
        """Give that place to another run."""
        if self._has_place:
            self._has_place = False
            self._working.release()

    async def _write_waiting(self) -> None:
        async with self._writing:  # what is written last is how it is
            waiting = [*self._waiting]
            if not self.is_halted:
                await self.store.call(lambda: self.store.database.tables.set_waiting(self.id, waiting))


current_execution: ContextVar[Execution | None] = ContextVar("hocket_execution", default=None)
"""The execution that this code is part of; None: no run."""
