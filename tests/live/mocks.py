"""Servers that speak providers' formats and were written by others, started by the tests that ask them.

None of them is a dependency of the project. At first use each is installed into a cache folder of the user's, from npm or
PyPI, which takes half a minute; where that cannot be done, the tests are skipped and say why.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

INSTALLING = 120.0  # seconds
READY = 30.0  # seconds that a server may take to listen on a busy machine; two are usual
LISTENS = re.compile(r"(?:listening|running) on (http://127\.0\.0\.1:[1-9]\d*)")

AIMOCK = "@copilotkit/aimock@1.43.0"
LLMOCK = "llmock==0.2.2"


def aimock(fixtures: Path) -> list[str]:
    """Return the command of a server of npm's that answers as its fixtures say; it skips where there is none."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("the mock server is a package of npm's, and there is no node or npm here")
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--fetch-retries=0", "--fetch-timeout=20000"]
    home = install("aimock-1.43.0", lambda folder: [[npm, "install", "--prefix", str(folder), *quiet, AIMOCK]])
    program = home / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    return [node, str(program), "-h", "127.0.0.1", "-p", "0", "-f", str(fixtures)]


def llmock() -> list[str]:
    """Return the command of a server of PyPI's that fails when it is told to; it skips where there is none."""
    name = f"llmock-0.2.2-python{sys.version_info.major}.{sys.version_info.minor}"
    quiet = ["--quiet", "--disable-pip-version-check", "--retries", "0", "--timeout", "20"]
    home = install(
        name,
        lambda folder: [
            [sys.executable, "-m", "venv", str(folder)],
            [str(folder / "bin" / "python"), "-m", "pip", "install", *quiet, LLMOCK, "uvicorn"],
        ],
    )
    # Not by the script `llmock`, which has the path of the folder that it was installed in.
    code = "from llmock.cli import app; app()"
    return [str(home / "bin" / "python"), "-c", code, "serve", "--host", "127.0.0.1", "--port", "0"]


@contextmanager
def start(command: list[str], log: Path) -> Iterator[str]:
    """Return a context with the address of a server that a command starts; it ends with the context.

    Args:
        command: that says where it listens once it does.
        log: a file for what it says.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield _wait_for_address(process, log)
    finally:
        process.terminate()
        try:
            process.wait(READY)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    until = time.monotonic() + READY
    while time.monotonic() < until:
        said = log.read_text(errors="replace")
        if found := LISTENS.search(said):
            return found[1]
        if process.poll() is not None:
            pytest.fail(f"the mock server ended with code {process.returncode}: {said[-500:]}")
        time.sleep(0.05)
    pytest.fail(f"the mock server did not listen within {READY:.0f} s: {log.read_text(errors='replace')[-500:]}")


def install(name: str, commands: Callable[[Path], list[list[str]]]) -> Path:
    """Return the folder of a package, installed by some commands where it is not there yet.

    It is installed beside its place and then moved, so that no other process finds half of it.
    """
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hocket-tests"
    home = root / name
    if home.is_dir():
        return home
    root.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=name, dir=root))
    try:
        for command in commands(fresh):
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLING, check=False)
            if done.returncode != 0:
                pytest.skip(f"{name} cannot be installed: {(done.stderr or done.stdout).strip()[-300:]}")
        fresh.rename(home)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{name} could not be installed within {INSTALLING:.0f} s")
    except OSError:
        if not home.is_dir():  # unless another process was quicker
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return home
