"""LangChain's older interface: an executor, agents that ask a model, and agents that plan by themselves."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentAction, AgentFinish, AgentStep
from hocket.classic.agents import AgentExecutor, Plan, create_react_agent, create_tool_calling_agent
from hocket.classic.memory import ConversationBufferMemory
from hocket.errors import InvalidHook, InvalidInput, OutputParserException, RateLimitError
from hocket.language_models import FakeListChatModel
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.prompts import ChatPromptTemplate, PromptTemplate
from hocket.runnables import RunnableLambda
from hocket.tools import tool
from tests.agents.conftest import add, call, wait
from tests.kit import Recorder

PROMPT = ChatPromptTemplate.from_messages(
    [
        ("system", "Be brief."),
        ("placeholder", "{chat_history}"),
        ("human", "{input}"),
        ("placeholder", "{agent_scratchpad}"),
    ]
)


@tool
def echo(text: str) -> str:
    """Say it again."""
    return f"said {text}"


class Stub:
    """An agent that plans by a script, and keeps what it was told."""

    def __init__(self, *plans: Any) -> None:
        self.plans = [*plans]
        self.asked: list[tuple[list[AgentStep], dict[str, Any]]] = []

    async def aplan(self, intermediate_steps: Sequence[AgentStep], **inputs: Any) -> Plan:
        await checkpoint()
        self.asked.append(([*intermediate_steps], inputs))
        plan = self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]
        if isinstance(plan, Exception):
            raise plan
        return plan  # type: ignore[no-any-return]


def finish(output: Any) -> AgentFinish:
    return AgentFinish({"output": output}, "done")


# -- agents that plan by themselves


async def test_an_agent_plans_until_it_finishes():
    """It is told what was done, and its inputs as they came."""
    stub = Stub(AgentAction("echo", "hi", "I greet."), finish("Greeted."))
    result = await AgentExecutor(stub, [echo], return_intermediate_steps=True).ainvoke({"input": "go", "mood": 7})
    step = (AgentAction("echo", "hi", "I greet."), "said hi")
    assert result == {"input": "go", "mood": 7, "output": "Greeted.", "intermediate_steps": [step]}
    assert stub.asked == [([], {"input": "go", "mood": 7}), ([step], {"input": "go", "mood": 7})]
    assert stub.asked[1][0][0].action.tool == "echo" and stub.asked[1][0][0].observation == "said hi"


async def test_several_actions_run_at_once():
    """Their observations come in their order."""
    plan = [AgentAction("wait", {"seconds": 0.02}), AgentAction("add", {"a": 1, "b": 2})]
    executor = AgentExecutor(Stub(plan, finish("ok")), [wait, add], return_intermediate_steps=True)
    result = await executor.ainvoke("go")
    first, second = [observation for _, observation in result["intermediate_steps"]]
    assert (first, second) == ("waited", "3")


@pytest.mark.parametrize("plan", [None, [], (), "go", [AgentAction("echo", "x"), "go"], AgentAction("echo", None)])  # type: ignore[arg-type]
async def test_neither_actions_nor_a_finish_is_an_error(plan: Any):
    """It says what was planned."""
    with pytest.raises(InvalidHook, match="a plan is one or more AgentActions, or an AgentFinish"):
        await AgentExecutor(Stub(plan), [echo]).ainvoke("go")


async def test_what_an_agent_raises_comes_out():
    """As itself."""
    with pytest.raises(RateLimitError, match="slow down"):
        await AgentExecutor(Stub(RateLimitError("slow down")), [echo]).ainvoke("go")


async def test_an_agent_that_never_finishes_is_stopped():
    """After 15 plans, unless another number is given; also if it repeats itself."""
    for options, count in (({}, 15), ({"max_iterations": 3}, 3)):
        stub = Stub(AgentAction("echo", "hi"))
        result = await AgentExecutor(stub, [echo], **options).ainvoke("go")  # type: ignore[arg-type]
        assert (result["output"], len(stub.asked)) == ("Agent stopped due to iteration limit or time limit.", count)


@pytest.mark.parametrize(
    ("last", "output"), [(finish("enough"), "enough"), (AgentAction("echo", "x"), "Agent stopped")]
)
async def test_an_agent_may_finish_when_it_is_stopped(last: Plan, output: str):
    """It is asked once more, and what it wants to do then is not done."""
    stub = Stub(AgentAction("echo", "hi"), last)
    executor = AgentExecutor(stub, [echo], max_iterations=1, early_stopping_method="generate")
    assert (await executor.ainvoke("go"))["output"].startswith(output)
    assert len(stub.asked) == 2 and len(stub.asked[1][0]) == 1


async def test_a_run_ends_when_its_time_is_up():
    """Within a step, too."""
    executor = AgentExecutor(Stub(AgentAction("wait", {"seconds": 50})), [wait], max_execution_time=0.05)
    assert (await executor.ainvoke("go"))["output"].startswith("Agent stopped")


async def test_failures_of_tools_are_observed():
    """So are tools that do not exist."""

    @tool
    def fail(text: str) -> str:
        """Fail."""
        raise ValueError("out of paper")

    stub = Stub([AgentAction("fail", "x"), AgentAction("no such", "y")], finish("sorry"))
    assert (await AgentExecutor(stub, [fail]).ainvoke("go"))["output"] == "sorry"
    first, second = [step.observation for step in stub.asked[1][0]]
    assert "out of paper" in first and "fail" in second


async def test_return_direct_ends_the_run():
    """With the observation."""
    direct = echo.model_copy(update={"return_direct": True})
    assert await AgentExecutor(Stub(AgentAction("echo", "hi")), [direct]).ainvoke("go") == {
        "input": "go",
        "output": "said hi",
    }


@pytest.mark.parametrize("output", ["", None, {"a": 1}, 0])
async def test_a_finish_may_return_anything(output: Any):
    """Also nothing, and under keys of its own."""
    assert (await AgentExecutor(Stub(finish(output)), [echo]).ainvoke("go"))["output"] == output
    other = Stub(AgentFinish({"score": 7}))
    assert await AgentExecutor(other, []).ainvoke("go") == {"input": "go", "score": 7}


async def test_a_runnable_may_plan():
    """As in LangChain, it gets one mapping."""

    def plan(values: dict[str, Any]) -> Plan:
        steps = values["intermediate_steps"]
        return finish(f"{values['input']}: {steps[0][1]}") if steps else AgentAction("echo", "hi")

    assert (await AgentExecutor(RunnableLambda(plan), [echo]).ainvoke("go"))["output"] == "go: said hi"


async def test_inputs_are_checked():
    """By the agent's keys."""
    stub = Stub(finish("ok"))
    stub.input_keys = ["question", "mood"]  # type: ignore[attr-defined]
    executor = AgentExecutor(stub, [echo], return_intermediate_steps=True)
    assert (executor.input_keys, executor.output_keys) == (["question", "mood"], ["output", "intermediate_steps"])
    for wrong in ("go", {"question": "go"}):
        with pytest.raises(InvalidInput, match="mood"):
            await executor.ainvoke(wrong)
    with pytest.raises(InvalidInput, match="'intermediate_steps'"):
        await executor.ainvoke({"question": "go", "mood": 1, "intermediate_steps": []})
    with pytest.raises(InvalidInput, match="'stop'"):
        await executor.ainvoke({"question": "go", "mood": 1}, stop=["x"])


