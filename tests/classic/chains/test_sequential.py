"""Chains one behind the other: every value is handed on, and the keys are checked when the sequence is made."""

from typing import Any

import pytest

from hocket import PromptTemplate, ScriptedChatModel, Turn
from hocket.classic.chains import ConversationChain, LLMChain, SequentialChain, SimpleSequentialChain, TransformChain
from hocket.classic.memory import ConversationBufferMemory
from hocket.errors import InvalidHook, InvalidInput
from hocket.runnables import RunnableLambda
from hocket.runnables.folding import add
from tests.kit.recorders import AsyncRecorder

pytestmark = pytest.mark.anyio


def make_step(inputs: str, output: str) -> TransformChain:
    """Return a chain whose output names what it has seen."""
    names = inputs.split()
    return TransformChain(
        names, [output], lambda values: {output: "".join(str(values[name]) for name in names) + output}
    )


async def test_the_third_step_sees_the_first_input() -> None:
    chain = SequentialChain([make_step("x", "a"), make_step("a", "b"), make_step("x b", "c")], ["x"])
    assert await chain.ainvoke({"x": "x"}) == {"x": "x", "c": "xxabc"}
    assert chain.invoke("x") == {"x": "x", "c": "xxabc"}  # type: ignore[arg-type]


async def test_which_values_are_put_out() -> None:
    steps = [make_step("x", "a"), make_step("a", "b")]
    assert await SequentialChain(steps, ["x"], ["a", "b"]).ainvoke({"x": ""}) == {"x": "", "a": "a", "b": "ab"}
    assert await SequentialChain(steps, ["x"], return_all=True).ainvoke({"x": ""}) == {"x": "", "a": "a", "b": "ab"}


async def test_a_step_that_fails_ends_the_run() -> None:
    asked: list[object] = []
    broken = TransformChain(["a"], ["b"], lambda values: values["none"])
    last = TransformChain(["b"], ["c"], asked.append)
    with pytest.raises(KeyError):
        await SequentialChain([make_step("x", "a"), broken, last], ["x"]).ainvoke({"x": 1})
    assert asked == []


async def test_runs_of_the_steps_are_children() -> None:
    told = AsyncRecorder()
    await SequentialChain([make_step("x", "a"), make_step("a", "b")], ["x"]).ainvoke("", {"callbacks": [told]})  # type: ignore[arg-type]
    outer, *inner = told.named("on_chain_start")
    assert [one.details["parent_run_id"] for one in inner] == [outer.details["run_id"]] * 2
    assert [one.details["tags"] for one in inner] == [["step_1"], ["step_2"]]


def make_models() -> tuple[LLMChain, LLMChain]:
    draft, review = (
        ScriptedChatModel(script=["A draft."] * 3),
        ScriptedChatModel(script=[Turn(text=["It is ", "good."])] * 3),
    )
    return (
        LLMChain(draft, PromptTemplate.from_template("Write about {topic}"), output_key="draft"),
        LLMChain(review, PromptTemplate.from_template("Review {draft} on {topic}"), output_key="review"),
    )


