"""Several calls as one run: `trace_as_chain_group` and its async twin."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest

from hocket.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainGroup,
    CallbackManager,
    CallbackManagerForChainGroup,
    atrace_as_chain_group,
    get_usage_metadata_callback,
    trace_as_chain_group,
)
from hocket.language_models import FakeListChatModel
from tests.kit import CHAIN_EVENTS, AsyncRecorder, Event, Recorder

MODEL = FakeListChatModel(responses=["hi"])


EVENTS = (*CHAIN_EVENTS, "on_chat_model_start", "on_llm_end")
CALL = ["on_chat_model_start", "on_llm_end"]


def watch() -> Recorder:
    """Return a handler that records chains and models."""
    return Recorder(*EVENTS)


def check(runs: Recorder, run_id: UUID) -> None:
    """The group of two calls, as its handler saw it."""
    assert runs.names == ["on_chain_start", *CALL * 2, "on_chain_end"]
    (_, told, start), (_, _, model), *_, (_, (outputs,), end) = runs.events
    assert told == ({"name": "write"}, {"topic": "tea"})
    assert start == {"run_id": run_id, "parent_run_id": None, "tags": ["t"], "metadata": {"m": 1}}
    assert model["parent_run_id"] == run_id and model["tags"] == ["t"] and model["metadata"]["m"] == 1
    assert outputs == {"text": "hi"}
    assert end == {"run_id": run_id, "parent_run_id": None, "tags": ["t"]}


async def test_calls_in_a_group_are_runs_inside_one_chain() -> None:
    """The chain is told with name, inputs and outputs; the calls are its children, with its tags and metadata."""
    runs, run_id = watch(), uuid4()
    manager = AsyncCallbackManager([runs], [runs])
    group: Any = atrace_as_chain_group(
        "write", manager, inputs={"topic": "tea"}, run_id=run_id, tags=["t"], metadata={"m": 1}
    )
    async with group as inside:
        assert type(inside) is AsyncCallbackManagerForChainGroup
        await MODEL.ainvoke("x", {"callbacks": inside})
        await MODEL.ainvoke("x", {"callbacks": inside})
        assert not inside.ended
        await inside.on_chain_end({"text": "hi"})
        assert inside.ended
    check(runs, run_id)


def test_the_same_in_sync_code() -> None:
    """One path."""
    runs, run_id = watch(), uuid4()
    with trace_as_chain_group(
        "write", CallbackManager([runs], [runs]), inputs={"topic": "tea"}, run_id=run_id, tags=["t"], metadata={"m": 1}
    ) as inside:
        assert type(inside) is CallbackManagerForChainGroup
        MODEL.invoke("x", {"callbacks": inside})
        MODEL.invoke("x", {"callbacks": inside})
        inside.on_chain_end({"text": "hi"})
    check(runs, run_id)


async def test_a_group_that_says_nothing_ends_with_its_block() -> None:
    """With empty outputs; handlers may be given as a list."""
    runs = watch()
    async with atrace_as_chain_group("write", [runs]):
        pass
    assert [(name, args) for name, args, _ in runs.events] == [
        ("on_chain_start", ({"name": "write"}, {})),
        ("on_chain_end", ({},)),
    ]


async def test_a_group_ends_once() -> None:
    """The first end that is told counts; a copy of the manager knows of it."""
    runs = watch()
    async with atrace_as_chain_group("write", [runs]) as group:
        copied = group.copy()
        await copied.on_chain_error(ValueError("no"))
        await group.on_chain_end({"late": True})
        assert group.ended and copied.ended
    assert runs.names == ["on_chain_start", "on_chain_error"]


async def test_an_error_ends_the_group_and_goes_on() -> None:
    """The exception of the block, in async and in sync code."""
    runs = watch()
    with pytest.raises(ZeroDivisionError) as caught:
        async with atrace_as_chain_group("write", [runs]):
            raise ZeroDivisionError
    assert runs.names == ["on_chain_start", "on_chain_error"]
    assert runs.firsts("on_chain_error") == [caught.value]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_error_ends_a_sync_group_and_goes_on(error: type[BaseException]) -> None:
    """Ctrl-C, too."""
    runs = watch()
    with pytest.raises(error), trace_as_chain_group("write", [runs]):
        raise error
    assert runs.names == ["on_chain_start", "on_chain_error"]


async def test_a_cancelled_group_is_closed_with_the_cancellation() -> None:
    """Its handlers are told before the cancellation goes on, slow ones included."""
    slow = AsyncRecorder(*EVENTS, before=lambda event: anyio.sleep(0.001))
    with anyio.CancelScope() as scope:
        async with atrace_as_chain_group("write", [slow]):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert slow.names == ["on_chain_start", "on_chain_error"]
    assert isinstance(slow.firsts("on_chain_error")[0], anyio.get_cancelled_exc_class())


async def test_a_group_in_a_generator_that_is_left_has_not_failed() -> None:
    """As with a model's stream: leaving early is an end, told as closed."""
    runs = watch()

    async def words() -> AsyncIterator[str]:
        async with atrace_as_chain_group("write", [runs]):
            while True:
                yield "word"

    generator: Any = words()
    async for _ in generator:
        break
    await generator.aclose()
    assert runs.names == ["on_chain_start", "on_chain_end"]
    assert runs.events[1][2]["closed"] is True


def refuse(event: str) -> Recorder:
    """Return a handler that raises at an event, and insists."""

    def fail(event: Event) -> None:
        raise RuntimeError("no")

    return Recorder(event, do=fail, run_inline=False, raise_error=True)


async def test_a_handler_that_refuses_the_group() -> None:
    """The block does not run; who heard of the start hears of the end."""

    runs = watch()
    with pytest.raises(RuntimeError, match="no"):
        async with atrace_as_chain_group("write", [refuse("on_chain_start"), runs]):
            raise AssertionError("the block was entered")
    assert runs.names == ["on_chain_start", "on_chain_error"]


async def test_a_handler_that_refuses_the_error_of_a_group() -> None:
    """A block that has failed keeps its own exception."""

    with pytest.raises(ZeroDivisionError):
        async with atrace_as_chain_group("write", [refuse("on_chain_error")]):
            raise ZeroDivisionError


async def test_groups_nest_and_merge() -> None:
    """A group inside a group is its child; merging with another manager keeps what the group is."""
    outer_runs, other = watch(), watch()
    async with atrace_as_chain_group("outer", [outer_runs]) as outer:
        async with atrace_as_chain_group("inner", outer) as inner:
            await MODEL.ainvoke("x", {"callbacks": inner})
        merged = outer.merge(AsyncCallbackManager([other], tags=["more"]))
        assert type(merged) is AsyncCallbackManagerForChainGroup
        await MODEL.ainvoke("x", {"callbacks": merged})

    outer_start, inner_start, inner_model, *_ = [event for event in outer_runs.events if event.name.endswith("start")]
    assert inner_start[2]["parent_run_id"] == outer_start[2]["run_id"]
    assert inner_model[2]["parent_run_id"] == inner_start[2]["run_id"]
    assert other.names == CALL
    assert other.events[0][2]["parent_run_id"] == outer_start[2]["run_id"]
    assert other.events[0][2]["tags"] == ["more"]


async def test_whoever_listens_in_the_context_hears_of_groups_as_well() -> None:
    """A group that is given no handler works, and its calls are counted."""
    with get_usage_metadata_callback() as counted:
        async with atrace_as_chain_group("write") as group:
            assert (await MODEL.ainvoke("x", {"callbacks": group})).content == "hi"
    assert counted.usage_metadata == {}
