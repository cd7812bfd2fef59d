"""Walks: which of hocket's functions, files and rooms a real call goes through."""

import asyncio
import contextlib
import itertools
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from tests.measures.source import SRC, name_of, room_of

_PACKAGE = str(SRC / "hocket") + "/"


class Walk(NamedTuple):
    """One call, traced.

    Args:
        calls: calls of hocket's own functions, in the caller's thread; going on with a coroutine is none.
        files: files that they are in.
        rooms: rooms that they are in.
        moves: from a file to another, in the order of the calls.
        returns: moves to a file that was left before.
    """

    calls: int
    files: int
    rooms: int
    moves: int
    returns: int


@contextlib.contextmanager
def trace() -> Iterator[list[str]]:
    """Collect the file of each call of one of hocket's functions."""
    files: list[str] = []
    known: set[FrameType] = set()  # kept, so that no other frame gets the place of one that is gone

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(_PACKAGE) and frame not in known:
            known.add(frame)
            files.append(path)

    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)


def count_walk(files: list[str]) -> Walk:
    """Count what was collected."""
    stops = [file for file, _ in itertools.groupby(files)]
    left = set(stops)
    rooms = {room_of(name_of(Path(file))) for file in left}
    return Walk(len(files), len(left), len(rooms), len(stops) - 1, len(stops) - len(left))


async def _walk(call: Callable[[], Awaitable[Any]], warm_up: int = 2) -> Walk:
    """Trace the call after ``warm_up`` others, which import and build what is made once."""
    for _ in range(warm_up):
        await call()
    with trace() as files:
        await call()
    return count_walk(files)


async def _measure_walks() -> dict[str, Walk]:
    from hocket import ChatOpenAI, Conversation, ScriptedChatModel
    from hocket.testing import OpenAIFormat, serve
    from tests.kit import MODEL_EVENTS, Recorder, hook_model

    plain, streamed = hook_model("yes"), hook_model(["a", "b", "c"], "astream")
    watched = hook_model("yes", callbacks=[Recorder(*MODEL_EVENTS)])

    async def stream() -> list[Any]:
        return [chunk async for chunk in streamed.astream("hi")]

    walks = {
        "ainvoke, plain": await _walk(lambda: plain.ainvoke("hi")),
        "ainvoke, one handler": await _walk(lambda: watched.ainvoke("hi")),
        "astream, 3 chunks": await _walk(stream),
    }
    with serve(OpenAIFormat(), itertools.repeat("Hello")) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k")
        walks["ChatOpenAI.ainvoke"] = await _walk(lambda: model.ainvoke("hi"))
    talk = Conversation(ScriptedChatModel(script=["Hello"] * 4))
    walks["Conversation.asend, 4th"] = await _walk(lambda: talk.asend("hi"), warm_up=3)
    agent, pipe = _make_agent(), await _make_pipe()
    walks["agent with one tool"] = await _walk(lambda: agent.ainvoke("Do I need an umbrella?"))
    walks["retrieval pipe"] = await _walk(lambda: pipe.ainvoke("hi"))
    return walks


def _make_agent() -> Any:
    from hocket import AIMessage, ScriptedChatModel
    from hocket.agents import create_agent

    def weather(city: str) -> str:
        """The weather in a city."""
        return f"Rain in {city}."

    call = AIMessage(content="", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "1"}])
    return create_agent(ScriptedChatModel(script=[call, "Yes."] * 3), [weather])


async def _make_pipe() -> Any:
    from hocket import ChatPromptTemplate, DeterministicFakeEmbedding, RunnablePassthrough, ScriptedChatModel
    from hocket.output_parsers import StrOutputParser
    from hocket.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    await store.aadd_texts(["a", "b", "c"])
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    model = ScriptedChatModel(script=["Yes."] * 3)
    question = {"context": store.as_retriever(), "question": RunnablePassthrough()}
    return question | prompt | model | StrOutputParser()


def measure_walks() -> dict[str, Walk]:
    """Trace the calls that are measured."""
    return asyncio.run(_measure_walks())
