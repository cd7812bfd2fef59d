"""A run that is cancelled, wherever it waits: its history is whole, and good for the next question."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cached_property
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import Agent, AgentEvent, AgentLimits, Resume, create_agent
from hocket.chat_history import BaseChatMessageHistory
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage, validate_history
from hocket.testing import virtual_clock
from hocket.tools import BaseTool, StructuredTool
from tests.agents.conftest import call
from tests.agents.survival.conftest import Store
from tests.guarantees.conftest import (
    AT_MOST,
    PATIENCE,
    Attack,
    Injector,
    _tasks_driven,
    by_many_blows,
    by_scope,
    by_timeout,
    by_turn,
    living_tasks,
)
from tests.kit import CHAIN_EVENTS, MODEL_EVENTS, TOOL_EVENTS, AsyncRecorder
from tests.kit.amount import RUNS_ALL


async def by_cancel(run: Any, at: int) -> tuple[Any, Injector]:
    """Cancel the task once, as asyncio does it."""
    injector = Injector(at, lambda: task.cancel() and None)
    task = asyncio.ensure_future(injector.run(run))
    try:
        return await task, injector
    except asyncio.CancelledError:
        return None, injector


ATTACKS: dict[str, dict[str, Attack]] = {
    "asyncio": {
        "scope": by_scope,
        "turn": by_turn,
        "cancel": by_cancel,
        "many blows": by_many_blows,
        "timeout": by_timeout,
    },
    "trio": {"scope": by_scope, "turn": by_turn},
}

CALLS = [call("first", "a", label="a", waits=1), call("second", "b", label="b", waits=6)]


def pausing_handler() -> AsyncRecorder:
    """Make a handler that waits in what it hears."""
    events = [*CHAIN_EVENTS, *TOOL_EVENTS, *MODEL_EVENTS, "on_agent_action", "on_agent_finish"]
    return AsyncRecorder(*events, before=lambda event: anyio.lowlevel.checkpoint())


class Work(BaseModel):
    """What the tools are given: to read it from their signatures would take a tenth of what these tests do."""

    label: str
    waits: int | None


class Desk:
    """Two tools that wait, and note what they have done.

    Attributes:
        done: the labels of the calls that have ended; they are their ids, too.
    """

    def __init__(self) -> None:
        self.done: set[str] = set()

    @cached_property
    def tools(self) -> list[BaseTool]:
        """The tools."""

        async def work(label: str, waits: int | None) -> str:
            for _ in range(waits or 0):
                await anyio.lowlevel.checkpoint()
            if waits is None:
                await anyio.sleep_forever()
            self.done.add(label)
            return f"{label} is done"

        return [
            StructuredTool.from_function(coroutine=work, name=name, description="Do something.", args_schema=Work)
            for name in ("first", "second")
        ]

    def make_agent(self, *calls: ToolCall, is_paused: bool = False) -> Agent[Any]:
        """Return an agent that makes two calls, or those that are given; then a third, and then answers.

        Args:
            calls: the first ones.
            is_paused: whether these are made already.
        """
        first = [] if is_paused else [Turn(tool_calls=calls or CALLS)]
        third = Turn(tool_calls=[call("first", "c", label="c", waits=2)])
        return create_agent(
            ScriptedChatModel(script=[*first, third, "Done."]),
            self.tools,
            interrupt_on={name: lambda call: call["id"] != "c" for name in ("first", "second")} if is_paused else (),
        )


async def look(history: BaseChatMessageHistory, desk: Desk, where: object) -> None:
    """Fail if a run has left something undone, or the next question does not work."""
    messages = await history.aget_messages()
    assert validate_history(messages) == [], where
    results = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    for label in desk.done:
        assert results[label].text.startswith(f"{label} is done"), (where, results)
    for label, result in results.items():
        assert label in desk.done or result.status == "error", (where, result)
    async with history.exclusive(timeout=0):
        pass
    later = ScriptedChatModel(script=["Fine."])
    result = await create_agent(later, desk.tools).ainvoke("And now?", history=history)
    assert result.output == "Fine.", where
    assert validate_history(later.requests[0].messages) == [], where
    assert validate_history(await history.aget_messages()) == [], where


async def wait_for_tasks(tasks: int, where: object) -> None:
    with anyio.move_on_after(PATIENCE):
        while living_tasks() > tasks:  # noqa: ASYNC110 - nothing tells when a task is gone
            await anyio.sleep(0.0005)
    assert living_tasks() == tasks, where


Ask = Callable[[Desk, BaseChatMessageHistory], Any]


async def ask(desk: Desk, history: BaseChatMessageHistory) -> bool:
    result = await desk.make_agent().ainvoke("go", {"callbacks": [pausing_handler()]}, history=history)
    return result.output == "Done."


async def ask_unheard(desk: Desk, history: BaseChatMessageHistory) -> bool:
    return (await desk.make_agent().ainvoke("go", history=history)).output == "Done."


async def stream(desk: Desk, history: BaseChatMessageHistory) -> bool:
    async with desk.make_agent().astream("go", history=history) as events:
        async for _ in events:
            await anyio.lowlevel.checkpoint()
    return events.result is not None and events.result.output == "Done."


async def approve(desk: Desk, history: BaseChatMessageHistory) -> bool:
    """Go on with calls that wait."""
    resume = Resume({"a": "approve", "b": {"type": "edit", "args": {"label": "b", "waits": 3}}})
    agent = desk.make_agent(is_paused=True)
    return (await agent.ainvoke(resume, {"callbacks": [pausing_handler()]}, history=history)).output == "Done."


async def sweep(store: Store, asks: Ask, attack: Attack, before: Sequence[BaseMessage] = ()) -> int:
    """Cancel a run at its first wait, its second, its third, until one gets through; return how many there are."""
    async with store.open() as history:
        await history.aget_messages()  # opens what the store keeps open, with tasks of its own
        tasks = living_tasks()
        with _tasks_driven():
            for at in range(1, AT_MOST):
                await history.aadd_messages(before)
                desk = Desk()
                outcome, injector = await attack(asks(desk, history), at)
                where = (at, injector.where)
                await wait_for_tasks(tasks, where)
                if await history.aget_messages() != before or not before:  # else the calls wait still
                    await look(history, desk, where)
                    await wait_for_tasks(tasks, where)
                await history.aclear()
                if injector.struck_at is None:
                    assert outcome is True
                    return at - 1
    raise AssertionError("it never got through")


def each_attack(test: Any) -> Any:
    """Run a test with each way to strike that its event loop knows."""
    params = [
        pytest.param(backend, attack, id=f"{backend}-{name}")
        for backend, attacks in ATTACKS.items()
        for name, attack in attacks.items()
    ]
    return pytest.mark.parametrize(("anyio_backend", "attack"), params, indirect=["anyio_backend"])(test)


@pytest.mark.one_of(3)
@each_attack
@pytest.mark.parametrize("asks", [ask, ask_unheard, stream], ids=lambda asks: asks.__name__)
async def test_cancelled_at_any_wait(asks: Ask, attack: Attack):
    """What was finished is kept, and the rest is answered."""
    assert await sweep(Store(""), asks, attack) > 8


@pytest.mark.one_of(3)
@each_attack
async def test_cancelled_at_any_wait_of_a_run_that_was_approved(attack: Attack):
    """The calls that a person has approved are answered, or they wait still."""
    before = [HumanMessage("go"), AIMessage("", tool_calls=CALLS)]
    assert await sweep(Store(""), approve, attack, before) > 8


@pytest.mark.one_of(2)
@pytest.mark.parametrize("store", ["file", "sqlite", "redis", "postgres"], indirect=True)
async def test_cancelled_at_any_wait_of_a_store(store: Store, anyio_backend_name: str):
    """The waits for the store are among them; at each change, those for handlers are not."""
    attack = by_cancel if anyio_backend_name == "asyncio" else by_scope
    assert await sweep(store, ask if RUNS_ALL else ask_unheard, attack) > 20


@pytest.mark.one_of(2)
async def test_a_stream_that_is_left_after_any_event(store: Store):
    """To leave it is to cancel the run."""
    async with store.open() as history:
        for count in range(100):
            desk = Desk()
            async with desk.make_agent().astream("go", history=history) as events:
                kinds = [event.kind async for event in take(events, count)]
            await look(history, desk, kinds)
            await history.aclear()
            if kinds[-1:] == ["end"]:
                assert set(kinds) >= {"message", "tool_start", "tool_end"}
                return
    raise AssertionError("it never ended")


async def take(events: AsyncIterator[AgentEvent], count: int) -> AsyncIterator[AgentEvent]:
    for _ in range(count):
        yield await anext(events)


async def test_a_run_whose_time_is_up(store: Store):
    """Its result has what was finished, and so has the store."""
    async with store.open() as history:
        desk = Desk()
        agent = desk.make_agent(call("first", "a", label="a", waits=1), call("second", "b", label="b", waits=None))
        result = await agent.ainvoke("go", history=history, limits=AgentLimits(seconds=1))
        assert (result.stop, result.output, desk.done) == ("seconds", None, {"a"})
        messages = await history.aget_messages()
        assert messages == result.messages
        assert [message.type for message in messages] == ["human", "ai", "tool", "tool"]
        await look(history, desk, "")


async def test_time_that_is_up_at_any_wait():
    """Wherever the run waits then: what it returns is what is stored, or a question that nobody has answered."""
    with virtual_clock(autojump=False) as clock:
        tasks = living_tasks()

        async def ask_in_time(desk: Desk, history: BaseChatMessageHistory) -> str:
            limits = AgentLimits(seconds=5)
            result = await desk.make_agent().ainvoke(
                "go", {"callbacks": [pausing_handler()]}, history=history, limits=limits
            )
            stored = await history.aget_messages()
            assert stored == result.messages or (not stored and [one.text for one in result.messages] == ["go"])
            return result.stop

        with _tasks_driven():
            for at in range(1, AT_MOST):
                history, desk = Store("").open(), Desk()
                injector = Injector(at, lambda: clock.advance(6))
                stop = await injector.run(ask_in_time(desk, history))
                await wait_for_tasks(tasks, at)
                await look(history, desk, (at, injector.where))
                if injector.struck_at is None:
                    assert stop == "done" and at > 8
                    return
    raise AssertionError("it never got through")
