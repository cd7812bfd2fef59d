"""One run of an agent: the model is asked, its calls are run, it is told the results, until it is done."""

from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, LimitReached, create_agent
from hocket.agents.agent import AgentInput
from hocket.errors import InvalidInput, RateLimitError, StopRun
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.testing import virtual_clock
from hocket.tools import tool
from tests.agents.conftest import MakeAgent, add, call
from tests.kit import HookCall, Recorder, tool_model


def kinds(messages: list[Any]) -> list[str]:
    return [message.type for message in messages]


async def test_an_agent_calls_tools_until_it_has_the_answer(make_agent: MakeAgent):
    """The answer, and all that led to it, is in the result."""
    agent, model = make_agent([[call("add", a=1, b=2)], "It is 3."], system_prompt="Be brief.")
    result = await agent.ainvoke("What is 1 + 2?")
    assert (result.output, result.stop) == ("It is 3.", "done")
    assert kinds(result.new_messages) == ["human", "ai", "tool", "ai"]
    assert (result.model_calls, result.tool_calls) == (2, 1)
    assert [(step.action.tool, step.observation) for step in result.steps] == [("add", "3")]
    assert kinds(model.requests[1].messages) == ["system", "human", "ai", "tool"]
    assert result["messages"] == result.messages and result["structured_response"] == "It is 3."


@pytest.mark.parametrize(
    "input", ["hi", HumanMessage("hi"), [HumanMessage("hi")], {"messages": [("user", "hi")]}, {"messages": "hi"}]
)
async def test_a_question_is_a_text_or_messages(make_agent: MakeAgent, input: AgentInput):
    """LangChain's form is one of them."""
    agent, _ = make_agent(["Hello."])
    result = await agent.ainvoke(input)
    assert kinds(result.messages) == ["human", "ai"]


@pytest.mark.parametrize(
    "input", ["", " ", [], None, 5, {"question": "hi"}, {"messages": []}, {"messages": "hi", "x": 1}]
)
async def test_anything_else_is_refused_before_the_model_is_asked(make_agent: MakeAgent, input: Any):
    """The error is clear, and nothing was paid."""
    agent, model = make_agent(["Hello."])
    with pytest.raises(InvalidInput):
        await agent.ainvoke(input)
    assert not model.requests


async def test_the_calls_of_a_message_run_at_once_with_results_in_their_order(make_agent: MakeAgent):
    """The quick one does not overtake the slow one in what the model sees."""
    calls = [call("wait", "slow", seconds=0.05), call("add", "quick", a=1, b=1)]
    agent, model = make_agent([calls, "Done."])
    await agent.ainvoke("go")
    results = [message for message in model.requests[1].messages if isinstance(message, ToolMessage)]
    assert [result.tool_call_id for result in results] == ["slow", "quick"]


async def test_a_failure_is_told_to_the_model_and_the_run_goes_on(make_agent: MakeAgent):
    """So is a tool that does not exist, and arguments that do not fit."""

    @tool
    def fail() -> str:
        """Fail."""
        raise ValueError("out of paper")

    calls = [call("fail"), call("ad"), call("add", a="x", b=1)]
    agent, model = make_agent([calls, "I could not."], [fail, add])
    result = await agent.ainvoke("go")
    texts = [message.text for message in model.requests[1].messages if isinstance(message, ToolMessage)]
    assert "out of paper" in texts[0] and "Did you mean 'add'" in texts[1] and "a: " in texts[2]
    assert result.stop == "done"


async def test_calls_that_cannot_be_read_are_answered(make_agent: MakeAgent):
    """The conversation stays whole."""
    broken = {"type": "invalid_tool_call", "name": "add", "args": '{"a": 1', "id": "1", "error": "cut"}
    agent, model = make_agent([AIMessage("", invalid_tool_calls=[broken]), "Sorry."])
    result = await agent.ainvoke("go")
    assert kinds(result.messages) == ["human", "ai", "tool", "ai"]
    assert "could not be read" in model.requests[1].messages[-1].text