async def test_handlers_hear_one_run():
    """With actions and the end, and what the agent asks inside it."""
    recorder = Recorder()
    agent = create_tool_calling_agent(
        ScriptedChatModel(script=[Turn(tool_calls=[call("add", a=1, b=2)]), "3"]), [add], PROMPT
    )
    await AgentExecutor(agent, [add]).ainvoke("go", {"callbacks": [recorder]})
    assert recorder.names[0] == "on_chain_start" and recorder.names[-1] == "on_chain_end"
    assert recorder.only("on_agent_action").args[0].tool == "add"
    assert recorder.only("on_agent_finish").args[0].return_values == {"output": "3"}
    assert recorder.count("on_chat_model_start") == 2 and recorder.count("on_tool_start") == 1
    recorder.assert_every_run_ended_once()


async def test_runs_do_not_mix():
    """Of one executor, fifty at once."""

    class Adder:
        async def aplan(self, intermediate_steps: Sequence[AgentStep], **inputs: Any) -> Plan:
            await checkpoint()
            number = int(inputs["input"])
            return (
                finish(intermediate_steps[0].observation)
                if intermediate_steps
                else AgentAction("add", {"a": number, "b": 1})
            )

    async def ask(number: int) -> None:
        answers[number] = (await executor.ainvoke(str(number)))["output"]

    answers: dict[int, str] = {}
    executor = AgentExecutor(Adder(), [add])
    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(ask, number)
    assert answers == {number: str(number + 1) for number in range(50)}


