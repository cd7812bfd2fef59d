"""The journal of one execution, kept by DBOS as its steps."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import anyio
import anyio.lowlevel
from dbos import DBOS, error as dbos_errors

from hocket.errors import EngineUnavailable

__all__ = ["DBOSJournal"]

_GRACE = 10.0
"""Seconds that the record of a step may take when it is cancelled."""


class DBOSJournal:
    """The journal of one execution, on the loop of DBOS.

    Args:
        recorded: what earlier executions have recorded, by key.
    """

    def __init__(self, recorded: dict[str, str]) -> None:
        self._recorded = recorded
        self.is_halted: bool = False
        self.scope: anyio.CancelScope = anyio.CancelScope()
        self._loop = asyncio.get_running_loop()

    @property
    def recorded(self) -> Mapping[str, str]:
        return self._recorded

    async def record(self, key: str, call: Callable[[], Awaitable[str]]) -> str:
        text = await call()

        async def keep() -> str:
            return text

        try:
            # Shielded: what was done is not lost since the run is cancelled now. DBOS would wait for its database for ever.
            with anyio.move_on_after(_GRACE, shield=True) as saving:
                await DBOS.run_step_async({"name": key}, keep)
            if saving.cancelled_caught:  # nobody knows whether it is there
                raise EngineUnavailable(f"{key} could not be recorded in {_GRACE:g} s")
        except dbos_errors.DBOSBaseException as error:  # which nobody in between may catch
            self.is_halted = isinstance(error, dbos_errors.DBOSWorkflowConflictIDError)
            self.scope.cancel()
            await anyio.lowlevel.checkpoint()
        self._recorded[key] = text
        return text

    def end(self, *, is_halted: bool) -> None:
        """Cancel the execution, from whichever thread; ``is_halted``: another process goes on with it."""

        def cancel() -> None:
            self.is_halted = self.is_halted or is_halted
            self.scope.cancel()

        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(cancel)
