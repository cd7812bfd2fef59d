"""Rate limiters: how often a model may be called, and with how many tokens.

- `InMemoryRateLimiter`: requests per second, in one process.
- `RateLimiter`: requests and tokens per minute, in one process, or in all that share an account.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.rate_limiters.base import BaseRateLimiter, Permit
from hocket.rate_limiters.in_memory import InMemoryRateLimiter

if TYPE_CHECKING:
    from hocket.rate_limiters.limiter import RateLimiter
    from hocket.rate_limiters.limits import RateLimitState

__all__ = ["BaseRateLimiter", "InMemoryRateLimiter", "Permit", "RateLimitState", "RateLimiter"]

__getattr__: Loader = loader(__name__, {"limiter": "RateLimiter", "limits": "RateLimitState"})
