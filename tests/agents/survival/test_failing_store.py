"""A store that fails while an agent runs: the run ends with its error, and what was done is kept if that can be."""

from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket import ScriptedChatModel
from hocket._databases import writes
from hocket.agents import Resume, create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import HistoryError, HistoryUnavailable
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, validate_history
from tests.agents.conftest import call
from tests.agents.survival.test_cancelled import Desk, look


class Failing(InMemoryChatMessageHistory):
    """Fails at some of its calls, which are counted from 1.

    Args:
        first: the first that fails.
        last: the last that fails.
        is_late: whether it stores what it is given before it fails: the answer of a server was lost.
    """

    def __init__(self, first: float = 0, last: float = 0, *, is_late: bool = False) -> None:
        super().__init__()
        self.first, self.last, self.is_late = first, last, is_late
        self.calls = 0

    async def _count(self) -> bool:
        self.calls += 1
        await anyio.lowlevel.checkpoint()
        return self.first <= self.calls <= self.last

    async def aget_messages(self) -> list[BaseMessage]:
        if await self._count():
            raise HistoryUnavailable("injected")
        return await super().aget_messages()

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        fails = await self._count()
        if not fails or self.is_late:
            await super().aadd_messages(messages)
        if fails:
            raise HistoryUnavailable("injected")


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_store_that_fails_once(is_late: bool):
    """At each of its calls: the error comes out, tools that have run keep their results, and all goes on."""
    for number in range(1, 100):
        history, desk = Failing(number, number, is_late=is_late), Desk()
        try:
            await desk.make_agent().ainvoke("go", history=history)
        except HistoryError as error:
            assert str(error) == "injected"
        else:
            assert number > history.calls > 4
            return
        await look(history, desk, number)
    raise AssertionError("it never got through")


async def test_a_store_that_fails_for_good():
    """Nothing hangs, and nothing runs that is not stored before. What is stored is good, or can be gone on with."""
    for number in range(1, 100):
        history, desk = Failing(number, float("inf")), Desk()
        try:
            await desk.make_agent().ainvoke("go", history=history)
        except HistoryError:
            history.last = 0
        else:
            assert number > 4
            return
        stored = await history.aget_messages()
        announced = {one["id"] for message in stored if isinstance(message, AIMessage) for one in message.tool_calls}
        assert desk.done <= announced, "a tool has run whose call was not stored"
        later = create_agent(ScriptedChatModel(script=["Fine."]), desk.tools)
        result = await later.ainvoke("And now?", history=history)
        assert (
            result.output == "Fine." and validate_history(await InMemoryChatMessageHistory.aget_messages(history)) == []
        )
        assert desk.done <= announced, "a tool has run again"
    raise AssertionError("it never got through")


async def test_a_store_that_fails_while_it_says_who_has_it():
    """A run that cannot have its conversation alone does nothing."""

    class Locked(InMemoryChatMessageHistory):
        def exclusive(self, timeout: float | None = None) -> Any:
            raise HistoryUnavailable("injected")

    history, desk = Locked(), Desk()
    with pytest.raises(HistoryUnavailable):
        await desk.make_agent().ainvoke("go", history=history)
    assert (history.messages, desk.done) == ([], set())


async def test_a_store_that_never_answers_does_not_hold_up_a_cancellation(monkeypatch: pytest.MonkeyPatch):
    """It is waited for as long as for any write that is cut off, and no longer."""
    monkeypatch.setattr(writes, "GRACE", 0.05)
    for number in range(2, 5):
        history, desk = Hanging(number), Desk()
        with anyio.fail_after(60), anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(lambda desk=desk, history=history: desk.make_agent().ainvoke("go", history=history))
                await history.hangs.wait()
                scope.cancel()
        assert scope.cancelled_caught
        history.at = 0
        async with history.exclusive(timeout=0):
            pass
        result = await create_agent(ScriptedChatModel(script=["Fine."]), desk.tools).ainvoke("hi", history=history)
        assert (
            result.output == "Fine." and validate_history(await InMemoryChatMessageHistory.aget_messages(history)) == []
        )


class Hanging(Failing):
    """Never ends one of its calls.

    Args:
        at: which one, counted from 1.
    """

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at
        self.hangs = anyio.Event()

    async def _count(self) -> bool:
        self.calls += 1
        if self.calls == self.at:
            self.hangs.set()
            await anyio.sleep_forever()
        return False


async def test_a_result_that_is_stored_twice_is_told_once():
    """The answer of a server was lost, and the result was stored again: the model is shown it once."""
    history = InMemoryChatMessageHistory()
    calls = [call("first", "a", label="a", waits=1), call("second", "b", label="b", waits=1)]
    twice = ToolMessage("a is done", tool_call_id="a", name="first")
    history.add_messages([HumanMessage("go"), AIMessage("", tool_calls=calls), twice, twice])
    model, desk = ScriptedChatModel(script=["Done."]), Desk()
    await create_agent(model, desk.tools).ainvoke(Resume(), history=history)
    assert validate_history(model.requests[0].messages) == []
    assert not desk.done
