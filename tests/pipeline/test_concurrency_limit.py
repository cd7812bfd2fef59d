"""A cap on the calls of one model in flight: it holds over verbs, loops and threads, in order, and no place is lost."""

import asyncio
import copy
import gc
import os
import pickle
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import ValidationError

from hocket import BaseChatModel, FakeListChatModel
from hocket._pipeline.concurrency_limit import ConcurrencyLimiter
from hocket._runtime import clock
from hocket._runtime.mode import ASYNC
from hocket.caches import InMemoryCache
from hocket.errors import ProviderUnavailable, TotalTimeout
from hocket.retries import RetryPolicy
from hocket.testing import VirtualClock
from hocket.timeouts import Timeout
from tests.kit import HookCall, hook_model


class Meter:
    """What a model does that takes a second for an answer, or for each piece of a stream.

    It counts who is in a hook at once, over all loops and threads, and fails as often as it has failures.
    """

    def __init__(self, failures: int = 0, pieces: Sequence[str] = ("y", "es")) -> None:
        self.failures, self.pieces = failures, pieces
        self.now = self.most = self.ever = 0
        self.order: list[str] = []
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now, self.ever = self.now + 1, self.ever + 1
            self.most = max(self.most, self.now)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self.now -= 1

    async def answer(self, call: HookCall) -> str | AsyncIterator[str]:
        if call.hook == "astream":
            return self._stream()
        with self:
            self.order.append(call.text)
            await clock.current().sleep(1)
            if self.ever <= self.failures:
                raise ProviderUnavailable("not now", retryable=True)
            return "yes"

    async def _stream(self) -> AsyncIterator[str]:
        with self:
            for piece in self.pieces:
                await clock.current().sleep(1)
                yield piece

    def answer_in_sync(self, call: HookCall) -> Iterator[str]:
        with self:
            if call.hook == "generate":
                clock.current().block(1)
            yield from self.pieces


def metered_model(meter: Meter, **fields: Any) -> Any:
    """Make a model with async hooks that a meter counts."""
    return hook_model(meter.answer, "agenerate", "astream", **fields)


def sync_metered_model(meter: Meter, **fields: Any) -> Any:
    """The same with sync hooks."""
    return hook_model(meter.answer_in_sync, "generate", "stream", **fields)


async def read(stream: Any) -> None:
    async for _ in stream:
        pass


def free(model: BaseChatModel) -> bool:
    """Whether every place is given back, and nobody waits for one."""
    return not model._places._taken and not model._places._queue


