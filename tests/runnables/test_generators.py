"""Generators as steps: driven by the pieces of their input, in the stream's own task."""

import contextvars
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from hocket import FakeListChatModel
from hocket.runnables import Runnable, RunnableConfig, RunnableGenerator, RunnableLambda, RunnablePassthrough


async def letters(input: Any) -> AsyncIterator[str]:
    for letter in "abcdef":
        yield letter


async def test_each_piece_goes_on_at_once() -> None:
    """Before the next has been made."""
    order: list[str] = []

    async def source(input: Any) -> AsyncIterator[str]:
        for letter in "abc":
            order.append(f"{letter} made")
            yield letter

    async def through(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        async for piece in pieces:
            order.append(f"{piece} seen")
            yield piece

    chain = RunnableLambda(source) | through | RunnablePassthrough()
    assert [piece async for piece in chain.astream(0)] == ["a", "b", "c"]
    assert order == ["a made", "a seen", "b made", "b seen", "c made", "c seen"]


async def test_a_generator_may_wait_and_take_its_time() -> None:
    """For something else than its input; it may take several pieces for one of its own, and give several for one."""

    async def pairs(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        held = ""
        async for piece in pieces:
            await anyio.sleep(0.0001)
            held += piece
            if len(held) == 2:
                for one in (held, held.upper()):
                    await anyio.lowlevel.checkpoint()
                    yield one
                held = ""

    chain = RunnableLambda(letters) | pairs
    assert [piece async for piece in chain.astream(0)] == ["ab", "AB", "cd", "CD", "ef", "EF"]


async def test_a_generator_that_has_enough_ends() -> None:
    """What comes after it is not wanted; it gives its answer, and the source runs to its end."""

    async def two(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        yield await anext(pieces) + await anext(pieces)

    assert [piece async for piece in (RunnableLambda(letters) | two).astream(0)] == ["ab"]


@pytest.mark.parametrize("end", ["left", "cancelled", "source fails", "sink fails"])
async def test_a_generator_is_closed_with_the_stream(end: str) -> None:
    """Where it waits for its input, too: its ``finally`` runs, and may wait."""
    closed: list[str] = []

    async def careful(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        try:
            async for piece in pieces:
                yield piece
        finally:
            await anyio.lowlevel.checkpoint()
            closed.append("closed")

    async def source(input: Any) -> AsyncIterator[str]:
        yield "a"
        if end == "source fails":
            raise KeyError("broken")
        await anyio.sleep(0 if end == "sink fails" else 60)
        yield "b"

    async def sink(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        async for piece in pieces:
            if end == "sink fails" and piece == "b":
                raise KeyError("broken")
            yield piece

    stream = (RunnableLambda(source) | careful | sink).astream(0)
    assert await anext(stream) == "a"
    if end.endswith("fails"):
        with pytest.raises(KeyError, match="broken"):
            await anext(stream)
    elif end == "left":
        await stream.aclose()
    else:
        with anyio.move_on_after(0.01):
            await anext(stream)
    assert closed == ["closed"]


async def test_a_generator_has_a_context_of_its_own() -> None:
    """What it sets, it sees again after each piece, and nobody else does."""
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    async def counting(pieces: AsyncIterator[str]) -> AsyncIterator[int]:
        async for _ in pieces:
            variable.set(variable.get() + 1)
            yield variable.get()

    async def outside(pieces: AsyncIterator[int]) -> AsyncIterator[tuple[int, int]]:
        async for piece in pieces:
            yield piece, variable.get()

    chain = RunnableLambda(letters) | counting | outside
    assert [piece async for piece in chain.astream(0)] == [(number, 0) for number in range(1, 7)]


def test_a_sync_generator_is_for_sync_code() -> None:
    """And its async form for async code; each verb takes its own."""

    def sync(pieces: Iterator[str]) -> Iterator[str]:
        for piece in pieces:
            yield piece + "s"

    async def later(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        async for piece in pieces:
            yield piece + "a"

    both: Runnable[str, str] = RunnableGenerator(sync, later)
    assert both.invoke("x") == "xs"
    assert anyio.run(both.ainvoke, "x") == "xa"
    assert list(both.stream("x")) == ["xs"]
    assert anyio.run(RunnableGenerator(sync).ainvoke, "x") == "xs"
    assert RunnableGenerator(later).invoke("x") == "xa"


def doubled(pieces: Iterator[str]) -> Iterator[str]:
    for piece in pieces:
        yield piece
        yield piece.upper()
    yield "."


async def test_a_sync_generator_streams_in_async_code() -> None:
    """Each piece before the next is made."""
    order: list[str] = []

    async def source(input: Any) -> AsyncIterator[str]:
        for letter in "abc":
            order.append(f"{letter} made")
            yield letter

    async def seen(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        async for piece in pieces:
            order.append(f"{piece} seen")
            yield piece

    chain = RunnableLambda(source) | doubled | seen
    assert [piece async for piece in chain.astream(0)] == [*"aAbBcC", "."]
    assert order.index("A seen") < order.index("b made")
    assert order.index("B seen") < order.index("c made")


def test_a_sync_generator_streams_in_sync_code() -> None:
    """Each piece before the next is made, and the source is stepped in the caller's thread."""
    order: list[str] = []

    def source(input: Any) -> Iterator[str]:
        for letter in "abc":
            order.append(threading.current_thread().name)
            yield letter

    stream = (RunnableLambda(source) | doubled).stream(0)
    assert next(stream) == "a"
    assert order == [threading.current_thread().name]
    assert list(stream) == [*"AbBcC", "."]
    assert order == [threading.current_thread().name] * 3


@pytest.mark.parametrize("end", ["left", "fails", "source fails", "has enough"])
async def test_the_thread_of_a_sync_generator_ends_with_the_stream(end: str) -> None:
    """However that ends; its clean-up runs, and what it raises is raised as itself."""
    over = threading.Event()

    def careful(pieces: Iterator[str]) -> Iterator[str]:
        try:
            for piece in pieces:
                if end == "fails" and piece == "b":
                    raise KeyError("broken")
                yield piece
                if end == "has enough":
                    return
        finally:
            over.set()

    async def source(input: Any) -> AsyncIterator[str]:
        yield "a"
        if end == "source fails":
            raise KeyError("broken")
        yield "b"
        if end == "left":
            await anyio.sleep(60)

    stream = (RunnableLambda(source) | careful).astream(0)
    assert await anext(stream) == "a"
    if end.endswith("fails"):
        with pytest.raises(KeyError, match="broken"):
            await anext(stream)
    elif end == "has enough":
        assert [piece async for piece in stream] == []
    await stream.aclose()
    assert await anyio.to_thread.run_sync(over.wait, 20)


async def test_a_sync_generator_does_not_run_ahead() -> None:
    """It waits for its consumer, however much it makes of one piece."""
    made = 0

    def endless(pieces: Iterator[str]) -> Iterator[int]:
        nonlocal made
        for _ in pieces:
            while True:
                made += 1
                yield made

    async with (RunnableLambda(letters) | endless).astream(0) as stream:
        assert [await anext(stream) for _ in range(500)] == list(range(1, 501))
        assert made < 700


async def test_a_generator_may_ask_for_the_config() -> None:
    """By the name of its parameter, as functions may."""

    async def marked(pieces: AsyncIterator[Any], config: RunnableConfig) -> AsyncIterator[str]:
        async for piece in pieces:
            yield piece.text + str(config["metadata"]["mark"])

    chain = FakeListChatModel(responses=["ab"]) | marked
    assert [piece async for piece in chain.astream("hi", {"metadata": {"mark": "!"}})] == ["a!", "b!"]
    assert await chain.ainvoke("hi", {"metadata": {"mark": "!"}}) == "ab!"


async def test_what_was_written_with_transform_streams() -> None:
    """A class of the user's own, with langchain-core's hook for pieces."""

    class Marked(Runnable[str, str]):
        async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> str:
            return f"{input}!"

        async def atransform(  # type: ignore[override]
            self, input: AsyncIterator[str], config: RunnableConfig | None = None, **kwargs: Any
        ) -> AsyncIterator[str]:
            async for piece in input:
                yield piece
            yield "!"

    assert [piece async for piece in (RunnableLambda(letters) | Marked()).astream(0)] == [*"abcdef", "!"]
