"""Who hears of which run: what is given with a call goes on to the runs inside, what a model has of its own does not."""

from typing import Any

import pytest

from hocket.callbacks import (
    AsyncCallbackManager,
    BaseCallbackManager,
    CallbackManager,
    StdOutCallbackHandler,
)
from hocket.callbacks.stdout import DebugCallbackHandler
from hocket.errors import InvalidInput
from hocket.globals import set_debug
from hocket.language_models import FakeListChatModel
from hocket.messages import AIMessage
from tests.kit import HookCall, Recorder, hook_model


def note_starts() -> Recorder:
    return Recorder("on_chat_model_start")


def details(recorder: Recorder) -> list[dict[str, Any]]:
    """Return what a handler was told of the runs that started, but their messages."""
    return [event.details for event in recorder.events]


def ask_inside(inner: Any, **fields: Any) -> Any:
    """Return a model that asks another model, as a run inside its own."""

    async def ask(call: HookCall) -> AIMessage:
        return await inner.ainvoke(call.input, {"callbacks": call.run_manager.get_child("inside")})

    return hook_model(ask, **fields)


async def test_the_runs_inside_get_the_calls_handlers_tags_and_metadata_and_not_the_models() -> None:
    """Local means this run, inheritable this run and those inside; a child's tag is its own."""
    given, own, inner_own = note_starts(), note_starts(), note_starts()
    inner = FakeListChatModel(responses=["hi"], callbacks=[inner_own], tags=["inner"])
    model = ask_inside(inner, callbacks=[own], tags=["outer"], metadata={"own": 1})
    await model.ainvoke("x", {"callbacks": [given], "tags": ["call"], "metadata": {"user": 2}})

    outer_run, inner_run = details(given)
    assert [run["run_id"] for run in details(own)] == [outer_run["run_id"]]
    assert [run["run_id"] for run in details(inner_own)] == [inner_run["run_id"]]
    assert outer_run["parent_run_id"] is None
    assert inner_run["parent_run_id"] == outer_run["run_id"]
    assert outer_run["tags"] == ["call", "outer"]
    assert inner_run["tags"] == ["call", "inside", "inner"]
    assert (outer_run["metadata"]["user"], outer_run["metadata"]["own"]) == (2, 1)
    assert inner_run["metadata"]["user"] == 2 and "own" not in inner_run["metadata"]


async def test_a_run_that_nobody_watches_has_children_too() -> None:
    """`get_child` works without handlers, and the child's run is watched by whoever listens to it alone."""
    inner_own = note_starts()
    inner = FakeListChatModel(responses=["hi"], callbacks=[inner_own])
    assert (await ask_inside(inner).ainvoke("x")).content == "hi"
    assert len(inner_own.events) == 1


def names(manager: BaseCallbackManager) -> tuple[list[Any], list[Any]]:
    return manager.handlers, manager.inheritable_handlers


@pytest.mark.parametrize("cls", [CallbackManager, AsyncCallbackManager])
def test_configure_puts_together_what_listens_to_a_call(cls: type[Any]) -> None:
    """The call's first, then the object's own, each once, in the order given."""
    a, b, c = note_starts(), note_starts(), note_starts()
    manager = cls.configure([a, b, a], [c, b], False, ["t", "u"], ["u", "v"], {"x": 1, "y": 1}, {"y": 2, "z": 3})

    assert type(manager) is cls
    assert names(manager) == ([a, b, c], [a, b])
    assert (manager.tags, manager.inheritable_tags) == (["t", "u", "v"], ["t", "u"])
    assert manager.metadata == {"x": 1, "y": 2, "z": 3}
    assert manager.inheritable_metadata == {"x": 1, "y": 1}


@pytest.mark.parametrize("cls", [CallbackManager, AsyncCallbackManager])
@pytest.mark.parametrize("given", [CallbackManager, AsyncCallbackManager])
def test_configure_takes_a_manager_of_either_kind_and_leaves_it_as_it_is(cls: type[Any], given: type[Any]) -> None:
    """A manager passed as callbacks keeps its parent, tags and what is inheritable; the call adds to a copy."""
    a, b, c = note_starts(), note_starts(), note_starts()
    parent = given([a], [a]).copy()
    parent.add_handler(b, inherit=False)
    parent.add_tags(["t"])
    parent.add_metadata({"m": 1})
    manager = cls.configure(parent, cls([c]), False, ["u"], None, {"n": 2}, None)

    assert type(manager) is cls
    assert names(manager) == ([a, b, c], [a])
    assert (manager.tags, manager.metadata) == (["t", "u"], {"m": 1, "n": 2})
    assert names(parent) == ([a, b], [a])
    assert (parent.tags, parent.metadata) == (["t"], {"m": 1})


def test_configure_prints_when_asked_to() -> None:
    """`verbose` adds one printer, for this run alone; debugging adds one for all runs inside, instead."""
    manager = CallbackManager.configure(verbose=True)
    assert [type(handler) for handler in manager.handlers] == [StdOutCallbackHandler]
    assert manager.inheritable_handlers == []
    mine = StdOutCallbackHandler()
    assert CallbackManager.configure([mine], verbose=True).handlers == [mine]
    set_debug(True)
    try:
        manager = CallbackManager.configure(verbose=True)
        assert [type(handler) for handler in manager.inheritable_handlers] == [DebugCallbackHandler]
        assert CallbackManager.configure(manager).handlers == manager.handlers
    finally:
        set_debug(False)


