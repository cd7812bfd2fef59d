"""Something fixed beforehand: arguments and config, for every verb."""

import pickle
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import anyio.to_thread
import pytest

from hocket import AIMessage, FakeListChatModel, HumanMessage, ScriptedChatModel, dumps, loads
from hocket.callbacks import CallbackManager
from hocket.errors import InvalidInput
from hocket.runnables import Runnable, RunnableBinding, RunnableConfig
from tests.kit import Recorder


async def in_thread(call: Callable[[], Any]) -> Any:
    """Call a sync verb where no loop runs."""
    return await anyio.to_thread.run_sync(call)


VERBS: dict[str, Callable[[Any], Any]] = {
    "ainvoke": lambda bound: bound.ainvoke("x", temperature=1),
    "astream": lambda bound: _drained(bound.astream("x", temperature=1)),
    "abatch": lambda bound: bound.abatch(["x"], temperature=1),
    "abatch_as_completed": lambda bound: _drained(bound.abatch_as_completed(["x"], temperature=1)),
    "invoke": lambda bound: in_thread(lambda: bound.invoke("x", temperature=1)),
    "stream": lambda bound: in_thread(lambda: list(bound.stream("x", temperature=1))),
    "batch": lambda bound: in_thread(lambda: bound.batch(["x"], temperature=1)),
    "batch_as_completed": lambda bound: in_thread(lambda: list(bound.batch_as_completed(["x"], temperature=1))),
}


async def _drained(stream: Any) -> list[Any]:
    return [item async for item in stream]


@pytest.mark.parametrize("verb", VERBS)
async def test_what_is_bound_reaches_every_verb(verb: str) -> None:
    """MW-06: arguments and config of a binding are those of every call, streams and batches too; a call's own win."""
    starts = Recorder("on_chat_model_start")
    model = ScriptedChatModel(script=["a"])
    bound = model.bind(stop=["."], temperature=0, seed=7).with_config(
        callbacks=[starts], tags=["t"], run_name="asking", metadata={"m": 1}
    )
    await VERBS[verb](bound)
    (request,), start = model.requests, starts.only("on_chat_model_start").details
    assert (request.stop, request.params) == (["."], {"temperature": 1, "seed": 7})
    assert (start["tags"], start["name"], start["metadata"]["m"]) == (["t"], "asking", 1)


async def test_bindings_add_up() -> None:
    """Binding a binding gives one binding: later arguments win, tags are joined, metadata merged."""
    model = ScriptedChatModel(script=["a"])
    starts = Recorder("on_chat_model_start")
    bound = (
        model.bind(seed=1, top_p=1)
        .with_config(tags=["a"], metadata={"x": 1, "y": 1})
        .bind(seed=2)
        .with_config({"tags": ["b"], "metadata": {"y": 2}}, callbacks=[starts])
    )
    assert bound.bound is model
    await bound.ainvoke("x", {"tags": ["a", "c"]})
    assert model.requests[0].params == {"seed": 2, "top_p": 1}
    assert starts.events[0].details["tags"] == ["a", "b", "c"]
    assert {"x": 1, "y": 2}.items() <= starts.events[0].details["metadata"].items()


async def test_the_original_stays_as_it_is() -> None:
    """`bind` and `with_config` return something new."""
    model = ScriptedChatModel(script=["a", "b"])
    first = model.bind(seed=1)
    first.bind(seed=2)
    await first.ainvoke("x")
    await model.ainvoke("x")
    assert [request.params for request in model.requests] == [{"seed": 1}, {}]


async def test_configs_of_a_batch_are_merged_one_by_one() -> None:
    """A binding's config goes under each of a list of configs."""
    starts = Recorder("on_chat_model_start")
    bound = FakeListChatModel(responses=["a", "b"]).with_config(callbacks=[starts], tags=["t"])
    await bound.abatch(["x", "y"], [{"tags": ["1"]}, {"tags": ["2"]}])
    assert [start.details["tags"] for start in starts.events] == [["t", "1"], ["t", "2"]]


async def test_callbacks_of_both_are_told() -> None:
    """Handlers of the binding and of the call are told, each once; a manager is copied, not changed."""
    mine, theirs = Recorder("on_chat_model_start"), Recorder("on_chat_model_start")
    model = FakeListChatModel(responses=["a"])
    await model.with_config(callbacks=[mine]).ainvoke("x", {"callbacks": [mine, theirs]})
    assert (len(mine.events), len(theirs.events)) == (1, 1)

    manager = CallbackManager(handlers=[theirs])
    await model.with_config(callbacks=[mine]).ainvoke("x", {"callbacks": manager})
    await model.with_config(callbacks=manager).ainvoke("x", {"callbacks": [mine]})
    assert (len(mine.events), len(theirs.events)) == (3, 3)
    assert manager.handlers == [theirs]


