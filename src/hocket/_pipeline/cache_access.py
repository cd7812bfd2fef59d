"""A cache as the pipeline uses it: from sync and async calls, and without ever costing an answer.

A cache that fails is logged and counts as empty. One that processes share logs by itself, once a minute
(`hocket._databases.circuit`), since a store that is down would fail for every call.
"""

import contextlib
import logging
from collections.abc import Generator
from enum import Enum
from typing import Final, cast

from hocket._pipeline.call import Call
from hocket.caches import BaseCache, Claim
from hocket.errors import StoreError
from hocket.outputs import Generation

__all__ = ["FAILED", "CacheKey", "Look", "look_up", "release", "store", "take_claim"]

CacheKey = tuple[str, str]
"""The key of the prompt, and the key of everything else that changes the answer."""

FAILED: Final = Claim()
"""Stands for a claim that the cache failed to give or to refuse."""


class Look(Enum):
    """The result of a cache lookup without an answer."""

    MISSED = "missed"
    FAILED = "failed"


_log = logging.getLogger("hocket.caches")


async def look_up(call: Call, cache: BaseCache, key: CacheKey) -> list[Generation] | Look:
    """Return what ``cache`` holds under ``key``; anything but a list of candidates is nothing."""
    try:
        stored: object = await cache.alookup(*key) if call.mode.is_async else cache.lookup(*key)
    except StoreError:
        return Look.FAILED
    except Exception as error:
        _log.warning("%s could not be read, and counts as empty: %r", type(cache).__name__, error)
        return Look.FAILED
    if not isinstance(stored, list) or not stored:
        return Look.MISSED
    for one in cast("list[object]", stored):
        if not isinstance(one, Generation):
            return Look.MISSED
    return stored


async def store(call: Call, cache: BaseCache, key: CacheKey, candidates: list[Generation]) -> bool:
    """Store an answer; a failure costs nothing but the next hit. Whether it is stored."""
    with _logging(cache, "could not be written"):
        await (
            cache.aupdate(*key, candidates)
            if call.mode.is_async
            else call.mode.call_sync(cache.update, *key, candidates)
        )
        return True
    return False


async def take_claim(call: Call, cache: BaseCache, key: CacheKey, lease: float) -> Claim | None:
    """Claim an answer; None: somebody else is asking for it. `FAILED`: nobody knows."""
    with _logging(cache, "could not be claimed"):
        return await (
            cache.aclaim(*key, lease) if call.mode.is_async else call.mode.call_sync(cache.claim, *key, lease)
        )
    return FAILED


async def release(call: Call, cache: BaseCache, claim: Claim) -> None:
    """Give up a claim, for a few seconds at most; where that fails, its lease runs out."""
    with _logging(cache, "could not be released"):
        releasing = claim.arelease() if call.mode.is_async else call.mode.call_sync(claim.release)
        await call.mode.finish_within_grace(releasing)


@contextlib.contextmanager
def _logging(cache: BaseCache, what: str) -> Generator[None]:
    """Log an exception, and go on behind the block."""
    try:
        yield
    except StoreError:
        pass
    except Exception as error:
        _log.warning("%s %s: %r", type(cache).__name__, what, error)
