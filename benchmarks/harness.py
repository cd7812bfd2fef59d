"""How two contenders are compared.

A shared machine is faster in one second and slower in the next, so absolute times say little. The contenders therefore
take turns, round by round, in one process; what counts is the ratio inside a round, and the median of these ratios.
The clock is the process's CPU time, all threads included: it does not move while somebody else has the processor, and
a call that hides its work on another thread gains nothing by it. The garbage collector rests during a round: a full
collection falls on whoever happens to be running.
"""

import gc
import statistics
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Body", "Plan", "Samples", "Target", "measure", "one_line", "recording"]

Body = Callable[[int], object]
"""Does the measured thing as often as it is told."""

MOST_OPERATIONS = 10_000_000


@dataclass(frozen=True)
class Plan:
    """How long to measure.

    ``rounds`` is the number wished for and ``fewest`` the number held; between them, a row takes ``row_seconds`` of
    CPU time in all. One turn of one contender takes about ``turn_seconds``, or one operation where that is longer.
    """

    rounds: int
    fewest: int
    turn_seconds: float
    row_seconds: float
    quick: bool = False


@dataclass
class Samples:
    """CPU time per operation in µs, one entry a round, by contender; and why a contender has none."""

    micros: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def rounds(self) -> int:
        """The number of rounds measured."""
        return max(map(len, self.micros.values()), default=0)

    def median(self, name: str) -> float | None:
        """Return the contender's median, None if it has no samples."""
        return statistics.median(self.micros[name]) if self.micros.get(name) else None

    def ratio(self, name: str, other: str) -> float | None:
        """Return the median of the rounds' ratios of ``name`` to ``other``, None if one of them has no samples."""
        if not self.micros.get(name) or not self.micros.get(other):
            return None
        # On a machine whose clock is coarse a short turn may take no time at all.
        pairs = zip(self.micros[name], self.micros[other], strict=True)
        return statistics.median(mine / max(theirs, 1e-6) for mine, theirs in pairs)


@dataclass(frozen=True)
class Target:
    """A limit for a row: on its ratio to another contender, or on hocket's own figure (``over=None``)."""

    limit: float
    over: str | None = "langchain"
    at_least: bool = False

    def met_by(self, figure: float) -> bool:
        """Say whether ``figure`` keeps the limit."""
        return figure >= self.limit if self.at_least else figure <= self.limit

    def __str__(self) -> str:
        """Return the limit as the table shows it."""
        return f"{'' if self.over is None else f'÷ {self.over} '}{'≥' if self.at_least else '≤'} {self.limit:g}"


def measure(contenders: Mapping[str, Callable[[], Body]], plan: Plan, *, per: int = 1) -> Samples:
    """Let the contenders take turns and return what each operation cost them.

    ``contenders`` maps a name to a function that builds what is measured; building is not measured. ``per`` is the
    number of units in one operation (chunks in a stream, inputs in a batch): the samples are µs per unit. A contender
    that raises, while built or while measured, is left out and its error is kept in one line.
    """
    samples = Samples()
    turns: dict[str, tuple[Body, int]] = {}
    cost = 0.0
    with _older_objects_aside():
        for name, build in contenders.items():
            with recording(samples, name):
                body = build()
                count, seconds = _calibrate(body, plan.turn_seconds)
                turns[name] = (body, count)
                cost += seconds
    rounds = min(plan.rounds, max(plan.fewest, int(plan.row_seconds / max(cost, 1e-9))))
    with _older_objects_aside():
        for turn in range(rounds):
            # Each contender goes first as often as last: whoever follows finds the caches cold.
            for name in sorted(turns, reverse=turn % 2 == 1):
                body, count = turns[name]
                with recording(samples, name):
                    samples.micros.setdefault(name, []).append(_timed(body, count) / count / per * 1e6)
            turns = {name: turns[name] for name in turns if name not in samples.failures}
    return samples


def _calibrate(body: Body, wished: float) -> tuple[int, float]:
    """Return how many operations make a turn of about ``wished`` seconds, and the seconds it takes."""
    # The first operation imports, composes and fills what is kept; only a very long one is representative.
    if (cpu := _timed(body, 1)) > 20 * wished:
        return 1, cpu
    count = 1
    while True:
        started = time.perf_counter()
        cpu = _timed(body, count)
        # A body that sleeps uses no CPU; the wall clock keeps the search finite.
        if cpu >= wished / 2 or count >= MOST_OPERATIONS or time.perf_counter() - started > max(1, 4 * wished):
            break
        count = min(MOST_OPERATIONS, count * max(2, min(10, int(wished / 2 / max(cpu, 1e-7)))))
    fitting = max(1, min(MOST_OPERATIONS, round(count * wished / max(cpu, 1e-7))))
    return fitting, cpu * fitting / count


def _timed(body: Body, count: int) -> float:
    """Return the CPU seconds that ``count`` operations take, the garbage collector resting meanwhile."""
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        body(count)
        return time.process_time() - started
    finally:
        gc.enable()


@contextmanager
def _older_objects_aside() -> Generator[None]:
    """Hide what lives already from the collector: looking through all that is imported takes longer than a turn."""
    if gc.get_freeze_count():  # whoever measures has done it already
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def recording(samples: Samples, name: str) -> Generator[None]:
    """Turn an error into the contender's one-line failure: the other rows shall still be printed."""
    try:
        yield
    except Exception as error:
        samples.failures[name] = one_line(error)
        samples.micros.pop(name, None)


def one_line(error: BaseException) -> str:
    """Return an error as one line of at most 100 characters."""
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return text if len(text) <= 100 else text[:99] + "…"
