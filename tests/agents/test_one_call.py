"""What one call of an agent gives instead of the agent's own, and what a test puts in their place."""

from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from hocket import AIMessage, FakeListLLM, HumanMessage, InMemoryChatMessageHistory, ScriptedChatModel, Turn
from hocket.agents import AgentLimits, AgentMiddleware, ModelRequest, Resume, create_agent
from hocket.agents.react import ReActFormat
from hocket.errors import InvalidInput, LLMError, UnknownModel
from hocket.runnables import RunnableLambda
from hocket.tools import tool
from tests.agents.conftest import MakeAgent, add, call, pay

ADD = Turn(tool_calls=[call("add", a=1, b=2)])


class Sum(BaseModel):
    value: int


@tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


# -- parts of one call


async def test_a_call_may_have_a_model_of_its_own():
    """By object or by name; the style is chosen anew, and the agent keeps its model."""
    mine, other = ScriptedChatModel(script=["Mine."]), ScriptedChatModel(script=["Other."])
    agent = create_agent(mine, [add])
    assert (await agent.ainvoke("go", model=other)).output == "Other."
    assert (await agent.ainvoke("go", model="fake:Named.")).output == "Named."
    text = FakeListLLM(responses=["Final Answer: Text."])
    assert (await agent.ainvoke("go", model=text)).output == "Text."
    assert (await agent.ainvoke("go")).output == "Mine."


async def test_a_call_may_give_options_to_each_call_of_the_model():
    """A hook sees them in its request."""
    seen: list[Any] = []

    class Look(AgentMiddleware):
        async def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
            seen.append(request.options)
            return await handler(request)

    model = ScriptedChatModel(script=[ADD, "3."])
    await create_agent(model, [add], middleware=[Look()]).ainvoke("go", options={"temperature": 0})
    assert [request.params["temperature"] for request in model.requests] == [0, 0]
    assert seen == [{"temperature": 0}] * 2


async def test_a_call_may_bring_tools():
    """Behind the agent's; the next call does not have them."""
    script = [Turn(tool_calls=[call("double", n=4)]), "8."]
    agent = create_agent(ScriptedChatModel(script=[*script, *script]), [add])
    result = await agent.ainvoke("go", tools=[double])
    assert result.steps[0].observation == "8"
    assert "no tool named" in (await agent.ainvoke("go")).steps[0].observation


async def test_a_call_may_want_another_type_of_answer():
    """None asks for a text."""
    give = Turn(tool_calls=[call("Sum", value=3)])
    agent = create_agent(ScriptedChatModel(script=[give, "3.", give]), response_format=Sum)
    assert (await agent.ainvoke("go")).output == Sum(value=3)
    assert (await agent.ainvoke("go", response_format=None)).output == "3."
    plain = create_agent(ScriptedChatModel(script=[give]))
    assert (await plain.ainvoke("go", response_format=Sum)).output == Sum(value=3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tools": [add]}, "the agent has a tool 'add'"),
        ({"tools": "double"}, "tools is str"),
        ({"tools": [5]}, "cannot be run"),
        ({"model": 5}, "model is 5"),
        ({"options": 5}, "options is int"),
        ({"injected": 5}, "injected is int"),
        ({"response_format": 5}, "an answer cannot be"),
        ({"contxt": 5}, "did you mean 'context'"),
        ({"limits": AgentLimits(per_tool_seconds={"double": 3})}, "per_tool_seconds names 'double'"),
    ],
)
async def test_what_a_call_cannot_have_is_refused_before_the_model_is_asked(options: dict[str, Any], says: str):
    """The error says what is wrong."""
    model = ScriptedChatModel(script=["Done."])
    with pytest.raises(InvalidInput, match=says):
        await create_agent(model, [add]).ainvoke("go", **options)
    assert not model.requests


async def test_a_model_by_name_is_made_at_the_first_run(monkeypatch: pytest.MonkeyPatch):
    """An agent can be made where there is no key; a provider that nobody knows is refused at once."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agent = create_agent("openai:gpt-5.2", [add])
    assert "openai:gpt-5.2" in repr(agent)
    with pytest.raises(LLMError, match="OPENAI_API_KEY"):
        await agent.ainvoke("go")
    with pytest.raises(UnknownModel):
        create_agent("nobodys:model")
    assert (await create_agent("fake:Hello.").ainvoke("go")).output == "Hello."


# -- overriding


async def test_parts_can_be_overridden_in_a_block():
    """Model, context, and tools of the same names; after the block, and in tasks beside it, they are the agent's."""

    @tool("add")
    def fake_add(a: int, b: int) -> str:
        """Add."""
        return "faked"

    agent = create_agent(ScriptedChatModel(script=[ADD, "3."]), [add])
    beside = anyio.Event()
    results: dict[str, Any] = {}

    async def run_beside() -> None:
        await beside.wait()
        results["beside"] = await agent.ainvoke("go")

    async with anyio.create_task_group() as group:
        group.start_soon(run_beside)
        with agent.override(model=ScriptedChatModel(script=[ADD, "Faked."]), tools=[fake_add]):
            results["inside"] = await agent.ainvoke("go")
            beside.set()
    assert [step.observation for step in results["inside"].steps] == ["faked"]
    assert (results["inside"].output, results["beside"].output) == ("Faked.", "3.")


