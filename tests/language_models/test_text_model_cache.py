"""Text models with a cache: what is known is taken from it, and only the rest is asked for."""

from typing import Any
from uuid import uuid4

import pytest

from hocket import Generation, InMemoryCache, LLMResult, set_llm_cache
from hocket.errors import CacheMissing
from tests.kit import MODEL_EVENTS, CountingLimiter, HookCall, Recorder, hook_llm


def capitalize(call: HookCall) -> LLMResult:
    """Answer each prompt with itself in capitals."""
    return LLMResult(
        generations=[[Generation(text=prompt.upper())] for prompt in call.input], llm_output={"model_name": "echo"}
    )


def texts(result: LLMResult) -> list[str]:
    return [candidates[0].text for candidates in result.generations]


@pytest.fixture
def model() -> Any:
    """A model with a cache of its own."""
    return hook_llm(capitalize, cache=InMemoryCache())


async def test_only_what_is_missing_is_asked_for(model: Any, recorder: Any) -> None:
    """LLM-17, LLM-19, LLM-21, LLM-23: hit, miss, hit: answers in order, one request and runs for the missing alone."""
    await model.agenerate(["a", "c"])
    run_ids = [uuid4() for _ in range(4)]
    result = await model.agenerate(["a", "b", "c", "d"], callbacks=[recorder], run_id=run_ids)  # type: ignore[arg-type]
    assert texts(result) == ["A", "B", "C", "D"]
    assert [call.input for call in model.requests] == [["a", "c"], ["b", "d"]]
    assert list(recorder.runs()) == [run_ids[1], run_ids[3]]
    assert [details["batch_size"] for *_, details in recorder.named("on_llm_start")] == [2, 2]
    assert result.llm_output == {"model_name": "echo"}
    assert result.run is not None
    assert [run.run_id for run in result.run] == [run_ids[1], run_ids[3]]
    recorder.assert_every_run_ended_once()

    await model.agenerate(["a", "b", "c", "d"])
    assert len(model.requests) == 2


async def test_callbacks_for_each_prompt_stay_with_their_prompts(model: Any, recorder: Any) -> None:
    """LLM-19: of callbacks, tags and names given for each prompt, the missing ones' are used."""
    await model.agenerate(["a"])
    second = Recorder(*MODEL_EVENTS)
    await model.agenerate(
        ["a", "b"],
        callbacks=[[recorder], [second]],
        tags=[["x"], ["y"]],
        run_name=["first", "second"],
    )
    assert recorder.events == []
    assert (second.only("on_llm_start").details["tags"], second.only("on_llm_start").details["name"]) == (
        ["y"],
        "second",
    )


@pytest.mark.parametrize("prompts", [["a"], ["a", "b"]], ids=str)
async def test_what_is_known_is_no_run(model: Any, recorder: Any, prompts: list[str]) -> None:
    """LLM-20: nothing is asked, nobody is told; the result has no output and no run."""
    await model.agenerate(prompts)
    result = await model.agenerate(prompts, callbacks=[recorder])
    assert texts(result) == [prompt.upper() for prompt in prompts]
    assert (result.llm_output, result.run, recorder.events, len(model.requests)) == ({}, None, [], 1)


async def test_equal_prompts_are_each_asked_for(model: Any) -> None:
    """LLM-22: as in LangChain, copies in one list are not folded into one; afterwards all come from the cache."""
    assert texts(await model.agenerate(["a", "a"])) == ["A", "A"]
    assert [call.input for call in model.requests] == [["a", "a"]]
    await model.agenerate(["a", "a"])
    assert len(model.requests) == 1


@pytest.mark.parametrize("options", [{"max_tokens": 2}, {"stop": ["."]}], ids=str)
async def test_a_calls_arguments_are_part_of_the_key(model: Any, options: dict[str, Any]) -> None:
    """LLM-16: LangChain answers ``max_tokens=2`` with what it stored for ``max_tokens=1``."""
    await model.ainvoke("a", max_tokens=1)
    await model.ainvoke("a", **options)
    await model.agenerate(["a", "b"], **options)
    assert [call.input for call in model.requests] == [["a"], ["a"], ["b"]]


@pytest.mark.parametrize("field", [None, False])
async def test_without_a_cache_everything_is_asked(field: Any) -> None:
    """LLM-18: None without a global cache, and False with one."""
    set_llm_cache(InMemoryCache() if field is False else None)
    model = hook_llm(capitalize, cache=field)
    await model.agenerate(["a", "b"])
    await model.agenerate(["a", "b"])
    assert [call.input for call in model.requests] == [["a", "b"], ["a", "b"]]


async def test_asking_for_a_cache_that_is_not_there() -> None:
    """LLM-17: ``cache=True`` needs a global one, for a list of prompts, too."""
    for call in (hook_llm(capitalize, cache=True).ainvoke("a"), hook_llm(capitalize, cache=True).agenerate(["a", "b"])):
        with pytest.raises(CacheMissing, match="Asked to cache"):
            await call


async def test_one_and_many_share_what_is_known(model: Any) -> None:
    """LLM-17: `ainvoke`, `agenerate` and `astream` read and fill the same entries."""
    await model.ainvoke("a")
    assert texts(await model.agenerate(["a", "b"])) == ["A", "B"]
    assert [piece async for piece in model.astream("b")] == ["B"]
    assert [call.input for call in model.requests] == [["a"], ["b"]]


async def test_a_hit_is_a_copy(model: Any) -> None:
    """LLM-17: editing an answer does not edit the cache."""
    await model.agenerate(["a", "b"])
    result = await model.agenerate(["a", "b"])
    result.generations[0][0].text = "edited"
    assert texts(await model.agenerate(["a", "b"])) == ["A", "B"]


async def test_the_limiter_is_asked_once_for_a_request() -> None:
    """LLM-18, LLM-19: a text model has a rate limiter, too; prompts of one request need one permit, hits none."""
    limiter = CountingLimiter()
    model = hook_llm(capitalize, cache=InMemoryCache(), rate_limiter=limiter)
    await model.agenerate(["a", "b"])
    await model.agenerate(["a", "b"])
    assert limiter.count == 1
    await model.ainvoke("c")
    assert limiter.count == 2