def test_the_sync_verbs_do_the_same():
    """And a stream has the result."""
    executor = AgentExecutor(Stub(finish("ok")), [echo])
    assert executor.invoke("go")["output"] == "ok"
    assert [one["output"] for one in executor.batch(["a", "b"])] == ["ok", "ok"]
    assert [one["output"] for one in executor.stream("go")] == ["ok"]


# -- agents that ask a model


async def test_a_tool_calling_agent():
    """The model gets the prompt, and its own messages back as they came."""
    calls = [call("add", "1", a=1, b=2), call("add", "2", a=3, b=4)]
    first = Turn(text="Let me see.", tool_calls=calls)
    model = ScriptedChatModel(script=[first, Turn(tool_calls=[call("echo", "1", text="x")]), "3 and 7"])
    agent = create_tool_calling_agent(model, [add, echo], PROMPT)
    history = [HumanMessage("hi"), AIMessage("hello")]
    executor = AgentExecutor(agent, [add, echo], return_intermediate_steps=True)
    result = await executor.ainvoke({"input": "sums?", "chat_history": history})
    assert result["output"] == "3 and 7"
    assert [(step.action.tool, step.observation) for step in result["intermediate_steps"]] == [
        ("add", "3"),
        ("add", "7"),
        ("echo", "said x"),
    ]
    sent = model.requests[2].messages
    assert [one.type for one in sent] == ["system", "human", "ai", "human", "ai", "tool", "tool", "ai", "tool"]
    assert sent[4].text == "Let me see." and [one["id"] for one in sent[4].tool_calls] == ["1", "2"]  # type: ignore[attr-defined]
    assert [one.tool_call_id for one in sent if isinstance(one, ToolMessage)] == ["1", "2", "1"]
    assert [one["function"]["name"] for one in model.requests[0].params["tools"]] == ["add", "echo"]


async def test_a_question_with_a_picture():
    """It reaches the model through the prompt."""
    prompt = ChatPromptTemplate.from_messages([("placeholder", "{input}"), ("placeholder", "{agent_scratchpad}")])
    model = ScriptedChatModel(script=["A cat."])
    picture = {"type": "image", "url": "https://example.org/cat.png"}
    question = HumanMessage([{"type": "text", "text": "What is this?"}, picture])
    executor = AgentExecutor(create_tool_calling_agent(model, [add], prompt), [add])
    assert (await executor.ainvoke({"input": [question]}))["output"] == "A cat."
    assert model.requests[0].messages[0].content == question.content


BROKEN = AIMessage(
    "", invalid_tool_calls=[{"type": "invalid_tool_call", "name": "add", "args": '{"a": 1', "id": "1", "error": "cut"}]
)


@pytest.mark.parametrize("reply", [BROKEN, ""], ids=["broken", "empty"])
async def test_a_reply_that_cannot_be_read(reply: Any):
    """Raises, or is told to the model, as the executor says."""
    texts = {"could not be read", "empty"}
    agent = create_tool_calling_agent(ScriptedChatModel(script=[reply]), [add], PROMPT)
    with pytest.raises(OutputParserException, match="handle_parsing_errors"):
        await AgentExecutor(agent, [add]).ainvoke("go")
    for handling, says in ((True, texts), ("Try again.", {"Try again."}), (lambda error: f"no: {error}", {"no: the"})):
        model = ScriptedChatModel(script=[reply, "Sorry."])
        agent = create_tool_calling_agent(model, [add], PROMPT)
        executor = AgentExecutor(agent, [add], handle_parsing_errors=handling, return_intermediate_steps=True)  # type: ignore[arg-type]
        result = await executor.ainvoke("go")
        assert result["output"] == "Sorry."
        assert result["intermediate_steps"][0].action.tool == "_Exception"
        assert any(text in model.requests[1].messages[-1].text for text in says)


