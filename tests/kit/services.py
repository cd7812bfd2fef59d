"""A rate limiter and a cache, as a user writes them first."""

from collections.abc import Sequence
from typing import Any

from hocket.caches import BaseCache
from hocket.outputs import Generation
from hocket.rate_limiters import BaseRateLimiter


class CountingLimiter(BaseRateLimiter):
    """Never waits; records how it was asked.

    Args:
        log: where it writes "limit True" (or "limit False": not ``blocking``) each time; for the order among other things.
    """

    def __init__(self, log: list[str] | None = None) -> None:
        self.log = [] if log is None else log
        self.count = 0

    def acquire(self, *, blocking: bool = True) -> bool:
        self.count += 1
        self.log.append(f"limit {blocking}")
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return self.acquire(blocking=blocking)


class DictCache(BaseCache):
    """Sync methods around a dict, which keeps the very objects that it is given.

    Attributes:
        entries: what it holds, by prompt and model string.
        lookups, updates: how often it was called.
    """

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], Any] = {}
        self.lookups = self.updates = 0

    def lookup(self, prompt: str, llm_string: str) -> Any:
        self.lookups += 1
        return self.entries.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        self.updates += 1
        self.entries[prompt, llm_string] = return_val

    def clear(self, **kwargs: Any) -> None:
        self.entries.clear()
