"""Attempts: the one place where a model's request is made again.

Never again once a chunk was handed out, to a consumer or to handlers that listen to tokens: nobody is to get the
beginning twice. Never beyond the call's deadline either: where the server asks for a longer wait than that, its error is
raised at once. The budget of attempts is the outermost policy's; what is nested inside spends from it.
"""

from collections.abc import Awaitable
from typing import Any

from hocket._pipeline.call import Call, Go
from hocket._pipeline.deadline import check_total
from hocket.retries import Failure, RetryPolicy, retry_async

__all__ = ["retried"]


def retried(go: Go) -> Go:
    """Return ``go``, tried again by the call's policy, if it has one."""

    def start(call: Call) -> Awaitable[Any]:
        return go(call) if call.retry is None else _attempts(call, go, call.retry)

    return start


def _attempts(call: Call, go: Go, policy: RetryPolicy) -> Awaitable[Any]:
    async def attempt(number: int) -> Any:
        if number > 1:
            call.restart()
            check_total(call)
        return await go(call)

    async def tell(failure: Failure) -> None:
        state, facts = failure.told
        await call.note("on_retry", state, **facts, response=call.until(failure.error))

    return retry_async(
        attempt,
        policy,
        call.runtime,
        limit=policy.max_attempts,
        ends_at=lambda: call.ends_at,
        may_repeat=lambda: not call.has_handed_out,
        tell=tell,
    )
