"""Chains of any steps: what is streamed is what is called, sync is async, and every run ends once."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hocket.runnables import (
    Runnable,
    RunnableBranch,
    RunnableConfig,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
    add,
)
from hocket.runnables.with_run import PureRunnable
from tests.kit import hook_llm
from tests.kit.amount import limit_examples

# -- steps of every kind, from text to text


class Whole(Runnable[str, str]):
    """A class of the user's own, with one verb."""

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        await anyio.lowlevel.checkpoint()
        return f"<{input}>"


class SyncWhole(Runnable[str, str]):
    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return f"[{input}]"


class OwnStream(Runnable[str, str]):
    """A class that was written for LangChain, with a stream of its own."""

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return f"{input}{input}"

    async def astream(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[str]:  # type: ignore[override]
        yield input
        await anyio.lowlevel.checkpoint()
        yield input


class OwnSyncStream(Runnable[str, str]):
    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return f"{input}{input}"

    def stream(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[str]:  # type: ignore[override]
        yield input
        yield input


class Swapping(PureRunnable[str, str]):
    """What prompts and parsers are made of: piece by piece."""

    async def _compute(self, mode: Any, input: str) -> str:
        return input.swapcase()

    def _incremental(self) -> Any:
        return self

    def feed(self, piece: str) -> list[str]:
        return [piece.swapcase()] if piece else []

    def close(self) -> list[str]:
        return [""]


def echo(ending: str, *hooks: str) -> Any:
    """Make a model that says what it is told, a character at a time."""
    return hook_llm(lambda call: [*call.text, ending], *hooks)


def async_echo() -> Any:
    return echo(".", "agenerate", "astream")


async def pieces(input: AsyncIterator[str]) -> AsyncIterator[str]:
    yield "("
    async for piece in input:
        await anyio.lowlevel.checkpoint()
        yield piece
    yield ")"


def sync_pieces(input: Iterator[str]) -> Iterator[str]:
    yield from input
    yield "!"


async def later(text: str) -> str:
    await anyio.lowlevel.checkpoint()
    return text + "~"


def spelled(text: str) -> Iterator[str]:
    yield from text
    yield "?"


async def spelled_later(text: str) -> AsyncIterator[str]:
    for character in text:
        yield character
    await anyio.lowlevel.checkpoint()
    yield ":"


def joined(parts: dict[str, str]) -> str:
    return "|".join(parts[key] for key in sorted(parts))


STEPS: dict[str, Runnable[Any, Any]] = {
    "sync function": RunnableLambda(str.title),
    "inline function": RunnableLambda(str.strip, inline=True),
    "async function": RunnableLambda(later),
    "both functions": RunnableLambda(lambda text: text + "~", later),
    "generator function": RunnableLambda(spelled),
    "async generator function": RunnableLambda(spelled_later),
    "function that returns a runnable": RunnableLambda(lambda text: async_echo() if len(text) % 2 else Swapping()),
    "generator": RunnableGenerator(pieces),
    "sync generator": RunnableGenerator(sync_pieces),
    "pure": Swapping(),
    "model": async_echo(),
    "sync model": echo(",", "generate", "stream"),
    "bound model": async_echo().bind(stop=["§"]).with_config(tags=["bound"]),
    "class": Whole(),
    "sync class": SyncWhole(),
    "class with a stream": RunnablePassthrough() | OwnStream(),
    "class with a sync stream": RunnablePassthrough() | OwnSyncStream(),
    "passthrough": RunnablePassthrough(),
    "passthrough that looks": RunnablePassthrough(lambda text: None),
    "branch": RunnableBranch((lambda text: len(text) > 3, async_echo()), (str.isupper, Swapping()), Whole()),
    "parallel": RunnableParallel(a=async_echo(), b=Swapping(), c=Whole()) | joined,
    "inline parallel": RunnableParallel(a=Swapping(), b=RunnablePassthrough()) | RunnableLambda(joined, inline=True),
    "assign": RunnableParallel(a=async_echo()).assign(b=RunnablePick("a") | Swapping()) | joined,
    "pick": RunnableParallel(a=async_echo(), b=Swapping()) | RunnablePick("a"),
    "chain": (Swapping() | async_echo()).with_config(run_name="inner"),
    "retry": async_echo().with_retry(),
    "fallbacks": async_echo().with_fallbacks([Swapping()]),
    "each": RunnableLambda(str.split, inline=True) | Whole().map() | RunnableLambda(" ".join, inline=True),
}


# -- all together

names = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4)
texts = st.text("aB c", max_size=6)
few = settings(max_examples=limit_examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])