async def test_what_is_put_out_is_streamed() -> None:
    chain = SequentialChain(make_models(), ["topic"])
    pieces = [piece async for piece in chain.astream({"topic": "sails"})]
    assert pieces == [{"topic": "sails"}, {"review": "It is "}, {"review": "good."}]
    both = SequentialChain(make_models(), ["topic"], ["draft", "review"])
    pieces = [piece async for piece in both.astream({"topic": "sails"})]
    assert add(pieces) == await both.ainvoke({"topic": "sails"})
    assert [[*piece] for piece in pieces][-2:] == [["review"], ["review"]]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: SequentialChain([], ["x"]), "at least one chain"),
        (lambda: SequentialChain([RunnableLambda(str)], ["x"]), "RunnableLambda is none"),  # type: ignore[list-item]
        (lambda: SequentialChain([make_step("y", "a")], ["x"]), "chain 1 .* needs 'y'; there is 'x'"),
        (lambda: SequentialChain([make_step("x", "a"), make_step("x", "a")], ["x"]), "chain 2 .* puts out 'a'"),
        (
            lambda: SequentialChain([make_step("x", "a"), make_step("a", "x")], ["x"]),
            "has 'x' as an input|puts out 'x'",
        ),
        (lambda: SequentialChain([make_step("x", "a")], ["x"], ["b"]), "output_variables names 'b'"),
        (lambda: SequentialChain([make_step("x", "a")], ["x"], ["a"], return_all=True), "give one"),
        (
            lambda: SequentialChain([make_step("history", "a")], ["history"], memory=ConversationBufferMemory()),
            "the memory gives 'history'",
        ),
        (lambda: SimpleSequentialChain([make_step("x y", "a")]), "not one input but 'x', 'y'"),
        (lambda: SimpleSequentialChain([]), "at least one chain"),
    ],
)
def test_keys_are_checked_when_it_is_made(make: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        make()


async def test_a_memory_of_the_sequence_gives_values() -> None:
    memory = ConversationBufferMemory()
    chain = SequentialChain([make_step("x history", "a"), make_step("a", "b")], ["x"], memory=memory)
    await chain.ainvoke({"x": "1"})
    assert (await chain.ainvoke({"x": "2"}))["b"] == "2Human: 1\nAI: 1abab"


async def test_a_step_keeps_its_own_memory() -> None:
    talk = ConversationChain(ScriptedChatModel(script=["one", "two"]), input_key="a")
    chain = SequentialChain([make_step("x", "a"), talk], ["x"])
    await chain.ainvoke({"x": "1"})
    assert await chain.ainvoke({"x": "2"}) == {"x": "2", "response": "two"}
    assert len((await talk.memory.aload_memory_variables())["history"]) == 4  # type: ignore[union-attr]


async def test_simple_ones_hand_on_their_only_output() -> None:
    chain = SimpleSequentialChain([make_step("x", " a "), make_step("y", "b")])
    assert await chain.ainvoke("") == {"input": "", "output": " a b"}  # type: ignore[arg-type]
    stripped = SimpleSequentialChain([make_step("x", " a "), make_step("y", "b ")], strip_outputs=True)
    assert await stripped.ainvoke("") == {"input": "", "output": "ab"}  # type: ignore[arg-type]


async def test_the_last_of_simple_ones_is_streamed() -> None:
    model = ScriptedChatModel(script=[Turn(text=["a", "b"])])
    chain = SimpleSequentialChain([make_step("x", "1"), LLMChain(model, PromptTemplate.from_template("{y}"))])
    pieces = [piece async for piece in chain.astream({"input": "0"})]
    assert pieces == [{"input": "0"}, {"output": "a"}, {"output": "b"}]
    assert model.requests[0].messages[0].text == "01"


# -- functions


async def test_a_function_has_a_sync_and_an_async_form() -> None:
    async def atransform(values: dict[str, Any]) -> dict[str, Any]:
        return {"b": "async"}

    chain = TransformChain(["a"], ["b"], lambda values: {"b": "sync"}, atransform_cb=atransform)
    assert (await chain.ainvoke({"a": 1}))["b"] == "async"


def test_the_sync_form_is_for_sync_verbs() -> None:
    async def atransform(values: dict[str, Any]) -> dict[str, Any]:
        return {"b": "async"}

    chain = TransformChain(["a"], ["b"], lambda values: {"b": "sync"}, atransform_cb=atransform)
    assert chain.invoke({"a": 1})["b"] == "sync"
    assert TransformChain(["a"], ["b"], atransform).invoke({"a": 1})["b"] == "async"


async def test_a_function_that_lacks_an_output_is_told_so() -> None:
    with pytest.raises(InvalidHook, match="returned no 'b'"):
        await TransformChain(["a"], ["b"], lambda values: {}).ainvoke({"a": 1})
    with pytest.raises(InvalidHook, match="is no function"):
        TransformChain(["a"], ["b"], "x")  # type: ignore[arg-type]
