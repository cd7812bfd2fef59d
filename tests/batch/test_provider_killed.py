"""A run through a provider's batches, killed with `kill -9` at each point at which something leaves the process or comes.

The points: before and after each write to the file, before each request, after each reply, after each piece of one. What a
killed run leaves, the next one goes on with: no row is lost, and none is answered twice.
"""

import json
import signal
import textwrap
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from hocket.batch import read_batch
from hocket.testing import BatchPlan, serve
from tests.batch.providers import PROVIDERS
from tests.kit import warm
from tests.kit.batches import Provider, answer

ROWS = 9
BATCH = 4
POINTS = 200
PARTS = 24

PROGRAM = """
import os, signal, sys
import anyio
import hocket.batch.journal as journal
from hocket.batch import arun_batch
from hocket.http.interception import add_layer
from tests.batch.providers import PROVIDERS
from tests.kit.batches import pumped_clock

name, url, out, rows, batch, kill_at = sys.argv[1:]
count = 0

def point():
    global count
    count += 1
    if count == int(kill_at):
        os.kill(os.getpid(), signal.SIGKILL)

write = journal.append_lines
def append_lines(*arguments, **options):
    point()
    write(*arguments, **options)
    point()
journal.append_lines = append_lines

class Reply:
    def __init__(self, inner):
        self.inner = inner
    def __getattr__(self, name):
        return getattr(self.inner, name)
    async def receive(self):
        data = await self.inner.receive()
        point()
        return data

class Layer:
    answers_all = False
    def wrap(self, transport, settings, client):
        class Transport:
            async def open(self, request):
                point()
                reply = await transport.open(request)
                point()
                return Reply(reply)
        return Transport()

async def main():
    provider = next(one for one in PROVIDERS if one.name == name)
    model = provider.make_model(url, timeout=None)
    api = type(model._batch_api(model._preview("-", None, {}, stream=False)))
    api.max_rows = int(batch)
    async with pumped_clock():
        await arun_batch(model, [f"row {n}" for n in range(int(rows))], out, via="provider", max_concurrency=2)

add_layer(Layer())
anyio.run(main)
"""


def list_parts() -> list[Any]:
    """Return each provider with each part of the points: all of them at night, some of one provider at each change."""
    return [
        pytest.param(
            provider,
            part,
            id=f"{provider}-{part}",
            marks=[] if part == 2 and provider.name == "openai" else [pytest.mark.nightly],
        )
        for provider in PROVIDERS
        for part in range(PARTS)
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("provider", "part"), list_parts())
async def test_killed_anywhere_no_row_is_lost_or_answered_twice(provider: Provider, part: int, tmp_path: Path) -> None:
    async with serve(provider.make_format(), answer(provider)) as server:
        for kill_at in range(1 + part, POINTS, PARTS):
            out = tmp_path / f"{kill_at}.jsonl"
            submitted = len(server.batches.submitted)
            server.batches.plan = lambda batch, first=submitted: BatchPlan(  # type: ignore[misc]
                rows=lambda row: "expired" if batch.number == first and row.number == 1 else None
            )

            async def run(kill_at: int, out: Path = out) -> int:
                arguments = [provider.name, server.url, out, ROWS, BATCH, kill_at]
                program = ("-c", textwrap.dedent(PROGRAM), *map(str, arguments))
                done = await to_thread.run_sync(
                    lambda: warm.run(*program, imports="tests.batch.providers", capture_output=True)
                )
                assert done.returncode in (0, -signal.SIGKILL), done.stderr
                return done.returncode

            was_killed = await run(kill_at) != 0
            if was_killed:
                assert await run(0) == 0
            check(out, server.batches.submitted[submitted:])
            if not was_killed:
                break
        else:
            pytest.fail("the run has more points than were tried")


def check(out: Path, batches: Any) -> None:
    """See that each row has its answer, and was answered once."""
    rows = {row.row: row.output for row in read_batch(out)}
    assert rows == {number: f"ROW {number}" for number in range(ROWS)}, out.name
    answered = sorted(row.custom_id.rpartition("-")[2] for batch in batches for row in batch.rows if row.status)
    assert answered == sorted(map(str, range(ROWS))), out.name
    lines = [json.loads(line) for line in out.read_bytes().splitlines()]
    keys = [line["batch"] for line in lines if "rows" in line]
    assert {line["batch"] for line in lines if "end" in line} == set(keys), out.name
