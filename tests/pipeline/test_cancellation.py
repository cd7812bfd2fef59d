"""Cancelled at every point where it waits, a call leaves nothing behind, and every run that started ends once.

Each scenario is run again and again, cancelled at its first wait, its second, its third, until one run gets through.
"""

import asyncio
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import Field

from hocket.caches import BaseCache
from hocket.language_models import BaseChatModel, BaseLLM
from hocket.messages import AIMessageChunk, HumanMessage
from hocket.outputs import ChatGenerationChunk, Generation, GenerationChunk
from hocket.pipeline import flight
from hocket.rate_limiters import InMemoryRateLimiter

TEXTS = ["Hel", "lo ", "world"]
WHOLE = "".join(TEXTS)
AT_MOST = 400  # waits in one call; a scenario with more of them has a fault


class Slow(BaseCache):
    """A cache that waits."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Any] = {}

    def lookup(self, prompt: str, llm_string: str) -> Any:
        return self.held.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        self.held[prompt, llm_string] = list(return_val)

    def clear(self, **kwargs: Any) -> None:
        self.held.clear()

    async def alookup(self, prompt: str, llm_string: str) -> Any:
        await anyio.lowlevel.checkpoint()
        return self.lookup(prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        await anyio.lowlevel.checkpoint()
        self.update(prompt, llm_string, return_val)


class Hook:
    """Waits before each piece, and while it cleans up; counts both."""

    def __init__(self) -> None:
        self.began = self.ended = 0

    async def __aenter__(self) -> None:
        self.began += 1

    async def __aexit__(self, *exc: object) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
        finally:
            self.ended += 1


class Chat(BaseChatModel):
    hook: Any = Field(exclude=True)

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        async with self.hook:
            for text in TEXTS:
                await anyio.lowlevel.checkpoint()
                yield ChatGenerationChunk(message=AIMessageChunk(text))

    @property
    def _llm_type(self) -> str:
        return "chat"


class Text(BaseLLM):
    hook: Any = Field(exclude=True)

    async def _astream(self, prompt: str, stop: Any = None, **kwargs: Any) -> AsyncIterator[GenerationChunk]:
        async with self.hook:
            for text in TEXTS:
                await anyio.lowlevel.checkpoint()
                yield GenerationChunk(text=text)

    @property
    def _llm_type(self) -> str:
        return "text"


Model = Chat | Text


async def by_ainvoke(model: Any) -> Any:
    answer = await model.ainvoke("hi")
    return answer if isinstance(answer, str) else answer.content


async def by_astream(model: Any) -> Any:
    return "".join([one if isinstance(one, str) else one.content async for one in model.astream("hi")])


async def by_async_with(model: Any) -> Any:
    pieces = []
    async with model.astream("hi") as stream:
        async for one in stream:
            await anyio.lowlevel.checkpoint()
            pieces.append(one if isinstance(one, str) else one.content)
    return "".join(pieces)


async def by_agenerate(model: Any) -> Any:
    prompts: Any = ["a", "b"] if isinstance(model, Text) else [[HumanMessage("a")], [HumanMessage("b")]]
    result = await model.agenerate(prompts)
    assert result.generations[0][0].text == result.generations[1][0].text
    return result.generations[0][0].text


async def by_abatch(model: Any) -> Any:
    first, second = await model.abatch(["a", "a"])
    assert first == second or first.content == second.content
    return first if isinstance(first, str) else first.content


async def by_sharing(model: Any) -> Any:
    """Two equal calls, of which the other one is never cancelled."""
    other: list[Any] = []

    async def undisturbed() -> None:
        with anyio.CancelScope(shield=True):
            other.append(await by_ainvoke(model))

    async with anyio.create_task_group() as group:
        group.start_soon(undisturbed)
        try:
            return await by_astream(model)
        finally:
            with anyio.CancelScope(shield=True):
                while not other:
                    await anyio.lowlevel.checkpoint()
            assert other == [WHOLE]


CALLS = [by_ainvoke, by_astream, by_async_with, by_agenerate, by_abatch, by_sharing]


class World:
    """Everything that a call touches, and a look at whether it is in order."""

    def __init__(self, cls: type[Model], handlers: Sequence[Any], *, cached: bool) -> None:
        self.handlers = handlers
        self.hook = Hook()
        self.limiter = InMemoryRateLimiter(requests_per_second=5000)
        self.cache = Slow() if cached else None
        self.model: Any = cls(
            hook=self.hook, cache=self.cache or False, rate_limiter=self.limiter, callbacks=list(handlers)
        )
        self.tasks = living_tasks()

    async def check(self) -> None:
        """Fail if anything was left, and if the next call does not work."""
        for handler in self.handlers:
            assert all(len(ends) == 1 for ends in handler.ends().values()), handler.events
            assert handler.unfinished == 0, "an end was cut short"
            handler.events.clear()
        for _ in range(50):
            if living_tasks() == self.tasks:
                break
            await anyio.lowlevel.checkpoint()
        assert living_tasks() == self.tasks
        assert self.hook.began == self.hook.ended
        assert not self.limiter._queue
        assert not flight._flights
        if self.cache is not None:
            assert all(stored[0].text == WHOLE for stored in self.cache.held.values())
            self.cache.clear()


def living_tasks() -> int:
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:
        import trio

        return trio.lowlevel.current_statistics().tasks_living


@types.coroutine
def struck(call: Coroutine[Any, Any, Any], at: int, strike: Callable[[], object]) -> Generator[Any, Any, Any]:
    """Run ``call``, and ``strike`` when it is about to wait for the ``at``-th time."""
    step = lambda: call.send(None)  # noqa: E731
    waits = 0
    while True:
        try:
            waiting_for = step()
        except StopIteration as end:
            return end.value
        waits += 1
        if waits == at:
            strike()
        try:
            sent = yield waiting_for
        except BaseException as error:
            step = lambda error=error: call.throw(error)  # noqa: E731
        else:
            step = lambda sent=sent: call.send(sent)  # noqa: E731


async def at_its_wait(call: Coroutine[Any, Any, Any], at: int) -> Any:
    """Cancel the scope of ``call`` when it waits for the ``at``-th time. Returns None if it was cancelled."""
    with anyio.CancelScope() as scope:
        return await struck(call, at, scope.cancel)


async def at_a_tick(call: Coroutine[Any, Any, Any], at: int) -> Any:
    """Cancel the scope of ``call`` after so many ticks of the loop, wherever its tasks are then."""
    result = None
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:

            async def strike() -> None:
                for _ in range(at):
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

            group.start_soon(strike)
            result = await call
        group.cancel_scope.cancel()
    return result


async def by_task_cancel(call: Coroutine[Any, Any, Any], at: int, *, blows: int = 1) -> Any:
    """Cancel the task of ``call``, as asyncio does it, when it waits for the ``at``-th time; and again at each tick."""

    def strike() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        for blow in range(1, blows):
            asyncio.get_running_loop().call_later(blow * 1e-4, task.cancel)

    async def main() -> Any:
        return await struck(call, at, strike)

    try:
        return await asyncio.ensure_future(main())
    except asyncio.CancelledError:
        return None


async def by_timeout(call: Coroutine[Any, Any, Any], at: int) -> Any:
    """Let a timeout of asyncio's strike when ``call`` waits for the ``at``-th time."""
    try:
        async with asyncio.timeout(None) as timeout:
            return await struck(call, at, lambda: timeout.reschedule(0))
    except TimeoutError:
        return None
    finally:
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


