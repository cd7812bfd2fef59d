"""Counting tokens: every paid call once, in whatever context it runs, and nothing left behind."""

import gc
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket.caches import InMemoryCache
from hocket.callbacks import UsageMetadataCallbackHandler, get_usage_metadata_callback, run_listeners
from hocket.language_models import BaseChatModel, FakeListLLM, FakeMessagesListChatModel
from hocket.messages import AIMessage, UsageMetadata
from hocket.outputs import ChatGeneration, ChatResult


def usage(tokens: int) -> UsageMetadata:
    return UsageMetadata(input_tokens=tokens, output_tokens=1, total_tokens=tokens + 1)


class Counted(BaseChatModel):
    """Uses ten tokens a call, and one more for each candidate."""

    model_name: str | None = "model-1"
    n: int = 1

    @property
    def _llm_type(self) -> str:
        return "counted"

    def _answer(self) -> ChatResult:
        metadata = {} if self.model_name is None else {"model_name": self.model_name}
        return ChatResult(
            generations=[
                ChatGeneration(message=AIMessage("hi", usage_metadata=usage(10), response_metadata=metadata))
                for _ in range(self.n)
            ]
        )

    async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        await anyio.lowlevel.checkpoint()
        return self._answer()

    def _generate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        return self._answer()


def total(counted: UsageMetadataCallbackHandler, name: str = "model-1") -> int:
    return counted.usage_metadata[name]["total_tokens"] if name in counted.usage_metadata else 0


async def test_usage_is_summed_by_model_name() -> None:
    """Details are summed, too."""
    detailed = UsageMetadata(
        input_tokens=5, output_tokens=2, total_tokens=7, input_token_details={"cache_read": 3}, output_token_details={}
    )
    with get_usage_metadata_callback() as counted:
        await Counted().ainvoke("x")
        await Counted().ainvoke("x")
        other = AIMessage("hi", usage_metadata=detailed, response_metadata={"model_name": "model-2"})
        model = FakeMessagesListChatModel(responses=[other])
        await model.abatch(["x", "y"])
    assert counted.usage_metadata["model-1"] == {"input_tokens": 20, "output_tokens": 2, "total_tokens": 22}
    assert counted.usage_metadata["model-2"]["total_tokens"] == 14
    assert counted.usage_metadata["model-2"]["input_token_details"] == {"cache_read": 6}
    assert repr(counted) == repr(counted.usage_metadata)


async def test_a_handler_of_ones_own_counts_the_same() -> None:
    """Passed like any handler, also to several models at once."""
    counted = UsageMetadataCallbackHandler()
    await Counted().abatch(["x"] * 20, {"callbacks": [counted]})
    assert total(counted) == 220


async def test_every_candidate_counts() -> None:
    """LangChain counts the first alone."""
    with get_usage_metadata_callback() as counted:
        await Counted(n=3).ainvoke("x")
    assert total(counted) == 33


async def test_usage_of_a_nameless_model_is_kept() -> None:
    """LangChain drops it; here it is found under "unknown"."""
    with get_usage_metadata_callback() as counted:
        await Counted(model_name=None).ainvoke("x")
    assert total(counted, "unknown") == 11


async def test_replies_without_usage_add_nothing() -> None:
    """A fake, or a text model, that tells no usage is no error."""
    with get_usage_metadata_callback() as counted:
        await FakeMessagesListChatModel(responses=[AIMessage("hi")]).ainvoke("x")
        await FakeListLLM(responses=["hi"]).ainvoke("x")
    assert counted.usage_metadata == {}


async def test_cache_hits_are_not_counted_again() -> None:
    """Three calls, one of them paid."""
    model = Counted(cache=InMemoryCache())
    with get_usage_metadata_callback() as counted:
        for _ in range(3):
            await model.ainvoke("x")
    assert total(counted) == 11


async def test_equal_calls_in_flight_are_counted_once() -> None:
    """They share one request, and so its price."""
    model = Counted(cache=InMemoryCache())
    with get_usage_metadata_callback() as counted:
        await model.abatch(["x"] * 10)
    assert total(counted) == 11


