"""Runnables side by side, branches, and what hands mappings on."""

import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket import FakeListChatModel
from hocket.errors import InvalidInput
from hocket.runnables import (
    AddableDict,
    RouterRunnable,
    RunnableAssign,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
    add,
)


class Meeting:
    """Async functions that wait for one another."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.here = 0
        self.most = 0
        self.cancelled = 0
        self.all_here = anyio.Event()

    async def __call__(self, input: Any) -> int:
        self.here += 1
        self.most = max(self.most, self.here)
        if self.here == self.size:
            self.all_here.set()
        try:
            await self.all_here.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        return self.here


async def fail(input: Any) -> Any:
    await anyio.lowlevel.checkpoint()
    raise KeyError("broken")


async def test_branches_run_at_once() -> None:
    """Called and streamed; the outputs are in the order of the branches."""
    for verb in ("ainvoke", "astream"):
        meeting = Meeting(3)
        parallel = RunnableParallel(b=meeting, a=meeting, c=meeting)
        if verb == "ainvoke":
            output = await parallel.ainvoke(0)
            assert list(output) == ["b", "a", "c"]
        else:
            output = add([piece async for piece in parallel.astream(0)])
        assert output == {"a": 3, "b": 3, "c": 3}


async def test_a_failing_branch_cancels_the_others() -> None:
    """And its error is raised as itself, called and streamed."""
    for verb in ("ainvoke", "astream"):
        meeting = Meeting(9)
        parallel = RunnableParallel(a=meeting, b=fail, c=meeting)
        with pytest.raises(KeyError, match="broken"):
            if verb == "ainvoke":
                await parallel.ainvoke(0)
            else:
                async for _ in parallel.astream(0):
                    pass
        assert meeting.cancelled == meeting.here


async def test_max_concurrency_limits_the_branches() -> None:
    """And the items of a `map`."""
    active, most = 0, 0

    async def work(input: Any) -> None:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await anyio.sleep(0.001)
        active -= 1

    await RunnableParallel({str(number): work for number in range(6)}).ainvoke(0, {"max_concurrency": 2})
    assert most == 2
    await RunnableLambda(work).map().ainvoke(range(6), {"max_concurrency": 3})
    assert most == 3


def test_under_a_sync_verb_branches_run_at_once() -> None:
    """In threads of their own."""
    barrier = threading.Barrier(2, timeout=20)
    parallel = RunnableParallel(a=lambda _: barrier.wait() >= 0, b=lambda _: barrier.wait() >= 0)
    assert parallel.invoke(0) == {"a": True, "b": True}
    assert add(list(parallel.stream(0))) == {"a": True, "b": True}


async def test_each_item_is_answered_in_its_place() -> None:
    """`map`, nested in a chain; the first failure is raised as itself."""
    double = RunnableLambda(lambda number: 2 * number)
    assert await double.map().ainvoke([1, 2, 3]) == [2, 4, 6]
    assert await (RunnableLambda(range, inline=True) | double.map() | sum).ainvoke(4) == 12
    with pytest.raises(KeyError):
        await RunnableLambda(fail).map().ainvoke([1, 2])


def test_each_item_is_answered_under_a_sync_verb() -> None:
    """At once, in threads."""
    barrier = threading.Barrier(3, timeout=20)
    assert RunnableLambda(lambda _: barrier.wait() >= 0).map().invoke([1, 2, 3]) == [True] * 3


async def test_pieces_of_branches_come_as_they_are_made() -> None:
    """Each with its key; AddableDicts add up, key by key."""
    parallel = RunnableParallel(a=FakeListChatModel(responses=["xy"]), b=RunnablePassthrough())
    pieces = [piece async for piece in parallel.astream("hi")]
    assert pieces[0] == {"b": "hi"}
    assert [piece["a"].content for piece in pieces if "a" in piece] == ["x", "y"]
    whole = add(pieces)
    assert whole is not None
    assert whole["a"].content == "xy"


def test_a_parallel_without_branches_is_refused() -> None:
    """When it is made."""
    with pytest.raises(InvalidInput, match="at least one"):
        RunnableParallel()


# -- mappings


async def test_assign_adds_keys() -> None:
    """To what is there, replacing what has the same name."""
    chain = RunnablePassthrough.assign(total=lambda given: given["a"] + given["b"], b=lambda given: 0)
    assert await chain.ainvoke({"a": 1, "b": 2}) == {"a": 1, "b": 0, "total": 3}
    assert add([piece async for piece in chain.astream({"a": 1, "b": 2})]) == {"a": 1, "b": 0, "total": 3}
    assert await chain.assign(c=lambda given: given["total"]).ainvoke({"a": 1, "b": 2}) == {
        "a": 1,
        "b": 0,
        "total": 3,
        "c": 3,
    }


async def test_pick_takes_keys() -> None:
    """One, or several; what is not there is None, or left out."""
    given = {"a": 1, "b": 2}
    for keys, picked in (("a", 1), (["a", "x"], {"a": 1}), ("x", None), (["x"], {})):
        assert await RunnablePick(keys).ainvoke(given) == picked  # type: ignore[arg-type]
        assert add(list(RunnablePick(keys).stream(given))) == picked  # type: ignore[arg-type]
    assert RunnablePassthrough().pick("b").invoke(given) == 2


async def test_what_is_no_mapping_is_refused() -> None:
    """With the name of what was asked."""
    for runnable in (RunnablePick("a"), RunnableAssign(RunnableParallel(a=len))):
        with pytest.raises(InvalidInput, match="takes a mapping, not str"):
            await runnable.ainvoke("text")


async def test_a_passthrough_shows_the_whole_input() -> None:
    """After its pieces have gone on."""
    shown: list[Any] = []
    chain = FakeListChatModel(responses=["xy"]) | RunnablePassthrough(lambda message: shown.append(message.content))
    assert [piece.content async for piece in chain.astream("hi")] == ["x", "y"]
    assert (await chain.ainvoke("hi")).content == "xy"
    assert shown == ["xy", "xy"]


def test_addable_dicts_add_key_by_key() -> None:
    """None adds nothing; what cannot be added is replaced."""
    assert AddableDict(a="x") + AddableDict(a="y", b=1) == {"a": "xy", "b": 1}
    assert AddableDict(a=None) + {"a": "y"} == {"a": "y"}
    assert {"a": "x"} + AddableDict(a="y") == {"a": "xy"}
    assert add([AddableDict(a={"k": 1}), AddableDict(a={"k": 2})]) == {"a": {"k": 2}}


def test_adding_is_linear() -> None:
    """A hundred thousand pieces of text in a mapping are no matter."""
    whole = add([AddableDict(a="x") for _ in range(100_000)])
    assert whole is not None
    assert len(whole["a"]) == 100_000


# -- choices


async def test_a_branch_asks_the_first_whose_condition_holds() -> None:
    """Conditions are asked in order, and no further than needed."""
    asked: list[str] = []

    def condition(name: str, holds: bool) -> Any:
        def ask(input: Any) -> bool:
            asked.append(name)
            return holds

        return ask

    branch = RunnableBranch((condition("a", False), str.upper), (condition("b", True), str.title), (fail, fail), str)
    assert await branch.ainvoke("hi") == branch.invoke("hi") == "Hi"
    assert asked == ["a", "b"] * 2
    assert [piece async for piece in branch.astream("hi")] == ["Hi"]
    assert await RunnableBranch((condition("c", False), fail), str.upper).ainvoke("hi") == "HI"


@pytest.mark.parametrize("branches", [(), (str,), (str, str), ((str, str, str), str)])
def test_a_branch_needs_pairs(branches: Any) -> None:
    """And something behind them."""
    with pytest.raises(InvalidInput, match="RunnableBranch"):
        RunnableBranch(*branches)


async def test_a_router_asks_by_name() -> None:
    """A name that is not there is refused, with those that are."""
    router = RouterRunnable({"up": str.upper, "title": str.title})
    assert await router.ainvoke({"key": "up", "input": "hi"}) == "HI"
    assert list(router.stream({"key": "title", "input": "hi"})) == ["Hi"]
    with pytest.raises(InvalidInput, match="'down'; there are title, up"):
        await router.ainvoke({"key": "down", "input": "hi"})
