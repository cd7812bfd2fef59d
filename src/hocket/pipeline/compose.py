"""The pipeline of one model, put together from its fields. Absent stages cost nothing."""

from typing import Any

from hocket.pipeline.cache import cached
from hocket.pipeline.call import Call
from hocket.pipeline.hook import ask_hook
from hocket.pipeline.limit import limited
from hocket.pipeline.observe import Go, observed

__all__ = ["compose_chat", "compose_text", "request"]


def request(model: Any) -> Go:
    """Return what makes a real request: rate limiter, then hook."""
    return ask_hook if model.rate_limiter is None else limited(model.rate_limiter, ask_hook)


def compose_chat(model: Any) -> Go:
    """Return what is below the run of a chat model; also an answer out of the cache is one."""
    return request(model) if model.cache is False else cached(model.cache, request(model))


def compose_text(model: Any) -> Go:
    """Return the pipeline of a text model: as in LangChain, what the cache answers is no run, and nobody hears of it."""
    go = request(model)

    async def run(call: Call) -> Any:
        return await observed(call, go)

    return run if model.cache is False else cached(model.cache, go, observed)
