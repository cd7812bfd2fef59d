"""Exactly one start and one end for every run, whatever is raised, wherever.

A run counts as started as soon as the first handler may have heard of it, so that a start event that fails or is
cancelled half way is followed by an end too. A cancelled caller waits until its handlers have been told, which have a
few seconds each (see `hocket.callbacks.events`).
"""

import contextlib
import functools
from collections.abc import Awaitable, Sequence
from typing import Any

import anyio

from hocket._pipeline.call import Call, Go
from hocket._pipeline.deadline import start_in_time
from hocket._runtime.cancellation import is_cancelled
from hocket.callbacks.events import NOTHING

__all__ = ["observed", "run_all"]


async def observed(call: Call, go: Go) -> Any:
    """Run ``go`` as a run of its own, told to the call's handlers. Returns the finished result."""
    if not call.managers:
        return call.finished(await go(call))
    try:
        await start_in_time(call)
        return await _ended(call, go)
    except BaseException as error:
        if call.outcome is None:
            await _failed(call, error)
        raise


async def run_all(calls: Sequence[Call], go: Go) -> list[Any]:
    """Start the calls in order, run them (at once, where the runtime can), and return their results in order.

    Raises:
        BaseException: the error of the first call, by position, that failed. The others have run to their end; on the
            blocking runtime, where one runs after another, those behind it are not run, and end with its error.
    """
    if len(calls) < 2:
        return [await observed(call, go) for call in calls]
    try:
        for call in calls:
            if call.is_observed:
                await start_in_time(call)
        await calls[0].runtime.run_each(functools.partial(_settle, call, calls, go) for call in calls)
    except BaseException as error:
        struck: BaseException | None = None
        for call in calls:
            if call.outcome is None:
                try:
                    await _failed(call, error)
                except BaseException as again:  # cancelled once more: the others are told all the same
                    struck = again
        if struck is not None:
            raise struck from error
        raise
    for call in calls:
        if isinstance(call.outcome, _Failure):
            raise call.outcome.error
    return [call.outcome for call in calls]


class _Failure:
    """An error as an outcome, told apart from a result that is one."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def _settle(call: Call, calls: Sequence[Call], go: Go) -> None:
    """Give the call its outcome; only a cancellation from outside gets out."""
    failure = (
        None if call.runtime.is_async else next((c.outcome for c in calls if isinstance(c.outcome, _Failure)), None)
    )
    try:
        if failure is not None:
            raise failure.error
        await _ended(call, go)
    except BaseException as error:
        if call.outcome is None:
            await _failed(call, error)
        else:
            call.outcome = _Failure(error)  # of a handler, raised at the end of a run that had gone well
        if call.runtime.is_async and is_cancelled() and isinstance(error, anyio.get_cancelled_exc_class()):
            raise


async def _ended(call: Call, go: Go) -> Any:
    """Run a call that has started, and tell its end."""
    result = call.finished(await go(call))
    call.outcome = result
    if call.runs:
        telling = call.end(result)
        if telling is not NOTHING:
            await _tell_end(call, "on_llm_end", telling)
    return result


async def _failed(call: Call, error: BaseException) -> None:
    call.outcome = _Failure(error)
    if call.runs:
        with contextlib.suppress(Exception):  # of a handler: a run that has failed keeps its own error
            await _tell_end(call, "on_llm_end" if call.closed else "on_llm_error", call.fail(error))


async def _tell_end(call: Call, name: str, telling: Awaitable[None]) -> None:
    """Tell the end of a call; what takes time is told whatever cancels the caller meanwhile."""
    await (call.runtime.run_shielded(telling) if any([run._waits(name) for run in call.runs]) else telling)
