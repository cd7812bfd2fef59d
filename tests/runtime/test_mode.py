"""The two modes: the same questions, answered by a loop or by the caller's own thread."""

import asyncio
import contextvars
import threading

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest

from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive, start_eagerly
from hocket._runtime.worker_threads import MAX_THREADS, thread_limiter
from hocket.testing import VirtualClock

setting = contextvars.ContextVar("setting", default="unset")


def where() -> tuple[str, str]:
    """Return the thread that this runs in, and what it sees of the context."""
    return threading.current_thread().name, setting.get()


async def awhere() -> tuple[str, str]:
    await anyio.lowlevel.checkpoint()
    return where()


async def test_sync_code_goes_to_a_thread_with_the_callers_context() -> None:
    """The loop is not held up."""
    setting.set("mine")
    thread, seen = await ASYNC.call_sync(where)
    assert thread != threading.current_thread().name
    assert seen == "mine"


async def test_async_code_is_awaited_in_place() -> None:
    """In the caller's own task: what it sets is set."""

    async def change() -> None:
        setting.set("changed")

    await ASYNC.call_async(change)
    assert setting.get() == "changed"


def test_stepped_sync_code_runs_here() -> None:
    """In the caller's thread and context."""

    def change() -> str:
        setting.set("changed")
        return threading.current_thread().name

    assert drive(BLOCKING.call_sync(change)) == threading.current_thread().name
    assert setting.get() == "changed"
    setting.set("unset")


def test_stepped_async_code_runs_on_the_kept_loop() -> None:
    """With the caller's context, and no loop is needed here."""
    token = setting.set("mine")
    assert drive(BLOCKING.call_async(awhere)) == ("hocket", "mine")
    setting.reset(token)


async def test_async_code_under_sync_code_goes_back_to_its_loop() -> None:
    """A sync hook in a worker thread has its async handlers told on the loop that it came from."""
    home = threading.current_thread().name

    def hook() -> tuple[str, str]:
        return drive(BLOCKING.call_async(awhere))

    setting.set("mine")
    assert await ASYNC.call_sync(hook) == (home, "mine")


@pytest.mark.parametrize("mode", [ASYNC, BLOCKING], ids=["async", "blocking"])
def test_results_and_errors_come_through(mode: Mode) -> None:
    """Whatever way it was called."""

    async def main() -> None:
        async def fail() -> None:
            raise KeyError("async")

        def sync_fail() -> None:
            raise KeyError("sync")

        assert await mode.call_sync(divmod, 7, 2) == (3, 1)
        with pytest.raises(KeyError, match=r"^'async'$"):
            await mode.call_async(fail)
        with pytest.raises(KeyError, match=r"^'sync'$"):
            await mode.call_sync(sync_fail)

    if mode is BLOCKING:
        drive(main())
    else:
        anyio.run(main)


def test_a_stage_that_waits_outside_its_mode_is_found_out() -> None:
    """A fault of hocket's own: the coroutine is closed, not left."""
    closed: list[bool] = []

    class Wait:
        def __await__(self) -> object:
            yield

    async def stage() -> None:
        try:
            await Wait()  # type: ignore[misc]
        finally:
            closed.append(True)

    with pytest.raises(RuntimeError, match="outside its mode"):
        drive(stage())
    assert closed == [True]


async def test_hooks_have_threads_of_their_own() -> None:
    """Sync hooks may fill them without taking those that the rest of the program waits for, and the other way round."""
    limiter = thread_limiter(anyio.lowlevel.current_token())
    assert limiter is thread_limiter(anyio.lowlevel.current_token())
    assert limiter.total_tokens == MAX_THREADS
    assert limiter is not anyio.to_thread.current_default_thread_limiter()


async def test_more_sync_calls_than_asyncios_default_pool_has_threads_run_at_once() -> None:
    """Each of forty blocking calls waits for all the others, so none of them ends before all have begun."""
    together = threading.Barrier(40)
    async with anyio.create_task_group() as group:
        for _ in range(40):
            group.start_soon(ASYNC.call_sync, together.wait, 30)
    assert together.n_waiting == 0
    assert not together.broken


async def test_a_cancelled_caller_leaves_its_thread_behind() -> None:
    """A thread cannot be stopped; the caller does not wait for it."""
    go_on = threading.Event()
    with anyio.move_on_after(0.01) as scope:
        await ASYNC.call_sync(go_on.wait, 5)
    go_on.set()
    assert scope.cancelled_caught


