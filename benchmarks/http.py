"""Over HTTP, against a server on this machine: calls, streams, many at once, and the first answer of a fresh process.

OpenAI's format; `providers` has the others. What a call costs in CPU time is measured against a server that takes none;
what it costs in waiting, against one that takes 20 ms.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial

from .bench import Bench, Case
from .contenders import Caller
from .harness import Samples, Target, recording
from .http_server import LATENCY, PACE
from .replies import CHUNKS
from .seats import Work, measure_first_answers, measure_work, seats
from .table import Row, row_of

__all__ = ["CASES"]

FORMAT = "openai"
STREAMS = 50


def calls(bench: Bench) -> Iterator[Row]:
    """One call after the other, and a hundred at a time."""
    for count, what in ((1, "one at a time"), (100, "100 at once, per call")):
        samples = measure_work(bench, FORMAT, partial(_together, "call", count), per=count)
        yield row_of(bench.case, f"HTTP call, {what}", samples, Target(0.4))


def stream(bench: Bench) -> Iterator[Row]:
    """A stream that is all there at once."""
    samples = measure_work(bench, FORMAT, partial(_together, "stream", 1), per=CHUNKS)
    yield row_of(bench.case, f"HTTP stream, {CHUNKS} tokens at once, per token", samples, Target(0.15))


def paced(bench: Bench) -> Iterator[Row]:
    """Fifty streams side by side, each at fifty tokens a second."""
    tokens = 20 if bench.plan.quick else 50
    samples = _rounds(bench, f"paced-{tokens}", partial(_together, "stream", STREAMS), time.process_time)
    what = f"HTTP, {STREAMS} streams at {PACE} tokens/s, per token"
    yield row_of(bench.case, what, _scaled(samples, 1e6 / STREAMS / tokens), Target(0.4))


def throughput(bench: Bench) -> Iterator[Row]:
    """Many calls, a hundred at a time, each of which the server makes wait."""
    count = 200 if bench.plan.quick else 1_000
    samples = _rounds(bench, "slow", partial(_in_turns, count, 100), time.perf_counter)
    what = f"HTTP, {count:,} calls of {LATENCY * 1e3:.0f} ms, wall time"
    yield row_of(bench.case, what, samples, Target(0.35), "s")


def first_answer(bench: Bench) -> Iterator[Row]:
    """A fresh process: start, import, ask once; above one that does nothing."""
    samples = measure_first_answers(bench, FORMAT)
    yield row_of(bench.case, "HTTP, first answer of a process", samples, Target(0.3), "ms")


def _rounds(bench: Bench, way: str, work: Work, clock: Callable[[], float]) -> Samples:
    """Measure by hand what takes about a second a turn: its seconds by ``clock``, the first round thrown away."""
    samples = Samples()
    with seats(FORMAT, way) as taken:
        for turn in range(1 + (1 if bench.plan.quick else 5)):
            for name in sorted(taken, reverse=turn % 2 == 1):
                if name in samples.failures:
                    continue
                with recording(samples, name):
                    caller = taken[name].sit()
                    started = clock()
                    taken[name].run(work(caller))
                    if turn:
                        samples.micros.setdefault(name, []).append(clock() - started)
    return samples


async def _together(verb: str, count: int, caller: Caller) -> None:
    """Do a thing so many times at once."""
    if count == 1:
        await getattr(caller, verb)()
    else:
        await asyncio.gather(*[getattr(caller, verb)() for _ in range(count)])


async def _in_turns(count: int, workers: int, caller: Caller) -> None:
    """Make so many calls, with so many workers."""
    left = iter(range(count))

    async def work() -> None:
        for _ in left:
            await caller.call()

    await asyncio.gather(*[work() for _ in range(workers)])


def _scaled(samples: Samples, factor: float) -> Samples:
    """Return the samples in another unit."""
    micros = {name: [value * factor for value in values] for name, values in samples.micros.items()}
    return Samples(micros, samples.failures)


CASES: dict[str, Case] = {
    "http": calls,
    "http-stream": stream,
    "http-paced": paced,
    "http-many": throughput,
    "http-cold": first_answer,
}
