"""How contenders are measured over HTTP: a server in a process of its own, and an event loop for each, as a service has.

What a call costs in CPU time is measured against a server that takes none of it.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from .bench import PATIENCE, Bench
from .contenders import Caller, find_callers
from .harness import Body, Samples, measure, recording

__all__ = ["Seat", "Work", "measure_first_answers", "measure_work", "seats", "serve_formats"]

ROOT = Path(__file__).parents[1]

FIRST_ANSWER = """
import asyncio, sys, time
from benchmarks.contenders import make_caller

async def main():
    await make_caller(*sys.argv[1:]).call()

asyncio.run(main())
print(time.process_time() * 1e3)
"""

Work = Callable[[Any], Coroutine[Any, Any, object]]
"""What a contender is to do."""


class Seat:
    """A contender with an event loop of its own."""

    def __init__(self, make: Callable[[str], Caller], url: str) -> None:
        self._make = make
        self._url = url
        self._runner = asyncio.Runner()
        self._caller: Caller | None = None

    def sit(self) -> Caller:
        """Make the caller, once."""
        self._caller = self._caller or self._make(self._url)
        return self._caller

    def run(self, work: Coroutine[Any, Any, object]) -> None:
        """Run something on the contender's loop."""
        self._runner.run(asyncio.wait_for(work, PATIENCE))

    def close(self) -> None:
        """Close the caller, and its loop."""
        if self._caller is not None:
            self._runner.run(self._caller.aclose())
        self._runner.close()


@contextmanager
def seats(name: str, way: str) -> Generator[dict[str, Seat]]:
    """Start a server, and give each contender who is installed a seat.

    Args:
        name: of the format, as in `REPLIES`.
        way: how the server is to answer (`http_server`).
    """
    with serve_formats() as url:
        taken = {who: Seat(make, f"{url}/{way}/{name}") for who, make in find_callers(name).items()}
        try:
            yield taken
        finally:
            for seat in taken.values():
                seat.close()


def measure_work(bench: Bench, name: str, work: Work, *, per: int) -> Samples:
    """Measure CPU time per unit by the harness's plan; ``per`` is the number of units in what ``work`` does."""

    def build(seat: Seat) -> Body:
        caller = seat.sit()

        async def turn(count: int) -> None:
            for _ in range(count):
                await work(caller)

        return lambda count: seat.run(turn(count))

    with seats(name, "now") as taken:
        return measure({who: partial(build, seat) for who, seat in taken.items()}, bench.plan, per=per)


def measure_first_answers(bench: Bench, name: str) -> Samples:
    """Measure a fresh process that starts, imports and asks once, in ms above one that does nothing."""
    samples = Samples()
    with serve_formats() as url:
        # The first of many rounds only warms the file cache and writes the compiled modules.
        for turn in range(1 if bench.plan.quick else 8):
            idle = _start("import time; print(time.process_time() * 1e3)")
            for who in find_callers(name):
                if who in samples.failures:
                    continue
                with recording(samples, who):
                    used = _start(FIRST_ANSWER, name, who, f"{url}/now/{name}") - idle
                    if turn or bench.plan.quick:
                        samples.micros.setdefault(who, []).append(used)
    return samples


def _start(*arguments: str) -> float:
    """Run Python with these arguments and return the number that it prints."""
    environment: Mapping[str, str] = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    command = [sys.executable, "-c", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
    return float(done.stdout)


@contextmanager
def serve_formats() -> Generator[str]:
    """Run the server in a process of its own; the value is its address."""
    command = [sys.executable, "-m", "benchmarks.http_server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()
