"""Exactly one start and one end for every run, whatever fails.

A run counts as started as soon as the first handler may have heard of it, so that a start event that fails or is
cancelled half way is followed by an end too. A cancelled caller waits until its handlers have heard of the end; each
handler has a few seconds (see `hocket.callbacks.events`).
"""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

from hocket._pipeline.call import Call, Next
from hocket._pipeline.deadline import start_in_time
from hocket._runtime.cancellation import is_cancellation, is_cancelled
from hocket.callbacks.events import NOTHING

__all__ = ["run_all", "with_run_events"]


async def with_run_events(call: Call, call_next: Next) -> Any:
    """Run ``call_next`` as a run of its own, told to the call's handlers. Returns the finished result."""
    if not call.runs.is_watched:
        return call.finish(await call_next(call))
    try:
        await start_in_time(call)
        return await _run(call, call_next)
    except BaseException as error:
        await _fail(call, error)
        raise


async def run_all(calls: Sequence[Call], call_next: Next) -> list[Any]:
    """Start the calls in order, run them (at once, where the runtime can), and return their results in order.

    Raises:
        BaseException: the error of the first call, by position, that failed. The others have run to their end; on the
            blocking runtime, where one runs after another, those behind it are not run, and end with its error.
    """
    if len(calls) < 2:
        return [await with_run_events(call, call_next) for call in calls]
    results: dict[int, Any] = {}
    errors: dict[int, BaseException] = {}

    async def run(index: int) -> None:
        """Run one call; only a cancellation from outside gets out."""
        call = calls[index]
        try:
            if errors and not call.runtime.is_async:
                raise errors[min(errors)]
            results[index] = await _run(call, call_next)
        except BaseException as error:
            errors[index] = error
            await _fail(call, error)
            if call.runtime.is_async and is_cancelled() and is_cancellation(error):
                raise

    try:
        for call in calls:
            if call.runs.is_watched:
                await start_in_time(call)
        await calls[0].runtime.run_each(functools.partial(run, index) for index in range(len(calls)))
    except BaseException as error:
        await _fail_all(calls, error)
        raise
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(calls))]


async def _run(call: Call, call_next: Next) -> Any:
    """Run a call that has started, and tell its end."""
    finished = call.finish(await call_next(call))
    if call.runs.is_watched:
        telling = call.runs.end(call.answer.make_responses, call.result, finished)
        if telling is not NOTHING:
            await telling
    return finished


async def _fail(call: Call, error: BaseException) -> None:
    """Tell the handlers of a call that it has failed, unless its end has been told."""
    if call.runs.is_watched and not call.runs.has_ended:
        with contextlib.suppress(Exception):  # of a handler: a run that has failed keeps its own error
            await call.fail(error)


async def _fail_all(calls: Sequence[Call], error: BaseException) -> None:
    interruption: BaseException | None = None
    for call in calls:
        try:
            await _fail(call, error)
        except BaseException as again:  # cancelled once more: the others are told all the same
            interruption = again
    if interruption is not None:
        raise interruption from error
