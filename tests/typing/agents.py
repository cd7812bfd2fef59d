"""Agents as their users write them, for type checkers only.

Nothing here is run. See `snippets.py`.
"""

# pyright: strict

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from pydantic import BaseModel

from hocket import AIMessage, AIMessageChunk, BaseChatModel, BaseMessage, ToolMessage
from hocket.agents import (
    Agent,
    AgentEvent,
    AgentLimits,
    AgentMiddleware,
    AgentResult,
    AgentStep,
    ChunkEvent,
    EndEvent,
    LimitReached,
    ModelRequest,
    Resume,
    Runtime,
    SafetyManager,
    ToolCallRequest,
    calculator_tool,
    create_agent,
)
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.messages import ToolCall, UsageMetadata
from hocket.prompts import ChatPromptTemplate
from hocket.tools import BaseTool, tool


class Hour(BaseModel):
    hour: int


class Place(TypedDict):
    city: str


@dataclass
class Person:
    name: str


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def subtract(a: int, b: int) -> int:
    """Subtract."""
    return a - b


# -- what an agent returns


async def ask(model: BaseChatModel) -> None:
    agent = create_agent(model, [add, subtract, calculator_tool, {"type": "web_search"}], system_prompt="Be brief.")
    assert_type(agent, Agent[str])
    result = await agent.ainvoke("hi", history=InMemoryChatMessageHistory(), limits=AgentLimits(model_calls=3))
    assert_type(result, AgentResult[str])
    assert_type(result.output, str | None)
    assert_type(result.messages, list[BaseMessage])
    assert_type(result.steps, list[AgentStep])
    assert_type(result.pending, list[ToolCall])
    assert_type(result.usage, UsageMetadata)
    assert_type(agent.invoke({"messages": [("user", "hi")]}, injected={"user": "Ada"}), AgentResult[str])
    assert_type(await agent.abatch(["hi", "ho"]), list[AgentResult[str]])
    assert_type(
        await agent.ainvoke(Resume({"1": "approve", "2": {"type": "edit", "args": {"a": 1}}})), AgentResult[str]
    )
    assert_type(agent.as_tool("adder", "Adds."), BaseTool)


async def ask_for_objects(model: BaseChatModel) -> None:
    assert_type(create_agent(model, response_format=Hour), Agent[Hour])
    assert_type((await create_agent("openai:gpt-5.2", response_format=Place).ainvoke("hi")).output, Place | None)
    assert_type(create_agent(model, response_format=Person).invoke("hi").output, Person | None)
    assert_type(create_agent(model, response_format={"type": "object"}), Agent[dict[str, Any]])
    assert_type(create_agent(model, response_format=list[Hour]), Agent[list[Hour]])


async def greet(word: str, runtime: Runtime[Person]) -> str:
    assert_type(runtime.context, Person)
    assert_type(runtime.tokens_left, int | None)
    return word


def instruct(runtime: Runtime[Person]) -> str:
    return f"You work for {runtime.context}."


async def work_for_somebody(model: BaseChatModel, person: Person) -> None:
    agent = create_agent(model, [greet], context_schema=Person, system_prompt=instruct)
    assert_type(await agent.ainvoke("hi", context=person, model="openai:gpt-5.2", tools=[add]), AgentResult[str])
    with agent.override(model=model, tools=[greet], context=person):
        agent.invoke("hi", options={"temperature": 0}, response_format=None)
    async for event in agent.astream("hi", context=person, subagents=True):
        assert_type(event.path, tuple[str, ...])


# -- streams and chains


def show(event: AgentEvent) -> None:
    """As in docs/agents.md."""
    if event.kind == "chunk":
        print(event.chunk.text, end="")
    elif event.kind == "message":
        assert_type(event.message, AIMessage)
    elif event.kind == "unreadable":
        assert_type((event.reply, event.feedback), tuple[AIMessage, str])
    elif event.kind == "tool_start":
        print(event.call["name"])
    elif event.kind == "tool_end":
        print(event.call["name"], "->", event.result.text, event.seconds + 1)
    elif event.kind == "paused":
        assert_type(event.call, ToolCall)
    else:
        assert_type(event, EndEvent)
        print("", event.result.stop)


async def follow(model: BaseChatModel) -> None:
    stream = create_agent(model, [add], response_format=Hour).astream("hi")
    async for event in stream:
        show(event)
        match event:
            case ChunkEvent(chunk=chunk):
                assert_type(chunk, AIMessageChunk)
            case EndEvent(result=result):
                assert_type(result, AgentResult[Any])
            case _:
                assert_type(event.step, int)
    assert_type(stream.result, AgentResult[Hour] | None)
    with create_agent(model).stream("hi") as events:
        for event in events:
            assert_type(event, AgentEvent)
    tagged = (
        create_agent(model, response_format=Hour).with_config(tags=["x"]).bind(history=InMemoryChatMessageHistory())
    )
    async for event in tagged.astream("hi"):
        assert_type(event, AgentEvent)
    with tagged.with_config(run_name="hours").stream("hi") as events:
        for event in events:
            show(event)
    assert_type(tagged.astream("hi").result, AgentResult[Hour] | None)
    assert_type(await tagged.ainvoke("hi"), AgentResult[Hour])
    chain = ChatPromptTemplate.from_messages([("human", "{question}")]) | create_agent(model)
    assert_type(await chain.ainvoke({"question": "hi"}), AgentResult[str])


def get_text(result: AgentResult[str]) -> str:
    return result.output or ""


async def compose(model: BaseChatModel) -> None:
    agent = create_agent(model)
    assert_type(await (agent | get_text).ainvoke("hi"), str)
    assert_type(await agent.with_fallbacks([create_agent(model)]).ainvoke("hi"), AgentResult[str])


# -- code around calls


class Shout(AgentMiddleware):
    async def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Coroutine[Any, Any, AIMessage]]
    ) -> AIMessage:
        return await handler(request.override(options={"temperature": 0}))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage]
    ) -> ToolMessage:
        return handler(request)


def is_big(call: ToolCall) -> bool:
    return bool(call["args"]["amount"] > 100)


async def guard(model: BaseChatModel) -> None:
    agent = create_agent(
        model,
        [add],
        middleware=[SafetyManager(allowed_tools=["add"]), Shout()],
        interrupt_on={"add": is_big},
        at_limit="raise",
        style="react",
    )
    try:
        await agent.ainvoke("hi")
    except LimitReached as error:
        assert_type(error.limit, str)