@pytest.mark.parametrize("wrong", [note_starts(), Recorder, "handler", 5, [Recorder], [print], ["handler"], [None]])
async def test_callbacks_that_could_never_be_told_anything_are_refused(wrong: Any) -> None:
    """A handler without its list, a class instead of an instance, a function: an error that says what is wanted."""
    with pytest.raises(InvalidInput, match=r"list|instance"):
        await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": wrong})


async def test_a_handler_of_another_library_is_taken_if_it_is_like_ours() -> None:
    """It need not derive from hocket's class as long as it has LangChain's flags and methods."""

    class Foreign:
        raise_error = run_inline = ignore_llm = False
        told = 0

        def on_llm_end(self, response: Any, **kwargs: Any) -> None:
            self.told += 1

    handler: Any = Foreign()
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    assert handler.told == 1


def test_merging_keeps_the_order_and_each_handler_once() -> None:
    """LangChain's goes through a set, so that the order of handlers changes from run to run."""
    handlers = [note_starts() for _ in range(20)]
    left = CallbackManager(handlers[:12], handlers[:6], tags=["a", "b"], metadata={"x": 1, "y": 1})
    right = CallbackManager(handlers[8:], handlers[10:], tags=["b", "c"], inheritable_tags=["c"], metadata={"y": 2})
    merged = left.merge(right)

    assert merged.handlers == handlers
    assert merged.inheritable_handlers == [*handlers[:6], *handlers[10:]]
    assert (merged.tags, merged.inheritable_tags) == (["a", "b", "c"], ["c"])
    assert merged.metadata == {"x": 1, "y": 2}
    assert left.handlers == handlers[:12] and left.tags == ["a", "b"]


def test_a_manager_is_edited_in_place() -> None:
    """Adding twice adds once; removing what is not there changes nothing; setting replaces."""
    a, b = note_starts(), note_starts()
    manager = BaseCallbackManager([])
    for _ in range(2):
        manager.add_handler(a)
        manager.add_handler(b, inherit=False)
        manager.add_tags(["t", "t"])
        manager.add_tags(["local"], inherit=False)
        manager.add_metadata({"m": 1})
    assert names(manager) == ([a, b], [a])
    assert (manager.tags, manager.inheritable_tags) == (["t", "local"], ["t"])

    manager.remove_handler(a)
    manager.remove_handler(a)
    manager.remove_tags(["t", "never"])
    manager.remove_metadata(["m", "never"])
    assert names(manager) == ([b], [])
    assert (manager.tags, manager.inheritable_tags) == (["local"], [])
    assert (manager.metadata, manager.inheritable_metadata) == ({}, {})

    manager.set_handler(a)
    assert names(manager) == ([a], [a])
    manager.set_handlers([b, a], inherit=False)
    assert names(manager) == ([b, a], [])


async def test_one_handler_given_twice_over_is_told_once() -> None:
    """Given with the call and held by the model: one start, not two."""
    handler = note_starts()
    model = FakeListChatModel(responses=["hi"], callbacks=[handler])
    await model.with_config(callbacks=[handler]).ainvoke("x", {"callbacks": [handler]})
    assert len(handler.events) == 1


async def test_children_do_not_see_what_is_added_to_their_parent_later() -> None:
    """A manager handed to a call is read when the call starts."""
    early, late = note_starts(), note_starts()
    manager = AsyncCallbackManager([])
    manager.add_handler(early)
    run = await manager.on_chain_start({"name": "chain"}, {})
    child = run.get_child()
    manager.add_handler(late)
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": child})
    assert (len(early.events), len(late.events)) == (1, 0)


def test_a_run_without_tags_or_metadata_has_its_own_all_the_same() -> None:
    """What is put on one of them is not on the manager that started it, nor the other way round."""
    manager = CallbackManager([note_starts()])
    run = manager.on_chain_start({"name": "chain"}, {})
    run.tags.append("run's")
    run.metadata["run's"] = 1
    manager.add_tags(["manager's"])
    manager.add_metadata({"manager's": 1})

    assert (manager.tags, manager.metadata) == (["manager's"], {"manager's": 1})
    assert (run.tags, run.metadata) == (["run's"], {"run's": 1})
    assert (run.get_child().tags, run.get_child().metadata) == ([], {})


async def test_batch_items_are_watched_each_with_its_own_config() -> None:
    """One config for all, or one each; a run id given for all is the first one's."""
    shared, own = note_starts(), note_starts()
    model = FakeListChatModel(responses=["hi"])
    await model.abatch(["a", "b", "c"], {"callbacks": [shared], "tags": ["all"]})
    assert [run["tags"] for run in details(shared)] == [["all"]] * 3
    assert len({run["run_id"] for run in details(shared)}) == 3
    await model.abatch(["a", "b"], [{"callbacks": [own], "tags": ["first"]}, {"callbacks": [own], "tags": ["second"]}])
    assert [run["tags"] for run in details(own)] == [["first"], ["second"]]


async def test_no_handler_no_run() -> None:
    """Without anybody to tell, nothing of this exists, and the answer is the same."""
    answer = await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": []})
    assert isinstance(answer, AIMessage) and answer.id is not None