async def test_a_react_agent():
    """In text, with hocket's prompt; what the model invents is cut."""
    acts = 'Thought: add\nAction: add\nAction Input: {"a": 1, "b": 2}\nObservation: 9'
    model = ScriptedChatModel(script=[acts, "Thought: done\nFinal Answer: 3"])
    executor = AgentExecutor(create_react_agent(model, [add]), [add], return_intermediate_steps=True)
    result = await executor.ainvoke({"input": "1 + 2?"})
    assert result["output"] == "3" and result["intermediate_steps"][0].observation == "3"
    assert "Observation: 3" in model.requests[1].messages[-1].text
    assert "\nObservation" in (model.requests[0].stop or ())


HUB = "Use these: {tools}\nAction: the action, one of [{tool_names}]\n\nQuestion: {input}\nThought:{agent_scratchpad}"


@pytest.mark.parametrize("prompt", [HUB, PromptTemplate.from_template(HUB)], ids=["text", "template"])
async def test_a_react_agent_with_a_prompt(prompt: Any):
    """LangChain's variables are filled in."""
    model = FakeListChatModel(responses=["Action: echo\nAction Input: hi", "no labels at all", "Final Answer: bye"])
    recorder = Recorder()
    executor = AgentExecutor(create_react_agent(model, [echo], prompt), [echo], handle_parsing_errors=True)
    result = await executor.ainvoke("greet", {"callbacks": [recorder]})
    sent = [event.args[1][0][0].text for event in recorder.named("on_chat_model_start")]
    assert sent[0].startswith("Use these: ") and "[echo]" in sent[0] and "Question: greet" in sent[0]
    assert "said hi" in sent[1]
    assert "no Action" in sent[2] and result["output"] == "bye"


async def test_of_a_long_reply_that_cannot_be_read_the_beginning_is_shown_again():
    """The step has all of it."""
    model = ScriptedChatModel(script=["x" * 50_000, "Final Answer: bye"])
    executor = AgentExecutor(
        create_react_agent(model, [echo]), [echo], handle_parsing_errors=True, return_intermediate_steps=True
    )
    result = await executor.ainvoke("greet")
    assert (result["output"], len(result["intermediate_steps"][0].action.log)) == ("bye", 50_000)
    assert "46000 more characters are left out" in model.requests[-1].messages[-1].text
    assert len(model.requests[-1].messages[-1].text) < 6_000


async def test_generate_asks_the_model_for_its_answer():
    """Without tools."""
    script: list[Any] = [Turn(tool_calls=[call("add", a=1, b=2)]), "About 3."]
    model = ScriptedChatModel(script=script)
    agent = create_tool_calling_agent(model, [add], PROMPT)
    executor = AgentExecutor(agent, [add], max_iterations=1, early_stopping_method="generate")
    assert (await executor.ainvoke("go"))["output"] == "About 3."
    assert "tools" in model.requests[0].params and "tools" not in model.requests[1].params


async def test_an_agent_can_be_called_without_an_executor():
    """As a runnable of LangChain's shape: pairs of actions and observations."""
    model = ScriptedChatModel(script=["3"])
    agent: Any = create_tool_calling_agent(model, [add], PROMPT)
    steps = [(AgentAction("add", {"a": 1, "b": 2}, "", "c1"), "3")]
    assert await agent.ainvoke({"input": "go", "intermediate_steps": steps}) == AgentFinish({"output": "3"}, "3")
    assert [one.type for one in model.requests[0].messages] == ["system", "human", "ai", "tool"]
    assert agent.input_keys == ["input"] and agent.tools[0].name == "add"


UNKNOWN: Any = 5
PARTIAL = PromptTemplate.from_template(HUB, partial_variables={"tools": "x"})
WITHOUT = ChatPromptTemplate.from_template("{input}")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda _: AgentExecutor(UNKNOWN, [add]), "it has `async def aplan`"),
        (lambda _: AgentExecutor(Stub(), [add, add]), "two tools are called 'add'"),
        (lambda _: AgentExecutor(Stub(), [add], max_iterations=0), "model_calls is 0"),
        (lambda _: AgentExecutor(Stub(), [add], early_stopping_method=UNKNOWN), "it is one of force, generate"),
        (lambda model: create_tool_calling_agent(model, [add], WITHOUT), "lacks {agent_scratchpad}"),
        (lambda model: create_tool_calling_agent(RunnableLambda(str), [add], PROMPT), "create_react_agent"),
        (lambda model: create_react_agent(model, [add], "{input}"), "the template lacks"),
        (lambda model: create_react_agent(model, [add], UNKNOWN), "it is a PromptTemplate"),
        (lambda model: create_react_agent(model, [add], PARTIAL), "partial"),
    ],
)
def test_bad_input_is_refused_when_it_is_made(make: Any, says: str):
    """The error says what is wrong."""
    with pytest.raises(InvalidInput, match=says):
        make(ScriptedChatModel(script=["hi"]))


