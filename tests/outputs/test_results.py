"""What a call returns: candidates for one prompt, and for each of several."""

import copy
import pickle
from typing import Any
from uuid import uuid4

import pytest

from hocket.load import dumps, loads
from hocket.messages import AIMessage, AIMessageChunk
from hocket.outputs import (
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    Generation,
    GenerationChunk,
    LLMResult,
    RunInfo,
)


def chat(text: str) -> ChatGeneration:
    return ChatGeneration(message=AIMessage(text))


def test_several_candidates_stay_in_order() -> None:
    """Three choices of a provider are three generations, in its order."""
    result = ChatResult(generations=[chat(text) for text in "abc"], llm_output={"model": "m"})
    assert [generation.text for generation in result.generations] == ["a", "b", "c"]
    assert result.llm_output == {"model": "m"}
    assert ChatResult(generations=[]).generations == []
    assert ChatResult(generations=[chat("a")]).llm_output is None


def test_the_short_cut_gives_what_validation_gives() -> None:
    """A result made from candidates alone is the one that pydantic would have made."""
    candidates = [chat("a"), chat("b")]
    quick = ChatResult(generations=candidates)
    validated = ChatResult.model_validate({"generations": candidates})
    assert quick == validated
    assert list(vars(quick).items()) == list(vars(validated).items())
    assert quick.model_fields_set == validated.model_fields_set
    assert (quick.__pydantic_extra__, quick.__pydantic_private__) == (None, None)
    assert (validated.__pydantic_extra__, validated.__pydantic_private__) == (None, None)


@pytest.mark.parametrize("generations", [None, "a", [1], [Generation(text="a")], [None], 5])
def test_what_is_no_candidate_is_refused(generations: Any) -> None:
    """The error names the field."""
    with pytest.raises(ValueError, match="generations"):
        ChatResult(generations=generations)
    if generations != [Generation(text="a")]:
        with pytest.raises(ValueError, match="generations"):
            LLMResult(generations=[generations])


@pytest.mark.parametrize(
    "result",
    [
        ChatResult(generations=[chat("a")], llm_output={"b": 1}),
        LLMResult(generations=[[chat("a"), chat("b")], []], llm_output={"b": {"c": None}}),
        LLMResult(generations=[[Generation(text="a")], [GenerationChunk(text="b", generation_info={"c": 1})]]),
        LLMResult(generations=[[ChatGenerationChunk(message=AIMessageChunk("a"))]]),
    ],
    ids=["chat", "chats", "texts", "chunk"],
)
def test_results_survive_the_journey(result: ChatResult | LLMResult) -> None:
    """By pickle, by `dumps`, copied; with candidates of every class."""
    assert pickle.loads(pickle.dumps(result)) == result
    assert loads(dumps(result)) == result
    assert copy.deepcopy(result) == result


def test_dumped_candidates_are_what_they_were() -> None:
    """A candidate read from plain data has its class back, and with it its message."""
    candidates: list[Generation] = [
        Generation(text="a"),
        chat("b"),
        ChatGenerationChunk(message=AIMessageChunk("c")),
    ]
    result = LLMResult(generations=[candidates])
    read = LLMResult.model_validate_json(result.model_dump_json())
    assert [type(candidate) for candidate in read.generations[0]] == [type(candidate) for candidate in candidates]
    assert [candidate.text for candidate in read.generations[0]] == ["a", "b", "c"]


def test_candidates_of_ones_own_class() -> None:
    """Subclasses are taken as they are and dumped whole."""

    class Ranked(ChatGeneration):
        rank: int = 3

    ranked = Ranked(message=AIMessage("a"))
    assert LLMResult(generations=[[ranked]]).generations[0][0] is ranked
    assert LLMResult(generations=[[ranked]]).model_dump()["generations"][0][0]["rank"] == 3


def test_flatten_gives_one_result_a_prompt() -> None:
    """Token usage stays with the first and is blank in the others: whoever sums it counts it once."""
    usage = {"prompt_tokens": 1}
    result = LLMResult(
        generations=[[chat("a"), chat("b")], [chat("c")], []], llm_output={"token_usage": usage, "model": {"name": "m"}}
    )
    first, second, third = result.flatten()
    assert [[g.text for g in each.generations[0]] for each in (first, second, third)] == [["a", "b"], ["c"], []]
    assert first.llm_output == {"token_usage": usage, "model": {"name": "m"}}
    assert second.llm_output == third.llm_output == {"token_usage": {}, "model": {"name": "m"}}
    second.llm_output["model"]["name"] = "other"  # type: ignore[index]
    first.llm_output["token_usage"]["prompt_tokens"] = 9  # type: ignore[index]
    assert result.llm_output == {"token_usage": {"prompt_tokens": 1}, "model": {"name": "m"}}


def test_flatten_without_usage() -> None:
    """What is not there is not made up."""
    result = LLMResult(generations=[[chat("a")], [chat("b")]])
    assert [each.llm_output for each in result.flatten()] == [None, None]
    with_output = LLMResult(generations=[[chat("a")], [chat("b")]], llm_output={"model": "m"})
    assert [each.llm_output for each in with_output.flatten()] == [{"model": "m"}, {"model": "m"}]
    assert LLMResult(generations=[]).flatten() == []


def test_runs_do_not_count_in_comparisons() -> None:
    """Two results with equal answers are equal, whichever runs they came from; others are not."""
    one = LLMResult(generations=[[chat("a")]], run=[RunInfo(run_id=uuid4())])
    other = LLMResult(generations=[[chat("a")]], run=[RunInfo(run_id=uuid4())])
    assert one == other
    assert one != LLMResult(generations=[[chat("b")]])
    assert one != LLMResult(generations=[[chat("a")]], llm_output={})
    assert one != "a"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_run_info() -> None:
    """The id of a run, as a UUID or its text."""
    run = uuid4()
    assert RunInfo(run_id=run) == RunInfo.model_validate({"run_id": str(run)})
    with pytest.raises(ValueError, match="run_id"):
        RunInfo.model_validate({"run_id": "7"})
