"""A store that fails is left alone for a while."""

import logging

import anyio
import pytest

from hocket._databases.circuit import FAILURES, PAUSE, QUIET, Circuit
from hocket._runtime.mode import ASYNC, BLOCKING, drive
from hocket.errors import StoreError, StoreUnavailable
from hocket.testing import VirtualClock

log = logging.getLogger("tests.circuit")


class Store:
    """A store that fails when it is told to, and counts who asks."""

    def __init__(self) -> None:
        self.fails = True
        self.asked = 0

    async def ask(self) -> str:
        self.asked += 1
        if self.fails:
            raise StoreError("the store: down")
        return "answer"


def make(patience: float = 1.0) -> Circuit:
    return Circuit("the store", patience, log, "it counts as empty")


def fail(circuit: Circuit, store: Store, times: int = FAILURES) -> None:
    for _ in range(times):
        with pytest.raises(StoreError, match="down"):
            drive(circuit.run(BLOCKING, store.ask))


def test_after_some_failures_nobody_asks(virtual_clock: VirtualClock) -> None:
    """The next callers are sent away at once, with the time that is left."""
    circuit, store = make(), Store()
    fail(circuit, store)
    assert circuit.is_open
    with pytest.raises(
        StoreUnavailable, match=r"the store: it failed 3 times in a row; it is left alone for 5\.0 s more"
    ):
        drive(circuit.run(BLOCKING, store.ask))
    assert store.asked == FAILURES


def test_one_caller_tries_after_the_pause(virtual_clock: VirtualClock) -> None:
    """If it fails again, the pause begins anew; if not, all may ask."""
    circuit, store = make(), Store()
    fail(circuit, store)
    virtual_clock.advance(PAUSE)
    fail(circuit, store, 1)
    with pytest.raises(StoreUnavailable):
        drive(circuit.run(BLOCKING, store.ask))
    virtual_clock.advance(PAUSE)
    store.fails = False
    assert [drive(circuit.run(BLOCKING, store.ask)) for _ in range(3)] == ["answer"] * 3
    assert not circuit.is_open


@pytest.mark.anyio
async def test_failures_at_the_same_time_are_one() -> None:
    """A hundred callers who wait in vain know no more than one of them."""
    circuit = make(0.01)

    async def wait() -> None:
        with pytest.raises(StoreUnavailable):
            await circuit.run(ASYNC, anyio.sleep_forever)

    for number in range(FAILURES):
        assert not circuit.is_open, number
        async with anyio.create_task_group() as group:
            for _ in range(100):
                group.start_soon(wait)
    assert circuit.is_open


def test_failures_count_in_a_row_only(virtual_clock: VirtualClock) -> None:
    """An answer between them forgets the earlier ones."""
    circuit, store = make(), Store()
    fail(circuit, store, FAILURES - 1)
    store.fails = False
    drive(circuit.run(BLOCKING, store.ask))
    store.fails = True
    fail(circuit, store, FAILURES - 1)
    assert not circuit.is_open


def test_the_log_has_one_line_a_minute(virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    """It says what failed and what that means."""
    circuit, store = make(), Store()
    fail(circuit, store)
    assert caplog.messages == ["the store: down; it counts as empty"]
    virtual_clock.advance(QUIET)
    fail(circuit, store, 1)
    assert len(caplog.messages) == 2


def test_what_is_no_failure_of_the_store_passes(virtual_clock: VirtualClock) -> None:
    """A fault of the caller's says nothing of the store."""
    circuit = make()

    async def go_wrong() -> None:
        raise ValueError("not the store's fault")

    for _ in range(FAILURES + 1):
        with pytest.raises(ValueError, match="not the store's"):
            drive(circuit.run(BLOCKING, go_wrong))


@pytest.mark.anyio
async def test_a_slow_store_is_not_waited_for() -> None:
    """The work is cancelled; a caller that is cancelled itself is no failure."""
    circuit = make(0.01)
    with pytest.raises(StoreUnavailable, match=r"no answer within 0\.01 s"):
        await circuit.run(ASYNC, anyio.sleep_forever)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await circuit.run(ASYNC, anyio.sleep_forever)
    store = Store()
    store.fails = False
    assert await circuit.run(ASYNC, store.ask) == "answer"
