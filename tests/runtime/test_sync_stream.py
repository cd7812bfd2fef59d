"""Sync streams: a producer stepped by whoever pulls, or one that lives on the kept loop. The rules are the same."""

import contextvars
import gc
import threading
import time
from collections.abc import Iterator

import anyio
import pytest

from hocket._runtime.mode import ASYNC, BLOCKING
from hocket._runtime.portal import run_in_portal
from hocket._runtime.stream import BOUND, Sink, SyncStream
from hocket.errors import BlockingCallWarning

setting = contextvars.ContextVar("setting", default="unset")


class Stop(BaseException):
    """Like KeyboardInterrupt: not an Exception."""


class Source:
    """A producer that notes what becomes of it."""

    def __init__(self, *, stepped: bool, count: int = 1_000_000, error: BaseException | None = None) -> None:
        self.stepped = stepped
        self.count = count
        self.error = error
        self.produced = 0
        self.threads: set[str] = set()
        self.settings: list[str] = []
        self.ends: list[bool] = []
        self.ended = threading.Event()

    def stream(self) -> SyncStream[int]:
        return SyncStream(self, stepped=self.stepped)

    async def __call__(self, sink: Sink[int]) -> None:
        self.threads.add(threading.current_thread().name)
        self.settings.append(setting.get())
        try:
            for number in range(self.count):
                waiting = sink.put(number)
                self.produced += 1
                if waiting is not None:
                    await waiting
                if not self.stepped:
                    await anyio.lowlevel.checkpoint()
            if self.error is not None:
                raise self.error
        finally:
            if not self.stepped:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.001)
            self.ends.append(sink.closed)
            self.ended.set()


both = pytest.mark.parametrize("stepped", [True, False], ids=["stepped", "remote"])


@both
def test_items_arrive_in_order_and_none_is_lost(stepped: bool) -> None:
    """What goes in comes out, and the end stays the end."""
    source = Source(stepped=stepped, count=3 * BOUND)
    stream = source.stream()
    assert list(stream) == list(range(3 * BOUND))
    assert list(stream) == []
    stream.close()
    assert source.ends == [False]


@both
def test_close_ends_the_producer_before_it_returns(stepped: bool) -> None:
    """Twice is once; a closed stream is at its end."""
    source = Source(stepped=stepped)
    stream = source.stream()
    assert [next(stream), next(stream)] == [0, 1]
    stream.close()
    assert source.ends == [True]
    stream.close()
    assert list(stream) == []
    assert source.ends == [True]


@both
def test_with_closes(stepped: bool) -> None:
    """Also when the block fails."""
    source = Source(stepped=stepped)
    with pytest.raises(ZeroDivisionError), source.stream() as stream:
        next(stream)
        _ = 1 / 0
    assert source.ends == [True]


@both
def test_a_break_ends_the_producer(stepped: bool) -> None:
    """A stream that is dropped is left; a stepped one at once, a remote one soon."""
    source = Source(stepped=stepped)
    for number in source.stream():
        if number == 3:
            break
    assert source.ended.wait(30)
    assert source.ends == [True]


@both
def test_a_stream_in_a_cycle_ends_when_it_is_collected(stepped: bool) -> None:
    """Garbage collection will do."""
    source = Source(stepped=stepped)
    stream = source.stream()
    next(stream)
    cycle: list[object] = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()
    assert source.ended.wait(30)
    assert source.ends == [True]


@both
@pytest.mark.parametrize("error", [ValueError("no"), Stop("no"), KeyboardInterrupt()])
def test_an_error_is_raised_by_the_pull_that_reaches_it(stepped: bool, error: BaseException) -> None:
    """After all that came before it, once, as the object that it is; the kept loop survives it."""
    source = Source(stepped=stepped, count=3, error=error)
    stream = source.stream()
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(type(error)) as caught:
        next(stream)
    assert caught.value is error
    assert list(stream) == []
    assert list(Source(stepped=stepped, count=2).stream()) == [0, 1]


@both
def test_an_unused_stream_does_nothing(stepped: bool) -> None:
    """Made, closed or dropped without a pull, it never starts."""
    source = Source(stepped=stepped)
    source.stream()
    stream = source.stream()
    stream.close()
    assert list(stream) == []
    gc.collect()
    assert source.threads == set()


@both
def test_the_producer_sees_the_callers_context(stepped: bool) -> None:
    """Context variables reach it on either side."""
    token = setting.set("the caller's")
    source = Source(stepped=stepped, count=1)
    assert list(source.stream()) == [0]
    setting.reset(token)
    assert source.settings == ["the caller's"]


def test_a_stepped_producer_runs_in_the_thread_that_pulls_and_not_ahead() -> None:
    """No thread, no loop: it makes an item when asked for one."""
    source = Source(stepped=True)
    stream = source.stream()
    for taken in range(1, 6):
        next(stream)
        assert source.produced == taken
    stream.close()
    assert source.threads == {threading.current_thread().name}


def test_a_remote_producer_runs_ahead_by_the_bound_at_most() -> None:
    """A pull takes what has arrived, so twice the bound is the most that was made and not read."""
    source = Source(stepped=False)
    stream = source.stream()
    for taken in range(1, 200):
        next(stream)
        time.sleep(0.0002)
        assert source.produced - taken <= 2 * BOUND
    stream.close()
    assert source.threads == {"hocket"}


def test_the_clean_up_of_a_left_stepped_stream_may_fail() -> None:
    """What goes wrong behind a consumer who has left is not his affair, as with the async stream."""

    async def produce(sink: Sink[int]) -> None:
        try:
            waiting = sink.put(1)
            assert waiting is not None
            await waiting
        finally:
            raise ValueError("in the clean-up")

    stream = SyncStream(produce, stepped=True)
    next(stream)
    stream.close()


@both
def test_a_stream_dropped_on_the_kept_loop_waits_for_nothing(stepped: bool) -> None:
    """Garbage is collected in any thread, also in the one that ends the stream, or has to be asked while it ends."""

    class Asking(Source):
        async def __call__(self, sink: Sink[int]) -> None:
            try:
                await super().__call__(sink)
            finally:
                await (BLOCKING if stepped else ASYNC).run_shielded(self.ask())

        async def ask(self) -> None:
            await (BLOCKING if stepped else ASYNC).call_async(anyio.sleep, 0)
            self.asked = True

    source = Asking(stepped=stepped)
    held: list[Iterator[int]] = [source.stream()]
    next(held[0])

    async def drop() -> None:
        held.clear()

    run_in_portal(drop)
    deadline = time.monotonic() + 30
    while not hasattr(source, "asked") and time.monotonic() < deadline:
        time.sleep(0.001)
    assert source.asked
    assert source.ends == [True]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_both_work_inside_a_running_loop(backend: str) -> None:
    """As in a notebook: the stream does not need the thread's loop. The one that makes it wait says so."""

    async def main() -> None:
        assert list(Source(stepped=True, count=5).stream()) == [0, 1, 2, 3, 4]
        with pytest.warns(BlockingCallWarning):
            assert list(Source(stepped=False, count=5).stream()) == [0, 1, 2, 3, 4]
        await anyio.lowlevel.checkpoint()

    anyio.run(main, backend=backend)
