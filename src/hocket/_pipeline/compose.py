"""The pipeline of one model, put together from its fields. Absent stages cost nothing."""

from collections.abc import Callable, Sequence
from typing import Any

from hocket._metering.ambient import HitListener
from hocket._metering.attempt import Reserver
from hocket._pipeline.attempts import ask_hook, with_attempt_deadlines, with_retries
from hocket._pipeline.cache import with_cache, with_journal
from hocket._pipeline.cache_access import CacheKey
from hocket._pipeline.call import Call, Next
from hocket._pipeline.concurrency_limit import ConcurrencyLimiter, with_concurrency_limit
from hocket._pipeline.observe import with_run_events, with_total_deadline
from hocket._pipeline.rate_limit import RateLimitReserver, reserves_tokens, with_rate_limit
from hocket._pipeline.request import CallRequest
from hocket._pipeline.reservations import with_reservations
from hocket.caches import BaseCache
from hocket.rate_limiters import BaseRateLimiter

__all__ = ["compose_attempts", "compose_chat", "compose_text"]


def compose_attempts(
    rate_limiter: BaseRateLimiter | None, places: ConcurrencyLimiter | None, reservers: Sequence[Reserver] = ()
) -> Next:
    """Return what makes a real request: attempts, each in its turn, behind the rate limiter, within its limits of time.

    Args:
        rate_limiter: asked before each attempt; None: nobody is.
        places: of the calls in flight, of which each attempt takes one; None: there are as many as wanted.
        reservers: budgets and the like, which reserve for each attempt, in this order.
    """
    is_reserver = rate_limiter is not None and reserves_tokens(rate_limiter)
    if rate_limiter is not None and is_reserver:
        reservers = (*reservers, RateLimitReserver(rate_limiter))  # the last: what it grants is for now
    attempt = with_reservations(reservers, with_attempt_deadlines(ask_hook))
    if rate_limiter is not None and not is_reserver:
        attempt = with_rate_limit(rate_limiter, attempt)
    if places is not None:
        attempt = with_concurrency_limit(places, attempt)
    return with_retries(attempt)


def compose_chat(
    cache: BaseCache | bool | None,
    make_key: Callable[[CallRequest], CacheKey],
    attempts: Next,
    hit_listeners: Sequence[HitListener] = (),
) -> Next:
    """Return what is below the run of a chat model; also an answer out of the cache is one."""
    ask = attempts if cache is False else with_cache(cache, make_key, attempts, hit_listeners=hit_listeners)
    return with_total_deadline(with_journal(make_key, ask))


def compose_text(
    cache: BaseCache | bool | None,
    make_key: Callable[[CallRequest], CacheKey],
    attempts: Next,
    hit_listeners: Sequence[HitListener] = (),
) -> Next:
    """Return the pipeline of a text model: as in LangChain, what the cache answers is no run, and has no events."""

    async def run(call: Call, call_next: Next = attempts) -> Any:
        return await with_run_events(call, with_total_deadline(call_next))

    return with_journal(make_key, run if cache is False else with_cache(cache, make_key, attempts, run, hit_listeners))
