"""Several prompts against a cache: what it holds is taken from it, and only the rest is asked for."""

from hocket._pipeline.cache import chosen_cache, look_up, store
from hocket._pipeline.compose import request
from hocket._pipeline.deadline import limited_total
from hocket._pipeline.observe import observed
from hocket._pipeline.text_call import TextCall
from hocket.caches import BaseCache
from hocket.outputs import Generation, LLMResult

__all__ = ["answer_missing"]


async def answer_missing(call: TextCall, field: BaseCache | bool | None) -> LLMResult:
    """Answer the prompts of a text model's call.

    Args:
        call: for two prompts or more. Equal prompts in it are asked for each.
        field: the model's ``cache`` field.

    Returns:
        candidates in the order of the prompts; ``run`` names the runs of those that were asked for, or is None.
    """
    cache = chosen_cache(field)
    if cache is None:
        return await _asked(call)
    keys = [call.only([index]).key() for index in range(len(call.prompts))]
    found = [await look_up(call, cache, key) for key in keys]
    missing = [index for index, held in enumerate(found) if held is None]
    answers: list[list[Generation]] = [
        [] if held is None else call.result(held, cached=True).generations[0] for held in found
    ]
    if not missing:
        return LLMResult(generations=answers, llm_output={}, run=None)
    result = await _asked(call.only(missing))
    for index, candidates in zip(missing, result.generations, strict=True):
        await store(call, cache, keys[index], candidates)
        answers[index] = call.result(candidates, cached=False).generations[0]  # the cache may keep what it was given
    return LLMResult(generations=answers, llm_output=result.llm_output, run=result.run)


async def _asked(call: TextCall) -> LLMResult:
    result: LLMResult = await observed(call, limited_total(request(call.model)))
    return result
