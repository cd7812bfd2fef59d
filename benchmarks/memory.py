"""What is kept in memory: a message, and a long batch that is read as it goes."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial

from .bench import PATIENCE, Bench, Case
from .harness import Samples, Target, one_line
from .library import PACKAGES, answering, library
from .table import Row, row_of

__all__ = ["CASES"]

MESSAGES = 20_000


class Slotted:
    """The least a message can be."""

    __slots__ = ("content", "id", "name")

    def __init__(self, content: str) -> None:
        self.content = content
        self.id = None
        self.name = None


def message(bench: Bench) -> Iterator[Row]:
    """Bytes for one user message, its text not counted."""
    samples = Samples()
    for name in (*PACKAGES, "bare"):
        try:
            build = Slotted if name == "bare" else library(name).messages.HumanMessage
            samples.micros[name] = [_bytes_kept(partial(build, content="hello"))]
        except Exception as error:
            samples.failures[name] = one_line(error)
    yield row_of(bench.case, f"memory per user message, of {MESSAGES:,}", samples, Target(0.75), "bytes")


def completed(bench: Bench) -> Iterator[Row]:
    """The most memory that reading a batch as it completes needs, and whether it grows with the inputs."""
    # Few must be enough for all the workers to have been hired: they are a constant, but not a small one.
    few, many = 4_000, 8_000 if bench.plan.quick else 16_000
    what = f"abatch_as_completed, peak memory, {few:,} to {many:,} inputs"
    try:
        _peak(few)
        factor = _peak(many) / _peak(few)
    except Exception as error:
        yield Row(bench.case, what, "times", target=Target(1.25, over=None), failure=one_line(error))
    else:
        yield Row(bench.case, what, "times", hocket=factor, target=Target(1.25, over=None), rounds=1)


def _bytes_kept(build: Callable[[], object]) -> float:
    """Return how much one object takes, as the mean over many."""
    build()
    gc.collect()
    tracemalloc.start()
    try:
        kept: list[object] = [None] * MESSAGES
        before = tracemalloc.get_traced_memory()[0]
        for place in range(MESSAGES):
            kept[place] = build()
        return (tracemalloc.get_traced_memory()[0] - before) / MESSAGES
    finally:
        tracemalloc.stop()


def _peak(size: int) -> int:
    """Return the most bytes held while hocket answers ``size`` inputs that are made and read one by one."""
    model = answering(library("hocket"))

    async def read() -> None:
        inputs = (str(place) for place in range(size))
        async with asyncio.timeout(PATIENCE):
            async for _ in model.abatch_as_completed(inputs):
                pass

    gc.collect()
    tracemalloc.start()
    try:
        asyncio.run(read())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


CASES: dict[str, Case] = {"memory": message, "memory-batch": completed}
