"""A limit that processes share: one schedule for all of them, exact, in order, and nothing left behind."""

import itertools
import json
import multiprocessing
import os
import pickle
import signal
import sqlite3
import subprocess
import textwrap
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket.errors import DroppedStateWarning, HocketWarning, InvalidInput
from hocket.language_models import ScriptedChatModel
from hocket.rate_limiters import RateLimiter
from hocket.rate_limiters.adapting import CUT
from tests.kit.warm import Program

LONG = 60.0
"""Real seconds that a busy machine may take."""


def shared(address: str, name: str, *numbers: float, **more: Any) -> RateLimiter:
    return RateLimiter(*numbers, store=address, name=name, if_store_fails="raise", **more)


PROCESS = """
    import json, sys, threading
    import anyio
    from hocket.rate_limiters import RateLimiter

    address, name, waiters, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    limiter = RateLimiter(4800, 24000, window=0.5, store=address, name=name, if_store_fails="raise")
    left = iter(range(count))

    async def wait():
        for _ in left:
            held = await limiter._line.reserve(ASYNC, Tokens(5, 5))
            print(json.dumps([held.turn.grant.seq, held.turn.grant.back]), flush=True)

    async def main():
        await anyio.to_thread.run_sync(sys.stdin.readline)  # all start together
        async with anyio.create_task_group() as group:
            for _ in range(waiters):
                group.start_soon(wait)
        print(json.dumps(["trips", limiter._line.trips]), flush=True)

    from hocket._runtime.mode import ASYNC
    from hocket.rate_limiters.limits import Tokens
    anyio.run(main)
"""


