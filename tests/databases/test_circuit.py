"""A store that fails is left alone for a while."""

import logging

import anyio
import pytest

from hocket._databases.circuit import FAILURES, PAUSE, QUIET, Circuit
from hocket._runtime import clock
from hocket._runtime.mode import ASYNC, BLOCKING, drive
from hocket.errors import StoreError, StoreUnavailable
from hocket.testing import VirtualClock, virtual_clock

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
        StoreUnavailable,
        match=r"the store: it failed 3 times in a row, or was silent for long; it is left alone for 5\.0 s more",
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


def make_waiting() -> Circuit:
    """As a budget has one: without the store a call is refused."""
    return Circuit("the store", 30.0, log, "nothing is sent", wait=1.0)


async def answer_at(circuit: Circuit, seconds: float, outcome: str) -> str:
    """Ask a store that answers, or fails, after so many seconds; what the caller gets, and when."""

    async def work() -> str:
        await clock.current().sleep(seconds)
        if outcome == "fails":
            raise StoreError("the store: down")
        return outcome

    try:
        got = await circuit.run(ASYNC, work)
    except StoreUnavailable:
        got = "refused"
    except StoreError:
        got = "failed"
    return f"{got} at {clock.current().now():.0f}"


async def ask_at(circuit: Circuit, *calls: tuple[float, float, str]) -> list[str]:
    """Make calls, each so many seconds from now on: what they get, in their order."""
    got = [""] * len(calls)

    async def ask(number: int, after: float, seconds: float, outcome: str) -> None:
        await clock.current().sleep(after)
        got[number] = await answer_at(circuit, seconds, outcome)

    async with anyio.create_task_group() as group:
        for number, call in enumerate(calls):
            group.start_soon(ask, number, *call)
    return got


@pytest.mark.anyio
async def test_one_long_silence_is_enough() -> None:
    """Of calls at the same time three would count after three time-outs. Those that began before it make it no longer."""
    with virtual_clock():
        calls = [(float(start), 10.0, "fails") for start in range(10)]
        got = await ask_at(make_waiting(), *calls, (10.5, 0.0, "yes"), (11.5, 0.0, "yes"), (15.5, 0.0, "yes"))
    assert got[:10] == [f"failed at {start + 10}" for start in range(10)]
    assert got[10:] == ["refused at 10", "yes at 12", "yes at 16"]


@pytest.mark.anyio
async def test_a_late_failure_says_nothing_of_a_store_that_has_answered_since() -> None:
    with virtual_clock():
        circuit = make_waiting()
        got = await ask_at(circuit, (0, 10, "fails"), (1, 10, "fails"), (9, 0, "yes"), (10.5, 0, "yes"))
        assert got == ["failed at 10", "failed at 11", "yes at 9", "yes at 10"]
        assert not circuit.is_open


@pytest.mark.anyio
@pytest.mark.parametrize(("takes", "got"), [(0.5, "yes at 12"), (9.0, "refused at 12")])
async def test_the_others_wait_a_moment_for_who_tries(takes: float, got: str) -> None:
    """Where to go without the store is an error: one that is back refuses nobody, one that is not costs a second."""
    with virtual_clock():
        circuit = make_waiting()
        await ask_at(circuit, (0, 10, "fails"))
        assert await ask_at(circuit, (1, takes, "yes"), *[(1.1, 0, "yes")] * 3) == [
            f"yes at {11 + takes:.0f}",
            *[got] * 3,
        ]


@pytest.mark.anyio
async def test_a_trial_that_is_cancelled_leaves_the_next_caller_to_try() -> None:
    with virtual_clock():
        circuit = make_waiting()
        await ask_at(circuit, (0, 10, "fails"), (1, 10, "fails"))
        with anyio.move_on_after(2):
            await answer_at(circuit, 9, "yes")
        assert (await answer_at(circuit, 0, "yes")).startswith("yes")


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
