"""Answers that outlive their readers, in four processes behind uvicorn, with readers that break off at random bytes.

Each reader of an answer asks any of the processes, breaks its connection after a random number of bytes, and comes back with
the id of the last whole event, until it has seen the end. All readers of an answer must have seen the same bytes. Then one
answer is stopped from another process than its own, and the process of another one is killed.

    python -m benchmarks.live_fleet --store redis://127.0.0.1:6379/0 --seconds 3600    # a soak: a line a minute
"""

import argparse
import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

__all__ = [
    "Fleet",
    "Outcome",
    "describe_process",
    "find_port",
    "kill_worker",
    "read_answers",
    "serve_fleet",
    "stop_elsewhere",
]

ROOT = Path(__file__).parents[1]
PROCESSES = 4
LEASE = 2.0

WORKER = """
import sys, time
import anyio, uvicorn
from hocket.serving import LiveAnswers, chat_app

store, name, port, ends = sys.argv[1:]

async def say(chat):
    pieces, pause = chat.extra.get("pieces", 60), chat.extra.get("pause", 0.02)
    try:
        for number in range(pieces):
            yield f"word {number} of {chat.id} "
            await anyio.sleep(pause)
    finally:
        with open(ends, "a") as file:
            file.write(f"{chat.id} {time.time()}\\n")

app = chat_app(say, live=LiveAnswers(store, name=name, lease=2, keep=60))
uvicorn.run(app, port=int(port), log_level="error", ws="none")
"""


@dataclass
class Outcome:
    """What came of readers that broke off.

    Attributes:
        answers, readers, breaks: how many there were.
        different: answers whose readers differ. endless: readers without an end, or with two.
    """

    answers: int = 0
    readers: int = 0
    breaks: int = 0
    different: int = 0
    endless: int = 0


@dataclass
class Fleet:
    """The processes of a service, and a client of each."""

    name: str
    ends: Path
    clients: list[httpx.AsyncClient]
    workers: list[subprocess.Popen[bytes]]
    chance: random.Random = field(default_factory=random.Random)

    def pick(self) -> httpx.AsyncClient:
        return self.chance.choice(self.clients)

    async def ask(self, client: httpx.AsyncClient, id: str, **options: Any) -> None:
        """Ask, and leave with the first bytes."""
        part = {"type": "text", "text": "Tell me"}
        body = {"id": id, "messages": [{"id": "1", "role": "user", "parts": [part]}], **options}
        async with client.stream("POST", "/", json=body) as reply:
            reply.raise_for_status()
            async for _ in reply.aiter_raw():
                return

    async def read(self, id: str, outcome: Outcome, most: int) -> bytes:
        """Follow an answer to its end, and break off after ``most`` bytes at most, again and again."""
        told, last, is_over = b"", "none", False  # an id that says nothing: all of it, also when it has ended
        outcome.readers += 1
        while not is_over:
            piece, limit = b"", self.chance.randint(1, most)
            with contextlib.suppress(httpx.TransportError):
                async with self.pick().stream("GET", f"/{id}/stream", headers={"last-event-id": last}) as reply:
                    if reply.status_code == 204:
                        return told
                    async for data in reply.aiter_raw():
                        piece += data
                        if len(piece) >= limit:
                            break
            outcome.breaks += 1
            for event in (piece[:limit].rpartition(b"\n\n")[0] + b"\n\n").split(b"\n\n")[:-1]:
                if event and not event.startswith(b":"):
                    told += event + b"\n\n"
                    is_over = event.startswith(b"data: [DONE]")
                    last = event.rpartition(b"id: ")[2].decode()
        return told


