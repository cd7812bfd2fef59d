"""A bulk run that is killed three times, with ``kill -9`` at random points, and started again each time.

What is asked notes each row the moment that it is asked, as a provider's meter would: rows that are noted twice have been
billed twice. The figures: rows that the file lacks or has twice, rows billed twice for each kill, what a run keeps in
memory. Linux only, for the last of them.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .bench import Bench, Case
from .harness import Samples, Target
from .table import Row, row_of

__all__ = ["CASES", "KilledRun", "run_killed"]

ROOT = Path(__file__).parents[1]
KILLS = 3
AT_ONCE = 100
LATENCY = 0.02
"""Seconds that an answer takes at most."""

PROGRAM = """
import os, random, re, sys
import anyio
from hocket.batch import run_batch
from hocket.runnables import RunnableLambda

out, meter, count, at_once, latency = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])
billed = os.open(meter, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
chance = random.Random()

async def ask(row):
    os.write(billed, b"%d\\n" % row)
    await anyio.sleep(chance.random() * latency)
    return f"the answer to {row}"

report = run_batch(RunnableLambda(ask, name="ask"), range(int(count)), out, max_concurrency=int(at_once))
status = open("/proc/self/status").read()  # what getrusage says is the parent's, as long as that was more
print(report.skipped, report.seconds, re.search(r"VmHWM:\\s*(\\d+)", status)[1])
"""


@dataclass(frozen=True)
class KilledRun:
    """What came of it.

    Attributes:
        lost: rows that are not in the file.
        twice: lines too many.
        billed_twice: by kill.
        rate: rows a second, in the last run.
        skipped: rows that the last run found in the file.
        memory: kB that the last run took at most.
    """

    lost: int
    twice: int
    billed_twice: list[int]
    rate: float
    skipped: int
    memory: int


def run_killed(rows: int, at_once: int, kills: int, folder: str, seed: int | None = None) -> KilledRun:
    """Have a run killed so often, each time when a random number of further rows has been asked, and let the last end."""
    out, meter = os.path.join(folder, "out.jsonl"), os.path.join(folder, "meter.txt")
    command = [sys.executable, "-c", PROGRAM, out, meter, str(rows), str(at_once), str(LATENCY)]
    chance = random.Random(seed)
    billed_twice: list[int] = []
    for _ in range(kills):
        asked = _count_lines(meter)
        goal = asked + chance.randrange(at_once, (rows - at_once) // (kills + 1))
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        while _count_lines(meter) < goal and process.poll() is None:
            time.sleep(0.001)
        process.kill()
        if process.wait() != -signal.SIGKILL:
            raise RuntimeError("the run ended before it was killed")
        billed_twice.append(_count_lines(meter) - len(_count_rows(out)) - sum(billed_twice))
    last = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = _count_rows(out)
    skipped, seconds, memory = map(float, last.stdout.split())
    return KilledRun(
        lost=rows - len(found),
        twice=sum(found.values()) - len(found),
        billed_twice=billed_twice,
        rate=(rows - skipped) / seconds,
        skipped=int(skipped),
        memory=int(memory),
    )


def _count_lines(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except FileNotFoundError:
        return 0


def _count_rows(path: str) -> Counter[int]:
    """Count the lines of each row; one that is cut is none."""
    with open(path, "rb") as lines:
        whole = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return Counter(line["row"] for line in whole if "row" in line)


def bulk_killed(bench: Bench) -> Iterator[Row]:
    """Have a run of many rows killed three times."""
    rows = 3_000 if bench.plan.quick else 100_000
    samples = {name: Samples() for name in ("lost", "twice", "billed", "memory")}
    with tempfile.TemporaryDirectory() as small, tempfile.TemporaryDirectory() as large:
        few = run_killed(1_000, AT_ONCE, 0, small)
        many = run_killed(rows, AT_ONCE, KILLS, large)
    figures = (many.lost, many.twice, sum(many.billed_twice) / KILLS, (many.memory - few.memory) / 1000)
    for one, figure in zip(samples.values(), figures, strict=True):
        one.micros["hocket"] = [figure]
    what = f"{rows:,} rows, {KILLS} times kill -9"
    worth = AT_ONCE + 0.05 * many.rate
    yield row_of(bench.case, f"{what}: rows lost", samples["lost"], Target(0, over=None), "rows")
    yield row_of(bench.case, f"{what}: rows twice in the file", samples["twice"], Target(0, over=None), "rows")
    limit = f"{what}: billed twice a kill, in flight and 50 ms are {worth:.0f}"
    yield row_of(bench.case, limit, samples["billed"], Target(worth, over=None), "rows")
    yield row_of(bench.case, f"{what}: memory over 1,000 rows", samples["memory"], Target(8, over=None), "MB")


CASES: dict[str, Case] = {"bulk-killed": bulk_killed}
