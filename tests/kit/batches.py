"""Bulk runs through a scripted provider's batches, with a clock whose hours pass in milliseconds."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from hocket.batch import BatchReport, arun_batch
from hocket.remote import RemoteChatModel
from hocket.testing import (
    ReceivedRequest,
    Reply,
    VirtualClock,
    serve,
    virtual_clock,
)
from hocket.testing.server.format import Format
from hocket.testing.server.server import Server

__all__ = ["Provider", "answer", "pumped_clock", "read_lines", "serve_batches"]


@dataclass(frozen=True)
class Provider:
    """A provider with a batch endpoint.

    Attributes:
        name: of the case.
        make_format: returns what the scripted server speaks.
        make_model: returns a model, given the server's address and further fields.
        read_prompt: returns the text of the last message of a request's body.
    """

    name: str
    make_format: Callable[[], Format]
    make_model: Callable[..., RemoteChatModel]
    read_prompt: Callable[[Any], str]

    def __str__(self) -> str:
        return self.name


@dataclass
class Served:
    """A server, its model, and what asks rows of it."""

    provider: Provider
    server: Server
    clock: VirtualClock
    out: Path

    def model(self, **fields: Any) -> RemoteChatModel:
        """Return a model of the server. No limits on time: the clock races while sockets take theirs."""
        return self.provider.make_model(self.server.url, **{"timeout": None, **fields})

    async def run(self, rows: Sequence[Any], **options: Any) -> BatchReport:
        """Ask for rows through batches."""
        model = options.pop("model", None) or self.model()
        return await arun_batch(model, rows, self.out, **{"via": "provider", **options})

    def count_asked(self, text: str) -> int:
        """Return how often a row with this prompt was answered in a batch."""
        return sum(
            count for body, count in self.server.batches.executed_bodies.items() if json.dumps(text)[1:-1] in body
        )


def answer(provider: Provider) -> Callable[[ReceivedRequest], Reply]:
    """Return a script that answers a prompt with itself in capitals."""

    def reply(request: ReceivedRequest) -> Reply:
        return Reply(provider.read_prompt(request.json).upper())

    return reply


@asynccontextmanager
async def serve_batches(provider: Provider, out: Path, script: Any = None) -> AsyncGenerator[Served, None]:
    """Serve a provider, with a clock that goes on by itself."""
    async with pumped_clock() as clock, serve(provider.make_format(), script or answer(provider)) as server:
        yield Served(provider, server, clock, out)
        assert not server.problems


@asynccontextmanager
async def pumped_clock(step: float = 20.0) -> AsyncGenerator[VirtualClock, None]:
    """Put a clock in use that goes on by some seconds each millisecond."""

    async def pump(clock: VirtualClock) -> None:
        while True:
            await anyio.sleep(0.001)
            clock.advance(step)

    with virtual_clock(autojump=False) as clock:
        async with anyio.create_task_group() as pumping:
            pumping.start_soon(pump, clock)
            yield clock
            pumping.cancel_scope.cancel()


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]
