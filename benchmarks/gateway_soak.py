"""The gateway for a while: four processes, every face, tenants with a budget that is too small, clients that leave.

Four processes behind uvicorn serve a model of each format, an agent and an embedding model. Clients ask at all faces, whole
and in pieces; some leave in the middle. Two tenants share a budget in Redis that does not last: what is spent is looked at
all the time, and may never pass the limit. Each minute a line says what was answered, and what the processes keep.

    python -m benchmarks.gateway_soak --seconds 3600
"""

import argparse
import asyncio
import contextlib
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx

from .live_fleet import describe_process, find_port
from .seats import serve_formats

__all__ = ["soak"]

ROOT = Path(__file__).parents[1]
PROCESSES = 4
LIMIT, PERIOD = 10_000, 60
"""Tokens of a tenant in so many seconds: about half of what is asked for."""

WORKER = """
import logging, sys
import uvicorn
from hocket.agents import create_agent
from hocket.budgets import Budget
from hocket.embeddings import Embeddings
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI
from hocket.serving import openai_app
from hocket.tools import tool

logging.disable()
url, store, name, port = sys.argv[1:]
budget = Budget(tokens=LIMIT, per=PERIOD, by="tenant", store=store, name=name)

class Lengths(Embeddings):
    def embed_documents(self, texts):
        return [[float(len(text)), 1.0] for text in texts]

@tool
def look(city: str) -> str:
    "Look out of the window."
    return "rain"

common = {"model": "m", "api_key": "k", "budget": budget}
gpt = ChatOpenAI(base_url=f"{url}/now/openai/v1", **common)
paced = ChatOpenAI(base_url=f"{url}/paced-30/openai/v1", **common)
claude = ChatAnthropic(base_url=f"{url}/now/anthropic", **common)
helped = ChatOpenAI(base_url=f"{url}/now/openai/v1", max_tokens=60, **common)
app = openai_app(
    {"gpt": gpt, "paced": paced, "claude": claude, "agent": create_agent(helped, [look]), "vectors": Lengths()},
    keys={"red": "a-key-of-red", "blue": "a-key-of-blue"},
    metrics=True,
    unsupported="drop",
)
uvicorn.run(app, port=int(port), log_level="critical", ws="none")
""".replace("LIMIT", f"{LIMIT}").replace("PERIOD", f"{PERIOD}")

TALK = [{"role": "user", "content": "What is the weather like, in one sentence, please?"}]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("chat/completions", {"model": "gpt", "messages": TALK}),
    ("chat/completions", {"model": "gpt", "messages": TALK, "stream": True, "presence_penalty": 0}),
    ("chat/completions", {"model": "claude", "messages": TALK, "presence_penalty": 0, "tools": TOOLS}),
    ("chat/completions", {"model": "agent", "messages": TALK, "stream": True}),
    ("chat/completions", {"model": "paced", "messages": TALK, "stream": True}),
    ("completions", {"model": "gpt", "prompt": "The weather"}),
    ("responses", {"model": "claude", "input": "hi"}),
    ("responses", {"model": "gpt", "input": "hi", "stream": True}),
    ("messages", {"model": "claude", "messages": TALK, "stream": True}),
    ("messages", {"model": "gpt", "messages": TALK}),
    ("messages", {"model": "paced", "messages": TALK, "stream": True}),
    ("messages/count_tokens", {"model": "gpt", "messages": TALK}),
    ("embeddings", {"model": "vectors", "input": ["a", "bcd"]}),
    ("messages", {"model": "nobody", "messages": TALK}),
    ("responses", {"model": "gpt", "input": 5}),
]


@contextlib.asynccontextmanager
async def _serve(url: str, store: str, name: str) -> AsyncGenerator[tuple[list[httpx.AsyncClient], list[Any]], None]:
    with contextlib.ExitStack() as stack:
        ports = [find_port() for _ in range(PROCESSES)]
        workers: list[Any] = []
        for port in ports:
            command = [sys.executable, "-c", WORKER, url, store, name, str(port)]
            workers.append(stack.enter_context(subprocess.Popen(command, cwd=ROOT)))  # noqa: ASYNC220  # nothing else runs
        stack.callback(lambda: [worker.kill() for worker in workers])
        clients = [httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) for port in ports]
        for client in clients:
            while True:
                try:
                    await client.get("/healthz")
                    break
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
        yield clients, workers
        for client in clients:
            await client.aclose()


async def _ask(clients: list[httpx.AsyncClient], chance: random.Random, told: Counter[str]) -> None:
    path, body = chance.choice(REQUESTS)
    if "vectors" not in body.values() and not path.endswith("tokens"):
        body = {**body, ("max_output_tokens" if path == "responses" else "max_tokens"): 60}
    headers = {"authorization": f"Bearer a-key-of-{chance.choice(['red', 'blue'])}"}
    leaves = chance.random() < 0.3
    async with chance.choice(clients).stream("POST", f"/v1/{path}", json=body, headers=headers) as reply:
        told[str(reply.status_code)] += 1
        size = 0
        async for data in reply.aiter_raw():
            size += len(data)
            if leaves and size > 100:
                told["left"] += 1
                return
        if reply.status_code == 200 and body.get("stream"):
            told["whole streams"] += 1


async def soak(seconds: float, store: str) -> None:
    """Ask for so many seconds, and print a line a minute."""
    from hocket.budgets import Budget

    name = f"soak-{os.getpid()}"
    budget = Budget(tokens=LIMIT, per=PERIOD, by="tenant", store=store, name=name)
    chance, told, most = random.Random(1), Counter[str](), Counter[str]()
    with serve_formats() as url:
        async with _serve(url, store, name) as (clients, workers):
            ends_at, minute = time.monotonic() + seconds, 0.0
            while time.monotonic() < ends_at:
                await asyncio.gather(*(_ask(clients, chance, told) for _ in range(16)))
                for tenant in ("red", "blue"):
                    state = await budget.astate(key=tenant)
                    most[tenant] = max(most[tenant], state.spent_tokens)
                if time.monotonic() > minute:
                    minute = time.monotonic() + 60
                    facts = [describe_process(worker.pid) for worker in workers]
                    print(time.strftime("%H:%M:%S"), dict(told), dict(most), *facts, sep=" | ", flush=True)
                await asyncio.sleep(0.1)
            passed = {tenant: tokens for tenant, tokens in most.items() if tokens > LIMIT}
            print("passed the limit:" if passed else "the limit was never passed:", dict(most), "of", LIMIT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Every face of the gateway, for a while; a line a minute.")
    parser.add_argument("--store", default="redis://127.0.0.1:6379/0")
    parser.add_argument("--seconds", type=float, default=3600)
    arguments = parser.parse_args()
    asyncio.run(soak(arguments.seconds, arguments.store))
