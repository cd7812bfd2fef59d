"""Streams that every writer of a page's protocol has to tell: `SCENES`."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from pydantic import BaseModel

from hocket import AIMessage, AIMessageChunk, InMemoryChatMessageHistory, ScriptedChatModel, Turn, create_agent
from hocket.agents import AgentLimits, Resume
from hocket.documents import Document
from hocket.errors import StopRun, StreamTruncated
from hocket.runnables.folding import AddableDict
from hocket.serving.page_writer import PageWriter
from hocket.serving.server_sent_events import make_writer
from hocket.tools import tool

__all__ = ["SCENES", "call", "collect", "piece", "usage"]

Items = AsyncGenerator[object]


def call(name: str, id: str, **arguments: Any) -> Any:
    return {"type": "tool_call", "name": name, "args": arguments, "id": id}


def usage(input: int, output: int) -> Any:
    return {"input_tokens": input, "output_tokens": output, "total_tokens": input + output}


def piece(args: str, id: str | None = None, name: str | None = None, index: int | None = 0) -> AIMessageChunk:
    """Return a piece of a call."""
    chunk: Any = {"type": "tool_call_chunk", "name": name, "args": args, "id": id, "index": index}
    return AIMessageChunk("", tool_call_chunks=[chunk])


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool
def fail() -> str:
    """Fail."""
    raise ValueError("no")


@tool(return_direct=True)
def look_up(word: str) -> str:
    """Look something up."""
    return f"{word}: a word"


@tool
def stop() -> str:
    """Stop the run."""
    raise StopRun("It is stopped.")


async def tell_text() -> Items:
    turn = Turn(text=["Light ", "scatters. \u2028 ", "ü 😀\n\ndata: x"], reasoning="Hm.", usage=usage(3, 4))
    async for item in ScriptedChatModel(script=[turn]).astream("hi"):
        yield item


async def tell_thoughts() -> Items:
    for text in ("Hm ", "so."):
        yield AIMessageChunk([{"type": "reasoning", "reasoning": text, "index": 0}])
    yield AIMessageChunk([{"type": "text", "text": "4", "index": 1}])
    yield AIMessageChunk([{"type": "reasoning", "reasoning": "Or?", "index": 2}])
    yield AIMessageChunk([{"type": "text", "text": "5", "index": 3}])


async def tell_calls_of_a_model() -> Items:
    """Whole, without an id, repeated, and broken."""
    yield "Wait."
    yield piece("", "a", "pay")
    yield piece('{"amount":')
    yield piece(" 1}")
    yield piece('{"amount": 1}', "a", "pay")
    yield piece("{}", None, "fail", 1)
    yield piece('{"amount": ', "c", "pay", 2)


async def run_tools() -> Items:
    calls = [call("pay", "a", amount=1), call("pay", "b", amount="x"), call("fail", "c")]
    first = Turn(text="I pay.", tool_calls=calls, usage=usage(10, 2))
    model = ScriptedChatModel(
        script=[first, Turn(tool_calls=[call("pay", "a", amount=2)]), Turn(text="Done.", usage=usage(20, 1))]
    )
    async for item in create_agent(model, [pay, fail]).astream("hi"):
        yield item


def run_paused(*decisions: Any) -> Callable[[], Items]:
    """Return a run that pauses twice; with decisions, how it goes on."""

    async def run() -> Items:
        history = InMemoryChatMessageHistory()
        calls = Turn(text="May I?", tool_calls=[call("pay", "a", amount=1), call("pay", "b", amount=2)])
        agent = create_agent(ScriptedChatModel(script=[calls, "Done."]), [pay], interrupt_on=["pay"])
        stream = agent.astream("hi", history=history)
        if decisions:
            async for _ in stream:
                pass
            stream = agent.astream(Resume(dict(zip("ab", decisions, strict=False))), history=history)
        async for item in stream:
            yield item

    return run


def run_one(name: str, **arguments: Any) -> Callable[[], Items]:
    async def run() -> Items:
        model = ScriptedChatModel(script=[Turn(tool_calls=[call(name, "a", **arguments)]), "Done."])
        async for item in create_agent(model, [look_up, stop]).astream("hi"):
            yield item

    return run


async def run_limited() -> Items:
    calls = Turn(tool_calls=[call("pay", "a", amount=1), call("pay", "b", amount=2)])
    limits = AgentLimits(tool_calls=1)
    async for item in create_agent(ScriptedChatModel(script=[calls, "Done."]), [pay], limits=limits).astream("hi"):
        yield item


class Sum(BaseModel):
    amount: int


async def run_typed() -> Items:
    model = ScriptedChatModel(script=[Turn(tool_calls=[call("Sum", "s", amount=3)])])
    async for item in create_agent(model, [pay], response_format=Sum).astream("hi"):
        yield item


async def run_inside() -> Items:
    inner = create_agent(ScriptedChatModel(script=[Turn(tool_calls=[call("pay", "p", amount=1)]), "Paid."]), [pay])
    model = ScriptedChatModel(script=[Turn(tool_calls=[call("clerk", "c", question="pay")]), "Done."])
    agent = create_agent(model, [inner.as_tool(name="clerk", description="A clerk.")])
    async for item in agent.astream("hi", subagents=True):
        yield item


async def tell_objects() -> Items:
    yield {"a": 1}
    yield {"a": 1, "b": [1, float("nan")]}


async def tell_added_objects() -> Items:
    yield AddableDict(context=[Document("x", metadata={"source": "https://a.example/1"}), Document("y", id="d")])
    yield AddableDict(answer="Be")
    yield AddableDict(answer="cause")


async def tell_sources() -> Items:
    note = {"type": "citation", "url": "https://a.example/1", "title": "A"}
    yield "See "
    for text in ("this", " and this"):
        yield AIMessageChunk([{"type": "text", "text": text, "annotations": [note, {"type": "citation"}], "index": 0}])
    yield [
        Document("x", metadata={"source": "notes.txt", "page": 2}),
        Document("x", metadata={"source": "notes.txt", "page": 2}),
    ]
    yield "."


async def tell_messages() -> Items:
    yield AIMessage("One.", tool_calls=[call("pay", "a", amount=1)], usage_metadata=usage(1, 2))


async def break_off() -> Items:
    yield "one "
    yield piece('{"amount": ', "c", "pay")
    raise StreamTruncated("db-7.corp")


async def fail_at_once() -> Items:
    raise StreamTruncated("db-7.corp")
    yield ""


async def say_nothing() -> Items:
    for item in ("", AIMessageChunk(""), None):
        yield item


SCENES: dict[str, Callable[[], Items]] = {
    "text": tell_text,
    "thoughts": tell_thoughts,
    "calls of a model": tell_calls_of_a_model,
    "tools": run_tools,
    "paused": run_paused(),
    "approved": run_paused("approve", {"type": "edit", "args": {"amount": 7}}),
    "refused": run_paused({"type": "reject", "message": "too much"}, {"type": "respond", "message": "It is paid."}),
    "one decided": run_paused("approve"),
    "direct": run_one("look_up", word="sky"),
    "stopped by a tool": run_one("stop"),
    "limited": run_limited,
    "typed": run_typed,
    "inside": run_inside,
    "objects": tell_objects,
    "added objects": tell_added_objects,
    "sources": tell_sources,
    "messages": tell_messages,
    "broken off": break_off,
    "failed at once": fail_at_once,
    "nothing": say_nothing,
}


async def collect(protocol: Any, items: Items, stop_after: int | None = None) -> list[bytes]:
    """Return what a writer writes of each item, and of the end; stopped after so many items, if that is said."""
    writer: PageWriter = make_writer(protocol, "run1", "t1")
    out: list[bytes] = []
    try:
        async with aclosing(items):
            async for item in items:
                if len(out) == stop_after:
                    return [*out, writer.stop()]
                out.append(writer.write(item))
    except StreamTruncated as error:
        return [*out, writer.fail(error)]
    return [*out, writer.end()]
