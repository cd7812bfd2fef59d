"""The rate limiter in use: asked before each real request, in order, and told of; cancelled waiters leave nothing."""

import functools
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket.caches import InMemoryCache
from hocket.messages import HumanMessage
from hocket.rate_limiters import BaseRateLimiter, InMemoryRateLimiter
from hocket.testing import VirtualClock
from tests.kit import hook_llm, hook_model

HOOKS = ("generate", "agenerate")
make_chat, make_text = functools.partial(hook_model, "yes", *HOOKS), functools.partial(hook_llm, "yes", *HOOKS)

both = pytest.mark.parametrize("make", [make_chat, make_text], ids=["chat", "text"])


def per_second(rate: float, **more: Any) -> InMemoryRateLimiter:
    return InMemoryRateLimiter(requests_per_second=rate, **more)


@both
async def test_every_request_waits_its_turn(make: Any, virtual_clock: VirtualClock) -> None:
    """Invoked, streamed or in a batch; text models too."""
    model = make(rate_limiter=per_second(2))
    await model.ainvoke("hi")
    assert virtual_clock.now() == 0.5
    assert [chunk async for chunk in model.astream("hi")]
    assert virtual_clock.now() == 1
    await model.abatch(["a", "b", "c", "d"])
    assert virtual_clock.now() == 3


@both
def test_sync_verbs_wait_too(make: Any, virtual_clock: VirtualClock) -> None:
    """In their own thread."""
    model = make(rate_limiter=per_second(2))
    model.invoke("hi")
    assert list(model.stream("hi"))
    assert virtual_clock.now() == pytest.approx(1)


async def test_one_permit_for_each_request_and_not_for_each_prompt(virtual_clock: VirtualClock) -> None:
    """A chat model makes a request for each conversation, a text model one for all texts."""
    chat, text = make_chat(rate_limiter=per_second(1)), make_text(rate_limiter=per_second(1))
    await text.agenerate(["a", "b", "c"])
    assert virtual_clock.now() == 1
    await chat.agenerate([[HumanMessage("a")], [HumanMessage("b")], [HumanMessage("c")]])
    assert virtual_clock.now() == pytest.approx(4)


@both
async def test_one_limiter_serves_several_models(make: Any, virtual_clock: VirtualClock) -> None:
    """One account, one rate."""
    limiter = per_second(1)
    for model in (make(rate_limiter=limiter), make_chat(rate_limiter=limiter), make_text(rate_limiter=limiter)):
        await model.ainvoke("hi")
    assert virtual_clock.now() == 3


@both
async def test_a_hit_does_not_ask_it(make: Any, virtual_clock: VirtualClock) -> None:
    """The cache comes first."""
    model = make(rate_limiter=per_second(1), cache=InMemoryCache())
    for _ in range(3):
        await model.ainvoke("hi")
        assert [chunk async for chunk in model.astream("hi")]
        model.invoke("hi")
    assert virtual_clock.now() == 1


@pytest.mark.parametrize("cached", [False, True], ids=["no cache", "a cache"])
async def test_handlers_hear_how_long_the_wait_was(cached: bool, recorder: Any, virtual_clock: VirtualClock) -> None:
    """After the start, before the first token; no wait, no event."""
    model = make_chat(
        rate_limiter=per_second(0.25, max_bucket_size=2),
        callbacks=[recorder],
        cache=InMemoryCache() if cached else False,
    )
    await model.ainvoke("a")
    assert recorder.names == ["on_chat_model_start", "on_limiter_wait", "on_llm_end"]
    assert recorder.firsts("on_limiter_wait") == [4.0]
    await virtual_clock.sleep(100)
    recorder.events.clear()
    await model.ainvoke("b")
    assert recorder.names == ["on_chat_model_start", "on_llm_end"]


def test_sync_verbs_tell_of_it_too(recorder: Any, virtual_clock: VirtualClock) -> None:
    """Async handlers as well."""
    make_chat(rate_limiter=per_second(0.25), callbacks=[recorder]).invoke("a")
    assert recorder.firsts("on_limiter_wait") == [4.0]


async def test_text_models_tell_of_it(recorder: Any, virtual_clock: VirtualClock) -> None:
    """Each of the runs that waited."""
    model = make_text(rate_limiter=per_second(0.5), callbacks=[recorder])
    await model.agenerate(["a", "b"])
    assert recorder.firsts("on_limiter_wait") == [2.0, 2.0]


@both
async def test_a_cancelled_waiter_leaves_the_queue_and_its_run_ends(make: Any, recorder: Any) -> None:
    """Permits go to those who are left."""
    limiter = per_second(0.001)
    model = make(rate_limiter=limiter, callbacks=[recorder])
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(model.ainvoke, "hi")
        while len(limiter._queue) < 5:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert not limiter._queue
    assert list(recorder.ends().values()) == [["on_llm_error"]] * 5


async def test_a_stream_left_while_it_waits_ends_as_left(recorder: Any) -> None:
    """Before anything was sent."""
    limiter = per_second(0.001)
    stream = make_chat(rate_limiter=limiter, callbacks=[recorder]).astream("hi")
    async with anyio.create_task_group() as group:

        async def read() -> None:
            assert [chunk async for chunk in stream] == []

        group.start_soon(read)
        while not limiter._queue:
            await anyio.lowlevel.checkpoint()
        await stream.aclose()
    assert not limiter._queue
    assert recorder.end == "on_llm_end closed"


class Refusing(BaseRateLimiter):
    """A limiter of the user's own, which fails."""

    def acquire(self, *, blocking: bool = True) -> bool:
        raise ConnectionError("the limiter's store is down")

    async def aacquire(self, *, blocking: bool = True) -> bool:
        raise ConnectionError("the limiter's store is down")


@both
async def test_a_limiter_that_fails_fails_the_call(make: Any, recorder: Any) -> None:
    """Unlike a cache: to go on without it would break the limit. The run ends."""
    model = make(rate_limiter=Refusing(), callbacks=[recorder])
    with pytest.raises(ConnectionError, match="store is down"):
        await model.ainvoke("hi")
    assert recorder.end == "on_llm_error"


@both
def test_a_limiter_that_fails_fails_the_sync_call(make: Any, recorder: Any) -> None:
    """The same in sync code."""
    model = make(rate_limiter=Refusing(), callbacks=[recorder])
    with pytest.raises(ConnectionError, match="store is down"):
        model.invoke("hi")
    assert recorder.end == "on_llm_error"
