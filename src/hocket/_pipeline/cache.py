"""The cache: the same for calls that stream and calls that do not.

A hit is replayed to whoever wants chunks; a finished stream is stored. A cache that fails is logged and counts as empty:
it must never cost an answer.
"""

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from hocket import globals as settings
from hocket._pipeline.call import Call, Go
from hocket._pipeline.single_flight import board
from hocket.caches import BaseCache
from hocket.errors import CacheMissing
from hocket.outputs import Generation

__all__ = ["cached", "chosen_cache", "look_up", "replay", "store"]

_log = logging.getLogger("hocket.caches")

Run = Callable[[Any, Go], Awaitable[Any]]
"""Runs the rest of the pipeline for a call, as a run."""


def chosen_cache(cache: BaseCache | bool | None) -> BaseCache | None:
    """Return the cache that a model's ``cache`` field stands for.

    Raises:
        CacheMissing: it is True, and no global cache is set.
    """
    if cache is None:
        return settings.get_llm_cache()
    if cache is False:
        return None
    if isinstance(cache, BaseCache):
        return cache
    shared = settings.get_llm_cache()
    if shared is None:
        raise CacheMissing(
            "Asked to cache, but no cache found: the model says cache=True and no global cache is set; "
            "call hocket.globals.set_llm_cache(...) or give the model a cache of its own"
        )
    return shared


def cached(field: BaseCache | bool | None, go: Go, run: Run | None = None) -> Go:
    """Return ``go`` behind the cache that the model's ``cache`` field stands for.

    Args:
        field: the field.
        go: the rest of the pipeline.
        run: makes a run of what the cache does not answer; None: the call is one already.
    """

    def start(call: Call) -> Awaitable[Any]:
        cache = chosen_cache(field)
        if cache is None:
            return go(call) if run is None else run(call, go)
        return look_up_and_go(cache, call)

    async def look_up_and_go(cache: BaseCache, call: Call) -> Any:
        key = call.key()
        stored = await look_up(call, cache, key)
        if stored is not None:
            if call.runs:
                await call.tell("on_cache_hit")
            result = call.result(stored, cached=True)
            await replay(call, result)
            return result
        ask = functools.partial(_share if call.runtime.is_async else _ask_alone, cache, key, go)
        return await (ask(call) if run is None else run(call, ask))

    return start


async def _ask_alone(cache: BaseCache, key: tuple[str, str], go: Go, call: Call) -> Any:
    return call.billed(await _ask(cache, key, go, call))


async def _ask(cache: BaseCache, key: tuple[str, str], go: Go, call: Call) -> Any:
    """Get an answer and store it."""
    result = await go(call)
    await store(call, cache, key, call.candidates(result))
    return result


async def _share(cache: BaseCache, key: tuple[str, str], go: Go, call: Call) -> Any:
    """Get an answer, together with every equal call that is in flight."""
    flight, is_new = board(cache, key)
    if is_new:
        flight.take_off(call.detached(flight), functools.partial(_ask, cache, key, go))
    result, has_chunks = await flight.join(call)
    shared = not flight.bills(call)
    if shared and call.runs:
        await call.tell("on_cache_hit", shared=True)
    mine = call.result(call.candidates(result), cached=True) if shared else call.billed(result)
    if not has_chunks:
        await replay(call, mine)
    return mine


async def replay(call: Call, result: Any) -> None:
    """Hand a whole result to the call's consumer, if it has one, as chunks."""
    if call.sink is None:
        return
    for chunk in call.chunks(result):
        waiting = call.deliver(chunk)
        if waiting is not None:
            await waiting


async def look_up(call: Call, cache: BaseCache, key: tuple[str, str]) -> list[Generation] | None:
    """Return what ``cache`` holds under ``key``; anything but a list of candidates is nothing, as is a failure."""
    try:
        stored = await cache.alookup(*key) if call.runtime.is_async else cache.lookup(*key)
    except Exception as error:
        _log.warning("%s could not be read, and counts as empty: %r", type(cache).__name__, error)
        return None
    if not isinstance(stored, list) or not stored or not all(isinstance(held, Generation) for held in stored):
        return None
    return stored


async def store(call: Call, cache: BaseCache, key: tuple[str, str], candidates: list[Generation]) -> None:
    """Store an answer; a failure costs nothing but the next hit."""
    try:
        await (
            cache.aupdate(*key, candidates)
            if call.runtime.is_async
            else call.runtime.call_sync(cache.update, *key, candidates)
        )
    except Exception as error:
        _log.warning("%s could not be written: %r", type(cache).__name__, error)
