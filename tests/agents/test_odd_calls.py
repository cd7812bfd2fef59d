"""Tools and middleware that do odd things: the conversation stays whole, and the run ends."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import pytest

from hocket import ScriptedChatModel
from hocket.agents import AgentLimits, AgentMiddleware, ModelRequest, ToolCallRequest, create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import InvalidHook, InvalidInput, StopRun
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.tools import InjectedToolArg, tool
from tests.agents.conftest import MakeAgent, call


class OddError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@tool
def subtract(a: int, b: int) -> int:
    """Subtract."""
    return a - b


@tool
def stop(a: int) -> int:
    """Stop the run."""
    raise StopRun("enough", a)


@tool
def greet(user: Annotated[str, InjectedToolArg]) -> str:
    """Say hello."""
    return f"Hello, {user}."


ADDS = [[call("add", a=5, b=3)], "Done."]


async def test_a_failure_without_a_text_is_told(make_agent: MakeAgent):
    """Its class is all that there is to say."""

    @tool
    def fail() -> str:
        """Fail."""
        raise OddError

    agent, model = make_agent([[call("fail")], "Done."], [fail])
    assert (await agent.ainvoke("go")).stop == "done"
    assert "OddError" in model.requests[1].messages[-1].text


async def test_a_result_ends_the_run_by_the_tool_that_was_called(make_agent: MakeAgent):
    """Not by the name that the message bears: a tool may make its own, without one, or with that of another."""

    @tool(return_direct=True)
    def direct() -> ToolMessage:
        """Answer."""
        return ToolMessage("the answer", tool_call_id="")

    @tool
    def pretend() -> ToolMessage:
        """Pretend to be another tool."""
        return ToolMessage("no answer", tool_call_id="", name="direct")

    agent, _ = make_agent([[call("pretend")], [call("direct")]], [direct, pretend])
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, result.model_calls) == ("the answer", "direct", 2)


class ToolHook(AgentMiddleware):
    def __init__(self, change: Callable[[ToolCallRequest], ToolCallRequest]) -> None:
        self.change = change

    async def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> ToolMessage:
        result: ToolMessage = await handler(self.change(request))
        return result


async def test_a_hook_may_put_another_tool(make_agent: MakeAgent):
    """One that the agent does not have, too."""
    agent, _ = make_agent(ADDS, middleware=[ToolHook(lambda request: request.override(tool=subtract))])
    assert (await agent.ainvoke("go")).steps[0].observation == "2"


async def test_a_call_of_another_name_is_one_of_another_tool(make_agent: MakeAgent):
    """The tool that the first name had is not called."""

    def rename(request: ToolCallRequest) -> ToolCallRequest:
        renamed: Any = {**request.tool_call, "name": "pay", "args": {"amount": 7}}
        return request.override(tool_call=renamed)

    agent, _ = make_agent(ADDS, middleware=[ToolHook(rename)])
    assert (await agent.ainvoke("go")).steps[0].observation == "paid 7"


async def test_what_a_hook_does_to_a_call_does_not_change_the_conversation(make_agent: MakeAgent):
    """The model wrote what it wrote."""

    def spoil(request: ToolCallRequest) -> ToolCallRequest:
        request.tool_call["args"]["a"] = 100
        return request

    history = InMemoryChatMessageHistory()
    agent, model = make_agent(ADDS, middleware=[ToolHook(spoil)])
    result = await agent.ainvoke("go", history=history)
    assert result.steps[0].observation == "103"
    for messages in (history.messages, model.requests[1].messages):
        asked = next(message for message in messages if isinstance(message, AIMessage))
        assert asked.tool_calls[0]["args"] == {"a": 5, "b": 3}


async def test_a_changed_call_may_stop_the_run(make_agent: MakeAgent):
    """It is still the same call."""

    def change(request: ToolCallRequest) -> ToolCallRequest:
        changed: Any = {**request.tool_call, "args": {"a": 9}}
        return request.override(tool_call=changed)

    agent, _ = make_agent([[call("stop", a=1)], "Done."], [stop], middleware=[ToolHook(change)])
    result = await agent.ainvoke("go")
    assert (result.output, result.stop) == (9, "stopped")


class Answering(AgentMiddleware):
    def __init__(self, reply: AIMessage) -> None:
        self.reply = reply

    async def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> AIMessage:
        return self.reply


@pytest.mark.parametrize("reply", [AIMessage(""), AIMessage("", tool_calls=[call("add", a=1, b=1)])])
async def test_a_hook_that_answers_for_ever_is_ended(make_agent: MakeAgent, reply: AIMessage):
    """No model is called, and still there is an end."""
    agent, model = make_agent([], middleware=[Answering(reply)], limits=AgentLimits(repeats=None, model_calls=5))
    result = await agent.ainvoke("go")
    assert (result.stop, result.model_calls, model.requests) == ("model_calls", 0, [])


class AskingTwice(AgentMiddleware):
    async def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> AIMessage:
        await handler(request)
        reply: AIMessage = await handler(request)
        return reply


async def test_the_last_answer_is_one_call_more(make_agent: MakeAgent):
    """A middleware that asks twice does not get two."""
    agent, model = make_agent(["a", "b", "c", "d"], middleware=[AskingTwice()], limits=AgentLimits(model_calls=1))
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, len(model.requests)) == (None, "model_calls", 2)


class Adding(AgentMiddleware):
    async def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> AIMessage:
        request.messages.append(HumanMessage("By the way."))  # type: ignore[attr-defined]  # a list all the same
        reply: AIMessage = await handler(request)
        return reply


async def test_what_a_hook_adds_is_of_its_call_only(make_agent: MakeAgent):
    """The run's own list is another one."""
    agent, model = make_agent(ADDS, middleware=[Adding()])
    await agent.ainvoke("go")
    assert [len(request.messages) for request in model.requests] == [2, 4]


