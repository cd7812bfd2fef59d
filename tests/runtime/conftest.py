"""What the tests of the runtime share: a look at the loop, to see whether anything was left behind."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator

import anyio
import pytest

from hocket._runtime.cancellation import hidden_tasks


def living_tasks() -> int:
    """Return how many tasks the running loop has."""
    try:
        return len(asyncio.all_tasks() | hidden_tasks)
    except RuntimeError:
        import trio

        return trio.lowlevel.current_statistics().tasks_living


@pytest.fixture
def settled() -> Callable[[int], Awaitable[None]]:
    """Wait until the loop is down to so many tasks; fail if that takes long."""

    async def wait_for(count: int) -> None:
        with anyio.move_on_after(30):
            while living_tasks() > count:  # noqa: ASYNC110 - nothing tells when a task is gone
                await anyio.sleep(0.001)
        assert living_tasks() == count

    return wait_for


@pytest.fixture
def task_count() -> Callable[[], int]:
    """Count the tasks of the running loop."""
    return living_tasks


@pytest.fixture(autouse=True)
def nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail if anybody, the event loops included, logs something above DEBUG."""
    caplog.set_level(logging.INFO)
    yield
    loud = caplog.get_records("call")
    assert not loud, [record.getMessage() for record in loud]
