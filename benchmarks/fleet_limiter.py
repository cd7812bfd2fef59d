"""A rate limit that eight processes share on Redis, asked for four times what it allows.

Four figures: how much of the limit is handed out, what a grant costs all processes together in CPU time, how evenly they
are served, and how often a grant goes to Redis. *peer* is the moving window of ``limits``, which neither waits nor keeps
an order: who is refused asks again a twentieth of a second later.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from .bench import REDIS, Bench, Case, explain_absence
from .harness import Samples, Target, one_line
from .table import Row, row_of

__all__ = ["CASES"]

PROCESSES, WAITERS = 8, 8
RATE = 200
"""Grants a second that the limit allows."""

HOLD = PROCESSES * WAITERS / (4 * RATE)
"""Seconds that a waiter works between two grants: were there no limit, all together would ask four times as often."""

POLL = 0.05
"""Seconds after which one whom ``limits`` has refused asks again."""

WARM_UP = 1.2
"""Seconds that are not counted: the first window is empty."""

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Spell:
    """What one process counted: grants, its trips to Redis, and its CPU time in µs."""

    grants: int
    trips: int
    cpu: float


def limiter_shared(bench: Bench) -> Iterator[Row]:
    """Have both limit the same processes, by turns, and make four rows of it."""
    what = f"limit of {PROCESSES} processes, Redis, asked fourfold"
    if (absence := explain_absence()) is not None:
        yield Row(bench.case, what, skipped=absence)
        return
    seconds, rounds = (2.0, 1) if bench.plan.quick else (10.0, 3)
    reached, cpu, uneven, trips = Samples(), Samples(), Samples(), Samples()
    all_samples = (reached, cpu, uneven, trips)
    for _ in range(rounds):
        for name in [name for name in ("hocket", "peer") if name not in cpu.failures]:
            try:
                spells = _measure(name, seconds)
            except Exception as error:
                for samples in all_samples:
                    samples.failures[name] = one_line(error)
                    samples.micros.pop(name, None)
                continue
            counts = [spell.grants for spell in spells]
            grants = max(sum(counts), 1)
            figures = (
                100 * grants / seconds / RATE,
                sum(spell.cpu for spell in spells) / grants,
                max(counts) / max(min(counts), 1),
                sum(spell.trips for spell in spells) / grants,
            )
            for samples, figure in zip(all_samples, figures, strict=True):
                samples.micros.setdefault(name, []).append(figure)
    yield row_of(bench.case, f"{what}: reached", reached, Target(98, over=None, at_least=True), "%")
    yield row_of(bench.case, f"{what}: CPU per grant", cpu, Target(1, over="peer"))
    yield row_of(bench.case, f"{what}: most ÷ least served", uneven, Target(1.5, over=None), "times")
    yield row_of(bench.case, f"{what}: round trips per grant", trips, Target(1.1, over=None), "trips")


def _measure(name: str, seconds: float) -> list[Spell]:
    """Let the processes ask for so long. All begin at the same moment, when the last of them is ready."""
    place = f"bench-{uuid4().hex}"
    command = [sys.executable, "-m", "benchmarks.fleet_limiter", name, place, str(seconds)]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe, stderr=pipe) for _ in range(PROCESSES)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        began_at = time.time() + 0.2
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{began_at}\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=seconds + 60) for process in processes]
    finally:
        for process in processes:
            process.kill()
        _forget(place)
    if any(process.returncode for process in processes):
        raise RuntimeError(" ".join(error.strip().rpartition("\n")[2] for _, error in answers))
    numbers = [out.split() for out, _ in answers]
    return [Spell(int(grants), int(trips), float(cpu)) for grants, trips, cpu in numbers]


def _forget(place: str) -> None:
    import redis

    with redis.Redis.from_url(REDIS) as client:
        for key in client.scan_iter(match=f"*{place}*", count=1_000):
            client.delete(key)


class _Asked:
    """A limiter, and how often it has asked Redis."""

    def __init__(self, name: str, place: str) -> None:
        self._polls = 0
        if name == "hocket":
            from hocket.rate_limiters import RateLimiter

            limiter: Any = RateLimiter(60 * RATE, window=1, adaptive=False, store=REDIS, name=place)
            self.acquire: Callable[[], Awaitable[object]] = limiter.aacquire
            self.count_trips: Callable[[], int] = lambda: limiter._line.trips
            return
        from limits import RateLimitItemPerSecond
        from limits.aio.storage import RedisStorage
        from limits.aio.strategies import MovingWindowRateLimiter

        window: Any = MovingWindowRateLimiter(RedisStorage(f"async+{REDIS}", implementation="redispy"))
        self.acquire = partial(self._poll, partial(window.hit, RateLimitItemPerSecond(RATE), place))
        self.count_trips = lambda: self._polls

    async def _poll(self, hit: Callable[[], Awaitable[bool]]) -> None:
        while True:
            self._polls += 1
            if await hit():
                return
            await asyncio.sleep(POLL)


async def _ask(name: str, place: str, seconds: float) -> None:
    """Be one of the processes: print what it counted."""
    asked = _Asked(name, place)
    await asked.acquire()  # connected
    print("ready", flush=True)
    start = float(await asyncio.to_thread(sys.stdin.readline))
    await asyncio.sleep(start - time.time())
    grants = 0

    async def ask_again() -> None:
        nonlocal grants
        while True:
            await asked.acquire()
            grants += 1
            await asyncio.sleep(HOLD)

    tasks = [asyncio.create_task(ask_again()) for _ in range(WAITERS)]
    await asyncio.sleep(start + WARM_UP - time.time())
    before = Spell(grants, asked.count_trips(), time.process_time() * 1e6)
    await asyncio.sleep(start + WARM_UP + seconds - time.time())
    cpu = time.process_time() * 1e6 - before.cpu
    print(grants - before.grants, asked.count_trips() - before.trips, cpu, flush=True)
    os._exit(any(task.done() for task in tasks))  # nobody waits for what is under way


CASES: dict[str, Case] = {"limiter-shared": limiter_shared}

if __name__ == "__main__":
    asyncio.run(_ask(sys.argv[1], sys.argv[2], float(sys.argv[3])))