@contextlib.asynccontextmanager
async def serve_fleet(store: str, name: str) -> AsyncGenerator[Fleet, None]:
    """Have processes that serve chats over one store."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        ends = Path(folder, "ends.txt")
        ends.touch()  # noqa: ASYNC240  # nothing else runs yet
        ports = [find_port() for _ in range(PROCESSES)]
        workers: list[subprocess.Popen[bytes]] = []
        for port in ports:
            command = [sys.executable, "-c", WORKER, store.format(folder=folder), name, str(port), str(ends)]
            workers.append(stack.enter_context(subprocess.Popen(command, cwd=ROOT)))  # noqa: ASYNC220  # as above
        stack.callback(lambda: [worker.kill() for worker in workers])
        clients = [httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) for port in ports]
        for client in clients:
            while True:
                try:
                    await client.get("/none/stream")
                    break
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
        yield Fleet(name, ends, clients, workers)
        for client in clients:
            await client.aclose()


def find_port() -> int:
    """Return a port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def read_answers(fleet: Fleet, breaks: int, readers: int = 12, most: int = 900) -> Outcome:
    """Have answers read until so many connections were broken off."""
    outcome = Outcome()
    while outcome.breaks < breaks:
        ids = [f"{fleet.name}-{time.time_ns()}-{number}" for number in range(4)]
        await asyncio.gather(*(fleet.ask(fleet.pick(), id) for id in ids))
        told = await asyncio.gather(*(fleet.read(id, outcome, most) for id in ids for _ in range(readers)))
        for number in range(len(ids)):
            of_one = told[number * readers : (number + 1) * readers]
            outcome.answers += 1
            outcome.different += len({*of_one}) > 1
            outcome.endless += sum(one.count(b'"type":"finish"') != 1 for one in of_one)
    return outcome


async def stop_elsewhere(fleet: Fleet) -> float:
    """Return the seconds from a stop in another process until the answer's stream was closed."""
    id = f"{fleet.name}-stop-{time.time_ns()}"
    first, *others = fleet.clients
    await fleet.ask(first, id, pieces=10_000)
    began = time.time()
    reply = await fleet.chance.choice(others).post(f"/{id}/stop", json={})
    assert reply.json() == {"stopped": True}, reply.text
    ended = next(line.split()[1] for line in fleet.ends.read_text().splitlines() if line.startswith(id))
    return float(ended) - began


async def kill_worker(fleet: Fleet) -> float:
    """Return the seconds from the death of an answer's process until its readers were told."""
    id = f"{fleet.name}-kill-{time.time_ns()}"
    await fleet.ask(fleet.clients[0], id, pieces=10_000)
    await asyncio.sleep(0.3)
    began = time.monotonic()
    fleet.workers[0].send_signal(signal.SIGKILL)
    async with fleet.clients[1].stream("GET", f"/{id}/stream") as reply:
        told = b"".join([data async for data in reply.aiter_raw()])
    assert told.count(b'"type":"error"') == 1, told[-300:]
    return time.monotonic() - began


async def _soak(store: str, seconds: float) -> None:
    async with serve_fleet(store, f"soak-{os.getpid()}") as fleet:
        ends_at, minute = time.monotonic() + seconds, 0.0
        total = Outcome()
        while time.monotonic() < ends_at:
            outcome = await read_answers(fleet, 1, readers=4)
            await stop_elsewhere(fleet)
            for name in vars(total):
                setattr(total, name, getattr(total, name) + getattr(outcome, name))
            if time.monotonic() > minute:
                minute = time.monotonic() + 60
                print(
                    time.strftime("%H:%M:%S"),
                    total,
                    *(describe_process(one.pid) for one in fleet.workers),
                    sep=" | ",
                    flush=True,
                )
            await asyncio.sleep(0.5)


def describe_process(pid: int) -> str:
    """Return what a process keeps: memory, descriptors, threads. Linux only."""
    facts = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    count = len(os.listdir(f"/proc/{pid}/fd"))
    return f"{int(facts['VmRSS'].split()[0]) / 1000:.1f} MB {count} fd {facts['Threads'].strip()} thr"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Readers that break off, for a while; a line a minute.")
    parser.add_argument("--store", default="redis://127.0.0.1:6379/0")
    parser.add_argument("--seconds", type=float, default=3600)
    arguments = parser.parse_args()
    asyncio.run(_soak(arguments.store, arguments.seconds))
