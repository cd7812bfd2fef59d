"""An alarm cuts off what runs too long, can be put off, and tells its own cancellation from anybody else's."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from importlib.metadata import version

import anyio
import anyio.lowlevel
import pytest

from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket.testing import virtual_clock as put_in_use

SOON = 0.02
NEVER = 1000.0


@pytest.fixture(params=["real", "virtual"])
def any_clock(request: pytest.FixtureRequest) -> Iterator[None]:
    """The loop's own time, and a clock's that is not."""
    with put_in_use() if request.param == "virtual" else contextlib.nullcontext():
        yield


@pytest.mark.usefixtures("any_clock")
async def test_it_rings_and_the_caller_goes_on() -> None:
    with Alarm() as alarm:
        alarm.set(SOON)
        await clock.current().sleep(NEVER)
        raise AssertionError("it did not ring")
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


@pytest.mark.usefixtures("any_clock")
@pytest.mark.parametrize("later", [NEVER, None])
async def test_it_can_be_put_off_and_brought_forward(later: float | None) -> None:
    rest = "not reached"
    with Alarm() as alarm:
        alarm.set(SOON)
        alarm.set(later)
        await clock.current().sleep(3 * SOON)
        rest = "not cut off"
        alarm.set(SOON)
        await clock.current().sleep(NEVER)
    assert rest == "not cut off"


async def test_it_is_put_off_again_and_again(virtual_clock: clock.Clock) -> None:
    with Alarm() as alarm:
        for _ in range(10):
            alarm.set(2)
            await virtual_clock.sleep(1.9)
        alarm.set(2)
        await virtual_clock.sleep(3)
    assert virtual_clock.now() == pytest.approx(21)


@pytest.mark.usefixtures("any_clock")
async def test_what_ends_in_time_is_left_alone(settled: Callable[[int], object], task_count: Callable[[], int]) -> None:
    before = task_count()
    for _ in range(3):
        with Alarm() as alarm:
            alarm.set(SOON)
    await settled(before)  # type: ignore[misc]
    await clock.current().sleep(3 * SOON)


@pytest.mark.usefixtures("any_clock")
async def test_what_ends_nevertheless_keeps_its_outcome() -> None:
    async def stubborn() -> str:
        with anyio.CancelScope(shield=True):
            await clock.current().sleep(3 * SOON)
        return "done"

    async def get() -> str:
        with Alarm() as alarm:
            alarm.set(SOON)
            return await stubborn()
        raise AssertionError("it took the result away")

    assert await get() == "done"


@pytest.mark.usefixtures("any_clock")
async def test_an_error_on_the_way_out_is_raised() -> None:
    with pytest.raises(ValueError, match="clean-up"), Alarm() as alarm:
        alarm.set(SOON)
        try:
            await clock.current().sleep(NEVER)
        finally:
            raise ValueError("clean-up")


@pytest.mark.parametrize("outer_first", [True, False])
async def test_a_scope_around_it_that_is_cancelled_at_the_same_time_wins(
    outer_first: bool, virtual_clock: clock.Clock
) -> None:
    went_on = False
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as outer:

            async def strike() -> None:
                await virtual_clock.sleep(2)
                outer.cancel()

            if outer_first:
                group.start_soon(strike)
                await anyio.wait_all_tasks_blocked()
            with Alarm() as alarm:
                alarm.set(2)
                if not outer_first:
                    await anyio.lowlevel.checkpoint()
                    group.start_soon(strike)
                await virtual_clock.sleep(NEVER)
            await anyio.lowlevel.checkpoint()
            went_on = True
    assert outer.cancelled_caught is not went_on


@pytest.mark.skipif(
    tuple(map(int, version("anyio").split(".")[:2])) < (4, 16),
    reason="a cancel scope of anyio before 4.16 swallows a timeout of asyncio's that strikes just before it",
)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("timeout_first", [True, False])
async def test_a_timeout_of_asyncios_at_the_same_time_stays_one(
    timeout_first: bool, virtual_clock: clock.Clock
) -> None:
    """Both strike before the task that they strike gets a turn."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as timeout:
            with Alarm() as alarm:
                blows = [lambda: timeout.reschedule(0), alarm._scope.cancel]
                for blow in blows if timeout_first else blows[::-1]:
                    loop.call_soon(blow)
                await virtual_clock.sleep(NEVER)
            await asyncio.sleep(0)
            raise AssertionError("the cancellation of the timeout was swallowed")
    assert task.cancelling() == 0
    for _ in range(5):
        await asyncio.sleep(0)