@pytest.mark.parametrize("ticks", [*range(8), None])
async def test_what_a_cancelled_caller_would_have_to_give_back_is_given_back(ticks: int | None) -> None:
    """Once, at whichever moment it was cancelled: before the thread has it (None), or when it is on its way."""
    events: list[str] = []
    has_begun, may_go_on = anyio.Event(), threading.Event()

    def acquire() -> str:
        if ticks is None:
            anyio.from_thread.run_sync(has_begun.set)
            may_go_on.wait(30)
        events.append("acquired")
        return "it"

    async def take() -> None:
        assert await ASYNC.acquire(acquire, lambda what: events.append(f"released {what}")) == "it"
        events.append("taken")

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        if ticks is None:
            await has_begun.wait()
        for _ in range(ticks or 0):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert ticks is not None or events == []
    may_go_on.set()
    while ("acquired" in events or ticks is None) and len(events) < 2:
        await anyio.lowlevel.checkpoint()
    assert events in ([], ["acquired", "taken"], ["acquired", "released it"])


async def test_jobs_run_at_once_or_one_after_another() -> None:
    """`each`: concurrently under a loop, in order without one."""
    notes: list[str] = []

    async def job(name: str) -> None:
        notes.append(f"{name} in")
        if asyncio_or_trio:
            await anyio.lowlevel.checkpoint()
        notes.append(f"{name} out")

    asyncio_or_trio = True
    await ASYNC.run_each(lambda name=name: job(name) for name in "ab")  # type: ignore[misc]
    assert notes[:2] in (["a in", "b in"], ["b in", "a in"])
    notes.clear()
    asyncio_or_trio = False
    await BLOCKING.run_each(lambda name=name: job(name) for name in "ab")  # type: ignore[misc]
    assert notes == ["a in", "a out", "b in", "b out"]


async def test_a_shielded_job_may_wait_in_a_cancelled_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a while: a clean-up that never ends is cut off."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        assert await ASYNC.finish_within_grace(anyio.sleep(0.001))
        monkeypatch.setattr("hocket._runtime.mode.END_GRACE", 0.01)
        assert not await ASYNC.finish_within_grace(anyio.sleep(60))


async def test_both_sleep_by_the_clock_in_use(virtual_clock: VirtualClock) -> None:
    """So that no test sleeps for real."""
    await ASYNC.sleep(60)
    assert virtual_clock.now() == 60
    await anyio.to_thread.run_sync(drive, BLOCKING.sleep(60))
    assert virtual_clock.now() == 120


def test_without_asyncio_or_trio_nothing_of_them_is_touched() -> None:
    """Stepping needs no loop, and leaves none behind."""

    async def stages() -> int:
        await BLOCKING.run_each([])
        await BLOCKING.finish_within_grace(nothing())
        await BLOCKING.run_shielded(nothing())
        return await BLOCKING.call_sync(len, "abc")

    async def nothing() -> None:
        return None

    assert drive(stages()) == 3
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


async def test_what_never_waits_is_over_once_it_has_begun() -> None:
    """In the caller's own context; what it raises is raised at once."""

    async def change() -> None:
        setting.set("changed")

    async def fail() -> None:
        raise ValueError("at once")

    assert start_eagerly(change()) is None
    assert setting.get() == "changed"
    with pytest.raises(ValueError, match="at once"):
        start_eagerly(fail())


async def test_what_waits_goes_on_where_it_is_awaited() -> None:
    """As if it had been awaited from its beginning: waits, errors and cancellations arrive inside."""
    seen: list[str] = []

    async def work() -> None:
        seen.append("start_eagerly")
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        seen.append("waited")
        with anyio.move_on_after(0.01):
            await anyio.sleep_forever()
        seen.append("timed out")
        scope.cancel()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            seen.append("cancelled")

    rest = start_eagerly(work())
    assert rest is not None and seen == ["start_eagerly"]
    with anyio.CancelScope() as scope:
        await rest
    assert scope.cancelled_caught
    assert seen == ["start_eagerly", "waited", "timed out", "cancelled"]


async def test_what_waits_may_fail_after_a_wait() -> None:
    """The error comes out of the ``await``."""

    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise ValueError("later")

    rest = start_eagerly(fail())
    assert rest is not None
    with pytest.raises(ValueError, match="later"):
        await rest
