"""The projects in `examples/`, run as a reader runs them: in their own folder, in a process of their own."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kit import warm

EXAMPLES = Path(__file__).parents[2] / "examples"
WITHIN = 300  # seconds that a test may take: each starts processes, and a busy machine has little time for them

CopyProject = Callable[[str], Path]
RunProject = Callable[..., str]


@pytest.fixture
def copy_project(tmp_path: Path) -> CopyProject:
    """Copy a project, so that what it writes is not left in the clone."""

    def copy(name: str) -> Path:
        ignored = shutil.ignore_patterns("__pycache__", ".*cache")
        return shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=ignored)

    return copy


def make_environment(**variables: str) -> dict[str, str]:
    """Return the environment of a project: this one, without what the tests' own configuration says."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "HOCKET_MODEL"):
        if name not in variables:
            environment.pop(name, None)
    return environment


def run(folder: Path, *arguments: str, stdin: str | None = None, **variables: str) -> str:
    """Run Python in a folder, and return what it prints; it has to succeed."""
    done = warm.run(
        *arguments,
        cwd=folder,
        env=make_environment(**variables),
        input=stdin,
        capture_output=True,
        timeout=WITHIN,
        may_be_warm=not {"-c", "pytest"} & {*arguments},  # those look for what is installed in the folder
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


class Service:
    """An application behind uvicorn, and what it logs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.log: list[str] = []
        self.url = ""
        while not self.url:
            line = self.read_line()
            if found := re.search(r"running on (http://\S+)", line):
                self.url = found[1]

    def read_line(self) -> str:
        """Return the next line of the log."""
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert line, "".join(self.log)
        self.log.append(line)
        return line

    def wait_for(self, text: str) -> str:
        """Return the first line of the log that has a text in it, from now on."""
        while text not in (line := self.read_line()):
            pass
        return line


@pytest.fixture
def start_service() -> Iterator[Callable[..., Service]]:
    """Start an application of a folder behind uvicorn."""
    processes: list[subprocess.Popen[str]] = []

    def start(folder: Path, app: str, **variables: str) -> Service:
        process = warm.Program(
            *("-m", "uvicorn", app, "--port", "0"),
            imports="fastapi",
            cwd=folder,
            env=make_environment(**variables),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return Service(process)

    yield start
    for process in processes:
        process.terminate()
        process.communicate(timeout=WITHIN)
