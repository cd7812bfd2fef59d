"""Several calls as one run: `trace_as_chain_group` and its async twin."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest

from hocket.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    AsyncCallbackManagerForChainGroup,
    BaseCallbackHandler,
    CallbackManager,
    CallbackManagerForChainGroup,
    atrace_as_chain_group,
    get_usage_metadata_callback,
    trace_as_chain_group,
)
from hocket.language_models import FakeListChatModel

MODEL = FakeListChatModel(responses=["hi"])


class Runs(BaseCallbackHandler):
    """Notes chains and models."""

    run_inline = True

    def __init__(self) -> None:
        self.events: list[tuple[str, Any, dict[str, Any]]] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.events.append(("chain start", (serialized, inputs), kwargs))

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self.events.append(("chain end", outputs, kwargs))

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        self.events.append(("chain error", error, kwargs))

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.events.append(("model start", None, kwargs))

    def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        self.events.append(("model end", None, kwargs))

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.events]


def check(runs: Runs, run_id: UUID) -> None:
    """The group of two calls, as its handler saw it."""
    assert runs.names == ["chain start", *["model start", "model end"] * 2, "chain end"]
    (_, told, start), (_, _, model), *_, (_, outputs, end) = runs.events
    assert told == ({"name": "write"}, {"topic": "tea"})
    assert start == {"run_id": run_id, "parent_run_id": None, "tags": ["t"], "metadata": {"m": 1}}
    assert model["parent_run_id"] == run_id and model["tags"] == ["t"] and model["metadata"]["m"] == 1
    assert outputs == {"text": "hi"}
    assert end == {"run_id": run_id, "parent_run_id": None, "tags": ["t"]}


async def test_calls_in_a_group_are_runs_inside_one_chain() -> None:
    """The chain is told with name, inputs and outputs; the calls are its children, with its tags and metadata."""
    runs, run_id = Runs(), uuid4()
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
    runs, run_id = Runs(), uuid4()
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
    runs = Runs()
    async with atrace_as_chain_group("write", [runs]):
        pass
    assert [(name, told) for name, told, _ in runs.events] == [
        ("chain start", ({"name": "write"}, {})),
        ("chain end", {}),
    ]


async def test_a_group_ends_once() -> None:
    """The first end that is told counts; a copy of the manager knows of it."""
    runs = Runs()
    async with atrace_as_chain_group("write", [runs]) as group:
        copied = group.copy()
        await copied.on_chain_error(ValueError("no"))
        await group.on_chain_end({"late": True})
        assert group.ended and copied.ended
    assert runs.names == ["chain start", "chain error"]


async def test_an_error_ends_the_group_and_goes_on() -> None:
    """The exception of the block, in async and in sync code."""
    runs = Runs()
    with pytest.raises(ZeroDivisionError) as caught:
        async with atrace_as_chain_group("write", [runs]):
            raise ZeroDivisionError
    assert runs.names == ["chain start", "chain error"]
    assert runs.events[1][1] is caught.value


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_error_ends_a_sync_group_and_goes_on(error: type[BaseException]) -> None:
    """Ctrl-C, too."""
    runs = Runs()
    with pytest.raises(error), trace_as_chain_group("write", [runs]):
        raise error
    assert runs.names == ["chain start", "chain error"]


class SlowRuns(AsyncCallbackHandler):
    """The same, and takes a moment over each event."""

    def __init__(self) -> None:
        self.runs = Runs()

    async def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        await anyio.sleep(0.001)
        self.runs.on_chain_start(*args, **kwargs)

    async def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
        await anyio.sleep(0.001)
        self.runs.on_chain_end(*args, **kwargs)

    async def on_chain_error(self, *args: Any, **kwargs: Any) -> None:
        await anyio.sleep(0.001)
        self.runs.on_chain_error(*args, **kwargs)


async def test_a_cancelled_group_is_closed_with_the_cancellation() -> None:
    """Its handlers are told before the cancellation goes on, slow ones included."""
    slow = SlowRuns()
    with anyio.CancelScope() as scope:
        async with atrace_as_chain_group("write", [slow]):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert slow.runs.names == ["chain start", "chain error"]
    assert isinstance(slow.runs.events[1][1], anyio.get_cancelled_exc_class())


async def test_a_group_in_a_generator_that_is_left_has_not_failed() -> None:
    """As with a model's stream: leaving early is an end, told as closed."""
    runs = Runs()

    async def words() -> AsyncIterator[str]:
        async with atrace_as_chain_group("write", [runs]):
            while True:
                yield "word"

    generator: Any = words()
    async for _ in generator:
        break
    await generator.aclose()
    assert runs.names == ["chain start", "chain end"]
    assert runs.events[1][2]["closed"] is True


async def test_a_handler_that_refuses_the_group() -> None:
    """The block does not run; who heard of the start hears of the end."""

    class Refuses(BaseCallbackHandler):
        raise_error = True

        def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError("no")

    runs = Runs()
    with pytest.raises(RuntimeError, match="no"):
        async with atrace_as_chain_group("write", [Refuses(), runs]):
            raise AssertionError("the block was entered")
    assert runs.names == ["chain start", "chain error"]


async def test_a_handler_that_refuses_the_error_of_a_group() -> None:
    """A block that has failed keeps its own exception."""

    class Refuses(BaseCallbackHandler):
        raise_error = True

        def on_chain_error(self, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError("no")

    with pytest.raises(ZeroDivisionError):
        async with atrace_as_chain_group("write", [Refuses()]):
            raise ZeroDivisionError


async def test_groups_nest_and_merge() -> None:
    """A group inside a group is its child; merging with another manager keeps what the group is."""
    outer_runs, other = Runs(), Runs()
    async with atrace_as_chain_group("outer", [outer_runs]) as outer:
        async with atrace_as_chain_group("inner", outer) as inner:
            await MODEL.ainvoke("x", {"callbacks": inner})
        merged = outer.merge(AsyncCallbackManager([other], tags=["more"]))
        assert type(merged) is AsyncCallbackManagerForChainGroup
        await MODEL.ainvoke("x", {"callbacks": merged})

    outer_start, inner_start, inner_model, *_ = [event for event in outer_runs.events if event[0].endswith("start")]
    assert inner_start[2]["parent_run_id"] == outer_start[2]["run_id"]
    assert inner_model[2]["parent_run_id"] == inner_start[2]["run_id"]
    assert other.names == ["model start", "model end"]
    assert other.events[0][2]["parent_run_id"] == outer_start[2]["run_id"]
    assert other.events[0][2]["tags"] == ["more"]


async def test_whoever_listens_in_the_context_hears_of_groups_as_well() -> None:
    """A group that is given no handler works, and its calls are counted."""
    with get_usage_metadata_callback() as counted:
        async with atrace_as_chain_group("write") as group:
            assert (await MODEL.ainvoke("x", {"callbacks": group})).content == "hi"
    assert counted.usage_metadata == {}
