"""Waits for what runs are told. One task of a worker looks for all of its runs that wait, in one trip."""

import logging
from collections.abc import Callable
from typing import NamedTuple

import anyio

from hocket._runtime.detached import spawn
from hocket._secrets import redact
from hocket.durable.standing import Signal
from hocket.durable.store import RunStore

__all__ = ["SignalReader"]

_EVERY = 0.2
"""Seconds between two looks."""

_MOST = 500
"""Runs that are asked for in one trip."""

_log = logging.getLogger("hocket.durable")


class _Wait(NamedTuple):
    """Somebody who waits for a signal that ``take`` takes; it is put into ``found``."""

    run: str
    take: Callable[[Signal], bool]
    found: list[Signal]
    is_over: anyio.Event


class SignalReader:
    """Reads signals as they come, on the loop that executes runs."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._waits: list[_Wait] = []
        self._is_looking = False

    async def wait(self, run: str, take: Callable[[Signal], bool]) -> list[Signal]:
        """Return the signals of a run that ``take`` takes: all of one look, as soon as there is one."""
        wait = _Wait(run, take, [], anyio.Event())
        self._waits.append(wait)
        if not self._is_looking:
            self._is_looking = True
            spawn(self._look_again)
        try:
            await wait.is_over.wait()
        finally:
            if wait in self._waits:
                self._waits.remove(wait)
        return wait.found

    async def _look_again(self) -> None:
        try:
            while self._waits:
                try:
                    await self._look()
                except Exception as error:  # of whatever kind: who waits goes on waiting
                    _log.warning(
                        "signals at %s: %s", self._store.database.shown, redact(f"{type(error).__name__}: {error}")
                    )
                await anyio.sleep(_EVERY)
        finally:
            self._is_looking = False

    async def _look(self) -> None:
        runs = [*{wait.run for wait in self._waits}]
        for first in range(0, len(runs), _MOST):
            for signal in await self._store.find_signals(runs[first : first + _MOST]):
                taking = next((wait for wait in self._waits if wait.run == signal.run and wait.take(signal)), None)
                if taking is not None:
                    taking.found.append(signal)
                    taking.is_over.set()
