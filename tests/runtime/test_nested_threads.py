"""Sync code in worker threads that calls sync verbs: nobody waits for a place that a waiting thread holds."""

import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.lowlevel import current_token

from hocket import AIMessage, AIMessageChunk, BaseCallbackHandler, BaseChatModel
from hocket._runtime import worker_threads
from hocket._runtime.portal import run_in_portal
from hocket._runtime.thread_stream import BOUND
from hocket.agents import AgentMiddleware, create_agent
from hocket.outputs import ChatGenerationChunk
from hocket.runnables import RunnableLambda, RunnableParallel

PLACES = 3


async def limit(places: int) -> None:
    worker_threads.thread_limiter(current_token()).total_tokens = places


async def count_places() -> float:
    return worker_threads.thread_limiter(current_token()).total_tokens


@pytest.fixture
async def kept_loop() -> AsyncIterator[None]:
    """The loop behind sync verbs has few places; afterwards all are given back."""
    ask = partial(anyio.to_thread.run_sync, run_in_portal)
    await ask(partial(limit, PLACES))
    yield
    assert await ask(count_places) == PLACES
    await ask(partial(limit, worker_threads.MAX_THREADS))


@pytest.fixture
async def own_loop() -> AsyncIterator[None]:
    """The loop of the test has few places."""
    await limit(PLACES)
    yield
    assert await count_places() == PLACES


def rest(number: int) -> int:
    time.sleep(0.001)
    return number


leaf = RunnableLambda(rest)


@pytest.mark.timeout(20)
@pytest.mark.usefixtures("kept_loop")
async def test_batches_inside_of_batches() -> None:
    inner = RunnableLambda(lambda number: sum(leaf.batch([number, number])))
    outer = RunnableLambda(lambda number: sum(inner.batch([number, number])))
    many = range(4 * PLACES)
    assert await anyio.to_thread.run_sync(outer.batch, many, {"max_concurrency": len(many)}) == [
        4 * number for number in many
    ]


@pytest.mark.timeout(20)
@pytest.mark.usefixtures("kept_loop")
async def test_steps_side_by_side_inside_of_others() -> None:
    inner: Any = RunnableParallel(a=leaf, b=leaf)
    outer: Any = RunnableParallel({str(number): RunnableLambda(inner.invoke) for number in range(4 * PLACES)})
    assert (await anyio.to_thread.run_sync(outer.invoke, 1))["0"] == {"a": 1, "b": 1}


@pytest.mark.timeout(20)
@pytest.mark.usefixtures("kept_loop", "own_loop")
async def test_a_batch_inside_of_an_async_one() -> None:
    inner = RunnableLambda(lambda number: sum(leaf.batch([number, number])))
    outer = RunnableLambda(lambda number: sum(inner.batch([number, number])))
    assert await outer.abatch([1] * 4 * PLACES) == [4] * 4 * PLACES


class Sync(AgentMiddleware):
    """Runs in a thread, in which its handler waits for the loop."""

    def wrap_model_call(self, request: Any, handler: Any) -> AIMessage:
        message: AIMessage = handler(request)
        return message


@pytest.mark.timeout(20)
@pytest.mark.usefixtures("own_loop")
async def test_sync_middleware_around_sync_tools() -> None:
    class Asking(BaseChatModel):
        """A model with a sync hook alone."""

        @property
        def _llm_type(self) -> str:
            return "asking"

        def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
            yield ChatGenerationChunk(message=AIMessageChunk("done"))

    agent = create_agent(Asking(), [], middleware=[Sync()])
    async with anyio.create_task_group() as group:
        for _ in range(4 * PLACES):
            group.start_soon(agent.ainvoke, "go")


@pytest.mark.timeout(20)
@pytest.mark.usefixtures("own_loop")
async def test_sync_streams_that_wait_for_sync_handlers() -> None:
    class Long(BaseChatModel):
        """Is ahead of its readers."""

        @property
        def _llm_type(self) -> str:
            return "long"

        def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
            for _ in range(2 * BOUND):
                yield ChatGenerationChunk(message=AIMessageChunk("x"))

    class Slow(BaseCallbackHandler):
        def __init__(self) -> None:
            self.count = 0

        def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None:
            self.count += 1

    slow, texts = Slow(), list[str]()

    async def read() -> None:
        texts.append("".join([chunk.text async for chunk in Long().astream("go", {"callbacks": [slow]})]))

    async with anyio.create_task_group() as group:
        for _ in range(4 * PLACES):
            group.start_soon(read)
    assert texts == ["x" * 2 * BOUND] * 4 * PLACES
