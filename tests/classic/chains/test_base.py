"""A chain has named inputs and outputs, which are checked, and a memory, which is written when all has gone well."""

from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st

from hocket import FakeListChatModel, PromptTemplate, ScriptedChatModel, Turn
from hocket.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from hocket.classic.chains import Chain, ConversationChain, LLMChain, TransformChain
from hocket.classic.memory import ConversationBufferMemory
from hocket.errors import InvalidHook, InvalidInput
from hocket.runnables import RunnableLambda
from hocket.runnables.folding import add
from tests.classic.chains.conftest import Log, LoggedMemory, StartHandler
from tests.kit.recorders import AsyncRecorder

pytestmark = pytest.mark.anyio


class Shout(Chain):
    """The smallest chain."""

    mark: str = "!"

    @property
    def input_keys(self) -> list[str]:
        return ["text"]

    @property
    def output_keys(self) -> list[str]:
        return ["loud"]

    async def _acall(self, inputs: dict[str, Any], run_manager: Any = None) -> dict[str, Any]:
        if inputs["text"] == "broken":
            raise KeyError("broken")
        return {"loud": inputs["text"].upper() + self.mark}


class SyncShout(Shout):
    """Defines the sync hook too, and calls another runnable in it."""

    _acall = Chain._acall

    def _call(self, inputs: dict[str, Any], run_manager: CallbackManagerForChainRun | None = None) -> dict[str, Any]:
        assert run_manager is not None
        upper = RunnableLambda(str.upper, name="upper").invoke(inputs["text"], {"callbacks": run_manager.get_child()})
        return {"loud": upper + self.mark}


