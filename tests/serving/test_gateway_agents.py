"""Agents behind the gateway: one answer for all their steps, and nothing that runs twice."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, create_agent
from hocket.budgets import Budget
from hocket.errors import InvalidInput, ProviderUnavailable
from hocket.messages import ToolCall
from hocket.serving import openai_app
from hocket.tools import InjectedToolArg, tool
from tests.serving.conftest import ask, question, read_events, send

CALL = ToolCall(type="tool_call", name="count", args={"upto": 3}, id="c1")
USAGE: Any = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
CHAT = "/v1/chat/completions"


class City(BaseModel):
    name: str
    people: int


def make_agent(*script: Any, **options: Any) -> tuple[Any, list[int]]:
    """Return an agent that counts, and what it has counted."""
    counted: list[int] = []

    @tool
    def count(upto: int) -> str:
        """Count."""
        counted.append(upto)
        return f"counted to {upto}"

    return create_agent(ScriptedChatModel(script=[*script]), [count], **options), counted


def two_steps() -> tuple[Any, list[int]]:
    return make_agent(Turn(text="Let me count.", tool_calls=[CALL], usage=USAGE), Turn(text="Three.", usage=USAGE))


async def test_the_text_of_all_steps_is_the_answer():
    """Set apart by an empty line; tools and results are not told, and usage is the run's."""
    agent, counted = two_steps()
    reply = (await ask(agent)).json()
    assert reply["choices"][0]["message"]["content"] == "Let me count.\n\nThree."
    assert reply["choices"][0]["finish_reason"] == "stop" and "tool_calls" not in reply["choices"][0]["message"]
    assert (reply["usage"]["prompt_tokens"], reply["usage"]["completion_tokens"]) == (20, 10)
    assert counted == [3]


async def test_a_stream_says_the_same():
    agent, _ = two_steps()
    response = await ask(agent, stream=True, stream_options={"include_usage": True})
    *events, last, done = read_events(response.text)
    text = "".join(event["choices"][0]["delta"].get("content") or "" for event in events)
    assert text == "Let me count.\n\nThree." and done == "[DONE]"
    assert last["usage"]["total_tokens"] == 30


async def test_an_object_is_json():
    """And nothing else, so that a program can read it."""
    args = {"name": "Oslo", "people": 700_000}
    call = ToolCall(type="tool_call", name="City", args=args, id="c2")
    agent, _ = make_agent(Turn(text="I know that.", tool_calls=[call]), response_format=City)
    reply = (await ask(agent)).json()
    assert City.model_validate_json(reply["choices"][0]["message"]["content"]) == City(name="Oslo", people=700_000)


async def test_a_limit_is_told_as_an_answer_that_is_too_long():
    turns = [Turn(text="Let me count.", tool_calls=[CALL]), "Never said."]
    agent, _ = make_agent(*turns, limits=AgentLimits(model_calls=1), at_limit="stop")
    reply = (await ask(agent)).json()["choices"][0]
    assert (reply["message"]["content"], reply["finish_reason"]) == ("Let me count.", "length")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_budget_that_is_spent_is_told_as_that_of_a_model(stream: bool):
    """An agent ends at it, and has said nothing."""
    budget = Budget(tokens=1, unpriced="ignore")
    agent: Any = create_agent(ScriptedChatModel(script=["Hello."], budget=budget))
    response = await ask(agent, stream=stream)
    assert (response.status_code, response.json()["error"]["code"]) == (429, "insufficient_quota")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_failure_after_a_tool_is_not_tried_again(stream: bool):
    """A server that is away may be asked again; a tool that has run may not."""
    agent, counted = make_agent(Turn(tool_calls=[CALL]), ProviderUnavailable("down", status=503, retryable=True))
    response = await ask(agent, stream=stream)
    assert (response.status_code, response.headers["x-should-retry"], counted) == (503, "false", [3])
    agent, counted = make_agent(ProviderUnavailable("down", status=503, retryable=True))
    response = await ask(agent, stream=stream)
    assert (response.status_code, response.headers.get("x-should-retry"), counted) == (503, None, [])


async def test_what_a_request_may_not_say():
    """Tools are the agent's own; so are its options, but where they ask for nothing."""
    agent, _ = make_agent("Hello.", "Hello.")
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    assert (await ask(agent, tools=tools)).json()["error"]["param"] == "tools"
    response = await ask(agent, temperature=0.2)
    assert (response.status_code, response.json()["error"]["param"]) == (400, "temperature")
    response = await ask(agent, temperature=1)
    assert (response.status_code, response.headers["x-hocket-dropped"]) == (200, "temperature")
    app = openai_app({"m": agent}, unsupported="drop")
    response = await send(app, "POST", CHAT, json=question(temperature=0.2))
    assert (response.status_code, response.headers["x-hocket-dropped"]) == (200, "temperature")


@dataclass
class Reader:
    name: str


@dataclass
class Guest:
    name: str = "a guest"


@tool
def greet(name: Annotated[str, InjectedToolArg]) -> str:
    """Greet the reader."""
    return f"Hello, {name}!"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tools": [greet], "interrupt_on": ["greet"]}, "may wait for a person.*chat_app"),
        ({"context_schema": Reader}, "needs a context"),
        ({"tools": [greet]}, "need name injected"),
    ],
    ids=["approval", "context", "injected"],
)
def test_an_agent_that_a_request_cannot_run_is_refused(options: dict[str, Any], says: str):
    """When the application is made."""
    agent: Any = create_agent(ScriptedChatModel(script=[]), **options)
    with pytest.raises(InvalidInput, match=rf"models\['helper'\] is an agent that .*{says}"):
        openai_app({"helper": agent})


async def test_a_context_that_can_be_made_is_made():
    agent: Any = create_agent(
        ScriptedChatModel(script=["Hello."]),
        context_schema=Guest,
        system_prompt=lambda runtime: f"You talk to {runtime.context.name}.",
    )
    assert (await ask(agent)).json()["choices"][0]["message"]["content"] == "Hello."
