"""Two runs of one conversation: one after the other, and never one inside the other."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import Agent, create_agent
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.errors import InvalidInput
from hocket.messages import ToolMessage, validate_history
from hocket.tools import BaseTool, tool
from tests.agents.conftest import call
from tests.agents.survival.conftest import Store


@tool
async def work() -> str:
    """Do something."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    return "done"


def make_agent(*tools: BaseTool) -> tuple[Agent[Any], ScriptedChatModel]:
    """Return an agent that calls its first tool, and answers."""
    model = ScriptedChatModel(script=[Turn(tool_calls=[call(tools[0].name)]), "Done."])
    return create_agent(model, tools), model


async def test_two_runs_at_once_are_one_after_the_other(store: Store):
    """With two agents, and two objects of one conversation: the second sees what the first has said."""
    agents = [make_agent(work) for _ in range(2)]

    async def ask(number: int) -> None:
        async with store.open() as history:
            await agents[number][0].ainvoke(f"question {number}", history=history)

    async with anyio.create_task_group() as group:
        for number in range(2):
            group.start_soon(ask, number)
    async with store.open() as history:
        messages = await history.aget_messages()
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"] * 2
    assert validate_history(messages) == []
    sent = sorted(len(model.requests[0].messages) for _, model in agents)
    assert sent == [1, 5]
    assert len({one.tool_call_id for one in messages if isinstance(one, ToolMessage)}) == 2


async def test_two_runs_of_one_agent_with_one_history_object():
    """Nothing of a run is on the agent, and nothing of it in the history object."""
    history = InMemoryChatMessageHistory()
    model = ScriptedChatModel(script=["one", "two"])
    agent = create_agent(model, [work])

    async with anyio.create_task_group() as group:
        for number in range(2):
            group.start_soon(lambda number=number: agent.ainvoke(f"question {number}", history=history))
    assert [len(request.messages) for request in model.requests] == [1, 3]
    assert validate_history(history.messages) == []


def make_nested(history: BaseChatMessageHistory, *, is_sync: bool) -> tuple[BaseTool, list[BaseException]]:
    """Return a tool that asks an agent, with a history, and what that has raised."""
    inside = create_agent(ScriptedChatModel(script=["Inside."]), [])
    raised: list[BaseException] = []

    async def ask() -> str:
        try:
            return str((await inside.ainvoke("hi", history=history)).output)
        except InvalidInput as error:
            raised.append(error)
            raise

    def ask_sync() -> str:
        try:
            return str(inside.invoke("hi", history=history).output)
        except InvalidInput as error:
            raised.append(error)
            raise

    return tool("ask", description="Ask.")(ask_sync if is_sync else ask), raised


@pytest.mark.parametrize("is_sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("count", [1, 2])
async def test_a_run_inside_a_run_of_the_same_conversation_is_refused(store: Store, is_sync: bool, count: int):
    """It would wait for ever; the model is told."""
    async with store.open() as inside, store.open() as outside:
        ask, raised = make_nested(inside, is_sync=is_sync)
        calls = [call("ask", str(number)) for number in range(count)]
        model = ScriptedChatModel(script=[Turn(tool_calls=calls), "Done."])
        with anyio.fail_after(60):
            result = await create_agent(model, [ask]).ainvoke("go", history=outside)
        assert result.output == "Done." and len(raised) == count
        assert "would wait for the other" in model.requests[1].messages[-1].text
        assert validate_history(await outside.aget_messages()) == []


@pytest.mark.parametrize("is_sync", [False, True], ids=["async", "sync"])
async def test_an_agent_that_asks_itself_comes_to_an_end(is_sync: bool):
    """Sixteen runs are inside one another; the model of the last is told that there is no seventeenth."""

    async def ask() -> str:
        return str((await agent.ainvoke("Go on.")).output)

    def ask_sync() -> str:
        return str(agent.invoke("Go on.").output)

    script = [*[Turn(tool_calls=[call("ask", str(number))]) for number in range(16)], *["Done."] * 16]
    model = ScriptedChatModel(script=script)
    agent = create_agent(model, [tool("ask", description="Ask.")(ask_sync if is_sync else ask)])
    with anyio.fail_after(60):
        assert (await agent.ainvoke("Go.")).output == "Done."
    assert "16 agents run inside one another" in model.requests[16].messages[-1].text
    assert len(model.requests) == 32


async def test_a_run_inside_a_run_may_have_a_history_of_its_own():
    """And the conversation outside is free again, once its run has ended; so is it for what a tool has left behind."""
    history, other = InMemoryChatMessageHistory(), InMemoryChatMessageHistory()
    ask, raised = make_nested(other, is_sync=False)
    agent, model = make_agent(ask)
    await agent.ainvoke("go", history=history)
    assert not raised and model.requests[1].messages[-1].text == "Inside."
    assert len(other.messages) == 2
    over = anyio.Event()
    late = create_agent(ScriptedChatModel(script=["Late."]), [])
    outputs: list[Any] = []

    async def ask_later() -> None:
        await over.wait()
        outputs.append((await late.ainvoke("late", history=history)).output)

    async with anyio.create_task_group() as group:

        @tool
        async def leave() -> str:
            """Leave a task behind."""
            group.start_soon(ask_later)
            return "left"

        agent, _ = make_agent(leave)
        await agent.ainvoke("go", history=history)
        over.set()
    assert outputs == ["Late."]