def until(condition: Callable[[], bool]) -> None:
    """Wait, in a thread, for what another one does."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


async def test_it_holds_over_all_verbs_at_once(virtual_clock: VirtualClock) -> None:
    """Single calls, a batch, several conversations, streams and what is bound: never more than three."""
    model = metered_model(meter := Meter(), max_in_flight=3)
    async with anyio.create_task_group() as group:
        for verb in (model.ainvoke, model.bind(stop=["x"]).ainvoke, lambda text: read(model.astream(text))):
            for _ in range(4):
                group.start_soon(verb, "hi")
        group.start_soon(model.abatch, ["hi"] * 6)
        group.start_soon(model.agenerate, [model._to_messages("hi")] * 6)
    assert (meter.most, meter.ever) == (3, 24)
    assert virtual_clock.now() == pytest.approx((20 + 2 * 4) / 3, abs=1)
    assert free(model)


async def test_first_come_first_served(virtual_clock: VirtualClock) -> None:
    """One who comes while others wait waits behind them."""
    model = metered_model(meter := Meter(), max_in_flight=1)
    async with anyio.create_task_group() as group:
        for number in range(10):
            waiting = len(model._places._queue)
            group.start_soon(model.ainvoke, str(number))
            while number and len(model._places._queue) == waiting:
                await anyio.lowlevel.checkpoint()
            while not model._places._taken:
                await anyio.lowlevel.checkpoint()
    assert meter.order == [str(number) for number in range(10)]
    assert virtual_clock.now() == 10


@pytest.mark.parametrize("leaver", [0, 1, 3, 4])
async def test_one_who_is_cancelled_leaves_and_no_place_is_lost(leaver: int, virtual_clock: VirtualClock) -> None:
    """In flight, first, in the middle or last in the queue."""
    model = metered_model(meter := Meter(), max_in_flight=1)
    scopes: list[anyio.CancelScope] = []

    async def ask() -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await model.ainvoke("hi")

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ask)
        while len(model._places._queue) < 4:
            await anyio.lowlevel.checkpoint()
        scopes[leaver].cancel()
    assert meter.ever == (5 if leaver == 0 else 4)
    assert free(model)


async def test_one_who_is_cancelled_as_his_turn_comes_hands_it_on() -> None:
    """The place was his already."""
    model = metered_model(meter := Meter(), max_in_flight=1)
    places = model._places
    await places.acquire(ASYNC)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(model.ainvoke, "hi")
        while len(places._queue) < 3:
            await anyio.lowlevel.checkpoint()
        places.release()  # the first is let in, and cancelled before it runs
        assert (places._taken, len(places._queue)) == (1, 2)
        group.cancel_scope.cancel()
    assert meter.ever == 0
    assert free(model)


async def test_a_stream_counts_until_its_hook_ends(virtual_clock: VirtualClock) -> None:
    """Read to its end, or left: then the next may go."""
    many = ["y"] * 100  # more than a stream runs ahead of its consumer
    model = metered_model(meter := Meter(pieces=many), max_in_flight=1)
    for leave in (False, True):
        stream = model.astream("hi")
        assert (await anext(stream)).content == "y"
        with pytest.raises(TotalTimeout):
            await model.ainvoke("hi", timeout=Timeout(total=1000))
        await (stream.aclose() if leave else read(stream))
        await model.ainvoke("hi")
    assert (meter.most, free(model)) == (1, True)


async def test_a_pause_between_attempts_counts_for_nothing(virtual_clock: VirtualClock) -> None:
    """Another call is in flight meanwhile, and the next attempt waits its turn."""
    policy = RetryPolicy(max_attempts=2, first_pause=5, longest_pause=5, jitter=0)
    model = metered_model(meter := Meter(failures=1), max_in_flight=1, retry=policy)
    async with anyio.create_task_group() as group:
        group.start_soon(model.ainvoke, "first")
        while not model._places._taken:
            await anyio.lowlevel.checkpoint()
        group.start_soon(model.ainvoke, "second")
    assert meter.order == ["first", "second", "first"]
    assert (virtual_clock.now(), meter.most) == (7, 1)


async def test_an_answer_from_the_cache_needs_no_place_and_equal_calls_one(virtual_clock: VirtualClock) -> None:
    """What is not sent is not in flight."""
    model = metered_model(meter := Meter(), max_in_flight=1, cache=InMemoryCache())
    await model.abatch(["hi"] * 10)
    async with anyio.create_task_group() as group:
        group.start_soon(model.ainvoke, "other")
        while not model._places._taken:
            await anyio.lowlevel.checkpoint()
        now = virtual_clock.now()
        assert (await model.ainvoke("hi")).content == "yes"
        assert virtual_clock.now() == now
    assert meter.ever == 2


async def test_handlers_hear_of_the_wait(recorder: Any, virtual_clock: VirtualClock) -> None:
    """As of a wait for the limiter."""
    model = metered_model(Meter(), max_in_flight=1, callbacks=[recorder])
    await model.abatch(["a", "b", "c"])
    assert sorted(recorder.firsts("on_limiter_wait")) == [1, 2]


async def test_the_wait_is_part_of_the_calls_time(virtual_clock: VirtualClock) -> None:
    """`total` covers it; who runs out of it leaves the queue."""
    model = metered_model(meter := Meter(), max_in_flight=1)
    async with anyio.create_task_group() as group:
        group.start_soon(model.ainvoke, "hi")
        while not model._places._taken:
            await anyio.lowlevel.checkpoint()
        with pytest.raises(TotalTimeout):
            await model.ainvoke("hi", timeout=Timeout(total=0.5))
        assert not model._places._queue
    assert (meter.ever, free(model)) == (1, True)


@pytest.mark.parametrize("make", [metered_model, sync_metered_model])
def test_it_holds_over_threads_and_loops(make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Sync verbs, asyncio loops and trio's, each in a thread of its own: one queue."""
    model = make(meter := Meter(), max_in_flight=2)
    failures: list[BaseException] = []
    together = threading.Barrier(9)

    def invoke() -> None:
        assert model.invoke("hi").content == "yes"

    def stream() -> None:
        assert "".join(str(chunk.content) for chunk in model.stream("hi")) == "yes"

    def in_loop(backend: str) -> Callable[[], None]:
        async def main() -> None:
            await model.abatch(["hi"] * 2)

        return lambda: anyio.run(main, backend=backend)

    def work(job: Callable[[], None]) -> None:
        try:
            together.wait(10)
            for _ in range(5):
                job()
        except BaseException as error:
            failures.append(error)

    before = clock.use(Hurried())
    try:
        jobs = [invoke, stream, lambda: model.batch(["hi"] * 2), in_loop("asyncio"), in_loop("trio")]
        threads = [threading.Thread(target=work, args=(jobs[number % 5],)) for number in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        clock.use(before)
    assert not failures
    assert (meter.most, meter.now, free(model)) == (2, 0, True)
    assert meter.ever == 5 * (2 * 1 + 2 * 1 + 2 * 2 + 2 * 2 + 2)


class Hurried(clock.RealClock):
    """A second is a millisecond."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 1000)

    def block(self, seconds: float) -> None:
        super().block(seconds / 1000)


def test_a_stepped_stream_gives_its_place_back_when_it_is_closed() -> None:
    """A sync one, read in the caller's own thread."""
    model = sync_metered_model(Meter(), max_in_flight=1)
    stream = model.stream("hi")
    assert next(stream).content == "y"
    assert model._places._taken == 1
    stream.close()
    assert free(model)
    for _ in model.stream("hi"):
        break
    gc.collect()
    assert free(model)


def test_a_thread_waits_for_its_turn() -> None:
    """In a sync verb, until another thread's stream is left."""
    model = sync_metered_model(meter := Meter(), max_in_flight=1)
    places = model._places
    stream = model.stream("hi")
    next(stream)
    waiting = threading.Thread(target=model.invoke, args=("hi",))
    waiting.start()
    until(lambda: len(places._queue) == 1)
    stream.close()
    waiting.join(10)
    assert (meter.ever, free(model)) == (2, True)


def test_a_loop_that_dies_takes_no_place_along() -> None:
    """Closed without ceremony, with calls in flight and in the queue."""
    model = metered_model(Meter(), max_in_flight=1)
    loop = asyncio.new_event_loop()
    tasks = [loop.create_task(model.ainvoke("hi")) for _ in range(3)]
    while len(model._places._queue) < 2:
        loop.run_until_complete(asyncio.sleep(0))
    for task in tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    del task, tasks, loop
    for _ in range(4):  # each that is collected hands its place to the next
        gc.collect()
    assert free(model)


def test_a_copy_counts_for_itself() -> None:
    """Shallow, deep, or unpickled; and made before or after the first call."""
    model = FakeListChatModel(responses=["yes"], max_in_flight=1, cache=False)
    for _ in range(2):
        copies = [copy.copy(model), copy.deepcopy(model), model.model_copy(), pickle.loads(pickle.dumps(model))]
        assert len({id(one._places) for one in (model, *copies)}) == 5
        places = model._places
        model._get_pipeline()
    assert model._places is places


async def test_the_cap_can_be_changed(virtual_clock: VirtualClock) -> None:
    """From the next call on; without losing count of those in flight."""
    model = metered_model(meter := Meter(), max_in_flight=1)
    async with anyio.create_task_group() as group:
        group.start_soon(model.abatch, ["hi"] * 3)
        while len(model._places._queue) < 2:
            await anyio.lowlevel.checkpoint()
        model.max_in_flight = 4
        group.start_soon(model.abatch, ["hi"] * 3)
    assert (meter.most, meter.ever, virtual_clock.now()) == (4, 6, 2)
    assert free(model)


@pytest.mark.parametrize("most", [0, -1, 1.5, "many"])
def test_a_cap_that_lets_nothing_through_is_refused(most: Any) -> None:
    """At construction."""
    with pytest.raises(ValidationError, match="max_in_flight"):
        hook_model(max_in_flight=most)


def test_without_a_cap_there_is_nothing_in_the_way() -> None:
    """No object, no stage."""
    model = sync_metered_model(Meter())
    model.invoke("hi")
    assert "_places" not in vars(model)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_starts_with_every_place_free() -> None:
    """The parent's calls are not the child's."""
    places = ConcurrencyLimiter()
    places.resize(1)
    places._taken = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork of a process with threads
        child = os.fork()
    if not child:
        os._exit(places._taken)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert places._taken == 1
