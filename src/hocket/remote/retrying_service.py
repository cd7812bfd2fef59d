"""A service whose requests are tried again by themselves, without a model's pipeline: embeddings, rerankers, batches."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import Field

from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket._runtime.mode import ASYNC
from hocket.errors import TotalTimeout
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.remote.service import RemoteService
from hocket.retries import Failure, RetryPolicy, RetryPolicyLike, retry_async
from hocket.timeouts import HTTP_TIMEOUT, Timeout, TimeoutLike, connect_limit

__all__ = ["RetryingService"]

T = TypeVar("T")


class RetryingService(RemoteService):
    """A server's address, and for how long and how often to ask it.

    Args:
        timeout: limits on time, a `Timeout`; a number: seconds for all of a call; None: none. ``connect`` and ``total``
            count here; by default 10 s and 20 minutes.
        retry: when a failed request is made again, each by itself; by default three attempts in all.
    """

    timeout: TimeoutLike | None = Field(default=HTTP_TIMEOUT, repr=False)
    retry: RetryPolicyLike | None = Field(default=RetryPolicy(), repr=False)

    async def _run_in_time(self, run: Callable[[float | None], Awaitable[T]], what: str) -> T:
        """Return what ``run`` does, given the time by hocket's clock at which it must end (None: it may take for ever).

        Args:
            run: makes the requests of one call.
            what: takes the time, for an error.

        Raises:
            TotalTimeout: it took too long.
        """
        total = None if self.timeout is None else Timeout.of(self.timeout).total
        ends_at = None if total is None else clock.current().now() + total
        with Alarm() as alarm:
            alarm.set(total)
            return await run(ends_at)
        raise TotalTimeout(
            f"{what} took longer than {total:g} s (the limit is Timeout(total=...))", provider=self._provider
        )

    async def _send_again(
        self,
        make_request: Callable[[], HTTPRequest],
        read: Callable[[HTTPReply], T],
        ends_at: float | None,
        emit_retry: Callable[[Failure], Awaitable[None]] | None = None,
        meter: Callable[[int, Callable[[], Awaitable[T]]], Awaitable[T]] | None = None,
    ) -> T:
        """Make one request, and again where that may help, and return what ``read`` makes of its reply.

        Args:
            make_request: returns the request, but for its key.
            read: given the reply.
            ends_at: see `_run_in_time`.
            emit_retry: tells the handlers of an attempt that failed; None: there are none.
            meter: makes an attempt, given its number, from 1, and what sends; None: it is just sent.

        Raises:
            LLMError: the last attempt has failed.
        """

        async def send() -> T:
            token = connect_limit.set(None if self.timeout is None else Timeout.of(self.timeout).connect)
            try:
                return await self._sender.send(make_request(), read)
            finally:
                connect_limit.reset(token)

        async def attempt(number: int) -> T:
            return await (send() if meter is None else meter(number, send))

        policy = RetryPolicy.of(1 if self.retry is None else self.retry)
        return await retry_async(
            attempt,
            policy,
            ASYNC,
            limit=policy.max_attempts,
            ends_at=lambda: ends_at,
            may_repeat=lambda: True,
            tell=emit_retry or _tell_nobody,
        )


async def _tell_nobody(failure: Failure) -> None:
    """Tell nobody: such a service has no handlers."""
