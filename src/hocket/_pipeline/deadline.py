"""Limits on time, and attempts, each in one place for all providers. Limits hold for what the hook hands over.

``total`` begins with the run, so that it covers the handlers that are told of its start: the caller waits for them, too.
It does not cover those that are told of its end, which have a limit of their own (`hocket.callbacks.events`), for an end
is always told. It is above the cache, so that of several calls that share a request each keeps to its own; ``first_token``
and ``idle`` are right above the hook, anew for each attempt. While the consumer of a stream takes its time the clock stands
still. A call that runs out of time is cancelled where it waits, and its error has the part of the answer that had come.

Sync code cannot be interrupted: there ``total`` is checked between chunks and attempts, and the other limits are ignored.

There is no other attempt once a chunk was handed out, to a consumer or to handlers that listen to tokens: nobody is to
get the beginning twice. Nor is there one after the call's deadline: where the server asks for a longer wait, its error is
raised at once. The outermost policy sets the number of attempts; policies inside it spend from the same budget.
"""

from collections.abc import Awaitable
from typing import Any

from hocket._pipeline.call import NO_LIMITS, Call, Next
from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket.errors import FirstTokenTimeout, IdleTimeout, RequestTimeout, TotalTimeout
from hocket.retries import Failure, RetryPolicy, retry_async
from hocket.timeouts import Timeout, connect_limit

__all__ = ["check_total", "start_in_time", "with_attempt_deadlines", "with_retries", "with_total_deadline"]


def start_in_time(call: Call) -> Awaitable[None]:
    """Start a call's runs, within its limit on all of its time, if it has one, which begins here."""
    total = None if call.limits is NO_LIMITS else call.limits.total
    if total is None:
        return call.runs.start()
    call.limits.start()
    return _start_within(call, total) if call.runtime.is_async else call.runs.start()


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
        return _run_within(call, call_next) if call.runtime.is_async else call_next(call)

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
    if not call.runtime.is_async and call.limits.is_over:
        raise _total_timeout(call)


def with_attempt_deadlines(call_next: Next) -> Next:
    """Return ``call_next`` within the call's limits on each attempt, if it has any."""

    def start(call: Call) -> Awaitable[Any]:
        if not call.runtime.is_async:
            return call_next(call)
        limits = call.limits.timeout
        if limits is None and connect_limit.get() is None:
            return call_next(call)
        timed = limits is not None and call.request.streaming and (limits.first_token or limits.idle)
        attempt = _attempt_within(call, call_next, limits) if limits is not None and timed else call_next(call)
        connect = None if limits is None else limits.connect
        return attempt if connect == connect_limit.get() else _connect_within(attempt, connect)

    return start


async def _connect_within(attempt: Awaitable[Any], limit: float | None) -> Any:
    token = connect_limit.set(limit)
    try:
        return await attempt
    finally:
        connect_limit.reset(token)


async def _attempt_within(call: Call, call_next: Next, limits: Timeout) -> Any:
    try:
        with Alarm() as alarm:
            alarm.set(limits.first_token)
            call.delivery.watch(alarm, limits.idle)
            return await call_next(call)
    finally:
        call.delivery.unwatch()
    if call.delivery.has_begun and limits.idle is not None:
        raise _timeout(call, IdleTimeout, f"the stream brought nothing more for {limits.idle:g} s", "idle")
    raise _timeout(
        call, FirstTokenTimeout, f"the stream brought nothing within {limits.first_token:g} s", "first_token"
    )


def _total_timeout(call: Call) -> RequestTimeout:
    limit = round(call.limits.total or 0, 3)  # of a call that is tried again: what was left of the caller's
    return _timeout(call, TotalTimeout, f"the call took longer than {limit:g} s in all", "total")


def _timeout(call: Call, cls: type[RequestTimeout], what: str, limit: str) -> RequestTimeout:
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


def with_retries(call_next: Next) -> Next:
    """Return ``call_next``, tried again by the call's policy, if it has one."""

    def start(call: Call) -> Awaitable[Any]:
        policy = call.limits.retry
        return call_next(call) if policy is None else _make_attempts(call, call_next, policy)

    return start


def _make_attempts(call: Call, call_next: Next, policy: RetryPolicy) -> Awaitable[Any]:
    async def attempt(number: int) -> Any:
        if number > 1:
            call.delivery.restart()
            check_total(call)
        return await call_next(call)

    async def emit_retry(failure: Failure) -> None:
        state, facts = failure.retry_event_args
        response = call.failure_response(failure.error)
        await call.runs.emit_shared("on_retry", state, **facts, response=response)

    return retry_async(
        attempt,
        policy,
        call.runtime,
        limit=policy.max_attempts,
        ends_at=lambda: call.limits.ends_at,
        may_repeat=lambda: not call.delivery.has_handed_out,
        tell=emit_retry,
    )
