"""Functions as runnables: where they run, what they are given, and what they may return."""

import functools
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio.lowlevel
import pytest

from hocket import FakeListChatModel
from hocket.callbacks import dispatch_custom_event
from hocket.errors import InvalidHook
from hocket.runnables import (
    Runnable,
    RunnableConfig,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnableSequence,
    chain,
    coerce_to_runnable,
    ensure_config,
)
from tests.kit import Recorder


def here(input: Any) -> int:
    return threading.get_ident()


async def here_later(input: Any) -> int:
    return threading.get_ident()


# -- where


async def test_under_async_verbs_a_sync_function_runs_in_a_worker_thread() -> None:
    """Unless it says that it takes no time; an async one never does."""
    own = threading.get_ident()
    assert await RunnableLambda(here).ainvoke(0) != own
    assert await RunnableLambda(here, inline=True).ainvoke(0) == own
    assert await RunnableLambda(here_later).ainvoke(0) == own
    assert await RunnableLambda(here, here_later).ainvoke(0) == own


async def test_an_inline_function_hops_for_no_chunk() -> None:
    """A stream through it stays where it is, piece by piece."""

    def each(input: Iterator[Any]) -> Any:
        return threading.get_ident()

    stream = RunnableLambda(each, inline=True).atransform(in_pieces("abc"))
    assert [thread async for thread in stream] == [threading.get_ident()]


async def in_pieces(text: str) -> AsyncIterator[str]:
    for character in text:
        yield character


def test_under_sync_verbs_a_sync_function_runs_in_the_callers_thread() -> None:
    """Also in a chain, and in its stream; an async one runs on the kept loop."""
    own = threading.get_ident()
    assert RunnableLambda(here).invoke(0) == own
    assert (RunnablePassthrough() | here).invoke(0) == own
    assert list((FakeListChatModel(responses=["ab"]) | here).stream("hi")) == [own]
    assert RunnableLambda(here_later).invoke(0) != own
    assert RunnableLambda(here, here_later).invoke(0) == own


# -- what


class Caller:
    def __call__(self, text: str) -> str:
        return text + "!"


class AsyncCaller:
    async def __call__(self, text: str) -> str:
        return text + "!"


def exclaimed(mark: str, text: str) -> str:
    return text + mark


async def exclaimed_later(mark: str, text: str) -> str:
    return text + mark


CALLABLES: dict[str, Any] = {
    "function": lambda text: text + "!",
    "object": Caller(),
    "async object": AsyncCaller(),
    "partial": functools.partial(exclaimed, "!"),
    "async partial": functools.partial(exclaimed_later, "!"),
    "function that calls an async one": lambda text: exclaimed_later("!", text),
    "method": "{}!".format,
    "method of an object": AsyncCaller().__call__,
}


@pytest.mark.parametrize("name", CALLABLES)
async def test_whatever_can_be_called_is_a_step(name: str) -> None:
    """In both forms, first and last in a chain."""
    assert await RunnableLambda(CALLABLES[name]).ainvoke("hi") == "hi!"
    assert await (CALLABLES[name] | RunnablePassthrough() | CALLABLES[name]).ainvoke("hi") == "hi!!"


def test_what_cannot_be_called_is_refused() -> None:
    """When the runnable is made."""
    with pytest.raises(InvalidHook, match="no function"):
        RunnableLambda(3)  # type: ignore[call-overload]
    with pytest.raises(InvalidHook, match="no async function"):
        RunnableLambda(here, here)
    with pytest.raises(TypeError):
        RunnablePassthrough() | 3  # type: ignore[operator]
    with pytest.raises(TypeError, match="stands for no runnable"):
        coerce_to_runnable(3)


async def test_arguments_of_the_call_reach_the_function() -> None:
    """The first step that takes any: not prompts and parsers."""

    async def times(text: str, *, count: int = 1) -> str:
        return text * count

    assert await RunnableLambda(times).ainvoke("a", count=3) == "aaa"
    assert await (RunnableLambda(times) | times).ainvoke("a", count=2) == "aa"
    assert await RunnableLambda(times).bind(count=2).ainvoke("a") == "aa"


async def test_a_name_is_that_of_the_function() -> None:
    """Or what is given; a lambda has none."""
    assert RunnableLambda(here).get_name() == "here"
    assert RunnableLambda(here, name="there").get_name() == "there"
    assert RunnableLambda(lambda x: x).get_name() == "RunnableLambda"
    assert RunnableGenerator(in_pieces).get_name() == "in_pieces"


