"""`hocket migrate` over what is no program, or none that it may write: told with file and line, and the rest goes on."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from hocket.cli import main
from tests.cli.test_migrate_command import AFTER, MOVED, commit
from tests.kit import warm

DEEP = 20_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a program that comes last and moves whole."""
    (tmp_path / "zz.py").write_text(MOVED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tell(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Have the whole folder written; return what was said of the files. The last program was moved nevertheless."""
    assert main(["migrate", "--write", *(arguments or ".")]) == 1
    assert (folder / "zz.py").read_text() == AFTER
    *lines, _ = capsys.readouterr().err.splitlines()
    return lines


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (MOVED + "x = (\n", "a.py:2: left: a.py: it is no Python: '(' was never closed"),
        (MOVED + "print 'langchain'\n", "a.py:2: left: a.py: it is no Python: Missing parentheses"),
        (MOVED + "if x:\nreturn\n", "a.py:3: left: a.py: it is no Python: expected an indented block"),
        ("# no Python at all, but langchain\n}{", "a.py:2: left: a.py: it is no Python: unmatched '}'"),
        (MOVED + "\0", "a.py:1: left: a.py: it is no Python: source code string cannot contain null bytes"),
        (MOVED + "x = " + "(" * DEEP + ")" * DEEP, "a.py:2: left: a.py: it is no Python: too many nested parentheses"),
        (MOVED + "x = " + "-" * DEEP + "1", "a.py:1: left: a.py: it nests too deep"),
        (MOVED + "x = " + " + ".join(["1"] * DEEP), "a.py:1: left: a.py: it nests too deep"),
        (MOVED + "x = a" + ".b" * DEEP, "a.py:1: left: a.py: it nests too deep"),
        (MOVED + "x = " + '"a" ' * DEEP, "a.py:2: left: a.py: it cannot be rewritten ("),
    ],
    ids=[
        "open",
        "python 2",
        "indent",
        "no python",
        "nul",
        "brackets",
        "signs",
        "sum",
        "attributes",
        "pieces of a text",
    ],
)
def test_what_is_no_program(folder: Path, capsys: pytest.CaptureFixture[str], code: str, said: str) -> None:
    """A syntax error has its line and Python's own words; what nests without end takes no time, and nothing down."""
    (folder / "a.py").write_text(code)
    [line] = tell(folder, capsys)
    assert line.startswith(said)
    assert (folder / "a.py").read_text() == code


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            MOVED.encode() + b"x = '\xe4'\n",
            "2: left: a.py: it is no Python: byte 0xe4 is not utf-8; save it as UTF-8, or",
        ),
        (MOVED.encode("utf-16"), "1: left: a.py: it is no Python: a text in UTF-16; save it as UTF-8"),
        (b"# coding: klingon\n" + MOVED.encode(), "1: left: a.py: it is no Python: unknown encoding: klingon"),
        (
            b"\xef\xbb\xbf# coding: latin-1\n" + MOVED.encode(),
            "1: left: a.py: it is no Python: encoding problem: utf-8",
        ),
        (b"# coding: hex\n" + MOVED.encode(), "1: left: a.py: it is no Python: 'hex' is not a text encoding"),
    ],
    ids=["latin-1", "utf-16", "unknown", "two", "no text"],
)
def test_an_encoding_that_cannot_be_read(
    folder: Path, capsys: pytest.CaptureFixture[str], code: bytes, said: str
) -> None:
    """Is told, with what to do."""
    (folder / "a.py").write_bytes(code)
    [line] = tell(folder, capsys)
    assert line.startswith(f"a.py:{said}")
    assert (folder / "a.py").read_bytes() == code


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    "head", [b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf# coding: utf-8\n", b"# vim: set fileencoding=cp1252 :\n"],
    ids=["plain", "mark", "mark and cookie", "cookie"],
)  # fmt: skip
def test_bytes_that_are_kept(folder: Path, head: bytes, ending: bytes) -> None:
    """A byte order mark, the encoding that a first line says, line ends, and a last line without one."""
    text = b"x = '\x80'" if b"cp1252" in head else "x = 'ä'".encode()
    code = (head + MOVED.encode() + text).replace(b"\n", ending)
    (folder / "a.py").write_bytes(code)
    assert main(["migrate", "--write", "."]) == 0
    assert (folder / "a.py").read_bytes() == code.replace(MOVED[:-1].encode(), AFTER[:-1].encode())


