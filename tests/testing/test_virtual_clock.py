"""Virtual time: it jumps when everybody waits, wakes in order, and leaves alone what is under way."""

import math
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
from anyio.abc import TaskStatus

from hocket._runtime import clock as seam
from hocket.errors import InvalidInput
from hocket.testing import VirtualClock, virtual_clock


class Diary:
    """Who woke when, in the order of waking."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.entries: list[tuple[str, float]] = []

    async def sleep(self, name: str, seconds: float, *, task_status: TaskStatus[None]) -> None:
        """Start with `TaskGroup.start`, which returns when the sleep has begun."""
        task_status.started()
        await self.clock.sleep(seconds)
        self.entries.append((name, self.clock.now()))

    def block(self, name: str, seconds: float) -> None:
        self.clock.block(seconds)
        self.entries.append((name, self.clock.now()))


def test_the_date_goes_with_the_time() -> None:
    """It begins with the year 2026, so that a test of a day's end waits for no night."""
    with virtual_clock() as clock:
        clock.advance(86_400 * 59)
        date = datetime.fromtimestamp(seam.current().time(), UTC)
    assert date == datetime(2026, 3, 1, tzinfo=UTC)
    assert abs(seam.current().time() - time.time()) < 60


def test_it_is_in_use_inside_the_block_only() -> None:
    """`with` puts the clock where hocket asks for the time, and the one before it back, nested or after an error."""
    real = seam.current()
    with virtual_clock(start=7) as outer:
        assert seam.current() is outer
        assert outer.now() == 7.0
        with pytest.raises(KeyError), virtual_clock() as inner:
            assert seam.current() is inner
            raise KeyError
        assert seam.current() is outer
    assert seam.current() is real


async def test_an_hour_passes_in_no_time() -> None:
    """A lone sleeper wakes at its deadline exactly, without a real sleep."""
    started = time.perf_counter()
    with virtual_clock() as clock:
        await seam.current().sleep(3600)
        assert clock.now() == 3600.0
    assert time.perf_counter() - started < 60


async def test_a_thousand_jumps_take_no_time_to_speak_of() -> None:
    """A jump costs microseconds: a long simulation is a fast test. Other threads, and a busy machine, do not count."""
    with virtual_clock() as clock:
        started = time.thread_time()
        for _ in range(1000):
            await clock.sleep(60)
        assert time.thread_time() - started < 5
        assert clock.now() == 60_000.0


async def test_sleepers_wake_by_deadline_and_in_turn_among_equals() -> None:
    """Those with the same deadline wake in the order of arrival, also on trio, which shuffles its tasks."""
    with virtual_clock() as clock:
        diary = Diary(clock)
        async with anyio.create_task_group() as group:
            for name, seconds in [("late", 9), ("tie 1", 5), ("tie 2", 5), ("early", 1), ("tie 3", 5)]:
                await group.start(diary.sleep, name, seconds)
        assert diary.entries == [("early", 1), ("tie 1", 5), ("tie 2", 5), ("tie 3", 5), ("late", 9)]


async def test_every_sleeper_sees_its_own_deadline() -> None:
    """A woken task acts, and may sleep again, before time goes on."""
    with virtual_clock() as clock:
        ticks: list[float] = []

        async def tick(interval: float, times: int) -> None:
            for _ in range(times):
                await clock.sleep(interval)
                ticks.append(clock.now())

        async with anyio.create_task_group() as group:
            group.start_soon(tick, 2.0, 3)
            group.start_soon(tick, 3.0, 2)
        assert sorted(ticks) == [2.0, 3.0, 4.0, 6.0, 6.0]
        assert ticks == sorted(ticks)


async def test_time_does_not_pass_while_a_task_can_run() -> None:
    """Work that takes many turns of the loop takes no virtual time."""
    with virtual_clock() as clock:
        async with anyio.create_task_group() as group:
            group.start_soon(clock.sleep, 1)
            for _ in range(200):
                await anyio.lowlevel.checkpoint()
                assert clock.now() == 0.0
        assert clock.now() == 1.0


async def test_a_real_worker_thread_is_waited_for() -> None:
    """A thread at work holds time back until it has finished, however long the sleepers mean to sleep."""
    with virtual_clock() as clock:
        finished: list[float] = []

        def work() -> None:
            time.sleep(0.03)
            finished.append(clock.now())

        async with anyio.create_task_group() as group:
            group.start_soon(clock.sleep, 1)
            group.start_soon(anyio.to_thread.run_sync, work)
        assert finished == [0.0]
        assert clock.now() == 1.0


