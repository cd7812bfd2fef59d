"""Answers that outlive their readers: what storing an event costs beside telling it, and what a fleet of processes does.

What a piece costs is the CPU time of the process, of fifty answers at once that say fifty pieces a second each, with one
reader each; "bare" is `sse` alone. In the fleet, readers break off at random bytes, and come back to any process.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from .bench import REDIS, Bench, Case
from .harness import Samples, Target
from .live_fleet import LEASE, Outcome, kill_worker, read_answers, serve_fleet, stop_elsewhere
from .table import Row, row_of

__all__ = ["CASES"]

AT_ONCE = 50
PAUSE = 0.02
POSTGRES = os.environ.get("POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/test")
STORES: Mapping[str, str | None] = {
    "memory": None,
    "SQLite": "sqlite:///{folder}/live.db",
    "Redis": REDIS,
    "PostgreSQL": POSTGRES,
}
BREAKS = 10_000


def pieces(bench: Bench) -> Iterator[Row]:
    """Compare answers that are stored with answers that are told."""
    from hocket.serving import LiveAnswers, sse

    count = 40 if bench.plan.quick else 150

    async def say() -> AsyncGenerator[str, None]:
        for number in range(count):
            yield f"word {number} "
            await asyncio.sleep(PAUSE)

    async def tell(live: LiveAnswers | None) -> float:
        async def one(number: int) -> None:
            body: Any = sse(say()) if live is None else await live.start(f"{time.time_ns()}-{number}", say())
            async for _ in body:
                pass

        began = time.process_time()
        await asyncio.gather(*map(one, range(AT_ONCE)))
        return (time.process_time() - began) / AT_ONCE / count * 1e6

    for name, store in STORES.items():
        samples = Samples({"hocket": [], "bare": []})
        with tempfile.TemporaryDirectory() as folder:
            live = LiveAnswers(store and store.format(folder=folder), name="bench", keep=60)
            for _ in range(bench.plan.fewest):
                samples.micros["bare"].append(asyncio.run(tell(None)))
                samples.micros["hocket"].append(asyncio.run(tell(live)))
        yield row_of(bench.case, f"a piece of an answer, kept in {name}", samples, Target(2, over="bare"))


def fleet(bench: Bench) -> Iterator[Row]:
    """Break connections to four processes; stop an answer, and kill a process."""
    for name in ("SQLite", "Redis", "PostgreSQL"):
        outcome, stops, told = asyncio.run(_run_fleet(STORES[name] or "", 300 if bench.plan.quick else BREAKS))
        figures = [
            (f"{name}: of {outcome.answers} answers, whose readers differ", outcome.different, 0, ""),
            (
                f"{name}: of {outcome.readers} readers with {outcome.breaks} breaks, without one end",
                outcome.endless,
                0,
                "",
            ),
            (f"{name}: from a stop elsewhere to the end of the call", max(stops), 1, "s"),
            (f"{name}: from a kill until readers are told, beyond the lease", told - LEASE, 1, "s"),
        ]
        for what, figure, limit, unit in figures:
            yield row_of(bench.case, what, Samples({"hocket": [figure]}), Target(limit, over=None), unit)


async def _run_fleet(store: str, breaks: int) -> tuple[Outcome, list[float], float]:
    async with serve_fleet(store, f"bench-{os.getpid()}") as fleet:
        outcome = await read_answers(fleet, breaks)
        stops = [await stop_elsewhere(fleet) for _ in range(5)]
        return outcome, stops, await kill_worker(fleet)


CASES: dict[str, Case] = {"live": pieces, "live-fleet": fleet}
