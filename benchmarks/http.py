"""Over HTTP, against a server on this machine: calls, streams, many at once, and the first answer of a fresh process.

What a call costs in CPU time is measured against a server that takes none; what it costs in waiting, against one that
takes 20 ms. Each contender keeps one event loop for a whole case, as a service does.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from .bench import PATIENCE, Bench, Case
from .contenders import CALLERS
from .harness import Body, Samples, Target, measure, recording
from .http_server import CHUNKS, LATENCY, PACE
from .table import Row, row_of

__all__ = ["CASES"]

STREAMS = 50
ROOT = Path(__file__).parents[1]

FIRST_ANSWER = """
import asyncio, sys, time
from benchmarks.contenders import CALLERS

async def main():
    await CALLERS[sys.argv[1]](sys.argv[2]).call()

asyncio.run(main())
print(time.process_time() * 1e3)
"""


def calls(bench: Bench) -> Iterator[Row]:
    """One call after the other, and a hundred at a time."""
    for count, what in ((1, "one at a time"), (100, "100 at once, per call")):
        yield _cpu(bench, f"HTTP call, {what}", "now", partial(_together, "call", count), Target(0.4), per=count)


def stream(bench: Bench) -> Iterator[Row]:
    """A stream that is all there at once."""
    what = f"HTTP stream, {CHUNKS} tokens at once, per token"
    yield _cpu(bench, what, "now", partial(_together, "stream", 1), Target(0.15), per=CHUNKS)


def paced(bench: Bench) -> Iterator[Row]:
    """Fifty streams side by side, each at fifty tokens a second."""
    tokens = 20 if bench.plan.quick else 50
    samples = _rounds(bench, f"paced-{tokens}", partial(_together, "stream", STREAMS), time.process_time)
    what = f"HTTP, {STREAMS} streams at {PACE} tokens/s, per token"
    yield _row(bench, what, _scaled(samples, 1e6 / STREAMS / tokens), Target(0.4))


def throughput(bench: Bench) -> Iterator[Row]:
    """Many calls, a hundred at a time, each of which the server makes wait."""
    count = 200 if bench.plan.quick else 1_000
    samples = _rounds(bench, "slow", partial(_in_turns, count, 100), time.perf_counter)
    what = f"HTTP, {count:,} calls of {LATENCY * 1e3:.0f} ms, wall time"
    yield _row(bench, what, samples, Target(0.35), "s")


def first_answer(bench: Bench) -> Iterator[Row]:
    """A fresh process: start, import, ask once; above one that does nothing."""
    samples = Samples()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def start(*arguments: str) -> float:
        command = [sys.executable, "-c", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
        return float(done.stdout)

    with _server() as url:
        # The first of many rounds only warms the file cache and writes the compiled modules.
        for turn in range(1 if bench.plan.quick else 8):
            idle = start("import time; print(time.process_time() * 1e3)")
            for name in CALLERS:
                if name in samples.failures:
                    continue
                with recording(samples, name):
                    used = start(FIRST_ANSWER, name, f"{url}/now/v1") - idle
                    if turn or bench.plan.quick:
                        samples.micros.setdefault(name, []).append(used)
    yield _row(bench, "HTTP, first answer of a process", samples, Target(0.3), "ms")


# -- the ways to measure

Work = Callable[[Any], Coroutine[Any, Any, object]]


def _cpu(bench: Bench, what: str, way: str, work: Work, target: Target, *, per: int) -> Row:
    """Measure CPU time per unit by the harness's plan."""
    with _server() as url, _seats(f"{url}/{way}/v1") as seats:

        def build(seat: "_Seat") -> Body:
            async def turn(count: int) -> None:
                for _ in range(count):
                    await work(seat.caller)

            seat.sit()
            return lambda count: seat.run(turn(count))

        contenders = {name: partial(build, seat) for name, seat in seats.items()}
        return _row(bench, what, measure(contenders, bench.plan, per=per), target)


def _rounds(bench: Bench, way: str, work: Work, clock: Callable[[], float]) -> Samples:
    """Measure by hand what takes about a second a turn: its seconds by ``clock``, the first round thrown away."""
    samples = Samples()
    with _server() as url, _seats(f"{url}/{way}/v1") as seats:
        for turn in range(1 + (1 if bench.plan.quick else 5)):
            for name in sorted(seats, reverse=turn % 2 == 1):
                if name in samples.failures:
                    continue
                with recording(samples, name):
                    seats[name].sit()
                    started = clock()
                    seats[name].run(work(seats[name].caller))
                    if turn:
                        samples.micros.setdefault(name, []).append(clock() - started)
    return samples


class _Seat:
    """A contender with an event loop of its own."""

    def __init__(self, name: str, url: str) -> None:
        self._name = name
        self._url = url
        self._runner = asyncio.Runner()
        self.caller: Any = None

    def sit(self) -> None:
        """Make the caller, once."""
        self.caller = self.caller or CALLERS[self._name](self._url)

    def run(self, work: Coroutine[Any, Any, object]) -> None:
        """Run something on the contender's loop."""
        self._runner.run(asyncio.wait_for(work, PATIENCE))

    def close(self) -> None:
        """Close the caller, and its loop."""
        if self.caller is not None:
            self._runner.run(self.caller.aclose())
        self._runner.close()


@contextmanager
def _seats(url: str) -> Generator[dict[str, _Seat]]:
    """Give each contender a seat."""
    seats = {name: _Seat(name, url) for name in CALLERS}
    try:
        yield seats
    finally:
        for seat in seats.values():
            seat.close()


async def _together(verb: str, count: int, caller: Any) -> None:
    """Do a thing so many times at once."""
    if count == 1:
        await getattr(caller, verb)()
    else:
        await asyncio.gather(*[getattr(caller, verb)() for _ in range(count)])


async def _in_turns(count: int, workers: int, caller: Any) -> None:
    """Make so many calls, with so many workers."""
    left = iter(range(count))

    async def work() -> None:
        for _ in left:
            await caller.call()

    await asyncio.gather(*[work() for _ in range(workers)])


@contextmanager
def _server() -> Generator[str]:
    """Run the server in a process of its own; the value is its address."""
    command = [sys.executable, "-m", "benchmarks.http_server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()


def _scaled(samples: Samples, factor: float) -> Samples:
    """Return the samples in another unit."""
    micros = {name: [value * factor for value in values] for name, values in samples.micros.items()}
    return Samples(micros, samples.failures)


def _row(bench: Bench, what: str, samples: Samples, target: Target, unit: str = "µs") -> Row:
    """Make a row; OpenAI's client, for which the table has no column, is named in it."""
    other = samples.median("openai")
    if other is not None:
        what = f"{what} (openai {other:,.3f})" if other < 10 else f"{what} (openai {other:,.0f})"
    return row_of(bench.case, what, samples, target, unit)


CASES: dict[str, Case] = {
    "http": calls,
    "http-stream": stream,
    "http-paced": paced,
    "http-many": throughput,
    "http-cold": first_answer,
}