def chained(steps: list[str]) -> Runnable[str, str]:
    return functools.reduce(lambda left, right: left | right, [STEPS[name] for name in steps])


@pytest.mark.parametrize("name", STEPS)
async def test_a_step_streams_what_it_gives(name: str) -> None:
    """Alone, behind and before others: the pieces add up to the answer, on both loops."""
    for chain in (STEPS[name], chained(["model", name]), chained([name, "pure", "model"])):
        whole = await chain.ainvoke("Ab c")
        assert add([piece async for piece in chain.astream("Ab c")]) == whole
        assert add([piece async for piece in chain.atransform(in_pieces("Ab c"))]) == whole


async def in_pieces(text: str) -> Any:
    for character in text:
        yield character


@few
@given(names, texts)
def test_sync_is_async(steps: list[str], text: str) -> None:
    """Every verb, of any chain, gives the same."""
    chain = chained(steps)
    whole = anyio.run(chain.ainvoke, text)
    assert chain.invoke(text) == whole
    assert (add(list(chain.stream(text))) or "") == whole
    assert (add(list(chain.transform(iter(text or [""])))) or "") == whole
    assert chain.batch([text, text]) == [whole, whole]


@few
@given(names, texts)
async def test_every_run_ends_once(new_recorder: Any, steps: list[str], text: str) -> None:
    """Called or streamed; the runs are one tree."""
    chain = chained(steps).with_config(run_name="outer")
    for verb in (chain.ainvoke, lambda text, config: gathered(chain.astream(text, config))):
        recorder = new_recorder()
        await verb(text, {"callbacks": [recorder]})
        recorder.check()
        assert {how for _, how in recorder.outcomes()} <= {"end"}


async def gathered(stream: Any) -> Any:
    return add([piece async for piece in stream])


async def check_nothing_is_left(tasks: int) -> None:
    """Check that no task goes on; one whose thread cannot be stopped ends when that does."""
    with anyio.fail_after(20):
        while len(anyio.get_running_tasks()) > tasks:  # noqa: ASYNC110  # nobody tells of it
            await anyio.sleep(0.001)


def broken(at: int) -> Callable[[Any], Any]:
    async def fail(input: Any) -> Any:
        seen = 0
        async for piece in input:
            if seen >= at:
                raise KeyError("broken")
            seen += 1
            yield piece
        raise KeyError("broken")

    return fail


@few
@given(names, st.integers(0, 3), names)
async def test_a_failure_ends_every_run_once(new_recorder: Any, before: list[str], at: int, behind: list[str]) -> None:
    """Whatever is before and behind the step that fails, at any piece; the error is raised as itself."""
    tasks = len(anyio.get_running_tasks())
    chain = chained(before) | broken(at) | chained(behind)
    for run in (chain.ainvoke, lambda text, config: gathered(chain.astream(text, config))):
        recorder = new_recorder()
        with pytest.raises(KeyError, match="broken"):
            await run("ab c", {"callbacks": [recorder]})
        recorder.check()
    await check_nothing_is_left(tasks)


@few
@given(names, st.integers(0, 40), st.booleans())
async def test_a_cancelled_chain_ends_every_run_once(
    new_recorder: Any, steps: list[str], ticks: int, streamed: bool
) -> None:
    """Cancelled after any number of turns of the loop."""
    tasks = len(anyio.get_running_tasks())
    chain, recorder = chained(steps), new_recorder()
    config: Any = {"callbacks": [recorder]}

    async def run(chain: Any, config: Any) -> None:
        await (gathered(chain.astream("ab c", config)) if streamed else chain.ainvoke("ab c", config))

    async with anyio.create_task_group() as group:
        group.start_soon(run, chain, config)
        for _ in range(ticks):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    if recorder.starts:
        recorder.check()
    await check_nothing_is_left(tasks)


@few
@given(names, st.integers(0, 3))
async def test_a_chain_that_is_left_ends_every_run_once(new_recorder: Any, steps: list[str], taken: int) -> None:
    """The consumer takes a few pieces and goes; nothing has failed."""
    tasks = len(anyio.get_running_tasks())
    chain, recorder = chained(["pure", *steps]), new_recorder()
    async with chain.astream("ab c", {"callbacks": [recorder]}) as stream:
        for _ in range(taken):
            await anext(stream, None)
    if recorder.starts:
        recorder.check()
        assert {how for _, how in recorder.outcomes()} <= {"end", "end closed"}
    await check_nothing_is_left(tasks)