async def test_a_sync_hook_that_returns_a_coroutine_is_named(make_agent: MakeAgent):
    """On trio, too, which lets no coroutine out of a thread."""
    made: list[Coroutine[Any, Any, AIMessage]] = []

    class Mixed(AgentMiddleware):
        def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
            async def answer() -> AIMessage:
                return AIMessage("")

            made.append(answer())
            return made[0]

    agent, _ = make_agent([], middleware=[Mixed()])
    with pytest.raises(InvalidHook, match="returned coroutine"):
        await agent.ainvoke("go")
    made[0].close()  # nobody awaits it


async def test_the_application_gives_injected_arguments(make_agent: MakeAgent):
    """The model cannot, whatever it writes."""
    agent, model = make_agent([[call("greet", user="Eve")], "Done."], [greet])
    result = await agent.ainvoke("go", injected={"user": "Ada"})
    assert result.steps[0].observation == "Hello, Ada."
    assert "user" not in str(model.requests[0].params["tools"])


async def test_injected_arguments_are_for_every_verb():
    """They can be bound, too."""
    calls = [[call("greet")], "Done."] * 4
    model = ScriptedChatModel(script=[AIMessage("", tool_calls=one) if isinstance(one, list) else one for one in calls])
    agent, given = create_agent(model, [greet]), {"injected": {"user": "Ada"}}
    stream = agent.astream("go", injected={"user": "Ada"})
    assert [event.kind async for event in stream][-1] == "end"
    results = [stream.result, *await agent.abatch(["go"], **given), await agent.bind(**given).ainvoke("go")]
    assert [result.steps[0].observation for result in results if result] == ["Hello, Ada."] * 3


async def test_a_missing_injected_argument_is_refused_before_the_model_is_asked(make_agent: MakeAgent):
    """Nothing was paid; an agent that needs one and is a tool of another gets that one's."""
    agent, model = make_agent([[call("greet")], "Done."], [greet])
    with pytest.raises(InvalidInput, match="injected"):
        await agent.ainvoke("go", injected={"usr": "Ada"})
    assert not model.requests
    outer, outer_model = make_agent([[call("greeter", question="?")], "Done."], [agent.as_tool("greeter", "Greets.")])
    with pytest.raises(InvalidInput, match="greeter needs injected arguments"):
        await outer.ainvoke("go")
    assert not outer_model.requests
    assert (await outer.ainvoke("go", injected={"user": "Ada"})).steps[0].observation == "Done."
