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

from hocket.errors import MissingDependency
from hocket.migration.findings import Finding, Rewriting

try:
    from hocket.migration.reading import UTF16, NotPython
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
_SUFFIXES = (".py", ".pyi", ".ipynb")
_SPARED = "it was not written"
_PATIENCE = 20  # seconds for git to answer
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


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
        is_below = Path(os.path.realpath(self.path)).is_relative_to(Path.cwd())
        name = os.path.relpath(self.path) if is_below else str(self.path).lstrip("/")
        before, after = (text.decode("utf-8", "replace").splitlines() for text in (self.before, self.after))
        return difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")


def list_programs(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the Python files among paths and below them, each once; a file that is named is taken whatever its name is.

    Args:
        paths: files and directories. Below a directory no links are followed to directories, nor out of it, and no
            environment is looked into.
    """
    seen: set[Path] = set()
    for path in paths:
        for one in _walk(path) if os.path.isdir(path) else [path]:
            real = Path(os.path.realpath(one))  # which a link that leads round in a circle does not stop
            if real not in seen:
                seen.add(real)
                yield one


def _walk(directory: Path) -> Iterator[Path]:
    """Yield the programs below a directory, and the directories that cannot be read."""
    unread: list[Path] = []
    top = os.path.realpath(directory)
    for root, directories, names in os.walk(directory, onerror=lambda error: unread.append(Path(str(error.filename)))):
        yield from unread
        unread.clear()
        directories[:] = sorted(name for name in directories if not _is_left_out(Path(root, name)))
        programs = [Path(root, name) for name in sorted(names) if name.endswith(_SUFFIXES)]
        yield from (path for path in programs if Path(os.path.realpath(path)).is_relative_to(top))
    yield from unread


def _is_left_out(path: Path) -> bool:
    return path.name in _LEFT_OUT or os.path.exists(path / "pyvenv.cfg")


def migrate_program(path: Path, *, write: bool = False, force: bool = False) -> Program:
    """Rewrite one program. Whatever is wrong with the file is a finding, so that the others go on.

    Args:
        path: the file.
        write: put the new text in its place.
        force: also if something is left to do in it, git has changes of it that are not committed, or nobody may write it.
    """
    program = Program(path)
    if os.path.exists(path) and not os.path.isfile(path):  # to read a pipe, or a device, may take for ever
        program.findings.append(Finding(1, path.name, _say_what_it_is(path)))
        return program
    try:
        program.before = program.after = path.read_bytes()
        rewriting = _rewrite(program)
    except NotPython as error:
        program.findings.append(Finding(error.line, path.name, str(error)))
        return program
    except OSError as error:
        program.findings.append(Finding(1, path.name, f"it cannot be read: {error.strerror or error}"))
        return program
    program.after, program.moved, program.findings = rewriting.code, rewriting.moved, rewriting.findings
    if write and program.after != program.before:
        _write(program, force=force)
    return program


def _say_what_it_is(path: Path) -> str:
    return "the directory cannot be read" if os.path.isdir(path) else "it is no file: a pipe, a socket or a device"


def _rewrite(program: Program) -> Rewriting:
    is_called_python = program.path.suffix in _SUFFIXES
    is_readable = not program.before.startswith(UTF16)
    if is_called_python and is_readable and b"langchain" not in program.before:
        return Rewriting(program.before)
    if program.path.suffix == ".ipynb":
        raise NotPython(
            f"notebooks are not rewritten; `jupyter nbconvert --to script {program.path.name}` makes a program"
        )
    return rewrite_program(program.before)


def _write(program: Program, *, force: bool) -> None:
    """Put the new text in the place of the file, or say why not."""
    path = Path(os.path.realpath(program.path))
    why_not = None if force else _find_rest(program) or _find_changes(path) or _find_lock(path)
    if why_not:
        program.findings.append(Finding(1, program.path.name, f"{why_not}, or give --force"))
        return
    try:
        _replace(path, program.after)
        program.is_written = True
    except OSError as error:
        program.findings.append(Finding(1, program.path.name, f"it cannot be written: {error.strerror or error}"))


def _find_rest(program: Program) -> str | None:
    """Return why a program that is half moved is not written: it would run with neither library."""
    return f"{_SPARED}: what is left would not run; change that, and run the command again" if program.left else None


def _find_lock(path: Path) -> str | None:
    """Return why nobody should write a file: a file beside it would take its place, whatever its own rights say."""
    return (
        None if stat.S_IMODE(path.stat().st_mode) & _WRITABLE else f"{_SPARED}: nobody may write it; change its rights"
    )


def _find_changes(path: Path) -> str | None:
    """Return what git says against writing a file; None: it has the file as it is, or there is no repository."""
    if not any(os.path.exists(parent / ".git") for parent in path.parents):
        return None
    quiet = ["--no-optional-locks", "-c", "core.fsmonitor=false"]  # no program that the repository names is run
    command = ["git", *quiet, "-C", str(path.parent), "status", "--porcelain", "--ignored=no", "--", path.name]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"{_SPARED}: git has not said within {_PATIENCE} seconds whether it is committed; try again"
    except OSError as error:
        return f"{_SPARED}: git cannot be asked whether it is committed ({error.strerror or error}); install it"
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        return f"{_SPARED}: git does not say whether it is committed ({said}); mend that"
    return f"{_SPARED}: git has changes of it that are not committed; commit them" if done.stdout.strip() else None


def _replace(path: Path, text: bytes) -> None:
    """Write a file beside, with the rights of the one that it then replaces: a reader finds the old or the new."""
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        old = path.stat()
        if (old.st_uid, old.st_gid) != (beside.stat().st_uid, beside.stat().st_gid):
            with contextlib.suppress(OSError):  # as who may not give files away
                os.chown(beside, old.st_uid, old.st_gid)
        beside.chmod(stat.S_IMODE(old.st_mode))
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