class PlainShout(Shout):
    """Takes no run manager."""

    async def _acall(self, inputs: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        return {"loud": inputs["text"].upper() + self.mark}


@pytest.mark.parametrize("kind", [Shout, SyncShout, PlainShout])
async def test_one_hook_is_a_chain_with_all_verbs(kind: type[Shout]) -> None:
    chain = kind(mark="?")
    whole = {"text": "hi", "loud": "HI?"}
    assert await chain.ainvoke({"text": "hi"}) == whole
    assert await chain.ainvoke("hi") == whole  # type: ignore[arg-type]
    assert await chain.ainvoke({"text": "hi"}, return_only_outputs=True) == {"loud": "HI?"}
    assert await chain.abatch([{"text": "hi"}, {"text": "ho"}]) == [whole, {"text": "ho", "loud": "HO?"}]
    assert add([piece async for piece in chain.astream({"text": "hi"})]) == whole
    assert await (chain | RunnableLambda(lambda values: values["loud"])).ainvoke({"text": "hi"}) == "HI?"


@pytest.mark.parametrize("kind", [Shout, SyncShout, PlainShout])
def test_and_for_sync_code(kind: type[Shout]) -> None:
    chain = kind()
    assert chain.invoke({"text": "hi"}) == {"text": "hi", "loud": "HI!"}
    assert add(chain.stream({"text": "hi"})) == {"text": "hi", "loud": "HI!"}
    assert chain.batch([{"text": "hi"}]) == [{"text": "hi", "loud": "HI!"}]


async def test_handlers_are_told_and_runs_inside_are_children() -> None:
    told = AsyncRecorder()
    chain = SyncShout(name="shout", tags=["own"], metadata={"kind": 1})
    await chain.ainvoke({"text": "hi"}, {"callbacks": [told], "tags": ["call"]})
    outer, inner = told.named("on_chain_start")
    assert (outer.details["name"], outer.args[1]) == ("shout", {"text": "hi"})
    assert (sorted(outer.details["tags"]), outer.details["metadata"]) == (["call", "own"], {"kind": 1})
    assert (inner.details["parent_run_id"], inner.details["tags"]) == (outer.details["run_id"], ["call"])
    told.assert_every_run_ended_once()


async def test_a_failing_chain_is_an_error_of_its_run() -> None:
    told = AsyncRecorder()
    with pytest.raises(KeyError):
        await Shout().ainvoke("broken", {"callbacks": [told]})  # type: ignore[arg-type]
    assert told.names == ["on_chain_start", "on_chain_error"]


async def test_the_run_manager_is_that_of_the_runtime() -> None:
    seen: list[object] = []

    class Look(Shout):
        async def _acall(self, inputs: Any, run_manager: Any = None) -> dict[str, Any]:
            seen.append(run_manager)
            return {"loud": ""}

    await Look().ainvoke("x")  # type: ignore[arg-type]
    await SyncShout().ainvoke("x", {"callbacks": [AsyncRecorder()]})  # type: ignore[arg-type]
    assert isinstance(seen[0], AsyncCallbackManagerForChainRun)


@pytest.mark.parametrize(
    ("given_input", "problem"),
    [
        ({}, "Shout lacks the input 'text'; given: nothing"),
        ({"txet": "x"}, "did you mean 'txet' for 'text'"),
    ],
)
async def test_a_missing_input_is_refused_at_the_door(given_input: dict[str, Any], problem: str) -> None:
    """Before the run: no handler hears of it."""
    make_input: Any = RunnableLambda(lambda _: given_input)
    told = AsyncRecorder()
    with pytest.raises(InvalidInput, match=problem):
        await Shout().ainvoke(given_input, {"callbacks": [told]})
    with pytest.raises(InvalidInput, match=problem):
        await anext(Shout().astream(given_input, {"callbacks": [told]}))
    with pytest.raises(InvalidInput, match=problem):  # as a step of a stream it has begun by then
        await anext((make_input | Shout()).astream("x"))
    assert told.names == []


async def test_run_with_one_value_needs_a_chain_of_one_input() -> None:
    """langchaingo's `Run`: exactly one input beside the memory's."""
    two = TransformChain(["a", "b"], ["c"], lambda values: {"c": 1})
    with pytest.raises(InvalidInput, match="takes a mapping with 'a', 'b', not str"):
        await two.ainvoke("x")  # type: ignore[arg-type]
    talk = ConversationChain(FakeListChatModel(responses=["yes"]))
    assert (await talk.ainvoke("x"))["response"] == "yes"  # type: ignore[arg-type]


async def test_many_runs_keep_their_order_and_end_with_the_first_error() -> None:
    """langchaingo's `Apply`."""

    async def work(values: dict[str, Any]) -> dict[str, Any]:
        await anyio.sleep(0.001 * (5 - values["n"]))
        if values["n"] in failing:
            raise KeyError(values["n"])
        return {"m": values["n"] * 10}

    chain = TransformChain(["n"], ["m"], work)
    failing: set[int] = set()
    outputs = await chain.abatch([{"n": n} for n in range(5)], {"max_concurrency": 5})
    assert [one["m"] for one in outputs] == [0, 10, 20, 30, 40]
    failing = {4}
    with pytest.raises(KeyError, match="4"):
        await chain.abatch([{"n": n} for n in range(5)], {"max_concurrency": 2})


async def test_an_option_that_no_chain_has_is_refused() -> None:
    with pytest.raises(InvalidInput, match="takes no 'temperature'"):
        await Shout().ainvoke({"text": "x"}, temperature=1)


@pytest.mark.parametrize(
    ("outputs", "problem"), [({"quiet": 1}, "returned no 'loud'; it returned 'quiet'"), (None, "returned NoneType")]
)
async def test_outputs_are_checked(outputs: Any, problem: str) -> None:
    class Odd(Shout):
        async def _acall(self, inputs: Any, run_manager: Any = None) -> Any:
            return outputs

    with pytest.raises(InvalidHook, match=problem):
        await Odd().ainvoke({"text": "x"})


async def test_a_class_without_a_hook_is_told_so() -> None:
    class Nothing(Shout):
        _acall = Chain._acall

    with pytest.raises(InvalidHook, match="does nothing: define _acall"):
        await Nothing().ainvoke({"text": "x"})


# -- memory


def make_talk(log: Log, **options: Any) -> ConversationChain:
    return ConversationChain(FakeListChatModel(responses=["fine"]), memory=LoggedMemory(log=log), **options)


async def test_the_order_of_a_run(log: Log) -> None:
    chain = make_talk(log)
    whole = await chain.ainvoke({"input": "how are you?"}, {"callbacks": [StartHandler(log)]})
    assert log.steps == ["start", "load", "model", "save", "end"]
    assert whole == {"input": "how are you?", "history": "", "response": "fine"}
    log.steps.clear()
    assert add([piece async for piece in chain.astream({"input": "and now?"}, {"callbacks": [StartHandler(log)]})]) == {
        "input": "and now?",
        "history": "Human: how are you?\nAI: fine",
        "response": "fine",
    }
    assert log.steps == ["start", "load", "model", "save", "end"]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("cancels", [False, True], ids=["fails", "is cancelled"])
@pytest.mark.parametrize("stage", ["load", "model", "save"])
async def test_a_run_that_does_not_end_well_saves_nothing(log: Log, stage: str, cancels: bool, streams: bool) -> None:
    """Whatever it is that fails, or is waited for when the cancellation comes."""
    memory = LoggedMemory(log=log)
    chain = ConversationChain(ScriptedChatModel(script=["fine"]), memory=memory)
    log.fault = stage
    if stage == "model" and not cancels:
        chain = ConversationChain(
            ScriptedChatModel(script=[Turn(text=["fi", "ne"], error=KeyError("model"), error_after=1)]), memory=memory
        )
        log.fault = None

    async def run() -> None:
        config: Any = {"callbacks": [StartHandler(log)]}
        if streams:
            async for _ in chain.astream({"input": "hi"}, config):
                pass
        else:
            await chain.ainvoke({"input": "hi"}, config)

    if cancels:
        with anyio.CancelScope() as log.scope:
            await run()
        assert log.scope.cancelled_caught
    else:
        with pytest.raises(KeyError, match=stage):
            await run()
    assert memory.chat_memory.messages == []
    assert log.steps[-1] == "error"


async def test_a_stream_that_is_left_early_saves_nothing(log: Log) -> None:
    memory = LoggedMemory(log=log)
    chain = ConversationChain(ScriptedChatModel(script=[Turn(text=["a"] * 500, pause=0.0001)]), memory=memory)
    async with chain.astream({"input": "hi"}) as stream:
        async for piece in stream:
            if "response" in piece:
                break
    assert (memory.chat_memory.messages, log.steps) == ([], ["load"])


async def test_a_memory_loses_no_run_of_many() -> None:
    memory = ConversationBufferMemory(return_messages=True)
    chain = ConversationChain(FakeListChatModel(responses=["fine"]), memory=memory)
    await chain.abatch([{"input": str(n)} for n in range(50)])
    said = [message.text for message in memory.chat_memory.messages]
    assert sorted(said[::2], key=int) == [str(n) for n in range(50)]
    assert said[1::2] == ["fine"] * 50


async def test_the_memory_gets_the_inputs_of_the_chain_alone() -> None:
    """A mapping may have more in it, and the memory would not know which value was asked."""
    memory = ConversationBufferMemory()
    chain = ConversationChain(FakeListChatModel(responses=["fine"]), memory=memory)
    await chain.ainvoke({"input": "hi", "user": "ada", "history": "a lie"})
    assert [message.text for message in memory.chat_memory.messages] == ["hi", "fine"]


async def test_the_memory_is_loaded_over_the_inputs() -> None:
    model = ScriptedChatModel(script=["fine"])
    chain = ConversationChain(model, memory=ConversationBufferMemory())
    assert (await chain.ainvoke({"input": "hi", "history": "a lie"}))["history"] == ""
    assert "a lie" not in model.requests[0].messages[0].text


PROMPT = PromptTemplate.from_template("{a} {b} {history}")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: TransformChain(["a"], ["a"], lambda values: {}), "'a' as an input and as an output"),
        (lambda: TransformChain(["a"], ["b", "b"], lambda values: {}), "an output twice"),
        (
            lambda: TransformChain(["a"], ["history"], lambda values: {}, memory=ConversationBufferMemory()),
            "'history' as a variable of the memory and as an output",
        ),
        (
            lambda: LLMChain(FakeListChatModel(responses=[]), PROMPT, memory=ConversationBufferMemory()),
            "inputs 'a', 'b', and its memory keeps one",
        ),
        (
            lambda: LLMChain(FakeListChatModel(responses=[]), PROMPT, memory=ConversationBufferMemory(input_key="c")),
            "input_key is 'c'",
        ),
        (
            lambda: TransformChain(["a"], ["b", "c"], lambda values: {}, memory=ConversationBufferMemory()),
            "outputs 'b', 'c', and its memory keeps one",
        ),
    ],
)
def test_keys_that_hide_one_another_are_refused_when_it_is_made(make: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        make()


def test_a_memory_that_is_told_its_keys_is_taken() -> None:
    memory = ConversationBufferMemory(input_key="a")
    chain = LLMChain(FakeListChatModel(responses=["yes"]), PROMPT, memory=memory)
    chain.invoke({"a": "asked", "b": "beside"})
    assert [message.text for message in memory.chat_memory.messages] == ["asked", "yes"]


@given(st.dictionaries(st.sampled_from("abcdef"), st.one_of(st.integers(), st.text(), st.lists(st.integers()))))
def test_a_stream_adds_up_to_the_output(values: dict[str, Any]) -> None:
    """Whatever stands beside the chain's own input."""
    chain = SyncShout()
    assert add(chain.stream({**values, "text": "x"})) == chain.invoke({**values, "text": "x"})