async def test_a_stop_iteration_ends_nobodys_iterator() -> None:
    """It comes as an error of its own."""

    def stops(input: Any) -> Any:
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        await RunnableLambda(stops).ainvoke(0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        RunnableLambda(stops).invoke(0)


# -- a runnable as the answer


async def test_a_function_may_return_a_runnable() -> None:
    """It gets the same input, and is streamed."""

    @chain
    def choose(text: str) -> Runnable[str, Any]:
        return FakeListChatModel(responses=["long"]) if len(text) > 1 else RunnableLambda(str.upper)

    assert await choose.ainvoke("a") == "A"
    assert (await choose.ainvoke("aa")).content == "long"
    assert [chunk.content async for chunk in choose.astream("aa")] == list("long")
    assert [chunk.content for chunk in choose.stream("aa")] == list("long")


async def test_recursion_has_a_limit() -> None:
    """The config's, or 25; the error says what to do."""

    def descend(depth: int) -> Any:
        return RunnableLambda(lambda _: depth - 1, inline=True) | descending if depth else "ground"

    descending = RunnableLambda(descend, inline=True)
    assert await descending.ainvoke(20) == "ground"
    assert await descending.ainvoke(30, {"recursion_limit": 40}) == "ground"
    with pytest.raises(RecursionError, match="recursion_limit"):
        await descending.ainvoke(30)
    with pytest.raises(RecursionError, match="recursion_limit"):
        descending.invoke(3, {"recursion_limit": 2})


# -- the config of the parent


def seen(input: Any) -> RunnableConfig:
    return ensure_config()


async def seen_later(input: Any) -> RunnableConfig:
    return ensure_config()


def seen_in_pieces(input: Any) -> Iterator[RunnableConfig]:
    yield ensure_config()
    yield ensure_config()


async def seen_in_pieces_later(input: Any) -> AsyncIterator[RunnableConfig]:
    yield ensure_config()
    await anyio.lowlevel.checkpoint()
    yield ensure_config()


CONFIG: RunnableConfig = {"tags": ["t"], "metadata": {"m": 1}, "configurable": {"c": 2}, "run_name": "outer"}


@pytest.mark.parametrize("function", [seen, seen_later, seen_in_pieces, seen_in_pieces_later])
async def test_the_config_is_in_the_context_of_a_function(function: Any) -> None:
    """Of every kind, called and streamed, and nowhere else; without what is about the run itself."""
    runnable = RunnableLambda(function)
    stream = [config async for config in runnable.astream(0, CONFIG)]
    for config in [*stream, await RunnableLambda(function).ainvoke(0, CONFIG)]:
        assert {key: config[key] for key in ("tags", "metadata", "configurable")} == {
            key: CONFIG[key] for key in ("tags", "metadata", "configurable")
        }
        assert "run_name" not in config
    assert ensure_config() == {}


def test_the_config_is_in_the_context_of_sync_code() -> None:
    """And of async code that it runs elsewhere."""
    assert RunnableLambda(seen).invoke(0, CONFIG)["metadata"] == {"m": 1}
    assert RunnableLambda(seen_later).invoke(0, CONFIG)["metadata"] == {"m": 1}
    assert [one["metadata"] for one in RunnableLambda(seen_in_pieces).stream(0, CONFIG)] == [{"m": 1}] * 2
    assert ensure_config() == {}


def test_a_function_may_ask_for_the_config_and_the_run() -> None:
    """By the names of its parameters; with nobody listening, too."""

    async def both(input: Any, config: RunnableConfig, run_manager: Any) -> tuple[Any, Any]:
        return config["metadata"], run_manager.get_child().parent_run_id == run_manager.run_id

    def both_sync(input: Any, run_manager: Any, config: RunnableConfig) -> tuple[Any, Any]:
        return config["metadata"], run_manager.get_child().parent_run_id == run_manager.run_id

    for function in (both, both_sync):
        assert anyio.run(RunnableLambda(function).ainvoke, 0, CONFIG) == ({"m": 1}, True)
        assert RunnableLambda(function).invoke(0, CONFIG) == ({"m": 1}, True)


async def test_what_a_call_says_comes_over_the_context() -> None:
    """Key by key; tags are joined."""

    async def call(input: Any) -> RunnableConfig:
        return await RunnableLambda(seen_later).ainvoke(
            0, {"tags": ["u"], "metadata": {"n": 3}, "configurable": {"c": 5}}
        )

    config = await RunnableLambda(call).ainvoke(0, CONFIG)
    assert (config["tags"], config["metadata"], config["configurable"]) == (["t", "u"], {"m": 1, "n": 3}, {"c": 5})


async def ask(text: str) -> str:
    return (await FakeListChatModel(responses=["x"]).ainvoke(text)).text


def ask_sync(text: str) -> str:
    return FakeListChatModel(responses=["x"]).invoke(text).text


async def ask_in_pieces(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
    async for piece in pieces:
        yield await ask(piece)


@pytest.mark.parametrize("function", [ask, ask_sync, ask_in_pieces])
async def test_calls_in_a_function_are_runs_inside_its_own(new_recorder: Any, function: Any) -> None:
    """On any thread, in any kind of function, called and streamed."""
    for verb in ("ainvoke", "astream"):
        recorder = new_recorder()
        outer = (RunnableLambda(ask) | function).with_config(callbacks=[recorder])
        if verb == "ainvoke":
            assert await outer.ainvoke("hi") == "x"
        else:
            assert [piece async for piece in outer.astream("hi")] == ["x"]
        recorder.check()
        names = list(recorder.run_names.values())
        assert names == ["RunnableSequence", "ask", "FakeListChatModel", function.__name__, "FakeListChatModel"]
        assert [recorder.run_names.get(start.details["parent_run_id"]) for start in recorder.starts] == [
            None,
            "RunnableSequence",
            "ask",
            "RunnableSequence",
            function.__name__,
        ]


async def test_a_custom_event_finds_its_run() -> None:
    """Dispatched without a config, from a thread."""

    recorder = Recorder("on_custom_event", run_inline=False)

    def says(input: Any) -> None:
        dispatch_custom_event("progress", input)

    await RunnableLambda(says).ainvoke(1, {"callbacks": [recorder]})
    RunnableLambda(says).invoke(2, {"callbacks": [recorder]})
    assert [args for _, args, _ in recorder.events] == [("progress", 1), ("progress", 2)]


# -- composing


async def test_chains_are_taken_apart_unless_they_have_a_name() -> None:
    """What is written in one line, or in several with parentheses, is one chain."""
    one = RunnableLambda(here)
    assert len((one | (one | one) | one).steps) == 4
    assert len((one | RunnableSequence(one, one, name="named")).steps) == 2
    assert len(one.pipe(one, one).steps) == 3
    assert isinstance(({"a": one} | one).first, RunnableParallel)
