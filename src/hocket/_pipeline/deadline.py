"""Limits on time, held in one place for every provider: on what the hook hands over, not on what the network does.

``total`` begins with the run, so that it covers the handlers that are told of its start: the caller waits for them, too.
It does not cover those that are told of its end, which have a limit of their own (`hocket.callbacks.events`), for an end
is always told. It is above the cache, so that of several calls that share a request each keeps to its own; ``first_token``
and ``idle`` are right above the hook, anew for each attempt. While the consumer of a stream takes its time the clock stands
still. What runs out of time is cancelled where it waits, and the error has what had come.

Sync code cannot be interrupted: there ``total`` is looked at between chunks and attempts, and the others are not held.
"""

from collections.abc import Awaitable
from typing import Any

from hocket._pipeline.call import Call, Go
from hocket._runtime import clock
from hocket._runtime.alarm import Alarm
from hocket.errors import FirstTokenTimeout, IdleTimeout, RequestTimeout, TotalTimeout
from hocket.timeouts import Timeout, connect_limit

__all__ = ["check_total", "limited_per_attempt", "limited_total", "start_in_time"]


def start_in_time(call: Call) -> Awaitable[None]:
    """Start a call's runs, within its limit on all of its time, if it has one, which begins here."""
    if call.timeout is None or (total := call.timeout.total) is None:
        return call.start()
    call.ends_at = clock.current().now() + total
    return _started(call, total) if call.runtime.is_async else call.start()


async def _started(call: Call, total: float) -> None:
    with Alarm() as alarm:
        alarm.set(total)
        return await call.start()
    raise _out_of_time(call)


def limited_total(go: Go) -> Go:
    """Return ``go`` within the call's limit on all of its time, if it has one: what is left, if a run has begun."""

    def start(call: Call) -> Awaitable[Any]:
        if call.timeout is None or (total := call.timeout.total) is None:
            return go(call)
        now = clock.current().now()
        if call.ends_at is None:
            call.ends_at = now + total
        elif call.ends_at <= now:  # spent in sync code of a handler
            raise _out_of_time(call)
        return _in_total(call, go, call.ends_at - now) if call.runtime.is_async else go(call)

    return start


async def _in_total(call: Call, go: Go, left: float) -> Any:
    with Alarm() as alarm:
        alarm.set(left)
        call.deadline = alarm
        return await go(call)
    raise _out_of_time(call)


def check_total(call: Call) -> None:
    """See whether a call in sync code, which nothing interrupts, has any time left.

    Raises:
        TotalTimeout: it has not.
    """
    if call.ends_at is not None and not call.runtime.is_async and clock.current().now() >= call.ends_at:
        raise _out_of_time(call)


def limited_per_attempt(go: Go) -> Go:
    """Return ``go`` within the call's limits on each attempt, if it has any."""

    def start(call: Call) -> Awaitable[Any]:
        if not call.runtime.is_async:
            return go(call)
        limits = call.timeout
        if limits is None and connect_limit.get() is None:
            return go(call)
        timed = limits is not None and call.streaming and (limits.first_token or limits.idle)
        attempt = _in_time(call, go, limits) if limits is not None and timed else go(call)
        connect = None if limits is None else limits.connect
        return attempt if connect == connect_limit.get() else _connecting(attempt, connect)

    return start


async def _connecting(attempt: Awaitable[Any], limit: float | None) -> Any:
    token = connect_limit.set(limit)
    try:
        return await attempt
    finally:
        connect_limit.reset(token)


async def _in_time(call: Call, go: Go, limits: Timeout) -> Any:
    try:
        with Alarm() as alarm:
            alarm.set(limits.first_token)
            call.alarm, call.idle = alarm, limits.idle
            return await go(call)
    finally:
        call.alarm = None
    if call.has_begun and limits.idle is not None:
        raise _expired(call, IdleTimeout, f"the stream brought nothing more for {limits.idle:g} s", "idle")
    raise _expired(
        call, FirstTokenTimeout, f"the stream brought nothing within {limits.first_token:g} s", "first_token"
    )


def _out_of_time(call: Call) -> RequestTimeout:
    assert call.timeout is not None
    return _expired(call, TotalTimeout, f"the call took longer than {call.timeout.total:g} s in all", "total")


def _expired(call: Call, cls: type[RequestTimeout], what: str, limit: str) -> RequestTimeout:
    came, partial = "nothing had come", None
    if call.has_begun:
        partial, count = call.gathered(), len(call.sizes)
        came = f"{count} chunk{'s' * (count > 1)} had come, {sum(call.sizes)} characters, see `partial`"
    return cls(
        f"{what} (the limit is Timeout({limit}=...)); {came}",
        provider=getattr(call.model, "_provider", None),
        model=getattr(call.model, "_served_model", None),
        retryable=cls is not TotalTimeout,
        partial=partial,
    )
