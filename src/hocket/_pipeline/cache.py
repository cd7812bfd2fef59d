"""Answers that are there already, in a cache or in the journal of a durable run: the same for calls that stream.

A hit is replayed as chunks where chunks are wanted; a finished stream is stored. A cache that fails is logged and
counts as empty: it must never cost an answer.

The journal stands above the cache: what an earlier execution of the run was answered takes no token, no booking, no
permit and no attempt, and to handlers is what a hit of a cache is, with ``replayed=True``. A call that failed is not
recorded: it is asked again.
"""

import base64
import functools
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from hocket import globals as settings
from hocket._metering.ambient import HitListener
from hocket._pipeline.cache_access import CacheKey, Look, look_up, store
from hocket._pipeline.cache_key import LocalKey
from hocket._pipeline.call import Call, Next
from hocket._pipeline.claim import Found, ask_in_turn
from hocket._pipeline.hits import record_hit
from hocket._pipeline.request import CallRequest
from hocket._pipeline.row_wire import row_wire
from hocket._pipeline.single_flight import get_or_create, is_inside
from hocket._runtime.callers import warn_caller
from hocket._runtime.journal import CallJournal, current_journal
from hocket.caches import BaseCache
from hocket.caches.values import dump_candidates, load_candidates
from hocket.errors import CacheMissing, HocketWarning, LoadError
from hocket.outputs import Generation

__all__ = ["choose_cache", "with_cache", "with_journal"]

_PACKED = "z"  # in a journal, before what is no JSON but compressed

Get = Callable[[Call], Coroutine[object, object, object]]
"""Gets an answer for a call that the cache has none for."""

Run = Callable[[Call, Next], Awaitable[Any]]
"""Runs the rest of the pipeline for a call, as a run."""


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
        if not isinstance(stored, Look):
            return await _deliver_hit(call, stored, hit_listeners)
        cause = _find_local_cause(key)
        if cause is not None and cache.is_shared:
            _warn_once(
                f"{cache!r} holds the answers of {call.request.class_name} for this process only: their key depends on "
                f"{cause}, which no other process can tell from its namesakes. Define it at the top of a module, or, if it "
                "does not change the answer, keep it in a pydantic PrivateAttr or a field with Field(exclude=True)"
            )
        is_row = row_wire.get() is not None  # of a batch: its request, or its reply, is nobody else's
        is_alone = is_row or (call.mode.is_async and is_inside(cache, key))  # else it would wait for itself
        lease = (
            None if cause is not None or is_alone or stored is Look.FAILED else cache.lease
        )  # one wait for a store that fails
        get = functools.partial(_get, cache, key, lease, call_next)
        share = functools.partial(_share, cache, key) if call.mode.is_async and not is_alone else _get_alone
        ask = functools.partial(share, hit_listeners, get)
        return await (ask(call) if run is None else run(call, ask))

    return start


async def _deliver_hit(
    call: Call, stored: list[Generation], listeners: Sequence[HitListener], *, is_shared: bool = False
) -> Any:
    """Answer with what is stored; ``is_shared``: by an equal call that was in flight, in another process."""
    result = await _replay(call, stored, **({"shared": True} if is_shared else {}))
    record_hit(call, result, listeners, is_shared=is_shared)
    return result


async def _replay(call: Call, stored: list[Generation], **details: bool) -> Any:
    """Tell handlers of a hit, with these details, and deliver what is stored."""
    if call.runs.are_heard:
        await call.runs.emit("on_cache_hit", **details)
    restored = call.answer.restore(stored, cached=True)
    await call.delivery.replay(*restored)
    return restored.result


async def _get(cache: BaseCache, key: CacheKey, lease: float | None, call_next: Next, call: Call) -> Any:
    """Get an answer and store it; or find it, if another process does. ``lease``: None: without a claim."""
    if lease is not None:
        return await ask_in_turn(cache, key, lease, call_next, call)
    result = await call_next(call)
    await store(call, cache, key, call.answer.candidates(result, call.delivery.sizes))
    return result


async def _get_alone(hit_listeners: Sequence[HitListener], get: Get, call: Call) -> Any:
    """Get an answer for one call."""
    result = await get(call)
    if isinstance(result, Found):
        return await _deliver_hit(call, result.candidates, hit_listeners, is_shared=True)
    return call.answer.with_usage(result, call.delivery.sizes)


async def _share(cache: BaseCache, key: CacheKey, hit_listeners: Sequence[HitListener], get: Get, call: Call) -> Any:
    """Get an answer, together with every equal call that is in flight."""
    request, is_new = get_or_create(cache, key)
    if is_new:
        request.start(call.share(request), get)
    result, has_chunks = await request.join(call)
    if isinstance(result, Found):
        return await _deliver_hit(call, result.candidates, hit_listeners, is_shared=True)
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


# -- the journal of a durable run


def with_journal(make_key: Callable[[CallRequest], CacheKey], call_next: Next) -> Next:
    """Return ``call_next`` behind the journal of the durable run that it is called in, if there is one."""

    def start(call: Call) -> Awaitable[Any]:
        journal = current_journal.get()
        if journal is None or not journal.records_models:
            return call_next(call)
        return _ask_once(journal, make_key(call.request), call, call_next)

    return start


async def _ask_once(journal: CallJournal, key: CacheKey, call: Call, call_next: Next) -> Any:
    cause = _find_local_cause(key)
    if cause is not None:  # no other process would find it
        _warn_once(
            f"a durable run asks {call.request.class_name}, whose answers depend on {cause}: another process cannot tell "
            "it from its namesakes, and would ask again. Define it at the top of a module, or call the model in a step()"
        )
        return await call_next(call)
    entry = journal.claim(f"model:{'-'.join(key)}")
    try:
        if entry.text is not None:
            candidates = load_candidates(_read(entry.text))
            if candidates is None:
                raise LoadError(
                    "the journal of this run holds an answer that cannot be read; nothing was asked in its place"
                )
            return await _replay(call, candidates, replayed=True)
        result = await call_next(call)
        text = _write(dump_candidates(call.answer.candidates(result, call.delivery.sizes)))
        await call.mode.call_async(entry.record, text)
        return result
    finally:
        entry.release()


def _write(data: bytes) -> str:
    return data.decode() if data[:1] == b"{" else _PACKED + base64.b64encode(data).decode()


def _read(text: str) -> bytes:
    return base64.b64decode(text[1:]) if text[:1] == _PACKED else text.encode()


# -- keys that mean something in this process only


def _find_local_cause(key: CacheKey) -> str | None:
    """Return what makes a key one of this process only; None: every process has the same."""
    return next((half.cause for half in key if isinstance(half, LocalKey)), None)


_warned: set[str] = set()


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warn_caller(text, HocketWarning)