async def test_an_empty_answer_is_told_and_not_kept(make_agent: MakeAgent):
    """Providers refuse an empty message in a conversation."""
    agent, model = make_agent(["", "Here I am."])
    result = await agent.ainvoke("hello?")
    assert result.output == "Here I am." and result.model_calls == 2
    assert "was empty" in model.requests[1].messages[-1].text
    assert kinds(result.messages) == ["human", "ai"]


async def test_what_the_model_raises_comes_out(make_agent: MakeAgent):
    """As itself, and not in a group."""
    agent, _ = make_agent([RateLimitError("slow down")])
    with pytest.raises(RateLimitError, match="slow down"):
        await agent.ainvoke("go")


async def test_return_direct_ends_the_run_with_the_result(make_agent: MakeAgent):
    """The model is not asked again."""
    direct = add.model_copy(update={"return_direct": True})
    agent, model = make_agent([[call("add", a=1, b=2)]], [direct])
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, len(model.requests)) == ("3", "direct", 1)


async def test_a_failed_call_does_not_return_directly(make_agent: MakeAgent):
    """An error is for the model."""
    direct = add.model_copy(update={"return_direct": True})
    agent, _ = make_agent([[call("add", a="x", b=2)], "No."], [direct])
    assert (await agent.ainvoke("go")).output == "No."


async def test_stop_run_ends_the_run_with_its_value(make_agent: MakeAgent):
    """The calls beside it have run, and all are answered."""

    @tool
    def stop() -> str:
        """Stop."""
        raise StopRun("enough", value={"score": 7})

    agent, model = make_agent([[call("stop"), call("add", a=1, b=2)]], [stop, add])
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, len(model.requests)) == ({"score": 7}, "stopped", 1)
    assert kinds(result.messages) == ["human", "ai", "tool", "tool"]


async def test_runs_of_one_agent_do_not_mix():
    """Fifty at once, each with a tool."""

    async def ask(number: int) -> None:
        result = await agent.ainvoke(f"{number}")
        answers[number] = result.output

    def reply(asked: HookCall) -> AIMessage:
        last = asked.input[-1]
        if isinstance(last, ToolMessage):
            return AIMessage(f"{asked.input[0].text}: {last.text}")
        return AIMessage("", tool_calls=[call("add", a=int(last.text), b=1)])

    answers: dict[int, str | None] = {}
    agent = create_agent(tool_model(reply), [add])
    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(ask, number)
    assert answers == {number: f"{number}: {number + 1}" for number in range(50)}


async def test_ids_of_calls_are_made_unique(make_agent: MakeAgent):
    """Some models number their calls from the start in each answer."""
    agent, _ = make_agent([[call("add", "1", a=1, b=1)], [call("add", "1", a=2, b=2)], "Done."])
    result = await agent.ainvoke("go")
    ids = [message.tool_call_id for message in result.messages if isinstance(message, ToolMessage)]
    assert len(set(ids)) == 2


# -- limits


async def test_the_limit_on_model_calls_is_exact(make_agent: MakeAgent):
    """Five are five."""
    script = [[call("add", str(number), a=number, b=1)] for number in range(9)]
    agent, model = make_agent(script, limits=AgentLimits(model_calls=5), at_limit="stop")
    result = await agent.ainvoke("go")
    assert (result.stop, result.output, len(model.requests)) == ("model_calls", None, 5)
    assert kinds(result.messages)[-1] == "tool"


async def test_at_a_limit_the_model_answers_once_more_without_tools(make_agent: MakeAgent):
    """What it knows so far is better than nothing."""
    agent, model = make_agent([[call("add", a=1, b=1)], "About 2."], limits=AgentLimits(model_calls=1))
    result = await agent.ainvoke("go")
    assert (result.stop, result.output) == ("model_calls", "About 2.")
    assert "tools" in model.requests[0].params and "tools" not in model.requests[1].params


async def test_a_limit_may_raise(make_agent: MakeAgent):
    """The error has the result so far."""
    agent, _ = make_agent([[call("add", a=1, b=1)]], limits=AgentLimits(model_calls=1), at_limit="raise")
    with pytest.raises(LimitReached, match="model_calls") as caught:
        await agent.ainvoke("go")
    assert caught.value.limit == "model_calls" and caught.value.result.tool_calls == 1


