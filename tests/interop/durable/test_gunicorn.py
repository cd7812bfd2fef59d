"""A durable agent under gunicorn with four workers, which begin at once with a database that is not there yet."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from hocket.durable import open_runs

if os.environ.get("HOCKET_INTEROP") != "all":
    pytest.skip("scripts/interop runs them", allow_module_level=True)

ROOT = Path(__file__).parents[3]
WORKERS = 4
APP = """
from hocket.serving import openai_app
from tests.serving.durable_clerk import make_agent, runs

app = openai_app({"clerk": runs.durable(make_agent(asks=False), name="teller")})
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/runs.db"


@pytest.fixture
def address(url: str, tmp_path: Path) -> Iterator[str]:
    (tmp_path / "shop.py").write_text(APP)
    command = [sys.executable, "-m", "gunicorn", "-w", str(WORKERS), "-k", "uvicorn_worker.UvicornWorker"]
    server = subprocess.Popen(
        [*command, "-b", "127.0.0.1:0", "shop:app"],
        env={**os.environ, "RUNS": url, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        log, started = "", 0
        while started < WORKERS and (line := server.stderr.readline()):
            log += line
            started += "Application startup complete" in line
        found = re.search(r"Listening at: (\S+)", log)
        assert found and started == WORKERS, log
        yield found[1]
    finally:
        server.terminate()
        server.communicate()


def test_each_worker_takes_runs(address: str, url: str):
    def ask(number: int) -> str:
        """Ask on a connection of its own, which any worker may take."""
        question = {"role": "user", "content": f"tea {number}"}
        body = {"model": "clerk", "messages": [question]}
        reply = httpx.post(f"{address}/v1/chat/completions", json=body, timeout=60)
        text: str = reply.json()["choices"][0]["message"]["content"]
        return text

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(40)))
    assert answers == [f"tea {number}, of 1" for number in range(40)]
    infos = open_runs(url).list_runs()
    assert [info.status for info in infos] == ["done"] * 40
    assert len({info.worker for info in infos}) == WORKERS
