"""The rate limiter under load: fifty waiters ask for two hundred requests a second.

Three figures: how much of the rate is handed out, how many grants go to somebody who came later than another who still
waits, and what a grant costs in CPU time next to the bare wake-up of a sleeping task, of which every grant needs one.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from .bench import Bench, Case
from .harness import Samples, Target, one_line
from .library import Library, library
from .table import Row, row_of

__all__ = ["CASES"]

RATE = 200
WAITERS = 50


@dataclass
class Queue:
    """Who waits, in the order of arrival, and how many grants overtook somebody. ``served`` is set by the first."""

    waiting: dict[int, None] = field(default_factory=dict[int, None])
    arrivals: int = 0
    grants: int = 0
    jumps: int = 0
    served: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, acquire: Callable[[], Awaitable[object]]) -> None:
        """Arrive, wait for the grant, leave."""
        ticket = self.arrivals
        self.arrivals += 1
        self.waiting[ticket] = None
        await acquire()
        self.grants += 1
        self.served.set()
        self.jumps += next(iter(self.waiting)) != ticket
        del self.waiting[ticket]


@dataclass(frozen=True)
class Spell:
    """What one spell of asking gave."""

    percent: float
    jumps: float
    cpu: float


def limiter(bench: Bench) -> Iterator[Row]:
    """Ask both libraries and sleep bare, by turns, and make three rows of it."""
    seconds, rounds = (1.0, 1) if bench.plan.quick else (2.0, 5)
    percent, jumps, cpu = Samples(), Samples(), Samples()
    contenders: dict[str, Callable[[], Spell]] = {
        "hocket": lambda: asyncio.run(_ask(_permits(library("hocket")), seconds)),
        "langchain": lambda: asyncio.run(_ask(_permits(library("langchain")), seconds)),
        "bare": lambda: asyncio.run(_ask(_wake_ups(), seconds)),
    }
    for _ in range(rounds):
        for name in [name for name in contenders if name not in cpu.failures]:
            try:
                spell = contenders[name]()
            except Exception as error:
                for samples in (percent, jumps, cpu):
                    samples.failures[name] = one_line(error)
                    samples.micros.pop(name, None)
                continue
            cpu.micros.setdefault(name, []).append(spell.cpu)
            if name != "bare":
                percent.micros.setdefault(name, []).append(spell.percent)
                jumps.micros.setdefault(name, []).append(spell.jumps)
    asked = f"limiter, {RATE}/s asked by {WAITERS} waiters"
    yield row_of(bench.case, f"{asked}: reached", percent, Target(98, over=None, at_least=True), "%")
    yield row_of(bench.case, f"{asked}: queue jumps", jumps, Target(0, over=None), "%")
    yield row_of(bench.case, f"{asked}: CPU per grant", cpu, Target(3, over="bare"))


def _permits(lib: Library) -> Callable[[], Awaitable[object]]:
    """Return ``aacquire`` of a limiter with nothing but the rate set."""
    limiter = lib.rate_limiters.InMemoryRateLimiter(requests_per_second=RATE)
    acquire: Callable[[], Awaitable[object]] = limiter.aacquire
    return acquire


def _wake_ups() -> Callable[[], Awaitable[object]]:
    """Return a bare sleep that wakes the waiters at the same rate, one after the other."""
    places = iter(range(1, WAITERS))
    return lambda: asyncio.sleep(next(places, WAITERS) / RATE)


async def _ask(acquire: Callable[[], Awaitable[object]], seconds: float) -> Spell:
    """Let the waiters ask again and again for so long. The first permit is not counted: from there on it is steady."""
    queue = Queue()

    async def ask_again() -> None:
        while True:
            await queue.wait(acquire)

    tasks = [asyncio.create_task(ask_again()) for _ in range(WAITERS)]
    await queue.served.wait()
    before, started, cpu = queue.grants, time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    elapsed, cpu, grants = time.monotonic() - started, time.process_time() - cpu, queue.grants - before
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return Spell(
        percent=100 * grants / elapsed / RATE,
        jumps=100 * queue.jumps / max(queue.grants, 1),
        cpu=cpu / max(grants, 1) * 1e6,
    )


CASES: dict[str, Case] = {"limiter": limiter}
