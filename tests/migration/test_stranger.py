"""A user's program for LangChain (tools, history, retrieval, events) after `hocket migrate --write`, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")
pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from hocket.cli import main

PROGRAM = Path(__file__).parent / "programs" / "support_desk.py.txt"  # as its user wrote it: no linter reads it
HIDE = """
import runpy, sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0].startswith("langchain"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run(*arguments: str) -> list[str]:
    """Run Python, and return what it printed."""
    command = [sys.executable, "-W", "ignore", *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_program_prints_the_same_without_langchain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command has nothing to say of it, and LangChain cannot be imported where it runs."""
    before, moved = tmp_path / "before.py", tmp_path / "support_desk.py"
    before.write_bytes(PROGRAM.read_bytes())
    moved.write_bytes(PROGRAM.read_bytes())
    assert main(["migrate", "--write", str(moved)]) == 0
    assert capsys.readouterr().err.endswith("0 left to do, 0 to look at\n")
    printed = run(str(before))
    assert len(printed) > 25
    assert run("-c", HIDE, str(moved)) == printed
