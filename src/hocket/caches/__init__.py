"""Caches of answers: in memory, in SQLite for the processes of a machine, in Redis or PostgreSQL for a fleet.

Those that processes share are imported when they are first asked for.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.caches.base import RETURN_VAL_TYPE, BaseCache, Claim
from hocket.caches.memory import InMemoryCache

if TYPE_CHECKING:
    from hocket.caches.postgres import PostgresCache
    from hocket.caches.redis import RedisCache
    from hocket.caches.sqlite import SQLiteCache

__all__ = ["RETURN_VAL_TYPE", "BaseCache", "Claim", "InMemoryCache", "PostgresCache", "RedisCache", "SQLiteCache"]

_LATER = {
    "postgres": "PostgresCache",
    "redis": "RedisCache",
    "sqlite": "SQLiteCache",
}

__getattr__: Loader = loader(__name__, _LATER)
