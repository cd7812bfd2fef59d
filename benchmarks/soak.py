"""All rooms at once for an hour: whether a process that is never restarted keeps what it should have let go.

Eight workers draw one scene after the other, on asyncio or trio: streams over HTTP that are read or left, agents, calls that
hit and miss a cache, calls that are cancelled anywhere, bulk runs, live answers with readers that leave, routers with a
deployment that fails, durable runs. All write into one ledger. Each minute a line says how often each scene was played, and
what the process keeps: memory, descriptors, threads, tasks and objects. The last lines compare the second quarter with the
last one: what the first quarter takes is caches that fill.

    python -m benchmarks.soak --loop trio --minutes 60
"""

import argparse
import contextlib
import gc
import itertools
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import anyio
import anyio.lowlevel

from .seats import serve_formats

__all__ = ["soak"]

WORKERS = 8
PAUSE = 0.3  # seconds from one scene of a worker to its next
SAMPLES = 20  # in a minute


class Kept(NamedTuple):
    """What the process keeps at a moment."""

    megabytes: float
    descriptors: int
    threads: int
    tasks: int
    objects: int


class Scenes:
    """What a service does all day. Each method plays one scene to its end."""

    def __init__(self, url: str, folder: Path, chance: random.Random) -> None:
        from hocket import ChatOpenAI, FakeListChatModel
        from hocket.caches import InMemoryCache, SQLiteCache
        from hocket.ledger import SQLiteLedger
        from hocket.routing import ChatRouter, Deployment
        from hocket.serving import LiveAnswers

        self._folder, self._chance, self._numbers = folder, chance, itertools.count()
        self._ledger = SQLiteLedger(folder / "ledger.db")
        common: dict[str, Any] = {"model": "m", "api_key": "k", "max_tokens": 30, "ledger": self._ledger}
        self._paced = ChatOpenAI(base_url=f"{url}/paced-30/openai/v1", **common)
        self._model = ChatOpenAI(base_url=f"{url}/now/openai/v1", **common)
        caches = InMemoryCache(maxsize=100), SQLiteCache(folder / "cache.db", max_bytes=2_000_000)
        self._cached = [self._model.model_copy(update={"cache": cache}) for cache in caches]
        dead = ChatOpenAI(base_url="http://127.0.0.1:9/v1", retry=1, **common)
        self._router = ChatRouter(deployments=[Deployment(dead, name="dead"), Deployment(self._model, name="alive")])
        self._live = LiveAnswers(f"sqlite:///{folder}/live.db", name="soak", keep=1)
        self._rows = FakeListChatModel(responses=["red", "green", "blue"])

    async def stream(self) -> None:
        """Read a stream of a server, or leave it in the middle."""
        patience = self._chance.choice([1, 5, 1000])
        async with contextlib.aclosing(self._paced.astream(f"Why? {next(self._numbers)}")) as chunks:
            async for _ in chunks:
                if not (patience := patience - 1):
                    break

    async def agent(self) -> None:
        """Make an agent, ask it, have it call a tool, and read the events."""
        from hocket import AIMessage, ScriptedChatModel, create_agent

        async def look(city: str) -> str:
            """Look out of the window."""
            await anyio.lowlevel.checkpoint()
            return f"rain in {city}"

        call = AIMessage("", tool_calls=[{"name": "look", "args": {"city": "Bern"}, "id": "c1"}])
        model = ScriptedChatModel(script=[call, "It rains."], ledger=self._ledger)
        async for _ in create_agent(model, [look]).astream("How is the weather?"):
            pass

    async def cache(self) -> None:
        """Ask one of two hundred questions of a model with a cache: by half hits, and entries that are pushed out."""
        await self._chance.choice(self._cached).ainvoke(f"Question {self._chance.randrange(200)}")

    async def cancel(self) -> None:
        """Cancel a call anywhere."""
        with anyio.move_on_after(self._chance.random() * 0.02):
            await self._chance.choice([self._paced, self._model, *self._cached]).ainvoke(f"{self._chance.random()}")

    async def batch(self) -> None:
        """Ask for fifty rows, and go on with the same file."""
        from hocket.batch import arun_batch

        path = self._folder / f"rows-{next(self._numbers)}.jsonl"
        for count in (25, 50):
            await arun_batch(
                self._rows, [{"input": f"row {number}"} for number in range(count)], path, max_concurrency=8
            )
        for file in self._folder.glob(f"{path.name}*"):
            file.unlink()

    async def live(self) -> None:
        """Start an answer, follow it, and leave it or read it to its end."""
        name = f"chat-{next(self._numbers)}"
        body = await self._live.start(name, self._model.astream("Hello"))
        for reader in (body, await self._live.follow(name)):
            if reader is None:  # it is over, and was kept for a second
                continue
            pieces = self._chance.choice([1, 1000])
            async with contextlib.aclosing(reader) as events:
                async for _ in events:
                    if not (pieces := pieces - 1):
                        break
        while await self._live.is_running(name):  # noqa: ASYNC110  # another task ends it
            await anyio.sleep(0.05)

    async def route(self) -> None:
        """Ask a router one of whose deployments cannot be reached."""
        await self._router.ainvoke("Hello")

    async def aclose(self) -> None:
        """Close what is open."""
        await self._live.aclose()
        await self._ledger.aflush()


