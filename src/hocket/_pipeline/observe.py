"""Exactly one start and one end for every run, whatever fails.

A run counts as started as soon as the first handler may have heard of it, so that a start event that fails or is
cancelled half way is followed by an end too. A cancelled caller waits until its handlers have heard of the end; each
handler has a few seconds (see `hocket.callbacks.events`).

``total``, the limit on all of a call's time, begins with the run, so that it covers the handlers that are told of its
start: the caller waits for them, too. It does not cover those that are told of its end, for an end is always told. It is
above the cache, so that of several calls that share a request each keeps to its own. A call that runs out of time is
cancelled where it waits, and its error has the part of the answer that had come. Sync code cannot be interrupted: there
``total`` is checked between chunks and attempts, and the other limits are ignored.
"""

import contextlib
import functools
from collections.abc import Awaitable, Sequence
from typing import Any

from hocket._pipeline.call import NO_LIMITS, Call, Next
from hocket._runtime import clock
from hocket._runtime.cancellation import is_cancellation, is_cancelled
from hocket._runtime.clock import Alarm
from hocket.callbacks.events import NOTHING
from hocket.errors import RequestTimeout, TotalTimeout

__all__ = ["check_total", "make_timeout", "run_all", "with_run_events", "with_total_deadline"]


async def with_run_events(call: Call, call_next: Next) -> Any:
    """Run ``call_next`` as a run of its own, told to the call's handlers. Returns the finished result."""
    if not call.runs.is_watched:
        return call.finish(await call_next(call))
    try:
        await _start_in_time(call)
        return await _run(call, call_next)
    except BaseException as error:
        await _fail(call, error)
        raise


async def run_all(calls: Sequence[Call], call_next: Next) -> list[Any]:
    """Start the calls in order, run them (at once, where the mode allows it), and return their results in order.

    Raises:
        BaseException: the error of the first call, by position, that failed. The others have run to their end; on the
            blocking mode, where one runs after another, those behind it are not run, and end with its error.
    """
    if len(calls) < 2:
        return [await with_run_events(call, call_next) for call in calls]
    results: dict[int, Any] = {}
    errors: dict[int, BaseException] = {}

    async def run(index: int) -> None:
        """Run one call; only a cancellation from outside gets out."""
        call = calls[index]
        try:
            if errors and not call.mode.is_async:
                raise errors[min(errors)]
            results[index] = await _run(call, call_next)
        except BaseException as error:
            errors[index] = error
            await _fail(call, error)
            if call.mode.is_async and is_cancelled() and is_cancellation(error):
                raise

    try:
        for call in calls:
            if call.runs.is_watched:
                await _start_in_time(call)
        await calls[0].mode.run_each(functools.partial(run, index) for index in range(len(calls)))
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


# -- the limit on all of a call's time


def _start_in_time(call: Call) -> Awaitable[None]:
    """Start a call's runs, within its limit on all of its time, if it has one, which begins here."""
    total = None if call.limits is NO_LIMITS else call.limits.total
    if total is None:
        return call.runs.start()
    call.limits.start()
    return _start_within(call, total) if call.mode.is_async else call.runs.start()


async def _start_within(call: Call, total: float) -> None:
    with Alarm() as alarm:
        alarm.set(total)
        return await call.runs.start()
    raise _total_timeout(call)


def with_total_deadline(call_next: Next) -> Next:
    """Return ``call_next`` within the call's limit on all of its time, if it has one: what is left, if a run has begun."""

    def start(call: Call) -> Awaitable[Any]:
        if call.limits is NO_LIMITS or call.limits.total is None:
            return call_next(call)
        call.limits.start()
        if call.limits.is_over:  # spent in sync code of a handler
            raise _total_timeout(call)
        return _run_within(call, call_next) if call.mode.is_async else call_next(call)

    return start


async def _run_within(call: Call, call_next: Next) -> Any:
    assert call.limits.ends_at is not None
    with Alarm() as alarm:
        call.limits.watch(alarm, call.limits.ends_at - clock.current().now())
        return await call_next(call)
    raise _total_timeout(call)


def check_total(call: Call) -> None:
    """See whether a call in sync code, which nothing interrupts, has any time left.

    Raises:
        TotalTimeout: it has not.
    """
    if not call.mode.is_async and call.limits.is_over:
        raise _total_timeout(call)


def _total_timeout(call: Call) -> RequestTimeout:
    limit = round(call.limits.total or 0, 3)  # of a call that is tried again: what was left of the caller's
    return make_timeout(call, TotalTimeout, f"the call took longer than {limit:g} s in all", "total")


def make_timeout(call: Call, cls: type[RequestTimeout], what: str, limit: str) -> RequestTimeout:
    """Return the error of a call that ran out of time, with the part of its answer that had come."""
    came, partial = "nothing had come", None
    if call.delivery.has_begun:
        sizes = call.delivery.sizes
        partial = call.delivery.fold.partial_message()
        came = f"{len(sizes)} chunk{'s' * (len(sizes) > 1)} had come, {sum(sizes)} characters, see `partial`"
    return cls(
        f"{what} (the limit is Timeout({limit}=...)); {came}",
        provider=call.request.provider,
        model=call.request.served_model,
        retryable=cls is not TotalTimeout,
        partial=partial,
    )
