"""For whom a run is: the context of a call reaches tools, hooks, the prompt and agents inside, and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from hocket import AIMessage, InMemoryChatMessageHistory, ScriptedChatModel, SystemMessage, Turn, arun_tool_calls
from hocket.agents import AgentLimits, AgentMiddleware, Resume, Runtime, create_agent
from hocket.errors import InvalidInput
from hocket.messages import UsageMetadata
from hocket.tools import ToolRuntime, tool
from tests.agents.conftest import call
from tests.kit import tool_model

USAGE: UsageMetadata = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}


@dataclass
class User:
    name: str
    age: int = 36


class Person(BaseModel):
    name: str


class Fields(TypedDict):
    name: str


class Plain:
    name = "Plain"


def greet(word: str, runtime: Runtime[User]) -> str:
    """Greet the user."""
    return f"{word}, {runtime.context.name}."


async def agreet(word: str, who: ToolRuntime | None = None) -> str:
    """Greet the user."""
    return f"{word}, {who.context.name if who else 'nobody'}."


ASK = Turn(tool_calls=[call("greet", word="Hello")])


# -- tools


@pytest.mark.parametrize(("function", "name"), [(greet, "runtime"), (agreet, "who")])
async def test_a_parameter_of_the_type_is_filled_and_is_in_no_schema(function: Callable[..., Any], name: str):
    """The model sees the other parameters alone, and cannot give this one."""
    made = tool("greet")(function)
    assert list(made.args) == ["word"]
    guess = Turn(tool_calls=[call("greet", word="Hello", **{name: {"context": 1}})])
    model = ScriptedChatModel(script=[guess, "Done."])
    result = await create_agent(model, [made]).ainvoke("go", context=User("Ada"))
    assert result.steps[0].observation == "Hello, Ada."
    assert name not in str(model.requests[0].params["tools"])


async def test_a_tool_is_told_where_the_run_is():
    """Conversation, step, usage, what is left, the call, the agent and the config of the run."""
    seen: list[Runtime] = []

    def look(runtime: Runtime) -> str:
        """Look."""
        seen.append(runtime)
        return "seen"

    first = AIMessage("", tool_calls=[call("look", "c1")], usage_metadata=USAGE)
    history = InMemoryChatMessageHistory()
    await history.aadd_messages([SystemMessage("Earlier.")])
    agent = create_agent(ScriptedChatModel(script=[first, "Done."]), [look], name="seer")
    await agent.ainvoke(
        "go", {"metadata": {"tenant": "ada"}}, history=history, limits=AgentLimits(tokens=1_000), injected={"key": 1}
    )
    [runtime] = seen
    assert [message.type for message in runtime.messages] == ["system", "human", "ai"]
    assert (runtime.step, runtime.usage["total_tokens"], runtime.tokens_left) == (1, 120, 880)
    assert (runtime.agent, runtime.tool_call_id, runtime.injected) == ("seer", "c1", {"key": 1})
    assert runtime.config.get("metadata", {})["tenant"] == "ada"
    assert runtime.context is None


async def test_outside_of_an_agent_it_is_given_by_hand():
    """As an argument, or as the context of the calls of a message; without it the tool says what it lacks."""
    made, ada = tool(greet), User("Ada")
    assert await made.ainvoke({"word": "Hi", "runtime": Runtime(context=ada)}) == "Hi, Ada."
    for missing in ({"word": "Hi"}, {"word": "Hi", "runtime": {"context": ada}}):
        with pytest.raises(InvalidInput, match=r"takes a Runtime \('runtime'\)"):
            await made.ainvoke(missing)
    [answer] = await arun_tool_calls([call("greet", word="Hi")], [greet], context=ada)
    assert answer.text == "Hi, Ada."
    with pytest.raises(InvalidInput, match="pass context="):
        await arun_tool_calls([call("greet", word="Hi")], [greet])
    assert await tool(agreet).ainvoke({"word": "Hi"}) == "Hi, nobody."


# -- the context


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        (User, User("Ada")),
        (User, {"name": "Ada"}),
        (Person, {"name": "Ada"}),
        (Person, Person(name="Ada")),
        (Fields, {"name": "Ada"}),
        (None, User("Ada")),
    ],
)
async def test_a_context_is_an_instance_or_a_mapping_of_its_fields(schema: Any, given: Any):
    """A mapping becomes one; a TypedDict stays a dict."""
    seen: list[Any] = []

    def look(runtime: Runtime) -> None:
        """Look."""
        seen.append(runtime.context)

    model = ScriptedChatModel(script=[Turn(tool_calls=[call("look")]), "Done."])
    await create_agent(model, [look], context_schema=schema).ainvoke("go", context=given)
    expected = dict if schema is Fields else (schema or User)
    assert isinstance(seen[0], expected)
    assert (seen[0]["name"] if schema is Fields else seen[0].name) == "Ada"


@pytest.mark.parametrize(
    ("schema", "given", "says"),
    [
        (User, None, "the context is missing"),
        (User, Person(name="Ada"), "of the type Person"),
        (User, {"nam": "secret"}, "no User: name: Field required"),
        (Fields, {"name": 5}, "no Fields: name"),
        (Fields, 5, "pass context=a mapping"),
        (Plain, {"name": "secret"}, "pass an instance"),
    ],
)
async def test_another_context_is_refused_before_anything_is_sent_or_stored(schema: Any, given: Any, says: str):
    """The error names the class and the field, and quotes no value."""
    model, history = ScriptedChatModel(script=["Done."]), InMemoryChatMessageHistory()
    with pytest.raises(InvalidInput, match=says) as caught:
        await create_agent(model, context_schema=schema).ainvoke("go", history=history, context=given)
    assert "secret" not in str(caught.value)
    assert not model.requests
    assert not history.messages


def test_a_schema_that_is_no_class_is_refused():
    """When the agent is made."""
    with pytest.raises(InvalidInput, match="context_schema is 5"):
        create_agent(ScriptedChatModel(script=[]), context_schema=5)  # type: ignore[arg-type, call-overload]


async def test_the_context_is_not_stored_and_is_given_again_to_a_resumed_run():
    """The history knows nothing of it."""
    history = InMemoryChatMessageHistory()
    agent = create_agent(ScriptedChatModel(script=[ASK, "Done."]), [greet], interrupt_on=["greet"])
    await agent.ainvoke("go", history=history, context=User("Ada"))
    assert "Ada" not in repr(history.messages)
    result = await agent.ainvoke(Resume({"greet": "approve"}), history=history, context=User("Bob"))
    assert result.steps[0].observation == "Hello, Bob."


# -- prompt and hooks


async def aprompt(runtime: Runtime[User]) -> SystemMessage:
    return SystemMessage(f"You work for {runtime.context.name}.")


@pytest.mark.both_loops
@pytest.mark.parametrize("prompt", [lambda runtime: f"You work for {runtime.context.name}.", aprompt])
async def test_a_function_as_system_prompt_is_called_once_a_run(prompt: Any):
    """And again when the run is resumed: so no step changes the beginning of what is sent."""
    calls: list[Runtime] = []

    def count(runtime: Runtime) -> Any:
        calls.append(runtime)
        return prompt(runtime)

    history, model = InMemoryChatMessageHistory(), ScriptedChatModel(script=[ASK, "Done."])
    agent = create_agent(model, [greet], system_prompt=count, interrupt_on=["greet"])
    await agent.ainvoke("go", history=history, context=User("Ada"))
    assert len(calls) == 1
    assert [message.text for message in calls[0].messages] == ["go"]
    await agent.ainvoke(Resume({"greet": "approve"}), history=history, context=User("Ada"))
    assert len(calls) == 2
    assert [request.messages[0].text for request in model.requests] == ["You work for Ada."] * 2


async def test_what_a_prompt_function_raises_ends_the_run_before_anything_is_stored():
    """So does a result that is no prompt."""

    def fail(runtime: Runtime) -> str:
        raise LookupError("no such user")

    history, model = InMemoryChatMessageHistory(), ScriptedChatModel(script=["Done."])
    with pytest.raises(LookupError, match="no such user"):
        await create_agent(model, system_prompt=fail).ainvoke("go", history=history)
    with pytest.raises(InvalidInput, match="the result of system_prompt is int"):
        await create_agent(model, system_prompt=lambda _: 5).ainvoke("go", history=history)  # type: ignore[arg-type, return-value, call-overload]
    assert not model.requests
    assert not history.messages


async def test_hooks_see_the_runtime():
    """Around the model and around a tool, in their requests."""
    seen: list[tuple[object, int, str | None]] = []

    class Look(AgentMiddleware):
        async def wrap_model_call(self, request: Any, handler: Any) -> Any:
            seen.append((request.runtime.context, request.runtime.step, request.runtime.tool_call_id))
            return await handler(request)

        async def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            seen.append((request.runtime.context, request.runtime.step, request.runtime.tool_call_id))
            return await handler(request)

    ada = User("Ada")
    agent = create_agent(ScriptedChatModel(script=[ASK, "Done."]), [greet], middleware=[Look()])
    await agent.ainvoke("go", context=ada)
    assert seen == [(ada, 1, None), (ada, 1, "greet"), (ada, 2, None)]


# -- agents inside


def make_inner(**options: Any) -> Any:
    return create_agent(ScriptedChatModel(script=[ASK, "Greeted."]), [greet], name="inner", **options)


OUTER = [Turn(tool_calls=[call("inner", question="?")]), "Done."]


async def test_an_agent_inside_works_for_the_same_person():
    """With the outer context, or with the one that is made of the runtime; injected arguments are handed on."""
    seen: list[Runtime] = []

    def look(runtime: Runtime) -> str:
        """Look."""
        seen.append(runtime)
        return "seen"

    look_call = Turn(tool_calls=[call("look")])
    for make in (None, lambda runtime: User(f"{runtime.context.name}'s friend")):
        inner = create_agent(ScriptedChatModel(script=[look_call, "Seen."]), [look])
        outer = create_agent(ScriptedChatModel(script=OUTER), [inner.as_tool("inner", "Looks.", context=make)])
        await outer.ainvoke("go", context=User("Ada"), injected={"key": 1})
    assert [runtime.context.name for runtime in seen] == ["Ada", "Ada's friend"]
    assert [runtime.injected for runtime in seen] == [{"key": 1}] * 2


def test_an_agent_inside_that_takes_another_context_is_refused_when_the_outer_one_is_made():
    """Where both name a class, and no function stands between."""
    inner = make_inner(context_schema=User)
    with pytest.raises(InvalidInput, match="'inner' works with a context of User"):
        create_agent(ScriptedChatModel(script=[]), [inner.as_tool(description="Greets.")], context_schema=Person)
    between = inner.as_tool(description="Greets.", context=lambda runtime: User(runtime.context.name))
    create_agent(ScriptedChatModel(script=[]), [between], context_schema=Person)


async def test_a_context_that_an_agent_inside_does_not_accept_is_refused_before_the_model_is_asked():
    """Nothing was paid."""
    model = ScriptedChatModel(script=OUTER)
    outer = create_agent(model, [make_inner(context_schema=User).as_tool(description="Greets.")])
    with pytest.raises(InvalidInput, match="of the type str"):
        await outer.ainvoke("go", context="Ada")
    assert not model.requests


async def test_the_stream_has_the_events_of_agents_inside_where_that_is_asked():
    """By name and path, the innermost too; the run's own events, and the last one, have neither."""
    innermost = make_inner().as_tool(description="Greets.")
    middle_script = [Turn(tool_calls=[call("inner", "c2", question="?")]), "Middle."]
    middle = create_agent(ScriptedChatModel(script=middle_script), [innermost], name="middle")
    outer_script = [Turn(tool_calls=[call("middle", "c1", question="?")]), "Done."]
    agent = create_agent(ScriptedChatModel(script=outer_script), [middle.as_tool(description="Asks.")])
    stream = agent.astream("go", context=User("Ada"), subagents=True)
    events = [(event.agent, event.path, event.kind) async for event in stream]
    ended = [(name, path) for name, path, kind in events if kind == "end"]
    assert ended == [("inner", ("c1", "c2")), ("middle", ("c1",)), (None, ())]
    assert stream.result is not None
    assert stream.result.output == "Done."
    assert {path for name, path, _ in events if name == "inner"} == {("c1", "c2")}

    agent = create_agent(ScriptedChatModel(script=outer_script), [middle.as_tool(description="Asks.")])
    assert {event.agent async for event in agent.astream("go", context=User("Ada"))} == {None}


async def test_concurrent_runs_of_one_agent_keep_their_contexts():
    """One agent serves everybody."""
    agent = create_agent(tool_model(_reply), [greet])
    answers: dict[str, str] = {}

    async def ask(name: str) -> None:
        result = await agent.ainvoke("go", context=User(name))
        answers[name] = result.steps[0].observation

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(ask, f"user {number}")
    assert answers == {f"user {number}": f"Hello, user {number}." for number in range(20)}


def _reply(asked: Any) -> AIMessage:
    return (
        AIMessage("Done.")
        if asked.input[-1].type == "tool"
        else AIMessage("", tool_calls=[call("greet", word="Hello")])
    )