def start(*arguments: object) -> subprocess.Popen[str]:
    code = textwrap.dedent(PROCESS)
    return Program("-c", code, *map(str, arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_share_one_schedule(address: str, name: str) -> None:
    """No window of it holds more than the limit, every number is given once, and a grant takes one round trip."""
    processes = [start(address, name, 8, 60) for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    lines = [json.loads(line) for process in processes for line in process.communicate(timeout=LONG)[0].splitlines()]
    trips = sum(line[1] for line in lines if line[0] == "trips")
    steps = {line[0]: line[1] for line in lines if line[0] != "trips"}
    assert sorted(steps) == list(range(1, 181))
    assert trips <= 1.1 * 180 + 3
    # What each moved the schedule on by gives the schedule, by the store's own clock.
    times = list(itertools.accumulate(steps[number] for number in range(2, 181)))
    assert all(later - earlier >= 0.0125 - 1e-4 for earlier, later in itertools.pairwise(times))
    for earlier, later in zip(times, times[20:], strict=False):  # 20 of 10 tokens are the limit of half a second
        assert later - earlier >= 0.5 - 1e-3


def test_a_process_that_is_killed_leaves_what_the_window_forgets(address: str, name: str) -> None:
    """Its tokens are back when the window has passed, and its places in the schedule were a second's at most."""
    process = start(address, name, 8, 1000)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait(LONG)
    process.stdout.close()
    process.stdin.close()
    limiter = shared(address, name, 4800, 24000, window=0.5)
    line = limiter._line
    held = limiter.reserve(10)
    assert held is not None
    assert limiter._line.trips <= 10
    held.settle(0)
    ends_at = time.monotonic() + LONG
    while limiter.state().input_tokens and time.monotonic() < ends_at:
        time.sleep(0.05)
    state = limiter.state()
    assert (state.input_tokens, state.output_tokens) == (0, 0)
    assert line.waiting == 0


async def test_arrival_decides_over_all(address: str, name: str) -> None:
    """Who asks the store first goes first, whichever process it is."""
    one, other = shared(address, name, 6000), shared(address, name, 6000)
    numbers = []
    for limiter in (one, other, other, one, one, other):
        permit = await limiter.areserve()
        numbers.append(permit._held.turn.grant.seq)  # type: ignore[union-attr]
    assert numbers == [1, 2, 3, 4, 5, 6]


async def test_what_one_settles_the_others_have(address: str, name: str) -> None:
    one, other = shared(address, name, None, 1000), shared(address, name, None, 1000)
    permit = await one.areserve((100, 800))
    assert permit is not None
    assert await other.areserve(200, blocking=False) is None
    await permit.asettle((100, 50))
    assert await other.areserve(200, blocking=False) is not None
    state = await one.astate()
    assert (state.input_tokens, state.output_tokens) == (300, 50)


def test_threads_share_it_too(address: str, name: str) -> None:
    limiter = shared(address, name, 60_000, 100_000)
    for _ in range(20):
        permit = limiter.reserve(50)
        assert permit is not None
        permit.settle((20, 5))
    state = limiter.state()
    assert (state.input_tokens, state.output_tokens) == (400, 100)


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_one_who_is_cancelled_at_any_point_leaves_nothing(address: str, name: str) -> None:
    """After each number of steps of the loop, and while it waits for its moment."""
    limiter = shared(address, name, 60_000, 10_000, max_in_flight=3)
    for steps in [*range(25), 50, 100, 200]:
        async with anyio.create_task_group() as group:
            group.start_soon(limiter.areserve, 100)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    state = await limiter.astate()
    assert limiter._line.waiting == 0
    assert state.input_tokens == 100 * limiter._line.in_flight  # of those who were faster than their cancellation


async def test_waiters_of_a_full_window_leave_nothing(address: str, name: str) -> None:
    limiter = shared(address, name, None, 1000)
    permit = await limiter.areserve(900)
    assert permit is not None
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(limiter.areserve, 500)
        while limiter._line.waiting < 20:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    state = await limiter.astate()
    assert (state.waiting, state.input_tokens, state.in_flight) == (0, 900, 1)
    await permit.arefund()
    assert (await limiter.astate()).input_tokens == 0


def test_a_429_slows_down_the_whole_fleet_once(address: str, name: str) -> None:
    """Whoever it was that was refused, and however many were; a `retry-after` is kept by all."""
    one, other = shared(address, name, 6000), shared(address, name, 6000)
    assert one.acquire() and other.acquire()
    for limiter in (one, other, one, other):
        limiter.slow_down(50)
    for limiter in (one, other):
        state = limiter.state()
        assert state.share == pytest.approx(CUT)
        assert 20 < state.paused <= 50
        assert not limiter.acquire(blocking=False)


def test_the_newer_numbers_count(address: str, name: str) -> None:
    """And a warning says so, at the line of the program."""
    old, new = shared(address, name, 6000), shared(address, name, 12_000, 5000)
    assert old.acquire()
    with pytest.warns(
        HocketWarning, match=r"was used with requests_per_minute=6000, .* requests_per_minute=12000, tok"
    ):
        assert new.acquire()
    assert old.state().requests_per_minute == 12_000
    assert new.acquire()


def test_it_pickles_without_the_password(name: str) -> None:
    """Alone and in a model; where it is loaded it is the same limit."""
    limiter = RateLimiter(60, 1000, store="redis://user:hunter2@127.0.0.1:6379/0", name=name, if_store_fails="raise")
    assert "hunter2" not in repr(limiter)
    with pytest.warns(DroppedStateWarning, match="leaves its password behind"):
        data = pickle.dumps(limiter)
    assert b"hunter2" not in data
    loaded = pickle.loads(data)
    assert repr(loaded) == f"RateLimiter(name={name!r}, store='redis://127.0.0.1:6379/0')"
    model = ScriptedChatModel(script=["hi"], rate_limiter=shared("redis://127.0.0.1:6379/0", name, 60))
    again = pickle.loads(pickle.dumps(model))
    assert again.rate_limiter.is_portable
    assert again.rate_limiter.acquire()


def test_with_a_file_it_pickles_as_it_is_and_shows_the_path(tmp_path: Path, name: str) -> None:
    limiter = RateLimiter(60, store=f"sqlite:///{tmp_path}/fleet.db", name=name)
    loaded = pickle.loads(pickle.dumps(limiter))
    assert loaded.acquire()
    assert f"store='sqlite:///{tmp_path}/fleet.db'" in repr(loaded)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python's, of threads at a fork
def test_a_forked_child_has_a_line_of_its_own(address: str, name: str) -> None:
    """The parent's thread does not live there, and its connection is not used."""
    limiter = shared(address, name, 60_000, 10_000)
    assert limiter.acquire()
    child = multiprocessing.get_context("fork").Process(target=_use, args=(limiter,))
    child.start()
    child.join(LONG)
    assert child.exitcode == 0
    permit = limiter.reserve(10)
    assert permit is not None
    permit.settle(5)
    assert limiter.state().input_tokens == 12


def _use(limiter: RateLimiter) -> None:
    permit = limiter.reserve(10)
    assert permit is not None
    permit.settle(7)


@pytest.mark.parametrize("how", ["a directory", "not a database", "of a newer version", "with other tables"])
@pytest.mark.parametrize("if_store_fails", ["local", "raise"])
def test_a_file_that_is_none_of_ours_is_refused(how: str, if_store_fails: Any, tmp_path: Path, name: str) -> None:
    """Whatever is to be done where the store fails: this is no failure that passes."""
    path = tmp_path / "limits.db"
    if how == "a directory":
        path.mkdir()
    elif how == "not a database":
        path.write_text("a letter to a friend" * 100)
    else:
        if how == "of a newer version":
            assert shared(f"sqlite:///{path}", name, 60).acquire()
        with sqlite3.connect(path) as connection:
            newer = how == "of a newer version"
            connection.execute(
                "UPDATE hocket_limit SET format = 99" if newer else "CREATE TABLE hocket_limit (all_of_it)"
            )
        connection.close()
    limiter = RateLimiter(60, store=f"sqlite:///{path}", name=name, if_store_fails=if_store_fails)
    text = r"is a directory|none of SQLite's: give|of format 99.*use a newer|tables are those of another version"
    with pytest.raises(InvalidInput, match=text):
        limiter.acquire()
