"""What a cancellation must not cut short: it is finished, whatever strikes the caller meanwhile."""

import asyncio
import contextvars
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket._runtime import cancellation
from hocket._runtime.cancellation import is_cancelled, run_shielded, wait_shielded

setting = contextvars.ContextVar("setting", default="unset")


class Work:
    """Takes its time, and notes how it ended."""

    def __init__(self, seconds: float = 0.01, error: BaseException | None = None) -> None:
        self.seconds = seconds
        self.error = error
        self.outcome = "not started"

    async def __call__(self) -> None:
        self.outcome = "cut short"
        await anyio.sleep(self.seconds)
        self.outcome = "done"
        if self.error is not None:
            raise self.error


async def test_it_is_run_and_awaited() -> None:
    """Nobody cancels: it is a plain await."""
    work = Work(0)
    await run_shielded(work())
    assert work.outcome == "done"


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
async def test_what_it_raises_is_raised_here(error: BaseException) -> None:
    """Also what would stop an event loop from inside a task."""
    with pytest.raises(type(error)) as caught:
        await run_shielded(Work(0, error)())
    assert caught.value is error


@pytest.mark.parametrize("moment", ["before", "meanwhile"])
async def test_a_cancelled_scope_waits_for_it(moment: str) -> None:
    """What was cancelled goes on to its next wait, and no further."""
    work = Work()
    with anyio.CancelScope() as scope:
        if moment == "before":
            scope.cancel()
        else:
            scope.deadline = anyio.current_time() + 0.002
        await run_shielded(work())
        assert work.outcome == "done"
        assert is_cancelled()
        await anyio.lowlevel.checkpoint()
        raise AssertionError("not cancelled")
    assert scope.cancelled_caught


async def test_context_variables_that_it_sets_are_the_callers() -> None:
    """It is the caller's own work, whatever task does it."""

    async def set_it() -> None:
        assert setting.get() == "before"
        await anyio.lowlevel.checkpoint()
        setting.set("after")

    setting.set("before")
    await run_shielded(set_it())
    assert setting.get() == "after"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("blows", [1, 2, 5])
async def test_task_cancel_waits_for_it_and_strikes_then(blows: int) -> None:
    """However often: the work is done, and the cancellation is not lost."""
    work = Work()

    async def caller() -> None:
        await run_shielded(work())

    task = asyncio.create_task(caller())
    for _ in range(blows):
        await asyncio.sleep(0.001)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.outcome == "done"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_timeout_of_asyncio_waits_for_it_and_is_still_a_timeout() -> None:
    """`asyncio.timeout` is made of task.cancel()."""
    work = Work()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.002):
            await run_shielded(work())
    assert work.outcome == "done"
    await asyncio.sleep(0)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancelled_task_hides_its_works_failure() -> None:
    """The cancellation comes first, and the failure is not logged as one that nobody looked at."""
    work = Work(error=ValueError("no"))
    task = asyncio.create_task(run_shielded(work()))  # type: ignore[arg-type]
    await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.outcome == "done"


def test_a_loop_that_ends_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio cancels everything then; the work goes on for a few seconds, and no longer."""
    monkeypatch.setattr(cancellation, "LOOP_END_GRACE", 0.01)
    work = Work(60)

    async def main() -> None:
        waiting = asyncio.ensure_future(run_shielded(work()))
        await asyncio.sleep(0.001)
        assert not waiting.done()

    asyncio.run(main())
    assert work.outcome == "cut short"


async def test_an_event_is_waited_for_through_a_cancelled_scope() -> None:
    """And then the scope has its way."""
    event = anyio.Event()
    seen: list[bool] = []

    async def wait() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await wait_shielded(event)
            seen.append(event.is_set())
            await anyio.lowlevel.checkpoint()
            seen.append(False)

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        event.set()
    assert seen == [True]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_event_is_waited_for_through_task_cancel() -> None:
    """However often; the cancellation is raised when the event has come."""
    event = anyio.Event()
    task = asyncio.create_task(wait_shielded(event))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
    event.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_event_that_has_come_is_not_waited_for() -> None:
    """No checkpoint, and so no cancellation."""
    event = anyio.Event()
    event.set()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await wait_shielded(event)
    assert not scope.cancelled_caught


def test_trio_as_a_guest_of_asyncio_is_trio() -> None:
    """Its loop runs in a thread where asyncio's runs, too."""
    trio = pytest.importorskip("trio")
    work = Work()

    async def guest() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await run_shielded(work())

    async def host() -> None:
        loop = asyncio.get_running_loop()
        over: asyncio.Future[Any] = loop.create_future()
        trio.lowlevel.start_guest_run(
            guest, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=over.set_result
        )
        (await over).unwrap()

    asyncio.run(host())
    assert work.outcome == "done"
