"""Calls of models inside a durable run: one that an earlier execution finished is answered from the run's journal.

It stands above the cache, so that such a call takes no token, no booking, no permit and no attempt; to handlers it is what a
hit of a cache is, with ``replayed=True``. A call that failed is not recorded: it is asked again.
"""

import base64
from collections.abc import Awaitable, Callable
from typing import Any

from hocket._pipeline.cache_access import CacheKey
from hocket._pipeline.cache_key import LocalKey
from hocket._pipeline.call import Call, Next
from hocket._pipeline.request import CallRequest
from hocket._runtime.callers import warn_caller
from hocket._runtime.journal import CallJournal, current_journal
from hocket.caches.values import dump_candidates, load_candidates
from hocket.errors import HocketWarning, LoadError

__all__ = ["with_journal"]

_PACKED = "z"  # before what is no JSON but compressed


def with_journal(make_key: Callable[[CallRequest], CacheKey], call_next: Next) -> Next:
    """Return ``call_next`` behind the journal of the durable run that it is called in, if there is one."""

    def start(call: Call) -> Awaitable[Any]:
        journal = current_journal.get()
        if journal is None or not journal.records_models:
            return call_next(call)
        return _ask_once(journal, make_key(call.request), call, call_next)

    return start


async def _ask_once(journal: CallJournal, key: CacheKey, call: Call, call_next: Next) -> Any:
    for half in key:
        if isinstance(half, LocalKey):  # no other process would find it
            _warn_of_local_key(call.request.class_name, half.cause)
            return await call_next(call)
    entry = journal.claim(f"model:{'-'.join(key)}")
    try:
        if entry.text is not None:
            return await _replay(call, entry.text)
        result = await call_next(call)
        text = _write(dump_candidates(call.answer.candidates(result, call.delivery.sizes)))
        await call.mode.call_async(entry.record, text)
        return result
    finally:
        entry.release()


async def _replay(call: Call, text: str) -> Any:
    candidates = load_candidates(_read(text))
    if candidates is None:
        raise LoadError("the journal of this run holds an answer that cannot be read; nothing was asked in its place")
    if call.runs.are_heard:
        await call.runs.emit("on_cache_hit", replayed=True)
    restored = call.answer.restore(candidates, cached=True)
    await call.delivery.replay(*restored)
    return restored.result


def _write(data: bytes) -> str:
    return data.decode() if data[:1] == b"{" else _PACKED + base64.b64encode(data).decode()


def _read(text: str) -> bytes:
    return base64.b64decode(text[1:]) if text[:1] == _PACKED else text.encode()


_warned: set[tuple[str, str]] = set()


def _warn_of_local_key(class_name: str, cause: str) -> None:
    if (class_name, cause) not in _warned:
        _warned.add((class_name, cause))
        warn_caller(
            f"a durable run asks {class_name}, whose answers depend on {cause}: another process cannot tell it from its "
            "namesakes, and would ask again. Define it at the top of a module, or call the model in a step()",
            HocketWarning,
        )
