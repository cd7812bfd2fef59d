"""What goes round a wrapper: methods of a model that take the arguments of a call, or start a run."""

from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from hocket import ChatOpenAI, FakeListChatModel, HumanMessage, ScriptedChatModel
from hocket.errors import ProviderUnavailable
from hocket.runnables import RunnableLambda
from tests.kit import Recorder

QUESTIONS = [[HumanMessage("hi")]]


async def test_generate_of_a_binding_gets_what_is_bound() -> None:
    """`agenerate` stops at the bound word, as `ainvoke` does, and the bound handlers hear of it."""
    recorder = Recorder()
    model = ScriptedChatModel(script=["one"] * 5)
    bound = model.bind(stop=["."]).with_config(callbacks=[recorder], tags=["t"])
    await bound.agenerate(QUESTIONS)
    assert [call.stop for call in model.requests] == [["."]]
    start = recorder.only("on_chat_model_start")
    assert start.details["tags"] == ["t"]


async def test_arguments_of_a_call_win_over_what_is_bound() -> None:
    """By position or by name."""
    model = ScriptedChatModel(script=["one"] * 5)
    bound = model.bind(stop=["."])
    await bound.agenerate(QUESTIONS, ["!"])
    await bound.agenerate(QUESTIONS, stop=["?"])
    assert [call.stop for call in model.requests] == [["!"], ["?"]]


def test_render_shows_the_tools_that_are_bound() -> None:
    """What `render` shows is what `invoke` would send."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    model = ChatOpenAI(model="m", api_key="k").bind_tools([add])
    body: Any = model.render("hi").json
    assert body["tools"][0]["function"]["name"] == "add"
    retried: Any = model.with_retry().render("hi").json
    assert retried["tools"] == body["tools"]


def test_render_shows_the_request_of_a_typed_answer() -> None:
    """What tracers are told of the schema is no option of the request, nor is the call's deadline."""

    class Person(BaseModel):
        name: str

    model = ChatOpenAI(model="gpt-5.2", api_key="k")
    body: Any = model.with_structured_output(Person).render("Ada", timeout=3).json
    assert body["response_format"]["json_schema"]["name"] == "Person"
    assert "timeout" not in body


@pytest.mark.parametrize("verb", ["generate", "agenerate", "generate_prompt", "agenerate_prompt"])
def test_a_verb_that_would_go_round_the_attempts_is_refused(verb: str) -> None:
    """It would be tried once, and no fallback would be called: so it is not there, and the error says what is."""
    model = FakeListChatModel(responses=["a"])
    for chain in (model.with_retry(), model.with_fallbacks([model]), model.bind(stop=["."]).with_retry()):
        with pytest.raises(AttributeError, match=rf"has no {verb}: .*Use invoke"):
            getattr(chain, verb)
    with pytest.raises(AttributeError, match="has no generate"):
        _ = model.with_retry().bind(stop=["."]).generate


def test_what_is_bound_outside_a_retry_stays_when_tools_are_bound() -> None:
    """Methods that return a runnable are wrapped on every level."""
    model = ScriptedChatModel(script=["a"] * 3)
    chain = model.with_retry().bind(stop=["."]).bind_tools([{"name": "t", "description": "", "parameters": {}}])
    assert chain.invoke("hi").text == "a"
    assert model.requests[0].stop == ["."]
    assert "tools" in model.requests[0].params


def test_what_stands_for_no_runnable_is_named() -> None:
    """`prompt | 42` says what a step may be."""
    with pytest.raises(TypeError, match=r"int 42 stands for no runnable: a step of a chain is a Runnable, a function"):
        _ = RunnableLambda(str) | 42  # type: ignore[operator]
    with pytest.raises(TypeError, match="int 42 stands for no runnable"):
        _ = 42 | RunnableLambda(str)  # type: ignore[operator]


def test_a_misspelt_argument_of_an_operator_names_the_public_class() -> None:
    """`Runnable` is what a user knows."""
    model: Any = FakeListChatModel(responses=["a"])
    with pytest.raises(TypeError, match=r"^Runnable\.with_retry\(\) got an unexpected keyword"):
        model.with_retry(stop_after_attempts=3)


async def test_a_batch_that_dies_names_the_row() -> None:
    """In a note; an error of hocket's own has it as an attribute, too. The input itself stays private."""

    async def work(number: int) -> int:
        if number == 30:
            raise KeyError("no such thing")
        if number == 31:
            raise ProviderUnavailable("busy")
        return number

    chain = RunnableLambda(work)
    with pytest.raises(KeyError) as failed:
        await chain.abatch([10, 20, 30])
    assert failed.value.__notes__ == ["at index 2 of the batch"]
    with pytest.raises(ProviderUnavailable) as unavailable:
        await chain.abatch([10, 31])
    assert unavailable.value.batch_index == 1
    with pytest.raises(KeyError) as streamed:
        async for _ in chain.abatch_as_completed([30]):
            pass
    assert streamed.value.__notes__ == ["at index 0 of the batch"]
    (outcome,) = await chain.abatch([30], return_exceptions=True)
    assert not hasattr(outcome, "__notes__")


def test_a_step_of_a_chain_gets_no_note_of_its_own() -> None:
    """What runs side by side inside one call is no batch of the caller's."""

    def fail(input: str) -> str:
        raise KeyError(input)

    with pytest.raises(KeyError) as failed:
        RunnableLambda(fail).map().invoke(["a", "b"])
    assert not hasattr(failed.value, "__notes__")


@pytest.mark.parametrize("key", ["callbacks", "tags", "metadata", "run_name", "run_id", "max_concurrency"])
async def test_keys_of_a_config_are_refused_as_arguments(key: str) -> None:
    """They would do nothing, silently, or reach a function that does not expect them."""
    steps: list[Any] = [RunnableLambda(str), RunnableLambda(str) | len, RunnableLambda(str).map()]
    for chain in steps:
        with pytest.raises(ValueError, match=f"{key} was given as an argument of its own; it goes into the config"):
            await chain.ainvoke(["hi"], **{key: []})
        with pytest.raises(ValueError, match="goes into the config"):
            [piece async for piece in chain.astream(["hi"], **{key: []})]


def test_a_function_may_have_a_parameter_called_like_a_key_of_a_config() -> None:
    """Then it is the function's own."""

    def shout(text: str, tags: list[str]) -> str:
        return text + tags[0]

    assert RunnableLambda(shout).invoke("a", tags=["b"]) == "ab"
    assert (RunnableLambda(shout) | str.upper).invoke("a", tags=["b"]) == "AB"


async def test_a_batch_hands_out_no_work_after_a_failure() -> None:
    """Also not in the moment before its other calls, which end at the same time, are cancelled."""
    go, started, has_failed = anyio.Event(), 0, False

    async def work(number: int) -> int:
        nonlocal started, has_failed
        assert not has_failed
        started += 1
        if started == 10:
            go.set()
        await go.wait()
        if number == 0:
            has_failed = True
            raise KeyError(number)
        return number

    with pytest.raises(KeyError):
        await RunnableLambda(work).abatch(range(1000), {"max_concurrency": 10})
    assert has_failed
    assert started < 20
