"""The pipeline of one model, put together from its fields. Absent stages cost nothing."""

from typing import Any

from hocket.pipeline.cache import cached
from hocket.pipeline.hook import ask_hook
from hocket.pipeline.limit import limited
from hocket.pipeline.observe import Go

__all__ = ["compose"]


def compose(model: Any) -> Go:
    """Return what is below a run: cache, then rate limiter, then hook."""
    go: Go = ask_hook
    if model.rate_limiter is not None:
        go = limited(model.rate_limiter, go)
    if model.cache is not False:
        go = cached(model.cache, go)
    return go
