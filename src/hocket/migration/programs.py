"""The programs of a tree: found, rewritten, and written back whole or not at all."""

import contextlib
import difflib
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hocket.errors import InvalidInput, MissingDependency
from hocket.migration.findings import Finding, Rewriting

try:
    from hocket.migration.rewrite import rewrite_program
except ModuleNotFoundError as _error:
    if _error.name != "libcst":
        raise
    raise MissingDependency("rewriting programs needs a package; run `pip install 'hocket[migrate]'`") from None

__all__ = ["Program", "list_programs", "migrate_program"]

_LEFT_OUT = {
    ".git",
    ".hg",
    ".mypy_cache",
    ".nox",
    ".tox",
    ".venv",
    "__pycache__",
    "node_modules",
    "site-packages",
    "venv",
}
_PATIENCE = 20  # seconds for git to answer


@dataclass
class Program:
    """What came of one file.

    Args:
        path: the file.
        before: its text before.
        after: its text as it is to be.
        moved: how many names, arguments and modules were moved.
        findings: what was not, and what to look at.
        is_written: whether the file has the new text.
    """

    path: Path
    before: bytes = b""
    after: bytes = b""
    moved: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    is_written: bool = False

    @property
    def left(self) -> int:
        """How many findings keep the program from running, or from being moved."""
        return sum(one.kind == "left" for one in self.findings)

    def show_diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff; none, if nothing changes."""
        name = (
            os.path.relpath(self.path) if self.path.resolve().is_relative_to(Path.cwd()) else str(self.path).lstrip("/")
        )
        before, after = (text.decode("utf-8", "replace").splitlines() for text in (self.before, self.after))
        return difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")


def list_programs(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the Python files among paths and below them, each once; a file that is named is taken whatever its name is.

    Args:
        paths: files and directories. Links are not followed below a directory, nor are environments looked into.
    """
    seen: set[Path] = set()
    for path in paths:
        for one in _walk(path) if path.is_dir() else [path]:
            real = one.resolve()
            if real not in seen:
                seen.add(real)
                yield one


def _walk(directory: Path) -> Iterator[Path]:
    for root, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if not _is_left_out(Path(root, name)))
        yield from (Path(root, name) for name in sorted(names) if name.endswith((".py", ".pyi", ".ipynb")))


def _is_left_out(path: Path) -> bool:
    return path.name in _LEFT_OUT or (path / "pyvenv.cfg").exists()


def migrate_program(path: Path, *, write: bool = False, force: bool = False) -> Program:
    """Rewrite one program. Whatever is wrong with the file is a finding, so that the others go on.

    Args:
        path: the file.
        write: put the new text in its place.
        force: also if git has changes of the file that are not committed.
    """
    program = Program(path)
    try:
        program.before = program.after = path.read_bytes()
        rewriting = _rewrite(program)
    except InvalidInput as error:
        program.findings.append(Finding(1, path.name, str(error)))
        return program
    except OSError as error:
        program.findings.append(Finding(1, path.name, f"it cannot be read: {error.strerror or error}"))
        return program
    program.after, program.moved, program.findings = rewriting.code, rewriting.moved, rewriting.findings
    if write and program.after != program.before:
        _write(program, force=force)
    return program


def _rewrite(program: Program) -> Rewriting:
    if b"langchain" not in program.before:
        return Rewriting(program.before)
    if program.path.suffix == ".ipynb":
        raise InvalidInput(
            f"notebooks are not rewritten; `jupyter nbconvert --to script {program.path.name}` makes a program"
        )
    return rewrite_program(program.before)


def _write(program: Program, *, force: bool) -> None:
    """Put the new text in the place of the file, or say why not."""
    if not force and _has_changes(program.path):
        text = "git has changes of it that are not committed, so it was not written; commit them, or give --force"
        program.findings.append(Finding(1, program.path.name, text))
        return
    try:
        _replace(program.path.resolve(), program.after)
        program.is_written = True
    except OSError as error:
        program.findings.append(Finding(1, program.path.name, f"it cannot be written: {error.strerror or error}"))


def _has_changes(path: Path) -> bool:
    """Whether git has changes of a file that are not committed; outside of a repository, or without git, there are none."""
    real = path.resolve()
    command = ["git", "-C", str(real.parent), "status", "--porcelain", "--ignored=no", "--", real.name]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
        return done.returncode == 0 and bool(done.stdout.strip())
    return False


def _replace(path: Path, text: bytes) -> None:
    """Write a file beside, with the rights of the one that it then replaces: whoever reads it finds the old or the new."""
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
