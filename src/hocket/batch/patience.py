"""How long a run waits for batches, and for what passes."""

import anyio

from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket.errors import InvalidReply, LLMError

__all__ = ["NotNow", "Patience", "may_pass"]


class NotNow(Exception):
    """The time to wait is over, or the run ends: what is under way is left to the next one."""


class Patience:
    """The time to wait.

    Args:
        wait: seconds from now on; None: for ever.
        stopping: set when the run ends.
    """

    def __init__(self, wait: float | None, stopping: anyio.Event) -> None:
        self._ends_at = None if wait is None else clock.current().now() + wait
        self._stopping = stopping

    async def pause(self, seconds: float, event: anyio.Event | None = None) -> None:
        """Wait, by the clock, or until an event.

        Raises:
            NotNow: the time to wait was over, or the run ends.
        """
        if self._ends_at is not None:
            seconds = min(seconds, self._ends_at - clock.current().now())
            if seconds <= 0:
                raise NotNow
        await self.rest(seconds, event)

    async def rest(self, seconds: float, event: anyio.Event | None = None) -> None:
        """Wait as `pause` does, also where the time to wait is over: a moment, before something is tried again.

        Raises:
            NotNow: the run ends.
        """
        with Alarm() as alarm:
            alarm.set(seconds)
            async with anyio.create_task_group() as first:
                for one in (self._stopping, event):
                    if one is not None:
                        first.start_soon(_wait_and_cancel, one, first.cancel_scope)
        if self._stopping.is_set():
            raise NotNow


async def _wait_and_cancel(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def may_pass(error: LLMError) -> bool:
    """Whether it may go well later."""
    return error.retryable or isinstance(error, InvalidReply)
