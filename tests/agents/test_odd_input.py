"""Agents within chains, and input of all kinds: what is good is taken, what is not is refused at the door."""

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest

from hocket import ScriptedChatModel
from hocket.agents import AgentLimits, AgentResult, create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import HocketWarning, InvalidInput
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.prompts import ChatPromptTemplate
from hocket.runnables import RunnableConfig, RunnableLambda, RunnableParallel
from tests.agents.conftest import MakeAgent, call


def get_output(result: AgentResult[Any]) -> Any:
    return result.output


async def test_a_prompt_may_stand_before_an_agent(make_agent: MakeAgent):
    """Its messages are the question."""
    agent, model = make_agent(["Hello."] * 2)
    chain = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "{what}")]) | agent
    assert (await chain.ainvoke({"what": "hi"})).output == "Hello."
    kinds = [event.kind async for event in chain.astream({"what": "hi"})]  # type: ignore[attr-defined]  # events
    assert kinds[-1] == "end"
    assert [message.type for message in model.requests[0].messages] == ["system", "human"]


async def test_a_thread_of_langgraphs_is_told(make_agent: MakeAgent):
    """An agent forgets without a history: who gives a thread_id in place of one hears of it, once for a run."""
    inside, _ = make_agent(["It is Ada."])
    agent, _ = make_agent([[call("ask", text="Who?")], "Ada.", "Hello.", "Hello."], [inside.as_tool("ask", "Ask.")])
    thread: RunnableConfig = {"configurable": {"thread_id": "1"}}
    with pytest.warns(HocketWarning, match="history=") as told:
        await agent.ainvoke("hi", thread)
    assert [Path(one.filename).name for one in told] == ["test_odd_input.py"]
    await agent.ainvoke("hi", thread, history=InMemoryChatMessageHistory())
    await agent.ainvoke("hi", {"configurable": {"tenant": "1"}})


async def test_a_recursion_limit_of_langgraphs_is_told(make_agent: MakeAgent):
    """An agent has limits of its own. In a chain, and of an agent that a function returns, it is that of the functions."""
    agent, _ = make_agent(["Hello."] * 6)
    for ask in (agent.ainvoke("hi", {"recursion_limit": 5}), agent.with_config(recursion_limit=5).ainvoke("hi")):
        with pytest.warns(HocketWarning, match=r"AgentLimits\(model_calls=") as told:
            await ask
        assert [Path(one.filename).name for one in told] == ["test_odd_input.py"]
    await agent.ainvoke("hi", {"tags": ["x"]})
    await RunnableLambda(lambda question: agent).ainvoke("hi")
    await (agent | get_output).ainvoke("hi", {"recursion_limit": 5})


async def test_a_step_behind_an_agent_gets_the_result(make_agent: MakeAgent):
    """Streamed, too: events are no parts of it."""
    agent, _ = make_agent(["Hello."] * 4)
    chain = agent | RunnableLambda(get_output)
    assert await chain.ainvoke("hi") == "Hello."
    assert [piece async for piece in chain.astream("hi")] == ["Hello."]
    both = RunnableParallel(answer=agent) | RunnableLambda(lambda results: results["answer"].output)
    assert [piece async for piece in both.astream("hi")] == ["Hello."]
    assert [piece async for piece in (agent.with_retry() | get_output).astream("hi")] == ["Hello."]


async def test_the_only_event_of_a_run_has_the_result(make_agent: MakeAgent):
    """One that reaches a limit at once has no other."""
    agent, _ = make_agent([], limits=AgentLimits(tokens=1))
    chain = agent | RunnableLambda(lambda result: result.stop)
    assert [piece async for piece in chain.astream("hi")] == ["tokens"]


async def test_a_conversation_with_an_open_call_is_made_whole(make_agent: MakeAgent):
    """The messages of a run that paused, say, are good for the next question without a history."""
    agent, model = make_agent([[call("pay", amount=1)], "Done."], interrupt_on=["pay"])
    paused = await agent.ainvoke("Pay.")
    assert paused.stop == "paused"
    await agent.ainvoke([*paused.messages, HumanMessage("Never mind.")])
    assert [message.type for message in model.requests[1].messages] == ["human", "ai", "tool", "human"]


async def test_results_of_no_calls_are_no_question(make_agent: MakeAgent):
    """Nothing is sent that a provider refuses."""
    agent, model = make_agent(["Hello."])
    with pytest.raises(InvalidInput, match="empty"):
        await agent.ainvoke([ToolMessage("1", tool_call_id="x"), ToolMessage("2", tool_call_id="y")])
    assert not model.requests


@pytest.mark.parametrize("limits", [{"model_calls": 1}, 5, AgentLimits(per_tool_seconds={"ad": 1})])
async def test_limits_of_a_call_are_checked_before_the_model_is_asked(make_agent: MakeAgent, limits: Any):
    """As those of the agent are."""
    agent, model = make_agent(["Hello."])
    with pytest.raises(InvalidInput):
        await agent.ainvoke("hi", limits=limits)
    assert not model.requests


@pytest.mark.parametrize("value", [None, 5, ["add"], {"add": 0}, {"add": "5"}])
def test_limits_of_tools_are_a_mapping_to_seconds(value: Any):
    """Anything else is refused when the limits are made."""
    with pytest.raises(InvalidInput, match="per_tool_seconds"):
        AgentLimits(per_tool_seconds=value)


def test_money_is_limited_elsewhere():
    """Which is said; the limits are copied as any data are."""
    with pytest.raises(InvalidInput, match=r"with spending\(usd=\.\.\.\)`, or give its model a Budget"):
        AgentLimits(usd=1)  # type: ignore[call-arg]  # a caller's mistake
    with pytest.raises(TypeError, match="model_call"):
        AgentLimits(model_call=1)  # type: ignore[call-arg]  # as above
    limits = AgentLimits(model_calls=2)
    assert pickle.loads(pickle.dumps(limits)) == copy.deepcopy(limits) == limits
    assert dataclasses.replace(limits, tokens=5) == AgentLimits(model_calls=2, tokens=5)


@pytest.mark.parametrize(
    "options", [{"middleware": None}, {"middleware": "x"}, {"tools": None}, {"tools": {}}, {"interrupt_on": None}]
)
def test_what_is_no_list_is_refused_when_the_agent_is_made(options: dict[str, Any]):
    """The error says what it is to be."""
    with pytest.raises(InvalidInput, match="it is a list"):
        create_agent(ScriptedChatModel(script=[AIMessage("hi")]), **options)