async def test_calls_beyond_the_limit_are_answered_and_not_run(make_agent: MakeAgent):
    """The model is told, and answers with what it has."""
    calls = [call("add", "1", a=1, b=1), call("add", "2", a=2, b=2)]
    agent, model = make_agent([calls, "2, at least."], limits=AgentLimits(tool_calls=1))
    result = await agent.ainvoke("go")
    assert (result.stop, result.output, result.tool_calls) == ("tool_calls", "2, at least.", 1)
    results = [message for message in model.requests[1].messages if isinstance(message, ToolMessage)]
    assert results[0].text == "2" and "not run" in results[1].text


async def test_tokens_are_checked_before_a_call(make_agent: MakeAgent):
    """A call that would go beyond the limit is not made."""
    usage = {"input_tokens": 500, "output_tokens": 100, "total_tokens": 600}
    first = Turn(tool_calls=[call("add", a=1, b=1)], usage=usage)
    agent, model = make_agent([first, "never"], limits=AgentLimits(tokens=1_000))
    result = await agent.ainvoke("go")
    assert (result.stop, result.output, len(model.requests)) == ("tokens", None, 1)
    assert result.usage["total_tokens"] == 600


async def test_the_limit_on_seconds_holds_for_the_whole_run(make_agent: MakeAgent):
    """The call that was under way is answered as cancelled."""
    calls = [call("add", a=1, b=1), call("wait", seconds=60)]
    agent, _ = make_agent([calls, "never"], limits=AgentLimits(seconds=30))
    with virtual_clock():
        result = await agent.ainvoke("go")
    assert result.stop == "seconds"
    results = [message for message in result.messages if isinstance(message, ToolMessage)]
    assert results[0].text == "2" and "cancelled" in results[1].text


async def test_a_tool_has_its_seconds(make_agent: MakeAgent):
    """By the agent's limits, for all tools and for one."""
    calls = [call("wait", seconds=60)]
    for limits in (AgentLimits(tool_seconds=0.05), AgentLimits(per_tool_seconds={"wait": 0.05})):
        agent, model = make_agent([calls, "Too slow."], limits=limits)
        assert (await agent.ainvoke("go")).output == "Too slow."
        assert "longer than 0.05 s" in model.requests[1].messages[-1].text


async def test_a_long_result_is_cut(make_agent: MakeAgent):
    """The model is told how much is missing."""

    @tool
    def read() -> str:
        """Read."""
        return "x" * 1_000_000

    agent, model = make_agent([[call("read")], "Long."], [read], limits=AgentLimits(result_chars=100))
    await agent.ainvoke("go")
    text = model.requests[1].messages[-1].text
    assert text.startswith("x" * 100) and len(text) <= 250 and "999900" in text


async def test_the_same_calls_with_the_same_results_are_a_loop(make_agent: MakeAgent):
    """The model is told after three times, and stopped after five."""
    script = [[call("add", str(number), b=1, a=1)] for number in range(9)]
    agent, model = make_agent(script, at_limit="stop")
    result = await agent.ainvoke("go")
    assert (result.stop, len(model.requests)) == ("loop", 5)
    results = [message.text for message in result.messages if isinstance(message, ToolMessage)]
    assert ["the same call" in text for text in results] == [False, False, True, True, True]


async def test_the_same_calls_with_other_results_are_none(make_agent: MakeAgent):
    """To poll is no loop."""
    count = iter(range(100))

    @tool
    def poll() -> int:
        """Poll."""
        return next(count)

    agent, _ = make_agent([*([call("poll", str(number))] for number in range(8)), "Done."], [poll])
    assert (await agent.ainvoke("go")).stop == "done"