async def test_a_text_as_input_of_a_tool_fits_its_argument():
    """Whatever that is called, and in whatever case the tool is named."""
    stub = Stub([AgentAction("ECHO", "hi"), AgentAction("add", '{"a": 1, "b": 2}')], finish("ok"))
    await AgentExecutor(stub, [echo, add]).ainvoke("go")
    assert [step.observation for step in stub.asked[1][0]] == ["said hi", "3"]


# -- memory


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("as_messages", [True, False])
async def test_a_memory(is_native: bool, as_messages: bool) -> None:
    """What was said reaches the next run, as messages or as a text; the call of a tool is the executor's own affair."""
    memory = ConversationBufferMemory(memory_key="chat_history", return_messages=as_messages)
    if is_native:
        model = ScriptedChatModel(script=[Turn(tool_calls=[call("echo", text="x")]), "Hello, Ada.", "Ada."])
        prompt = (
            PROMPT
            if as_messages
            else ChatPromptTemplate(
                [("system", "So far: {chat_history}"), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
            )
        )
        agent = create_tool_calling_agent(model, [echo], prompt)
    else:
        said = ["Action: echo\nAction Input: x", "Final Answer: Hello, Ada.", "Final Answer: Ada."]
        model = ScriptedChatModel(script=said)
        agent = create_react_agent(model, [echo])
    executor = AgentExecutor(agent, [echo], memory=memory)
    assert executor.input_keys == ["input"]
    first = await executor.ainvoke({"input": "I am Ada."})
    assert first["output"] == "Hello, Ada." and not first["chat_history"]
    assert [one.text for one in memory.chat_memory.messages] == ["I am Ada.", "Hello, Ada."]
    second = await executor.ainvoke("Who am I?")
    asked = "\n".join(message.text for message in model.requests[-1].messages)
    assert second["output"] == "Ada." and "I am Ada." in asked and "Hello, Ada." in asked
    assert len(memory.chat_memory.messages) == 4


async def test_a_run_that_fails_is_not_remembered() -> None:
    """The memory has whole exchanges."""
    memory = ConversationBufferMemory()
    executor = AgentExecutor(Stub(RateLimitError("later", status=429)), [echo], memory=memory)
    with pytest.raises(RateLimitError):
        await executor.ainvoke({"input": "hi"})
    assert memory.chat_memory.messages == []


async def test_which_input_is_remembered() -> None:
    """It is said when there are several, and refused before anything is asked if not; of outputs the answer is kept."""
    prompt = ChatPromptTemplate([("human", "{name}: {input}"), ("placeholder", "{agent_scratchpad}")])
    model = ScriptedChatModel(script=["hello"])
    agent = create_tool_calling_agent(model, [echo], prompt)
    with pytest.raises(InvalidInput, match="the agent has the inputs 'input', 'name', and its memory keeps one"):
        AgentExecutor(agent, [echo], memory=ConversationBufferMemory())
    memory = ConversationBufferMemory(input_key="input")
    executor = AgentExecutor(agent, [echo], memory=memory, return_intermediate_steps=True)
    assert (await executor.ainvoke({"input": "hi", "name": "Ada"}))["intermediate_steps"] == []
    assert [one.text for one in memory.chat_memory.messages] == ["hi", "hello"]


def test_a_memory_under_a_sync_verb() -> None:
    """The same."""
    memory = ConversationBufferMemory()
    executor = AgentExecutor(Stub(finish("yes")), [echo], memory=memory)
    assert executor.invoke({"input": "hi"})["output"] == "yes"
    assert len(memory.chat_memory.messages) == 2