async def test_a_run_id_of_a_config() -> None:
    """BCM-18: a run id fixed by `with_config` names the first call of a batch alone."""
    starts, run_id = Recorder("on_chat_model_start"), uuid4()
    bound = FakeListChatModel(responses=["a"]).with_config(callbacks=[starts], run_id=run_id)
    await bound.abatch(["x", "y"])
    assert [start.details["run_id"] == run_id for start in starts.events] == [True, False]


def test_a_binding_has_the_attributes_of_what_it_binds() -> None:
    """Fields and methods of the model are reached through its binding; what nobody has is an AttributeError."""
    bound = FakeListChatModel(responses=["a"]).bind(stop=["."])
    assert bound.responses == ["a"]
    assert bound.get_num_tokens("abcd") == 1
    assert bound.get_name() == "FakeListChatModel"
    assert bound.with_config(run_name="asking").get_name() == "asking"
    with pytest.raises(AttributeError, match="respones"):
        _ = bound.respones
    with pytest.raises(AttributeError):
        _ = bound._nothing


def test_a_binding_travels() -> None:
    """BLM-01: as data, and as a pickle, with what it binds."""
    bound = FakeListChatModel(responses=["a"]).bind(stop=["."]).with_config(tags=["t"])
    for other in (
        loads(dumps(bound), allowed_objects=[RunnableBinding, FakeListChatModel]),
        pickle.loads(pickle.dumps(bound)),
    ):
        assert (other.kwargs, other.config) == ({"stop": ["."]}, {"tags": ["t"]})
        assert other.bound == bound.bound
        assert other.invoke("x").content == "a"


def test_an_unknown_argument_of_a_binding_is_refused() -> None:
    """A typo in a config fails where it is made."""
    with pytest.raises(InvalidInput, match="did you mean 'tags'"):
        FakeListChatModel(responses=["a"]).with_config(tag=["t"])
    with pytest.raises(ValueError, match="kwarg"):
        RunnableBinding(bound=FakeListChatModel(responses=["a"]), kwarg={})  # type: ignore[call-arg]


# -- the base itself


class Doubling(Runnable[int, int]):
    """Defines one verb only."""

    async def ainvoke(self, input: int, config: RunnableConfig | None = None, **kwargs: Any) -> int:
        return input * 2 + int(kwargs.get("plus", 0))


class SyncDoubling(Runnable[int, int]):
    """The same in sync code."""

    def invoke(self, input: int, config: RunnableConfig | None = None, **kwargs: Any) -> int:
        return input * 2 + int(kwargs.get("plus", 0))


@pytest.mark.parametrize("kind", [Doubling, SyncDoubling])
async def test_one_verb_is_a_runnable(kind: Any) -> None:
    """A runnable defines `ainvoke` or `invoke`; every other verb, and binding, follow."""
    runnable = kind()
    assert await runnable.ainvoke(1) == 2
    assert [item async for item in runnable.astream(1)] == [2]
    assert await runnable.abatch([1, 2]) == [2, 4]
    assert await in_thread(lambda: runnable.invoke(1)) == 2
    assert await in_thread(lambda: list(runnable.stream(1))) == [2]
    assert await in_thread(lambda: runnable.batch([1, 2])) == [2, 4]
    assert await runnable.bind(plus=1).ainvoke(1) == 3


async def test_no_verb_is_none() -> None:
    """A class that defines neither is told so, instead of calling itself for ever."""
    with pytest.raises(TypeError, match="Nothing defines neither ainvoke nor invoke"):
        await type("Nothing", (Runnable,), {})().ainvoke(1)


def test_names() -> None:
    """The name of a run is that of the object, its class, or what the config says."""
    assert Doubling().get_name() == "Doubling"
    assert Doubling().get_name("output") == "DoublingOutput"
    assert Doubling().get_name(name="mine") == "mine"
    assert FakeListChatModel(responses=["a"], name="greeter").get_name("output") == "greeter_output"


async def test_messages_go_through_a_binding() -> None:
    """A bound model takes what the model takes."""
    model = ScriptedChatModel(script=["a"])
    reply = await model.bind(stop=["."]).ainvoke([HumanMessage("hi")])
    assert (type(reply), reply.content) == (AIMessage, "a")
