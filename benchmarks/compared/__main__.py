"""What the compared programs take: ``python -m benchmarks.compared [CONTENDER ...]``, after ``scripts/setup compared``.

Each service answers a hundred users at once, and each table of two hundred rows is labelled; the server that they ask is a
process of its own. CPU seconds and memory are those of the program's process, out of Linux's /proc.
"""

import asyncio
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

HERE = Path(__file__).parent
CONTENDERS = ("hocket", "pydantic_ai", "langchain")
SERVER, SERVICE = 8790, 8791
USERS, ROUNDS = 100, 3
ROWS = "id,text\n" + "".join(
    f"{row},{'FAIL' if row in (50, 150) else 'a refund'} for order {row}\n" for row in range(200)
)


@contextmanager
def run(port: int, *command: str, folder: Path) -> Iterator[int]:
    """Run a server until it listens, and end it afterwards; yield the process's id."""
    process = subprocess.Popen([sys.executable, *command], cwd=folder, stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def read_cpu(process: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_peak(process: int) -> float:
    """Return the megabytes that a process has had in memory at most."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


async def ask(users: int, first: int) -> None:
    """Have so many new users ask at once, and read their answers to the end."""
    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None)) as client:

        async def one(user: int) -> None:
            answer = await client.post(
                f"http://127.0.0.1:{SERVICE}/chat", json={"user": f"user{user}", "text": "Tell me something."}
            )
            if "words" not in answer.text and "429" not in answer.text and "event: error" not in answer.text:
                raise RuntimeError(answer.text)

        await asyncio.gather(*(one(first + number) for number in range(users)))


def measure_service(contender: str, folder: Path) -> tuple[float, float]:
    """Return the CPU milliseconds of a request, and the megabytes at most."""
    command = ("-m", "uvicorn", "service:app", "--app-dir", str(HERE / contender), "--port", str(SERVICE))
    with run(SERVICE, *command, "--log-level", "warning", folder=folder) as process:
        asyncio.run(ask(10, 0))
        taken = []
        for number in range(1, ROUNDS + 1):
            before = read_cpu(process)
            asyncio.run(ask(USERS, 1_000 * number))
            taken.append((read_cpu(process) - before) / USERS * 1_000)
        return statistics.median(taken), read_peak(process)


def measure_table(contender: str, folder: Path) -> float:
    """Return the CPU seconds of a labelled table, the start of Python included."""
    taken = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, HERE / contender / "label.py"],
            input=ROWS, text=True, cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken)


def main() -> None:
    """Print a line for each."""
    for contender in sys.argv[1:] or CONTENDERS:
        with tempfile.TemporaryDirectory() as name, run(SERVER, str(HERE / "server.py"), str(SERVER), folder=HERE):
            folder = Path(name)
            request, peak = measure_service(contender, folder)
            table = measure_table(contender, folder)
            print(f"{contender}: {request:.1f} ms a request, {peak:.0f} MB; a table {table:.2f} s", flush=True)


if __name__ == "__main__":
    main()
