"""Answers that cannot be read as objects: what is raised, what is asked again, and what that may cost."""

from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from hocket import AIMessage, HumanMessage, ScriptedChatModel, ToolMessage, Turn
from hocket.errors import ContentFiltered, InvalidInput, OutputParserException, ProviderUnavailable, TotalTimeout
from hocket.retries import RetryPolicy
from hocket.testing import virtual_clock


class Person(BaseModel):
    name: str
    age: int

    @field_validator("age")
    @classmethod
    def _check(cls, age: int) -> int:
        if age < 0:
            raise ValueError("nobody is that young")
        return age


ANN = '{"name": "Ann", "age": 42}'
CALL = Turn(tool_calls=[{"name": "Person", "args": {"name": "Ann", "age": 42}, "id": "c1"}])


def scripted(*script: Any, **options: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(script), **options)


# -- answers that will not do


UNREADABLE: dict[str, tuple[Any, str, str]] = {
    "no JSON": ("I do not know.", "json_schema", "is not JSON"),
    "trailing words": (ANN + " I hope that helps.", "json_schema", "is not JSON"),
    "half of it": (ANN[:-3], "json_schema", "is not JSON"),
    "a field is missing": ('{"name": "Ann"}', "json_schema", "age: Field required"),
    "a validator refuses": ('{"name": "Ann", "age": -1}', "json_schema", "nobody is that young"),
    "a call instead": (CALL, "json_schema", "the model called 'Person' instead of answering"),
    "words instead of a call": (ANN, "function_calling", "the model did not call Person"),
    "another call": (
        Turn(tool_calls=[{"name": "Other", "args": {}, "id": "c1"}]),
        "function_calling",
        "the model did not call Person: it called Other",
    ),
    "a call that does not fit": (
        Turn(tool_calls=[{"name": "Person", "args": {"name": "Ann"}, "id": "c1"}]),
        "function_calling",
        "age: Field required",
    ),
    "a call that is no JSON": (
        AIMessage("", invalid_tool_calls=[{"name": "Person", "args": '{"name', "id": "c1", "error": "cut"}]),
        "function_calling",
        "the arguments of Person are not JSON",
    ),
}


@pytest.mark.parametrize(("turn", "method", "what"), UNREADABLE.values(), ids=UNREADABLE)
async def test_answers_that_cannot_be_read(turn: Any, method: Any, what: str) -> None:
    """An error that says what is wrong and has the message; with `include_raw` a value beside it."""
    with pytest.raises(OutputParserException, match=what) as caught:
        await scripted(turn).with_structured_output(Person, method=method).ainvoke("Who?")
    assert isinstance(caught.value.raw, AIMessage)

    result = await scripted(turn).with_structured_output(Person, method=method, include_raw=True).ainvoke("Who?")
    assert (result["parsed"], type(result["parsing_error"])) == (None, OutputParserException)
    assert what in str(result["parsing_error"])
    assert result["raw"].text == caught.value.raw.text


async def test_include_raw_keeps_message_and_usage() -> None:
    """All three are there, always."""
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    turn = Turn(text=ANN, usage=usage)  # type: ignore[arg-type]
    result = await scripted(turn).with_structured_output(Person, include_raw=True).ainvoke("Who?")

    assert (result["parsed"], result["parsing_error"]) == (Person(name="Ann", age=42), None)
    assert (type(result["raw"]), result["raw"].text, result["raw"].usage_metadata) == (AIMessage, ANN, usage)


@pytest.mark.parametrize("reason", ["length", "max_tokens"])
async def test_a_cut_answer_says_so(reason: str) -> None:
    """And not that there is something wrong with its JSON; to ask again would not help."""
    turn = Turn(text='{"name": "An', metadata={"finish_reason": reason})
    model = scripted(turn, ANN)
    with pytest.raises(OutputParserException, match=f"cut short.*{reason}.*max_tokens") as caught:
        await model.with_structured_output(Person, reask=1).ainvoke("Who?")
    assert (caught.value.raw.text, len(model.requests)) == ('{"name": "An', 1)


@pytest.mark.parametrize("include_raw", [False, True])
async def test_a_refusal_is_an_error_of_its_own(include_raw: bool) -> None:
    """With what the model said; nor is it asked again."""
    refusal = AIMessage("", additional_kwargs={"refusal": "I will not."}, response_metadata={"finish_reason": "stop"})
    model = scripted(refusal, ANN)
    structured = model.with_structured_output(Person, reask=1, include_raw=include_raw)
    if include_raw:
        error = (await structured.ainvoke("Who?"))["parsing_error"]  # type: ignore[index]
    else:
        with pytest.raises(ContentFiltered) as caught:
            await structured.ainvoke("Who?")
        error = caught.value
    assert isinstance(error, ContentFiltered)
    assert "the model refuses: I will not." in str(error)
    assert (error.partial.additional_kwargs["refusal"], len(model.requests)) == ("I will not.", 1)


