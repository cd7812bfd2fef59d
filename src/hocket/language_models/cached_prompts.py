"""Several prompts against a cache: what it holds is taken from it, and only the rest is asked for."""

from collections.abc import Callable, Sequence

from hocket._metering.ambient import HitListener
from hocket._pipeline.cache import choose_cache
from hocket._pipeline.cache_access import CacheKey, Look, look_up, store
from hocket._pipeline.call import Call, Next
from hocket._pipeline.hits import record_hit
from hocket._pipeline.observe import with_run_events, with_total_deadline
from hocket._pipeline.request import CallRequest
from hocket.caches import BaseCache
from hocket.outputs import Generation, LLMResult

__all__ = ["answer_missing"]


async def answer_missing(
    call: Call,
    field: BaseCache | bool | None,
    make_key: Callable[[CallRequest], CacheKey],
    attempts: Next,
    hit_listeners: Sequence[HitListener] = (),
) -> LLMResult:
    """Answer the prompts of a text model's call.

    Args:
        call: for two prompts or more. Equal prompts in it are asked for each.
        field: the model's ``cache`` field.
        make_key: returns the key of a request for one prompt.
        attempts: makes real requests.
        hit_listeners: told of answers out of the cache.

    Returns:
        candidates in the order of the prompts; ``run`` names the runs of those that were asked for, or is None.
    """
    cache = choose_cache(field)
    if cache is None:
        return await _ask(call, attempts)
    keys = [make_key(call.select([index]).request) for index in range(len(call.request.prompts))]
    found = [await look_up(call, cache, key) for key in keys]
    missing = [index for index, stored in enumerate(found) if isinstance(stored, Look)]
    for index, stored in enumerate(found):
        if not isinstance(stored, Look):
            record_hit(call.select([index]), call.answer.restore(stored, cached=True).result, hit_listeners)
    answers = [[] if isinstance(stored, Look) else _restore(call, stored, cached=True) for stored in found]
    if not missing:
        return LLMResult(generations=answers, llm_output={}, run=None)
    result = await _ask(call.select(missing), attempts)
    for index, candidates in zip(missing, result.generations, strict=True):
        await store(call, cache, keys[index], candidates)
        answers[index] = _restore(call, candidates, cached=False)  # the cache may keep what it was given
    return LLMResult(generations=answers, llm_output=result.llm_output, run=result.run)


def _restore(call: Call, candidates: Sequence[Generation], *, cached: bool) -> list[Generation]:
    result: LLMResult = call.answer.restore(candidates, cached=cached).result
    return result.generations[0]


async def _ask(call: Call, attempts: Next) -> LLMResult:
    result: LLMResult = await with_run_events(call, with_total_deadline(attempts))
    return result