class Soak:
    """The scenes, how often each was played, and what was kept."""

    def __init__(
        self, scenes: dict[str, Callable[[], Awaitable[object]]], chance: random.Random, ends_at: float
    ) -> None:
        self._scenes, self._chance, self._ends_at = scenes, chance, ends_at
        self.played: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.kept: list[Kept] = []

    async def play(self) -> None:
        """Play one scene after the other until the time is over."""
        while time.monotonic() < self._ends_at:
            name = self._chance.choice(list(self._scenes))
            try:
                with anyio.fail_after(120):
                    await self._scenes[name]()
            except Exception as error:  # a soak counts what fails, and goes on
                self.failed[f"{name}: {type(error).__name__}: {error}"[:200]] += 1
            self.played[name] += 1
            await anyio.sleep(PAUSE)

    async def watch(self) -> None:
        """Look three seconds apart at what is kept, and say so once a minute."""
        while time.monotonic() < self._ends_at:
            await anyio.sleep(60 / SAMPLES)
            self.kept.append(_look())
            if len(self.kept) % SAMPLES == 1:
                print(
                    time.strftime("%H:%M:%S"),
                    dict(self.played),
                    self.kept[-1],
                    dict(self.failed),
                    sep=" | ",
                    flush=True,
                )


def _look() -> Kept:
    gc.collect()
    objects = len(gc.get_objects())
    facts = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    tasks = len(anyio.get_running_tasks())
    descriptors = len(os.listdir("/proc/self/fd"))
    return Kept(int(facts["VmRSS"].split()[0]) / 1000, descriptors, int(facts["Threads"]), tasks, objects)


async def soak(minutes: float, url: str, folder: Path) -> bool:
    """Play scenes for so many minutes; return whether the last quarter keeps no more than the second, and none failed."""
    from hocket.durable import open_runs, sleep, step

    chance = random.Random(1)
    scenes = Scenes(url, folder, chance)
    runs = open_runs(f"sqlite:///{folder}/runs.db")

    async def double(number: int) -> int:
        return 2 * number

    @runs.durable
    async def work(number: int) -> int:
        await sleep(0.01)
        return await step(double, number)

    async def run_durably() -> None:
        assert await work.ainvoke(chance.randrange(9)) % 2 == 0

    names = "stream", "agent", "cache", "cancel", "batch", "live", "route"
    played = {name: getattr(scenes, name) for name in names} | {"durable": run_durably}
    marathon = Soak(played, chance, time.monotonic() + 60 * minutes)
    async with runs, anyio.create_task_group() as group:
        for _ in range(WORKERS):
            group.start_soon(marathon.play)
        group.start_soon(marathon.watch)
    await scenes.aclose()
    return _compare(marathon)


def _compare(marathon: Soak) -> bool:
    quarter = len(marathon.kept) // 4
    before, after = marathon.kept[quarter : 2 * quarter], marathon.kept[-quarter:]
    is_flat = not marathon.failed
    for field in Kept._fields:
        first, last = (fmean(getattr(kept, field) for kept in part) for part in (before, after))
        is_flat = is_flat and last <= first * 1.05 + 2
        print(f"{field}: {first:,.1f} in the second quarter, {last:,.1f} in the last ({last / first - 1:+.1%})")
    print("played", sum(marathon.played.values()), dict(marathon.played), "failed", dict(marathon.failed))
    return is_flat


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="All rooms at once, for a while; a line a minute.")
    parser.add_argument("--loop", choices=["asyncio", "trio"], default="asyncio")
    parser.add_argument("--minutes", type=float, default=60)
    arguments = parser.parse_args()
    with serve_formats() as address, tempfile.TemporaryDirectory() as place:
        raise SystemExit(not anyio.run(soak, arguments.minutes, address, Path(place), backend=arguments.loop))