def test_an_override_holds_for_sync_verbs_and_goes_before_what_a_call_gives():
    """It is for tests of code that calls the agent."""
    agent = create_agent(ScriptedChatModel(script=["Mine."]))
    with agent.override(model=ScriptedChatModel(script=["Outer."])):
        with agent.override(model=ScriptedChatModel(script=["Inner."])):
            assert agent.invoke("go", model="fake:Given.").output == "Inner."
        assert agent.invoke("go").output == "Outer."
    assert agent.invoke("go").output == "Mine."


def test_an_override_of_another_tool_is_refused():
    """The error names the nearest one."""
    agent = create_agent(ScriptedChatModel(script=[]), [add])
    with pytest.raises(InvalidInput, match="no tool 'double' to override"):
        agent.override(tools=[double])
    with pytest.raises(InvalidInput, match="override takes no 'limits'"):
        agent.override(limits=AgentLimits())  # type: ignore[call-arg]


# -- what was offered


async def test_what_a_hook_withholds_cannot_be_called_and_what_it_offers_can():
    """The tools of a step are those of the request that brought the reply."""

    class Change(AgentMiddleware):
        async def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
            return await handler(request.override(tools=[double]))

    script = [Turn(tool_calls=[call("add", a=1, b=2), call("double", n=4)]), "Done."]
    result = await create_agent(ScriptedChatModel(script=script), [add], middleware=[Change()]).ainvoke("go")
    assert [step.observation for step in result.steps] == ["There is no tool named 'add'. The tools are: double.", "8"]


async def test_a_middleware_may_bring_tools():
    """They are the agent's: rules, limits and names hold for them."""

    class Brings(AgentMiddleware):
        tools = (double,)

    script = [Turn(tool_calls=[call("double", n=4)]), "8."]
    agent = create_agent(ScriptedChatModel(script=script), [add], middleware=[Brings()])
    assert (await agent.ainvoke("go")).steps[0].observation == "8"
    with pytest.raises(InvalidInput, match="two tools are called 'double'"):
        create_agent(ScriptedChatModel(script=[]), [double], middleware=[Brings()])


@pytest.mark.parametrize("changes", [True, False])
async def test_a_middleware_may_hold_an_answer_back(changes: bool):
    """Its pieces are shown when the hooks have returned it; what they changed is never seen."""

    class Holds(AgentMiddleware):
        holds_output = True

        async def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
            reply = await handler(request)
            return AIMessage("Hidden.") if changes else reply

    agent = create_agent(ScriptedChatModel(script=["The secret word."]), middleware=[Holds()])
    pieces = [event.chunk.text async for event in agent.astream("go") if event.kind == "chunk"]
    assert "".join(pieces) == ("Hidden." if changes else "The secret word.")
    assert len(pieces) > 1 or changes


# -- results


async def test_what_comes_in_before_the_persons_last_messages_is_past(make_agent: MakeAgent):
    """Without a history. The new messages are the question and what answers it."""
    said = [HumanMessage("one"), AIMessage("First."), HumanMessage("two"), HumanMessage("three")]
    agent, model = make_agent(["Second."])
    result = await agent.ainvoke(said)
    assert [message.text for message in result.past] == ["one", "First."]
    assert [message.text for message in result.new_messages] == ["two", "three", "Second."]
    assert [message.text for message in model.requests[0].messages] == ["one", "First.", "two", "three"]


async def test_steps_after_a_resume_have_the_calls_that_were_decided():
    """With the arguments as they were run; there are as many as calls of tools."""
    history = InMemoryChatMessageHistory()
    script = [Turn(tool_calls=[call("pay", amount=5)]), ADD, "Done."]
    agent = create_agent(ScriptedChatModel(script=script), [add, pay], interrupt_on=["pay"])
    await agent.ainvoke("go", history=history)
    result = await agent.ainvoke(Resume({"pay": {"type": "edit", "args": {"amount": 4}}}), history=history)
    assert [(step.action.tool, step.action.tool_input) for step in result.steps] == [
        ("pay", {"amount": 4}),
        ("add", {"a": 1, "b": 2}),
    ]
    assert result.tool_calls == len(result.steps) == 2


# -- text models


@pytest.mark.parametrize(
    "replies", [["行动：[add]([1, 2])", "最终答案：3"], ['Action: add({"a": 1, "b": 2})', "Final Answer: 3"]]
)
async def test_a_text_model_works_in_the_text_style(replies: list[str]):
    """A model of texts, and any runnable that returns one; streamed, too."""
    left = iter(replies)
    for model in (FakeListLLM(responses=replies), RunnableLambda(lambda _: next(left))):
        result = await create_agent(model, [add], style=ReActFormat()).ainvoke("go")
        assert (result.output, result.steps[0].observation) == ("3", "3")
    stream = create_agent(FakeListLLM(responses=replies), [add]).astream("go")
    kinds = [event.kind async for event in stream]
    assert kinds[-1] == "end"
    assert stream.result is not None
    assert stream.result.output == "3"
    assert stream.result.usage_unknown == 0 or stream.result.usage["total_tokens"] == 0


def test_a_text_model_has_no_native_calls():
    """Said when the agent is made."""
    with pytest.raises(InvalidInput, match="a text model, which has no tool calls"):
        create_agent(FakeListLLM(responses=[]), [add], style="native")