def test_an_empty_file_and_an_empty_directory(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to move in the one, and nothing to read in the other, which is told."""
    (folder / "a.py").touch()
    (folder / "empty").mkdir()
    (folder / "empty" / "notes.md").write_text(MOVED)
    assert main(["migrate", "a.py"]) == 0
    assert capsys.readouterr().err.startswith("hocket: 1 file, 0 would change")
    assert main(["migrate", "empty"]) == 0
    assert capsys.readouterr().err.startswith("hocket: there is no Python program in empty\nhocket: 0 files")


def test_a_named_path_that_is_no_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Is read whatever it is called, and told; below a directory only programs are looked at."""
    (folder / "notes.md").write_text("# Notes\n\nWe use it here.\n")
    [line] = tell(folder, capsys, "notes.md", "zz.py")
    assert line.startswith("notes.md:3: left: notes.md: it is no Python: invalid syntax")


def test_a_notebook(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Is told, with the line that makes a program of it."""
    (folder / "a.ipynb").write_text('{"cells": ["from langchain_core.tools import tool"]}')
    [line] = tell(folder, capsys)
    assert line.startswith(
        "a.ipynb:1: left: a.ipynb: notebooks are not rewritten; `jupyter nbconvert --to script a.ipynb`"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_what_is_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe is not waited for; links that lead nowhere, or round in a circle, are told."""
    os.mkfifo(folder / "pipe.py")
    (folder / "nowhere.py").symlink_to("gone.py")
    (folder / "round.py").symlink_to("round.py")
    (folder / "again").symlink_to(".")  # is not gone into
    nowhere, pipe, circle = tell(folder, capsys)
    assert nowhere.endswith("nowhere.py: it cannot be read: No such file or directory")
    assert pipe.endswith("pipe.py: it is no file: a pipe, a socket or a device")
    assert circle.endswith("round.py: it cannot be read: Too many levels of symbolic links")


def test_one_file_by_many_paths(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Is read once."""
    (folder / "link.py").symlink_to("zz.py")
    assert main(["migrate", "--write", ".", "zz.py", "link.py", str(folder), "./zz.py"]) == 0
    assert capsys.readouterr().err == "hocket: 1 file, 1 of 1 written: 1 moved, 0 left to do, 0 to look at\n"


FEW_RIGHTS = """
import os, sys
from hocket.cli import main
open("first.py", "w").write("from langchain_core.tools import tool\\n")
main(["migrate", "first.py"])  # all is loaded
os.remove("first.py")
if os.geteuid() == 0:  # root may read and write everything
    os.setgid(65534)
    os.setuid(65534)
os.mkdir("closed", 0)
os.mkdir("locked")
for name in ("a.py", "locked/b.py", "zz.py"):
    open(name, "w").write("from langchain_core.tools import tool\\n")
os.chmod("a.py", 0)
os.chmod("locked", 0o500)
code = main(["migrate", "--write", "."])
os.chmod("locked", 0o700)
sys.exit(code)
"""


@pytest.mark.skipif(os.name == "nt", reason="rights are others there")
def test_what_may_not_be_read_or_written() -> None:
    """A file, a directory, and a file in a directory where nothing may be made."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own is root's alone, where root runs it
        here = Path(name)
        here.chmod(0o777)
        environ = {**os.environ, "HOME": name, "XDG_CONFIG_HOME": name}  # whoever has few rights has a home of his own
        done = subprocess.run(
            [sys.executable, "-c", FEW_RIGHTS], cwd=here, env=environ, capture_output=True, text=True, check=False
        )
        lines = done.stderr.splitlines()[-4:]
        assert lines[:-1] == [
            "a.py:1: left: a.py: it cannot be read: Permission denied",
            "closed:1: left: closed: the directory cannot be read",
            "locked/b.py:1: left: b.py: it cannot be written: Permission denied",
        ]
        assert done.returncode == 1
        assert ((here / "zz.py").read_text(), (here / "locked" / "b.py").read_text()) == (AFTER, MOVED)
        assert os.listdir(here / "locked") == ["b.py"]


def test_a_file_that_nobody_may_write(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Is not replaced, as its directory would allow, unless --force says so; it stays as it was protected."""
    (folder / "a.py").write_text(MOVED)
    (folder / "a.py").chmod(0o444)
    [line] = tell(folder, capsys)
    assert line == "a.py:1: left: a.py: it was not written: nobody may write it; change its rights, or give --force"
    assert (folder / "a.py").read_text() == MOVED
    assert main(["migrate", "--write", "--force", "a.py"]) == 0
    assert (folder / "a.py").read_text() == AFTER
    assert stat.S_IMODE((folder / "a.py").stat().st_mode) == 0o444


def test_git_that_cannot_say(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a repository that git does not read, or without git, is not written: nobody knows what is in it."""
    commit(folder)
    (folder / ".git" / "HEAD").write_text("nothing that git knows")
    assert main(["migrate", "--write", "."]) == 1
    assert "it was not written: git does not say whether it is committed (fatal" in capsys.readouterr().err
    monkeypatch.setenv("PATH", "")
    assert main(["migrate", "--write", "."]) == 1
    assert "it was not written: git cannot be asked whether it is committed" in capsys.readouterr().err
    assert (folder / "zz.py").read_text() == MOVED
    assert main(["migrate", "--write", "--force", "."]) == 0
    assert (folder / "zz.py").read_text() == AFTER


KILLED = """
import os, pathlib, signal, sys
def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)
count = 0
def after(real, number):
    def call(*arguments, **named):
        global count
        count += 1
        return die() if count > number else real(*arguments, **named)
    return call
if MOMENT == "half":
    real = os.fdopen
    def fdopen(number, mode):
        file = real(number, mode)
        class Half:
            def __enter__(self):
                return self
            def __exit__(self, *error):
                pass
            def write(self, text):
                file.write(text[: len(text) // 2])
                file.flush()
                die()
        return Half()
    os.fdopen = fdopen
elif MOMENT == "fsync":
    os.fsync = after(os.fsync, NUMBER)
else:
    pathlib.Path.replace = after(pathlib.Path.replace, NUMBER)
from hocket.cli import main
sys.exit(main(["migrate", "--write", "."]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("half", 0),
        *(pytest.param(*case, marks=pytest.mark.nightly) for case in (("fsync", 0), ("fsync", 2), ("replace", 0))),
        ("replace", 2),
    ],
)
def test_killed_while_writing(folder: Path, moment: str, number: int) -> None:
    """Every file is whole, the old one or the new; what lies beside is no program to the next run, which goes on."""
    for at in range(4):
        (folder / f"a{at}.py").write_text(MOVED)
    code = f"MOMENT, NUMBER = {moment!r}, {number}\n{KILLED}"
    done = warm.run("-c", code, cwd=folder, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    texts = [path.read_text() for path in sorted(folder.glob("*.py"))]
    assert texts == [AFTER] * number + [MOVED] * (5 - number)
    assert len(os.listdir(folder)) == 6
    assert main(["migrate", "--write", "."]) == 0
    assert {path.read_text() for path in folder.glob("*.py")} == {AFTER}


FULL = """
import resource, sys
from hocket.cli import main
import hocket.migration
hocket.migration.migrate_program
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
sys.exit(main(["migrate", "--write", "."]))
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no such limits here")
def test_no_room(folder: Path) -> None:
    """A file that there is no room for is told, and stays whole; nothing is left beside it."""
    code = MOVED + "# much\n" * 1000
    (folder / "a.py").write_text(code)
    done = warm.run("-c", FULL, cwd=folder, capture_output=True)
    assert done.returncode == 1
    assert "a.py:1: left: a.py: it cannot be written: File too large" in done.stderr
    assert (folder / "a.py").read_text() == code
    assert (folder / "zz.py").read_text() == AFTER
    assert sorted(os.listdir(folder)) == ["a.py", "zz.py"]