async def test_a_filtered_answer_says_so() -> None:
    """By the provider's finish reason."""
    turn = Turn(text='{"name"', metadata={"normalized_finish_reason": "content_filter", "finish_reason": "SAFETY"})
    with pytest.raises(ContentFiltered, match="the answer was stopped"):
        await scripted(turn).with_structured_output(Person).ainvoke("Who?")


async def test_fences_and_line_breaks_are_forgiven() -> None:
    """As models write them in JSON mode."""
    structured = scripted(f"Here you are:\n```json\n{ANN}\n```").with_structured_output(Person, method="json_mode")
    assert await structured.ainvoke("Who?") == Person(name="Ann", age=42)


# -- asking again


async def test_a_reask_tells_the_model_what_is_wrong() -> None:
    """The conversation goes on: the answer, what is wrong with it, and the next answer."""
    model = scripted('{"name": "Ann"}', ANN)
    assert await model.with_structured_output(Person, reask=1).ainvoke("Who?") == Person(name="Ann", age=42)

    first, answer, correction = model.requests[1].messages
    assert (first, answer.text) == (HumanMessage("Who?"), '{"name": "Ann"}')
    assert isinstance(correction, HumanMessage) and "age: Field required" in correction.text


def test_a_reask_answers_every_call() -> None:
    """As providers demand: a tool message for each."""
    wrong = [{"name": "Person", "args": {}, "id": "c1"}, {"name": "Person", "args": {}, "id": "c2"}]
    model = scripted(Turn(tool_calls=wrong), CALL)  # type: ignore[arg-type]
    structured = model.with_structured_output(Person, method="function_calling", reask=1)

    assert structured.invoke([HumanMessage("Who?")]) == Person(name="Ann", age=42)
    results = model.requests[1].messages[2:]
    assert [(type(one), one.tool_call_id, one.status) for one in results] == [  # type: ignore[attr-defined]
        (ToolMessage, "c1", "error"),
        (ToolMessage, "c2", "error"),
    ]
    assert "name: Field required; age: Field required" in results[0].text


async def test_reasks_are_counted() -> None:
    """After the last, the last error is raised."""
    model = scripted("one", "two", "three", ANN)
    with pytest.raises(OutputParserException, match="three"):
        await model.with_structured_output(Person, reask=2).ainvoke("Who?")
    assert len(model.requests) == 3


@pytest.mark.parametrize("reask", [-1, True, "1"])
def test_reask_is_a_number(reask: Any) -> None:
    """Refused where it is said."""
    with pytest.raises(InvalidInput, match="reask is"):
        scripted().with_structured_output(Person, reask=reask)


FAST = RetryPolicy(max_attempts=3, first_pause=0)


def lost() -> ProviderUnavailable:
    return ProviderUnavailable("gone", retryable=True)


async def test_reasks_and_retries_share_one_budget() -> None:
    """A call's `retry` is how many requests it makes in all, whatever they fail of."""
    model = scripted(lost(), "no", lost(), ANN)
    with pytest.raises(ProviderUnavailable):
        await model.with_structured_output(Person, reask=5).ainvoke("Who?", retry=FAST)
    assert len(model.requests) == 3


async def test_the_budget_is_the_models_and_the_reasks_together() -> None:
    """Two reasks on a model that may try three times: five requests, and no more."""
    model = scripted(lost(), "no", lost(), "no", ANN, retry=FAST)
    assert (await model.with_structured_output(Person, reask=2).ainvoke("Who?")).name == "Ann"

    model = scripted(lost(), lost(), "no", lost(), lost(), ANN, retry=FAST)
    with pytest.raises(ProviderUnavailable):
        await model.with_structured_output(Person, reask=2).ainvoke("Who?")
    assert len(model.requests) == 5


async def test_an_outer_retry_rules() -> None:
    """Nested in a policy, reasks spend from its budget."""
    model = scripted("no", "no", "no", "no", ANN)
    structured = model.with_structured_output(Person, reask=4).with_retry(
        retry_if_exception_type=(OutputParserException,), wait_exponential_jitter=False, stop_after_attempt=3
    )
    with pytest.raises(OutputParserException):
        await structured.ainvoke("Who?")
    assert len(model.requests) == 3


async def test_one_deadline_holds_over_all() -> None:
    """Ten seconds are ten seconds, however often the model is asked."""
    with virtual_clock() as clock:
        model = scripted(*[Turn(text="no", delay=4)] * 9)
        with pytest.raises(TotalTimeout):
            await model.with_structured_output(Person, reask=8).ainvoke("Who?", timeout=10)
        assert clock.now() <= 11
    assert len(model.requests) == 3


async def test_every_request_is_a_run_with_its_usage(recorder: Any) -> None:
    """So that whoever counts tokens counts those of answers that were no good, too."""
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    script = [Turn(text=text, usage=usage) for text in ("no", ANN)]  # type: ignore[arg-type]
    await scripted(*script).with_structured_output(Person, reask=1).ainvoke("Who?", {"callbacks": [recorder]})

    results = recorder.firsts("on_llm_end")
    assert [result.generations[0][0].message.usage_metadata for result in results] == [usage, usage]
    recorder.assert_every_run_ended_once()