@pytest.mark.parametrize(
    "limits",
    [
        {"model_calls": 0},
        {"tool_calls": -1},
        {"tokens": 1.5},
        {"seconds": 0},
        {"tool_seconds": float("nan")},
        {"per_tool_seconds": {"add": 0}},
        {"repeats": True},
        {"max_concurrency": None},
        {"result_chars": "9"},
        {"unreadable_chars": 0},
    ],
)
def test_limits_that_are_not_above_0_are_refused(limits: dict[str, Any]):
    """The error names the limit and its value."""
    with pytest.raises(InvalidInput, match=next(iter(limits))):
        AgentLimits(**limits)


# -- typed answers


class Sum(BaseModel):
    """A sum."""

    total: int


async def test_a_typed_answer_is_an_object(make_agent: MakeAgent):
    """It comes as a call, which is answered."""
    agent, model = make_agent([[call("add", a=1, b=2)], [call("Sum", total=3)]], response_format=Sum)
    result = await agent.ainvoke("1 + 2?")
    assert result.output == Sum(total=3) and result.stop == "done" and len(model.requests) == 2
    assert kinds(result.messages) == ["human", "ai", "tool", "ai", "tool"]


async def test_an_answer_that_does_not_fit_is_asked_for_again(make_agent: MakeAgent):
    """The model is told what is wrong."""
    script = [[call("Sum", "1", total="many")], [call("Sum", "2", total=3)]]
    agent, model = make_agent(script, response_format=Sum)
    assert (await agent.ainvoke("go")).output == Sum(total=3)
    assert "total" in model.requests[1].messages[-1].text


async def test_an_answer_in_text_is_read_or_asked_for_again(make_agent: MakeAgent):
    """Prose is not an object."""
    agent, model = make_agent(["It is three.", 'Here: ```json\n{"total": 3}\n```'], response_format=Sum)
    result = await agent.ainvoke("go")
    assert result.output == Sum(total=3) and result.model_calls == 2
    assert "calling Sum" in model.requests[1].messages[-1].text


async def test_calls_beside_the_answer_run_and_are_answered(make_agent: MakeAgent):
    """No call is left without its result."""
    agent, _ = make_agent([[call("Sum", total=3), call("add", a=1, b=2)]], response_format=Sum)
    result = await agent.ainvoke("go")
    assert result.output == Sum(total=3) and result.tool_calls == 1
    assert kinds(result.messages) == ["human", "ai", "tool", "tool"]


async def test_at_a_limit_only_the_answer_may_be_called(make_agent: MakeAgent):
    """And it must be."""
    script = [[call("add", a=1, b=2)], [call("Sum", total=3)]]
    agent, model = make_agent(script, response_format=Sum, limits=AgentLimits(model_calls=1))
    result = await agent.ainvoke("go")
    assert (result.output, result.stop) == (Sum(total=3), "model_calls")
    params = model.requests[1].params
    assert [one["function"]["name"] for one in params["tools"]] == ["Sum"] and params["tool_choice"] == "required"


# -- watching


async def test_handlers_hear_one_run_with_models_and_tools_inside(make_agent: MakeAgent):
    """The actions and the end are told in LangChain's words."""
    recorder = Recorder()
    agent, _ = make_agent([[call("add", a=1, b=2)], "3"], name="Adder")
    await agent.ainvoke("go", {"callbacks": [recorder]})
    names = recorder.names
    assert names[0] == "on_chain_start" and names[-1] == "on_chain_end"
    assert recorder.count("on_chat_model_start") == 2 and recorder.count("on_tool_start") == 1
    assert recorder.only("on_agent_action").args[0].tool == "add"
    assert recorder.only("on_agent_finish").args[0].return_values == {"output": "3"}
    assert len({details["parent_run_id"] for name, _, details in recorder.events if "model_start" in name}) == 1
    recorder.assert_every_run_ended_once()


async def test_the_bill_has_what_tools_and_other_agents_used(make_agent: MakeAgent):
    """Whoever calls a model inside the run."""
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    helper = create_agent(ScriptedChatModel(script=[Turn(text="Paris", usage=usage)]), name="helper")
    other = ScriptedChatModel(script=[Turn(text="sunny", usage=usage)])

    @tool
    async def weather() -> str:
        """Ask another model."""
        return (await other.ainvoke("weather?")).text

    tools = [helper.as_tool(description="Knows things."), weather]
    calls = [call("helper", question="capital?"), call("weather")]
    agent, _ = make_agent([Turn(tool_calls=calls, usage=usage), "Sunny in Paris."], tools)
    result = await agent.ainvoke("go")
    assert result.usage["total_tokens"] == 45 and result.usage_unknown == 1 and result.model_calls == 2


