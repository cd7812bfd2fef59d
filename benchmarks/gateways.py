"""What a request costs a gateway in CPU: hocket's, LiteLLM's and Portkey's, beside an ASGI application that only forwards.

Each is a server in a process of its own, in front of the same server of models, which costs next to nothing; a client asks
one question after another over one connection. What is told is the CPU time of the gateway's process, a request.

    python -m benchmarks.gateways --litellm .../bin/litellm --portkey .../node_modules/@portkey-ai/gateway

Without these options they are left out: `pip install 'litellm[proxy]'`, `npm install @portkey-ai/gateway`, in a place of
their own.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from pathlib import Path

import httpx

from .live_fleet import find_port
from .seats import serve_formats

__all__ = ["measure_gateways"]

ROOT = Path(__file__).parents[1]
HOCKET = """
import sys
import uvicorn
from hocket import ChatOpenAI
from hocket.budgets import Budget
from hocket.ledger import SQLiteLedger, set_ledger
from hocket.providers.anthropic import ChatAnthropic
from hocket.serving import openai_app

url, port, way, folder = sys.argv[1:]
fields = {"model": "m", "base_url": f"{url}/now/openai/v1", "api_key": "k"}
keys = None if way == "pass" else {"red": "a-key-of-red"}
if way == "books":
    set_ledger(SQLiteLedger(f"{folder}/usage.sqlite"))
    fields["budget"] = Budget(tokens=10**12, by="tenant")
if way == "translated":
    model = ChatAnthropic(**{**fields, "base_url": f"{url}/now/anthropic"})
else:
    model = ChatOpenAI(**fields)
uvicorn.run(openai_app({"m": model}, keys=keys), port=int(port), log_level="critical", loop="auto", ws="none")
"""
BARE = """
import asyncio, sys
import uvicorn

url, port, path, _ = sys.argv[1:]
host, _, upstream = url.removeprefix("http://").partition(":")
kept = []

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = (await receive())["body"]
    if not kept:
        kept.append(await asyncio.open_connection(host, int(upstream)))
    reader, writer = kept[0]
    head = f"POST {path} HTTP/1.1\\r\\nhost: x\\r\\nauthorization: Bearer k\\r\\ncontent-length: {len(body)}\\r\\n\\r\\n"
    writer.write(head.encode() + body)
    told = await reader.readuntil(b"\\r\\n\\r\\n")
    length = int(told.lower().partition(b"content-length:")[2].partition(b"\\r\\n")[0])
    data = await reader.readexactly(length)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": data})

uvicorn.run(app, port=int(port), log_level="critical", loop="auto", ws="none", lifespan="off")
"""
QUESTION = {"model": "m", "messages": [{"role": "user", "content": "hello there"}], "max_tokens": 60}


def _find_commands(url: str, folder: str, ports: Mapping[str, int], litellm: str, portkey: str) -> dict[str, list[str]]:
    """Return how each is started."""
    python = [sys.executable, "-c"]
    commands = {"bare": [*python, BARE, url, str(ports["bare"]), "/now/openai/v1/chat/completions", folder]}
    for way in ("pass", "key", "books", "translated"):
        commands[way] = [*python, HOCKET, url, str(ports[way]), way, folder]
    if litellm:
        config = Path(folder, "litellm.yaml")
        of_model = {"model": "openai/m", "api_base": f"{url}/now/openai/v1", "api_key": "k"}
        config.write_text(json.dumps({"model_list": [{"model_name": "m", "litellm_params": of_model}]}))
        commands["litellm"] = [litellm, "--config", str(config), "--port", str(ports["litellm"]), "--host", "127.0.0.1"]
    if portkey:
        commands["portkey"] = ["node", f"{portkey}/build/start-server.js", "--headless", f"--port={ports['portkey']}"]
    return commands


@contextlib.contextmanager
def _serve(command: list[str], port: int, headers: Mapping[str, str]) -> Generator[tuple[httpx.Client, int]]:
    environ = {
        **os.environ,
        "LITELLM_LOG": "ERROR",
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        "TRUSTED_CUSTOM_HOSTS": "127.0.0.1,localhost",
    }
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=quiet, stderr=quiet) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, headers=headers) as client:
                for _ in range(600):
                    with contextlib.suppress(httpx.TransportError):
                        if client.post("/v1/chat/completions", json=QUESTION).status_code == 200:
                            break
                    time.sleep(0.1)
                yield client, process.pid
        finally:
            process.kill()


def _read_cpu(pid: int) -> float:
    """Return the CPU seconds of a process. Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_gateways(litellm: str = "", portkey: str = "", count: int = 2_000, rounds: int = 3) -> dict[str, float]:
    """Return the microseconds of CPU that a request costs each, the best of some rounds by turns."""
    names = [
        "bare",
        "pass",
        "key",
        "books",
        "translated",
        *(["litellm"] if litellm else []),
        *(["portkey"] if portkey else []),
    ]
    ports = {name: find_port() for name in names}
    best: dict[str, float] = {}
    with serve_formats() as url, tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        of_portkey = {"x-portkey-provider": "openai", "x-portkey-custom-host": f"{url}/now/openai/v1"}
        served = {}
        for name, command in _find_commands(url, folder, ports, litellm, portkey).items():
            headers = {"authorization": "Bearer a-key-of-red", **(of_portkey if name == "portkey" else {})}
            served[name] = stack.enter_context(_serve(command, ports[name], headers))
        for _ in range(rounds):
            for name, (client, pid) in served.items():
                asked = count // 10 if name == "litellm" else count
                for _ in range(asked // 10):
                    client.post("/v1/chat/completions", json=QUESTION).raise_for_status()
                before = _read_cpu(pid)
                for _ in range(asked):
                    client.post("/v1/chat/completions", json=QUESTION)
                best[name] = min(best.get(name, 9e9), (_read_cpu(pid) - before) / asked * 1e6)
    return best


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="CPU of a request, a gateway.")
    parser.add_argument("--litellm", default="")
    parser.add_argument("--portkey", default="")
    arguments = parser.parse_args()
    costs = measure_gateways(arguments.litellm, arguments.portkey)
    for name, micros in costs.items():
        print(f"{name:12}{micros:10,.0f} us{micros / costs['bare']:8.1f} x")
