"""Whatever fails, wherever: what may not cost an answer does not, the rest is raised, and every run that started ends once.

Each scenario is run again and again with a failure in its first step, its second, its third, until one run has none.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
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
from hocket.rate_limiters import BaseRateLimiter

TEXTS = ["Hel", "lo ", "world"]
WHOLE = "".join(TEXTS)


class Stop(BaseException):
    """Like KeyboardInterrupt: not an Exception."""


class Fuse:
    """Counts the steps that everybody takes, and blows at one of them."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.at = 0
        self.steps = 0
        self.blown_by = ""

    def step(self, who: str) -> None:
        self.steps += 1
        if self.steps == self.at:
            self.blown_by = who
            raise self.error

    def set(self, at: int) -> None:
        self.at, self.steps, self.blown_by = at, 0, ""


class Cache(BaseCache):
    def __init__(self, fuse: Fuse) -> None:
        self.fuse = fuse
        self.held: dict[tuple[str, str], Any] = {}

    def lookup(self, prompt: str, llm_string: str) -> Any:
        self.fuse.step("cache")
        return self.held.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        self.fuse.step("cache")
        self.held[prompt, llm_string] = list(return_val)

    def clear(self, **kwargs: Any) -> None:
        self.held.clear()

    async def alookup(self, prompt: str, llm_string: str) -> Any:
        await anyio.lowlevel.checkpoint()
        return self.lookup(prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        await anyio.lowlevel.checkpoint()
        self.update(prompt, llm_string, return_val)


class Limiter(BaseRateLimiter):
    def __init__(self, fuse: Fuse) -> None:
        self.fuse = fuse

    def acquire(self, *, blocking: bool = True) -> bool:
        self.fuse.step("limiter")
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        await anyio.lowlevel.checkpoint()
        return self.acquire()


class Fused(BaseChatModel):
    fuse: Any = Field(exclude=True)

    @property
    def _llm_type(self) -> str:
        return "fused"


class InLoop(Fused):
    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for text in TEXTS:
            await anyio.lowlevel.checkpoint()
            self.fuse.step("hook")
            yield ChatGenerationChunk(message=AIMessageChunk(text))
        self.fuse.step("hook")


class InThread(Fused):
    def _stream(self, messages: Any, stop: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for text in TEXTS:
            self.fuse.step("hook")
            yield ChatGenerationChunk(message=AIMessageChunk(text))
        self.fuse.step("hook")


class Text(BaseLLM):
    fuse: Any = Field(exclude=True)

    async def _astream(self, prompt: str, stop: Any = None, **kwargs: Any) -> AsyncIterator[GenerationChunk]:
        for text in TEXTS:
            self.fuse.step("hook")
            yield GenerationChunk(text=text)
            await anyio.lowlevel.checkpoint()

    @property
    def _llm_type(self) -> str:
        return "text"


async def by_ainvoke(model: Any) -> Any:
    answer = await model.ainvoke("hi")
    return answer if isinstance(answer, str) else answer.content


async def by_astream(model: Any) -> Any:
    return "".join([one if isinstance(one, str) else one.content async for one in model.astream("hi")])


async def by_agenerate(model: Any) -> Any:
    prompts: Any = ["a", "b"] if isinstance(model, Text) else [[HumanMessage("a")], [HumanMessage("b")]]
    result = await model.agenerate(prompts)
    return result.generations[1][0].text


def by_invoke(model: Any) -> Any:
    answer = model.invoke("hi")
    return answer if isinstance(answer, str) else answer.content


def by_stream(model: Any) -> Any:
    return "".join([one if isinstance(one, str) else one.content for one in model.stream("hi")])


def living_tasks() -> int:
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:
        import trio

        return trio.lowlevel.current_statistics().tasks_living


class World:
    """A model with everything that can fail, and a look at whether it is in order."""

    def __init__(self, cls: Any, error: BaseException, recorder: type[Any], *, cached: bool, strict: bool) -> None:
        self.fuse = fuse = Fuse(error)

        class Fusing(recorder):  # type: ignore[misc, valid-type]
            """Notes what it is told, then may fail."""

            raise_error = strict

            async def step(self) -> None:
                await anyio.lowlevel.checkpoint()
                fuse.step("handler")

            async def on_chat_model_start(self, *args: Any, **details: Any) -> None:
                await super().on_chat_model_start(*args, **details)
                await self.step()

            async def on_llm_start(self, *args: Any, **details: Any) -> None:
                await super().on_llm_start(*args, **details)
                await self.step()

            async def on_llm_new_token(self, *args: Any, **details: Any) -> None:
                await self.step()

            async def on_llm_end(self, *args: Any, **details: Any) -> None:
                await super().on_llm_end(*args, **details)
                await self.step()

            async def on_llm_error(self, *args: Any, **details: Any) -> None:
                await super().on_llm_error(*args, **details)
                await self.step()

        self.handlers = [Fusing(), Fusing()]
        self.cache = Cache(fuse) if cached else None
        self.model = cls(fuse=fuse, cache=self.cache or False, rate_limiter=Limiter(fuse), callbacks=self.handlers)

    @property
    def costs_the_answer(self) -> bool:
        """Whether the failure that has happened is one that the caller must hear of."""
        by = self.fuse.blown_by
        if not isinstance(self.fuse.error, Exception) or by in ("hook", "limiter"):
            return True
        return by == "handler" and self.handlers[0].raise_error

    def check(self, outcome: Any) -> None:
        """Fail if the outcome is not what it should be, or anything was left."""
        if self.costs_the_answer and self.fuse.blown_by:
            assert outcome is self.fuse.error, (self.fuse.blown_by, outcome)
        else:
            assert outcome == WHOLE, (self.fuse.blown_by, outcome)
        for handler in self.handlers:
            assert all(len(ends) == 1 for ends in handler.ends().values()), handler.events
            handler.events.clear()
        assert not flight._flights
        if self.cache is not None:
            assert all(stored[0].text == WHOLE for stored in self.cache.held.values())
            self.cache.clear()


ERRORS = [ValueError("no"), Stop("no")]
errors = pytest.mark.parametrize("error", ERRORS, ids=["Exception", "BaseException"])
with_and_without = pytest.mark.parametrize("cached", [False, True], ids=["no cache", "a cache"])
strict_or_not = pytest.mark.parametrize("strict", [False, True], ids=["lenient handlers", "strict handlers"])


@errors
@with_and_without
@strict_or_not
@pytest.mark.parametrize("cls", [InLoop, InThread, Text])
@pytest.mark.parametrize("call", [by_ainvoke, by_astream, by_agenerate])
async def test_a_failure_anywhere_under_async_verbs(
    cls: Any, call: Any, error: BaseException, cached: bool, strict: bool, recorders: type[Any]
) -> None:
    """In every step of hook, handlers, cache and limiter."""
    world = World(cls, error, recorders, cached=cached, strict=strict)
    tasks = living_tasks()
    for at in range(1, 200):
        world.fuse.set(at)
        try:
            outcome = await call(world.model)
        except BaseException as raised:
            outcome = raised
        world.check(outcome)
        with anyio.move_on_after(0.5):
            while living_tasks() > tasks:  # noqa: ASYNC110
                await anyio.sleep(0.001)
        assert living_tasks() == tasks
        if not world.fuse.blown_by:
            assert at > 8
            return
    raise AssertionError("it never got through")


@errors
@with_and_without
@strict_or_not
@pytest.mark.parametrize("cls", [InLoop, InThread, Text])
@pytest.mark.parametrize("call", [by_invoke, by_stream])
def test_a_failure_anywhere_under_sync_verbs(
    cls: Any, call: Any, error: BaseException, cached: bool, strict: bool, recorders: type[Any]
) -> None:
    """Stepped here, or on the kept loop."""
    world = World(cls, error, recorders, cached=cached, strict=strict)
    for at in range(1, 200):
        world.fuse.set(at)
        try:
            outcome = call(world.model)
        except BaseException as raised:
            outcome = raised
        world.check(outcome)
        if not world.fuse.blown_by:
            assert at > 8
            return
    raise AssertionError("it never got through")
