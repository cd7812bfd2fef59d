"""A bulk run through a provider's batch endpoint: what a row costs, what a batch keeps in memory, how often it is polled.

The provider is hocket's scripted server, in a process of its own: it answers all rows of a batch at once, and that takes
long. A row runs twice through the chain, and its request is written into a file; the same row asked live runs once, and is
sent over a connection of its own. So the ratio of the two says what the half price costs in CPU time.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio

from .bench import Bench, Case, awaiting
from .harness import Body, Samples, Target, measure
from .table import Row, row_of

__all__ = ["CASES"]

ROOT = Path(__file__).parents[1]
MANY = 50_000
LINE = 640
"""Bytes of a row in a batch: with so many rows a batch of 32 MB, the largest that there is, is just full."""

DAY = 86_400.0

SERVER = """
import sys
from hocket.testing import OpenAIFormat, Reply, serve

reply = Reply("positive")
with serve(OpenAIFormat(), lambda request: reply) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""

PROGRAM = """
import re, sys
from hocket import ChatOpenAI
from hocket.batch import run_batch

url, folder, few, many, length = sys.argv[1:]
model = ChatOpenAI(model="m", base_url=url, api_key="k", timeout=None)

def read_memory(name):
    return int(re.search(name + r":\\s*(\\d+)", open("/proc/self/status").read())[1])

def ask(count, out):
    report = run_batch(model, ("x" * int(length) for _ in range(count)), f"{folder}/{out}", via="provider")
    assert report.ok == count, report

ask(int(few), "few.jsonl")
before = read_memory("VmRSS")
ask(int(many), "many.jsonl")
print(read_memory("VmHWM") - before)
"""


@contextmanager
def serve_scripted() -> Generator[str]:
    """Have a server in a process of its own, which says yes to everything; yield its URL."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait()


def rows(bench: Bench) -> Iterator[Row]:
    """Ask for the same rows through a batch, and live."""
    from hocket import ChatOpenAI
    from hocket.batch import arun_batch

    count = 500 if bench.plan.quick else 2_000
    texts = [f"Is this review positive or negative? Review {number}: {'…' * 300}" for number in range(count)]

    def run(url: str, via: Any) -> Body:
        model = ChatOpenAI(model="m", base_url=url, api_key="k")

        async def into_a_file() -> None:
            with tempfile.TemporaryDirectory() as folder:
                report = await arun_batch(model, texts, os.path.join(folder, "out.jsonl"), via=via)
            if report.ok != count:
                raise RuntimeError(f"{report.failed} rows failed: {report.failures[:1]}")

        return awaiting(into_a_file)

    with serve_scripted() as url:
        bodies = {"hocket": lambda: run(url, "provider"), "bare": lambda: run(url, "live")}
        samples = measure(bodies, bench.plan, per=count)
    yield row_of(bench.case, "a row through a batch, bare: the same row live", samples, Target(1, over="bare"))


def memory(bench: Bench) -> Iterator[Row]:
    """Fill a batch, and read the most that the process took, over what it has anyway."""
    count = 5_000 if bench.plan.quick else MANY
    length = LINE - len('{"custom_id":"hk000000000000-00000","method":"POST","url":"/v1/chat/completions","body":}\n')
    length -= len('{"model":"m","messages":[{"role":"user","content":""}]}')
    samples = Samples()
    with serve_scripted() as url, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", PROGRAM, url, folder, "500", str(count), str(length)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    kept = count * (length + LINE)  # the rows, which wait for their answers, and the lines of the batch
    samples.micros["hocket"] = [int(done.stdout) * 1024 / 1e6 - kept / 1e6]
    what = f"{count:,} rows in a batch of {count * LINE / 1e6:.0f} MB: memory over both"
    yield row_of(bench.case, what, samples, Target(60, over=None), "MB")


def polls(bench: Bench) -> Iterator[Row]:
    """Wait for a batch that takes a day, by a clock that jumps."""
    from hocket.batch.entry import BatchEntry
    from hocket.batch.patience import Patience
    from hocket.batch.submission import BatchUnderWay, wait_for_end
    from hocket.remote.batch_api import BatchState
    from hocket.testing import virtual_clock

    asked = 0

    async def wait() -> None:
        with virtual_clock() as clock:

            async def get(id: str) -> BatchState:
                nonlocal asked
                asked += 1
                return BatchState(id, "hk1", "running" if clock.now() < DAY else "ended", 0, 1, 0)

            client: Any = SimpleNamespace(get=get)
            entry = BatchEntry("hk1", "openai", [0], [0], [0], 0.0, "batch_1")
            await wait_for_end(BatchUnderWay(entry, client), client, None, Patience(None, anyio.Event()))

    anyio.run(wait)
    samples = Samples({"hocket": [float(asked)]})
    yield row_of(
        bench.case, "requests for the state of a batch that takes a day", samples, Target(1_500, over=None), ""
    )


CASES: dict[str, Case] = {
    "provider-batch": rows,
    "provider-batch-memory": memory,
    "provider-batch-polls": polls,
}