async def test_a_worker_thread_that_has_just_got_its_work_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it may take long to begin, and looks as if it waited: for 20 ms, here for the first look."""
    monkeypatch.setattr("hocket.testing._loops.PATIENCE", 1)
    with virtual_clock() as clock:
        async with anyio.create_task_group() as group:
            group.start_soon(clock.sleep, 25)
            for _ in range(300):
                await anyio.to_thread.run_sync(int)
            assert clock.now() == 0


async def test_worker_threads_sleep_among_the_tasks() -> None:
    """`block` in a worker thread is one more sleeper of its loop: it takes its place in the order."""
    with virtual_clock() as clock:
        diary = Diary(clock)
        async with anyio.create_task_group() as group:
            await group.start(diary.sleep, "task", 2)
            group.start_soon(anyio.to_thread.run_sync, diary.block, "thread", 1)
            group.start_soon(anyio.to_thread.run_sync, diary.block, "thread", 3)
        assert diary.entries == [("thread", 1), ("task", 2), ("thread", 3)]


async def test_a_worker_thread_that_waits_for_its_loop_does_not_stop_time() -> None:
    """A thread that calls back into the loop, or waits for its reader, would otherwise wait for ever."""
    with virtual_clock() as clock:
        taken = threading.Event()

        def calls_back() -> None:
            anyio.from_thread.run(clock.sleep, 5)

        async def reader() -> None:
            await clock.sleep(8)
            taken.set()

        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, calls_back)
            group.start_soon(anyio.to_thread.run_sync, taken.wait)
            group.start_soon(reader)
        assert clock.now() == 8.0


async def test_bytes_that_have_arrived_are_read_first() -> None:
    """What a server in the same loop sends over loopback is handled before a time-out may fire."""
    with virtual_clock() as clock:
        ends = [await anyio.abc.SocketStream.from_socket(end) for end in socket.socketpair()]
        heard: list[float] = []

        async def echo() -> None:
            async for words in ends[1]:
                await ends[1].send(words)

        async def ask() -> None:
            for _ in range(50):
                await ends[0].send(b"hello")
                await ends[0].receive()
                heard.append(clock.now())
            group.cancel_scope.cancel()

        async with ends[0], ends[1], anyio.create_task_group() as group:
            group.start_soon(clock.sleep, 30)
            group.start_soon(echo)
            group.start_soon(ask)
        assert heard == [0.0] * 50


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    """Time does not stop at the deadline of somebody who left."""
    with virtual_clock() as clock:
        async with anyio.create_task_group() as group:
            group.start_soon(clock.sleep, 1)
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert clock.now() == 0.0
        await clock.sleep(10)
        assert clock.now() == 10.0


async def test_without_autojump_only_advance_moves_time() -> None:
    """Time stands still until it is advanced; those that are due wake in order, the others sleep on."""
    with virtual_clock(autojump=False) as clock:
        diary = Diary(clock)
        async with anyio.create_task_group() as group:
            for name, seconds in [("b", 2), ("a", 1), ("c", 2), ("d", 4)]:
                await group.start(diary.sleep, name, seconds)
            await anyio.wait_all_tasks_blocked()
            assert (clock.now(), diary.entries) == (0.0, [])
            clock.advance(2.5)
            await anyio.wait_all_tasks_blocked()
            assert diary.entries == [("a", 2.5), ("b", 2.5), ("c", 2.5)]
            clock.advance(1.5)
        assert diary.entries[-1] == ("d", 4.0)


async def test_advance_works_from_another_thread() -> None:
    """A worker thread may move time for the tasks of the loop."""
    with virtual_clock(autojump=False) as clock:
        async with anyio.create_task_group() as group:
            group.start_soon(clock.sleep, 5)
            await anyio.wait_all_tasks_blocked()
            await anyio.to_thread.run_sync(clock.advance, 5)
        assert clock.now() == 5.0


def test_sync_code_without_a_loop_moves_time_at_once() -> None:
    """`block` under a sync verb takes no real time, in any number of threads, and loses nothing."""
    with virtual_clock() as clock, ThreadPoolExecutor(8) as pool:
        clock.block(2.5)
        assert clock.now() == 2.5
        list(pool.map(clock.block, [1.0] * 400))
        assert clock.now() == 402.5


async def test_sync_code_in_the_loops_own_thread_moves_time_at_once() -> None:
    """A sync verb inside a running loop (Jupyter) holds the loop up, so nobody else could move time for it."""
    with virtual_clock() as clock:
        diary = Diary(clock)
        async with anyio.create_task_group() as group:
            await group.start(diary.sleep, "task", 1)
            diary.block("loop", 3)
        assert diary.entries == [("loop", 3), ("task", 3)]


def wait_for_sleepers(clock: VirtualClock, count: int) -> None:
    """Wait until so many threads sleep: a busy machine starts them when it likes."""
    while len(clock._sleepers) < count:
        time.sleep(0.001)


def test_threads_wait_for_advance_without_autojump() -> None:
    """Threads without a loop wake in order of their deadlines, once somebody advances the clock."""
    with virtual_clock(autojump=False) as clock:
        diary = Diary(clock)
        threads = [threading.Thread(target=diary.block, args=(f"{seconds} s", seconds)) for seconds in (3, 1)]
        for thread in threads:
            thread.start()
        wait_for_sleepers(clock, 2)
        for seconds, woken in [(1, threads[1]), (2, threads[0])]:
            while clock.now() < seconds or woken.is_alive():
                clock.advance(0.25)
                woken.join(0.001)
        assert [name for name, _ in diary.entries] == ["1 s", "3 s"]


def test_threads_are_released_when_the_clock_goes() -> None:
    """A thread left asleep would hang the interpreter's exit: nobody moves a clock that is out of use."""
    with virtual_clock(autojump=False) as clock:
        thread = threading.Thread(target=clock.block, args=(60,))
        thread.start()
        wait_for_sleepers(clock, 1)
        assert thread.is_alive()
    thread.join(5)
    assert not thread.is_alive()


