"""Try programs of others: run each as it was, move it, run it again.

    python -m tests.migration.tryout DIRECTORY... [--python PYTHON] [--only TEXT] [--json FILE]

PYTHON has hocket, and LangChain's packages that the programs use. Each directory is copied; a program runs in its own
folder of a copy, with lines of a user on its standard input. It runs

- as it was;
- moved, with LangChain's packages hidden;
- if that fails, moved, with LangChain's packages beside hocket, for what stays theirs.

The programs of a directory run in the order of their names in one copy: one may read what another has stored.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from hocket.migration import migrate_program
from hocket.migration.programs import Program
from tests.migration.tryout.internet import serve_internet

_HIDE = """
import runpy, sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0].startswith(("langchain", "langsmith")):
            raise ModuleNotFoundError(f"No module named {name!r}: hidden", name=name)
sys.meta_path.insert(0, Hide())
"""
_SHOW = "import runpy, sys\n"
_RUN = """
import os
sys.argv = [sys.argv[1]]
sys.path.insert(0, os.getcwd())
runpy.run_path(sys.argv[0], run_name="__main__")
"""
_TYPED = "Hello\nAnd then?\nexit\nquit\nq\n"
_PATIENCE = 150  # seconds for a program


def main() -> None:
    """Try what the command line names, and print a line for each program, and the sums."""
    parser = argparse.ArgumentParser(prog="python -m tests.migration.tryout")
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with serve_internet() as environment:
        for directory in arguments.directories:
            rows = list(_try_all(arguments.python, directory, arguments.only, environment))
            counts = Counter(str(row["outcome"]) for row in rows)
            print(
                f"-- {directory}: {dict(counts)}; as they were: {sum(row['ran'] is True for row in rows)}", flush=True
            )
            if arguments.json:
                arguments.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False))


def _try_all(python: str, directory: Path, only: str, environment: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """Yield what came of each program of a directory whose path holds a text."""
    with tempfile.TemporaryDirectory() as name:
        before, after = shutil.copytree(directory, Path(name, "before")), Path(name, "after")
        for inside, program in _move(directory, after).items():
            if only in str(inside):
                row = _try(python, before, after, program, environment)
                print(f"{row['outcome']:8} {'' if row['ran'] else '(new) '}{inside}  {row['why']}", flush=True)
                yield row


def _list_programs(directory: Path) -> Iterator[Path]:
    """Yield the programs that import something of LangChain's."""
    for path in sorted(directory.rglob("*.py")):
        if b"langchain" in path.read_bytes():
            yield path


def _move(directory: Path, copy: Path) -> dict[Path, Program]:
    """Move all programs of a copy of a directory; return what came of each, by its path inside."""
    shutil.copytree(directory, copy)
    return {path.relative_to(copy): migrate_program(path, write=True, force=True) for path in _list_programs(copy)}


def _try(python: str, before: Path, after: Path, program: Program, environment: Mapping[str, str]) -> dict[str, object]:
    """Return what came of one program.

    ``outcome`` is "alone" (runs, with LangChain hidden), "beside" (runs, with LangChain beside it), "stays" (it works with
    LangGraph, and was not moved), or "failed"; ``ran``: whether it ran as it was, with the LangChain that PYTHON has.
    """
    inside = program.path.relative_to(after)
    was = _run(python, before / inside, environment, _SHOW)
    now = _run(python, after / inside, environment, _HIDE)
    outcome = "" if now[0] else "alone"
    if not outcome:
        now = _run(python, after / inside, environment, _SHOW)
        outcome = "failed" if now[0] else "beside"
    is_bound = not program.moved and any("stays as it is" in one.text for one in program.findings)
    return {
        "path": str(inside),
        "outcome": "stays" if is_bound else outcome,
        "ran": was[0] == 0,
        "why": "" if outcome != "failed" else _last_line(now[2]),
        "same": was[1] == now[1],
        "before": was,
        "after": now,
        "left": [f"{one.line}: {one.what}: {one.text}" for one in program.findings if one.kind == "left"],
    }


def _run(python: str, path: Path, environment: Mapping[str, str], head: str) -> tuple[int, str, str]:
    """Run a program in its folder; return its exit code, and what it said."""
    command = [python, "-W", "ignore", "-c", head + _RUN, path.name]
    try:
        done = subprocess.run(
            command, cwd=path.parent, env={**os.environ, **environment}, input=_TYPED, text=True, errors="replace",
            capture_output=True, timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, "", f"not done after {_PATIENCE} seconds"
    return done.returncode, done.stdout, done.stderr


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


if __name__ == "__main__":
    main()