# -- streams


async def test_a_stream_tells_what_happens(make_agent: MakeAgent):
    """In order; the last event has the result."""
    agent, _ = make_agent([[call("add", a=1, b=2)], "It is 3."])
    stream = agent.astream("go")
    events = [event async for event in stream]
    assert [event.kind for event in events if event.kind != "chunk"] == [
        *("message", "tool_start", "tool_end", "message", "end")
    ]
    assert "".join(event.chunk.text for event in events if event.chunk) == "It is 3."
    assert stream.result is not None and stream.result.output == "It is 3." == events[-1].result.output
    assert events[-2].message.text == "It is 3."


def test_the_sync_verbs_do_the_same(make_agent: MakeAgent):
    """Also where everything is async inside."""
    agent, _ = make_agent(["Hello."] * 4)
    assert agent.invoke("hi").output == "Hello."
    with agent.stream("hi") as stream:
        assert [event.kind for event in stream][-1] == "end"
    assert stream.result is not None and stream.result.output == "Hello."
    assert [result.output for result in agent.batch(["hi", "ho"])] == ["Hello."] * 2


async def test_leaving_a_stream_cancels_the_run(make_agent: MakeAgent):
    """No tool goes on behind the reader's back."""
    agent, model = make_agent([[call("wait", seconds=60)], "never"])
    async with agent.astream("go") as stream:
        async for event in stream:
            if event.kind == "tool_start":
                break
    assert len(model.requests) == 1


# -- what is refused when the agent is made


@pytest.mark.parametrize(
    ("tools", "options", "says"),
    [
        ([add, add], {}, "two tools are called 'add'"),
        ([add.model_copy(update={"name": "Sum"})], {"response_format": Sum}, "and so is the answer"),
        ([add], {"interrupt_on": ["ad"]}, "did you mean 'add'"),
        ([add], {"interrupt_on": "add"}, "a list of names"),
        ([add], {"interrupt_on": {"add": "yes"}}, "rule for 'add'"),
        ([add], {"limits": {"model_calls": 3}}, "AgentLimits"),
        ([add], {"limits": AgentLimits(per_tool_seconds={"ad": 3})}, "per_tool_seconds names 'ad'"),
        ([add], {"at_limit": "cry"}, "at_limit is 'cry'"),
        ([add], {"style": "baroque"}, "style is 'baroque'"),
        ([add], {"middleware": [object()]}, "AgentMiddleware"),
        ([add], {"system_prompt": 5}, "system_prompt is int"),
        ([add], {"name": 5}, "name is 5"),
        ([add], {"response_format": 5}, "an answer cannot be"),
        ([5], {}, "cannot be run"),
        ("add", {}, "a list of tools"),
        ([{"type": "function", "function": {"name": "f"}}], {}, "nothing to run"),
    ],
)
def test_bad_input_is_refused_when_the_agent_is_made(tools: Any, options: dict[str, Any], says: str):
    """The error says what is wrong."""
    with pytest.raises(InvalidInput, match=says):
        create_agent(ScriptedChatModel(script=["hi"]), tools, **options)


def test_an_agent_says_what_it_is():
    """Its name, its model and its tools; no keys, and no text of a page."""
    model = ScriptedChatModel(script=["hi"])
    assert repr(create_agent(model, [add], name="sums")) == "<Agent 'sums': ScriptedChatModel with add>"
    assert repr(create_agent(model)) == "<Agent ScriptedChatModel with no tools>"


async def test_an_unknown_argument_of_a_call_is_refused(make_agent: MakeAgent):
    """A typo would otherwise do nothing."""
    agent, _ = make_agent(["hi"])
    with pytest.raises(InvalidInput, match="'histroy'"):
        await agent.ainvoke("hi", histroy=None)