async def test_a_stream_is_counted() -> None:
    """With its last chunk, and once."""
    with get_usage_metadata_callback() as counted:
        async for _ in Counted().astream("x"):
            pass
    assert total(counted) == 11


async def test_nested_blocks_count_what_happens_in_them() -> None:
    """The outer block hears of the inner one's calls; after a block, its handler hears nothing more."""
    model = Counted()
    with get_usage_metadata_callback() as outer:
        await model.ainvoke("x")
        with get_usage_metadata_callback() as inner:
            await model.ainvoke("x")
        await model.ainvoke("x")
    await model.ainvoke("x")
    assert (total(outer), total(inner)) == (33, 11)


async def test_tasks_are_counted_where_they_were_started() -> None:
    """Tasks at once in blocks of their own do not count one another's calls; tasks started in a block count for it."""
    model, counts = Counted(), list[int]()

    async def ask(times: int) -> None:
        with get_usage_metadata_callback() as mine:
            for _ in range(times):
                await model.ainvoke("x")
        counts.append(total(mine))

    with get_usage_metadata_callback() as all_of_them:
        async with anyio.create_task_group() as group:
            for times in (1, 2, 3):
                group.start_soon(ask, times)
    assert sorted(counts) == [11, 22, 33]
    assert total(all_of_them) == 66


async def test_threads_that_run_in_the_context_are_counted() -> None:
    """anyio's, asyncio's and hocket's threads do; a bare one does not, as nothing of the context is there."""
    model = Counted()
    with get_usage_metadata_callback() as counted:
        await anyio.to_thread.run_sync(model.invoke, "x")
        bare = threading.Thread(target=model.invoke, args=("x",))
        bare.start()
        await anyio.to_thread.run_sync(bare.join)
    assert total(counted) == 11


def test_threads_do_not_lose_a_count() -> None:
    """One handler, many threads."""
    model = Counted()
    with get_usage_metadata_callback() as counted, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: copy_context().run(model.invoke, "x"), range(1)))
        contexts = [copy_context() for _ in range(200)]
        list(pool.map(lambda context: context.run(model.invoke, "x"), contexts))
    assert total(counted) == 200 * 11


def test_the_block_is_left_by_an_error_too() -> None:
    """What comes after it is not counted."""
    model = Counted()
    with pytest.raises(ZeroDivisionError), get_usage_metadata_callback() as counted:
        model.invoke("x")
        raise ZeroDivisionError
    model.invoke("x")
    assert total(counted) == 11


async def test_a_block_in_a_generator_may_be_left_in_another_context() -> None:
    """A generator is closed wherever it is dropped; that must neither fail nor go on counting."""
    model = Counted()

    async def answers() -> Any:
        with get_usage_metadata_callback() as counted:
            while True:
                await model.ainvoke("x")
                yield counted

    generator = answers()
    counted = await anext(generator)

    async def close() -> None:  # anyio before 4.14 wants a coroutine, which `generator.aclose()` is not
        await generator.aclose()

    async with anyio.create_task_group() as group:
        group.start_soon(close)
    assert total(counted) == 11


def sizes() -> dict[str, int]:
    """Count what the module of the listening handlers holds."""
    return {
        name: len(held) for name, held in vars(run_listeners).items() if isinstance(held, list | dict | set | tuple)
    }


def best(call: Callable[[], object]) -> float:
    """Return the least CPU time that 200 calls took, of several tries."""
    tries: list[float] = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(200):
            call()
        tries.append(time.process_time() - start)
    return min(tries)


def test_ten_thousand_uses_leave_nothing_behind() -> None:
    """LangChain keeps each for ever in a list that every call walks through (its issue #32300)."""
    model = Counted()

    def call() -> object:
        return model.invoke("x")

    before, quick = sizes(), best(call)
    handlers: list[weakref.ref[UsageMetadataCallbackHandler]] = []
    for _ in range(10_000):
        with get_usage_metadata_callback() as counted:
            handlers.append(weakref.ref(counted))
    del counted
    gc.collect()

    assert sizes() == before
    assert not any(handler() for handler in handlers)
    assert best(call) < 3 * quick