def test_two_loops_share_one_time() -> None:
    """Sleepers of two event loops in two threads hand time over to one another until the last one has woken."""
    clock = VirtualClock()
    both = threading.Barrier(2)

    async def sleep(times: list[float]) -> list[tuple[str, float]]:
        diary = Diary(clock)
        async with anyio.create_task_group() as group:
            both.wait()
            for number, seconds in enumerate(times):
                await group.start(diary.sleep, f"{number}", seconds)
        return diary.entries

    with ThreadPoolExecutor(2) as pool:
        loops = [
            pool.submit(anyio.run, sleep, [float(seconds) for seconds in range(start, 200, 2)], backend=backend)
            for start, backend in enumerate(["asyncio", "trio"])
        ]
        for start, loop in enumerate(loops):
            entries = loop.result()
            assert [name for name, _ in entries] == [f"{number}" for number in range(100)]
            assert all(now >= start + 2 * number for number, (_, now) in enumerate(entries))


async def test_no_time_is_a_turn_for_the_others() -> None:
    """A sleep of nothing, or of less, lets the other tasks run and moves no time."""
    with virtual_clock() as clock:
        turns: list[str] = []

        async def other() -> None:
            turns.append("other")

        async with anyio.create_task_group() as group:
            group.start_soon(other)
            while not turns:
                await clock.sleep(-1)
                clock.block(0)
        assert clock.now() == 0.0


async def test_a_sleep_without_end_ends_by_cancelling_only() -> None:
    """`inf` is not a deadline to jump to."""
    with virtual_clock() as clock, anyio.move_on_after(0.02) as scope:
        await clock.sleep(math.inf)
    assert scope.cancelled_caught
    assert clock.now() == 0.0


async def test_nonsense_is_refused() -> None:
    """Time does not go back, and not-a-number is no time: the message says what to give instead."""
    clock = VirtualClock()
    with pytest.raises(InvalidInput, match=r"-1.*0 or more"):
        clock.advance(-1)
    for wait in (clock.block, clock.advance):
        with pytest.raises(InvalidInput, match=r"nan.*give a number"):
            wait(math.nan)
    with pytest.raises(InvalidInput, match=r"nan.*give a number"):
        await clock.sleep(math.nan)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_clock_adds_no_task() -> None:
    """It drives asyncio by callbacks: a test that looks for leaked tasks finds none of the clock's."""
    with virtual_clock() as clock:
        before = len(anyio.get_running_tasks())
        async with anyio.create_task_group() as group:
            group.start_soon(clock.sleep, 1)
            await anyio.lowlevel.checkpoint()
            assert len(anyio.get_running_tasks()) == before + 1
