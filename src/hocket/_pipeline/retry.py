"""Attempts: the one place where a model's request is made again.

There is no other attempt once a chunk was handed out, to a consumer or to handlers that listen to tokens: nobody is to
get the beginning twice. Nor is there one after the call's deadline: where the server asks for a longer wait, its error is
raised at once. The outermost policy sets the number of attempts; policies inside it spend from the same budget.
"""

from collections.abc import Awaitable
from typing import Any

from hocket._pipeline.call import Call, Next
from hocket._pipeline.deadline import check_total
from hocket.retries import Failure, RetryPolicy, retry_async

__all__ = ["with_retries"]


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