async def by_many_blows(call: Coroutine[Any, Any, Any], at: int) -> Any:
    return await by_task_cancel(call, at, blows=8)


Attack = Callable[[Coroutine[Any, Any, Any], int], Awaitable[Any]]


async def attack_everywhere(world: World, call: Callable[[Any], Coroutine[Any, Any, Any]], attack: Attack) -> int:
    """Return how often it was cancelled before it got through."""
    for at in range(1, AT_MOST):
        result = await attack(call(world.model), at)
        await world.check()
        if result is not None:
            assert result == WHOLE
        if result is not None and at > 5:
            assert await call(world.model) == WHOLE
            await world.check()
            return at
    raise AssertionError("it never got through")


@pytest.fixture
def handlers(recorders: type[Any]) -> list[Any]:
    """Two async handlers that wait in everything they do, and note whether they came to the end of an end."""

    class Pausing(recorders):  # type: ignore[misc, valid-type]
        unfinished = 0

        async def pause(self, *args: Any, **details: Any) -> None:
            await anyio.lowlevel.checkpoint()

        on_first_token = on_cache_hit = on_limiter_wait = pause

        async def on_chat_model_start(self, *args: Any, **details: Any) -> None:
            await super().on_chat_model_start(*args, **details)
            await self.pause()

        async def on_llm_start(self, *args: Any, **details: Any) -> None:
            await super().on_llm_start(*args, **details)
            await self.pause()

        async def on_llm_new_token(self, *args: Any, **details: Any) -> None:
            await self.pause()

        async def on_llm_end(self, *args: Any, **details: Any) -> None:
            await super().on_llm_end(*args, **details)
            self.unfinished += 1
            for _ in range(3):
                await self.pause()
            self.unfinished -= 1

        async def on_llm_error(self, *args: Any, **details: Any) -> None:
            await super().on_llm_error(*args, **details)
            self.unfinished += 1
            for _ in range(3):
                await self.pause()
            self.unfinished -= 1

    return [Pausing(), Pausing()]


every_call = pytest.mark.parametrize("call", CALLS)
every_model = pytest.mark.parametrize("cls", [Chat, Text], ids=["chat", "text"])
with_and_without = pytest.mark.parametrize("cached", [False, True], ids=["no cache", "a cache"])


@every_model
@with_and_without
@every_call
@pytest.mark.parametrize("attack", [at_its_wait, at_a_tick])
async def test_a_cancelled_scope(
    cls: type[Model], cached: bool, call: Any, attack: Attack, handlers: list[Any]
) -> None:
    """At every wait of the caller, and at every tick of the loop."""
    assert await attack_everywhere(World(cls, handlers, cached=cached), call, attack) > 5


@every_model
@with_and_without
@every_call
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("attack", [by_task_cancel, by_many_blows, by_timeout])
async def test_a_cancelled_task(cls: type[Model], cached: bool, call: Any, attack: Attack, handlers: list[Any]) -> None:
    """`Task.cancel`, once, and again and again, and as a timeout, which stays a timeout."""
    assert await attack_everywhere(World(cls, handlers, cached=cached), call, attack) > 5
