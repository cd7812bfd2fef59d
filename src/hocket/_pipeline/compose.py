"""The pipeline of one model, put together from its fields. Absent stages cost nothing."""

from typing import Any

from hocket._pipeline.cache import cached
from hocket._pipeline.call import Call, Go
from hocket._pipeline.concurrency_limit import capped
from hocket._pipeline.deadline import limited_per_attempt, limited_total
from hocket._pipeline.hook import ask_hook
from hocket._pipeline.observe import observed
from hocket._pipeline.rate_limit import limited
from hocket._pipeline.retry import retried

__all__ = ["compose_chat", "compose_text", "request"]


def request(model: Any) -> Go:
    """Return what makes a real request: attempts, each in its turn, behind the rate limiter, within its limits of time."""
    attempt = limited_per_attempt(ask_hook)
    if model.rate_limiter is not None:
        attempt = limited(model.rate_limiter, attempt)
    if model.max_in_flight is not None:
        attempt = capped(model._in_flight, attempt)
    return retried(attempt)


def compose_chat(model: Any) -> Go:
    """Return what is below the run of a chat model; also an answer out of the cache is one."""
    return limited_total(request(model) if model.cache is False else cached(model.cache, request(model)))


def compose_text(model: Any) -> Go:
    """Return the pipeline of a text model: as in LangChain, what the cache answers is no run, and nobody hears of it."""
    go = request(model)

    async def run(call: Call, go: Go = go) -> Any:
        return await observed(call, limited_total(go))

    return run if model.cache is False else cached(model.cache, go, run)
