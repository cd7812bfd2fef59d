"""The cache: the same for calls that stream and calls that do not.

A hit is replayed as chunks where chunks are wanted; a finished stream is stored. A cache that fails is logged and
counts as empty: it must never cost an answer.
"""

import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from hocket import globals as settings
from hocket._metering.ambient import HitListener
from hocket._pipeline.call import Call, Next
from hocket._pipeline.hits import record_hit
from hocket._pipeline.request import CallRequest
from hocket._pipeline.single_flight import get_or_create
from hocket.caches import BaseCache
from hocket.errors import CacheMissing
from hocket.outputs import Generation

__all__ = ["choose_cache", "look_up", "store", "with_cache"]

_log = logging.getLogger("hocket.caches")

Run = Callable[[Call, Next], Awaitable[Any]]
"""Runs the rest of the pipeline for a call, as a run."""

CacheKey = tuple[str, str]
"""The key of the prompt, and the key of everything else that changes the answer."""


def choose_cache(cache: BaseCache | bool | None) -> BaseCache | None:
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


def with_cache(
    field: BaseCache | bool | None,
    make_key: Callable[[CallRequest], CacheKey],
    call_next: Next,
    run: Run | None = None,
    hit_listeners: Sequence[HitListener] = (),
) -> Next:
    """Return ``call_next`` behind the cache that the model's ``cache`` field stands for.

    Args:
        field: the field.
        make_key: returns the key of what is asked.
        call_next: the rest of the pipeline.
        run: makes a run of what the cache does not answer; None: the call is one already.
        hit_listeners: told of answers that nobody is asked for again.
    """

    def start(call: Call) -> Awaitable[Any]:
        cache = choose_cache(field)
        if cache is None:
            return call_next(call) if run is None else run(call, call_next)
        return look_up_first(cache, call)

    async def look_up_first(cache: BaseCache, call: Call) -> Any:
        key = make_key(call.request)
        stored = await look_up(call, cache, key)
        if stored is not None:
            if call.runs.are_heard:
                await call.runs.emit("on_cache_hit")
            restored = call.answer.restore(stored, cached=True)
            await call.delivery.replay(*restored)
            record_hit(call, restored.result, hit_listeners)
            return restored.result
        share = functools.partial(_share, hit_listeners)
        ask = functools.partial(share if call.runtime.is_async else _ask_alone, cache, key, call_next)
        return await (ask(call) if run is None else run(call, ask))

    return start


async def _ask_alone(cache: BaseCache, key: CacheKey, call_next: Next, call: Call) -> Any:
    return call.answer.with_usage(await _ask(cache, key, call_next, call), call.delivery.sizes)


async def _ask(cache: BaseCache, key: CacheKey, call_next: Next, call: Call) -> Any:
    """Get an answer and store it."""
    result = await call_next(call)
    await store(call, cache, key, call.answer.candidates(result, call.delivery.sizes))
    return result


async def _share(
    hit_listeners: Sequence[HitListener], cache: BaseCache, key: CacheKey, call_next: Next, call: Call
) -> Any:
    """Get an answer, together with every equal call that is in flight."""
    request, is_new = get_or_create(cache, key)
    if is_new:
        request.start(call.share(request), functools.partial(_ask, cache, key, call_next))
    result, has_chunks = await request.join(call)
    answer, sizes = call.answer, call.delivery.sizes
    if request.has_bill(call):
        own = answer.with_usage(result, sizes)
    else:
        await call.runs.emit("on_cache_hit", shared=True)
        own = answer.restore(answer.candidates(result, sizes), cached=True).result
        if has_chunks:
            await call.delivery.tell_hit()
        record_hit(call, own, hit_listeners, is_shared=True)
    if not has_chunks:
        await call.delivery.replay(own)
    return own


async def look_up(call: Call, cache: BaseCache, key: CacheKey) -> list[Generation] | None:
    """Return what ``cache`` holds under ``key``; anything but a list of candidates is nothing, as is a failure."""
    try:
        stored: object = await cache.alookup(*key) if call.runtime.is_async else cache.lookup(*key)
    except Exception as error:
        _log.warning("%s could not be read, and counts as empty: %r", type(cache).__name__, error)
        return None
    if not isinstance(stored, list) or not stored:
        return None
    for one in cast("list[object]", stored):
        if not isinstance(one, Generation):
            return None
    return stored


async def store(call: Call, cache: BaseCache, key: CacheKey, candidates: list[Generation]) -> None:
    """Store an answer; a failure costs nothing but the next hit."""
    try:
        await (
            cache.aupdate(*key, candidates)
            if call.runtime.is_async
            else call.runtime.call_sync(cache.update, *key, candidates)
        )
    except Exception as error:
        _log.warning("%s could not be written: %r", type(cache).__name__, error)
