"""`hocket migrate`: what it prints, what it writes, and what it leaves alone."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from hocket.cli import main

MOVED = "from langchain_core.tools import tool\n"
AFTER = "from hocket.tools import tool\n"
LEFT = "from langchain_core.sys_info import print_sys_info\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a program that moves whole."""
    (tmp_path / "moved.py").write_text(MOVED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commit(folder: Path) -> None:
    """Make a repository of a folder, with all that is in it."""
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for command in (["init", "-q"], ["add", "-A"], [*settings, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def test_a_diff(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --write nothing is changed, and what would be is a diff that `git apply` takes."""
    assert main(["migrate", "moved.py"]) == 0
    said = capsys.readouterr()
    assert said.out == "--- a/moved.py\n+++ b/moved.py\n@@ -1 +1 @@\n-" + MOVED + "+" + AFTER
    assert said.err == "hocket: 1 file, 1 would change (--write changes them): 1 moved, 0 left to do, 0 to look at\n"
    assert (folder / "moved.py").read_text() == MOVED
    commit(folder)
    subprocess.run(["git", "apply"], input=said.out, text=True, cwd=folder, check=True)
    assert (folder / "moved.py").read_text() == AFTER


def test_write(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file has the new text and its old rights; nothing lies beside it."""
    (folder / "moved.py").chmod(0o750)
    assert main(["migrate", "--write", "."]) == 0
    assert (folder / "moved.py").read_text() == AFTER
    assert stat.S_IMODE((folder / "moved.py").stat().st_mode) == 0o750
    assert os.listdir(folder) == ["moved.py"]
    assert capsys.readouterr().out == ""


def test_what_is_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each, the others go on, and the exit code says so."""
    (folder / "broken.py").write_text("from langchain import (\n")
    (folder / "book.ipynb").write_text('{"cells": ["langchain_core"]}')
    (folder / "left.py").write_text(LEFT)
    (folder / "other.py").write_bytes(b"no Python, and no word of it")
    (folder / ".venv").mkdir()
    (folder / ".venv" / "inside.py").write_text(LEFT)
    assert main(["migrate", "--write", "."]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["book.ipynb:1:", "broken.py:1:", "left.py:1:", "hocket:"]
    assert "nbconvert" in lines[0] and "it is no Python" in lines[1] and "pip list" in lines[2]
    assert lines[3] == "hocket: 5 files, 1 of 1 written: 1 moved, 3 left to do, 0 to look at"
    assert (folder / "moved.py").read_text() == AFTER
    assert (folder / "broken.py").read_text() == "from langchain import (\n"


def test_what_would_not_run_is_not_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A middleware that reads LangChain's state, half moved, would run with neither library; --force writes it."""
    code = "from langchain.agents.middleware import AgentMiddleware\n\n\nclass Trim(AgentMiddleware):\n"
    code += "    def wrap_model_call(self, request, handler):\n        return handler(request.state)\n"
    (folder / "trim.py").write_text(code)
    assert main(["migrate", "--write", "trim.py"]) == 1
    assert (folder / "trim.py").read_text() == code
    assert "it was not written: what is left would not run" in capsys.readouterr().err
    assert main(["migrate", "--write", "--force", "trim.py"]) == 1
    assert "from hocket.agents import AgentMiddleware" in (folder / "trim.py").read_text()


def test_a_named_file_is_read_whatever_its_name_is(folder: Path) -> None:
    """A script has no suffix; what is no Python is told."""
    (folder / "script").write_text(MOVED)
    (folder / "picture.png").write_bytes(b"\x89PNG langchain")
    assert main(["migrate", "--write", "script", "script"]) == 0
    assert (folder / "script").read_text() == AFTER
    assert main(["migrate", "picture.png"]) == 1


def test_git(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not committed is not written over, unless --force says so."""
    commit(folder)
    (folder / "moved.py").write_text(MOVED + "x = 1\n")
    (folder / "new.py").write_text(MOVED)
    assert main(["migrate", "--write", "."]) == 1
    assert capsys.readouterr().err.count("commit them, or give --force") == 2
    assert (folder / "moved.py").read_text() == MOVED + "x = 1\n"
    assert main(["migrate", "--write", "--force", "."]) == 0
    assert (folder / "moved.py").read_text() == AFTER + "x = 1\n"
    assert (folder / "new.py").read_text() == AFTER


def test_git_runs_nothing_of_a_strangers_repository(folder: Path) -> None:
    """Its settings may name programs for `git status` to run."""
    commit(folder)
    (folder / "run.sh").write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    (folder / "run.sh").chmod(0o755)
    (folder / ".git" / "hooks" / "post-index-change").write_text((folder / "run.sh").read_text())
    (folder / ".git" / "hooks" / "post-index-change").chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", f"{folder}/run.sh"], cwd=folder, check=True)
    os.utime(folder / "moved.py", (1, 1))
    assert main(["migrate", "--write", "."]) == 0
    assert (folder / "moved.py").read_text() == AFTER
    assert not (folder / "ran").exists()


def test_a_link_out_of_the_directory_is_not_followed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever made the tree may have put one there; a file that is named is taken."""
    away = tmp_path_factory.mktemp("away") / "away.py"
    away.write_text(MOVED)
    (folder / "away.py").symlink_to(away)
    main(["migrate", "--write", str(folder)])
    assert away.read_text() == MOVED
    main(["migrate", "--write", str(folder / "away.py")])
    assert away.read_text() == AFTER


def test_a_link_stays_a_link(folder: Path) -> None:
    """The file behind it is written, once."""
    (folder / "link.py").symlink_to("moved.py")
    assert main(["migrate", "--write", "."]) == 0
    assert (folder / "link.py").is_symlink()
    assert (folder / "moved.py").read_text() == AFTER


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole account, for other programs."""
    (folder / "left.py").write_text(LEFT)
    assert main(["migrate", "--json", "."]) == 1
    account = json.loads(capsys.readouterr().out)
    assert (account["read"], account["left"]) == (2, 1)
    left, moved = account["files"]
    assert (moved["path"], moved["moved"], moved["written"], moved["findings"]) == ("moved.py", 1, False, [])
    assert left["findings"][0]["line"] == 1
    assert left["findings"][0]["kind"] == "left"


def test_a_path_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Is misuse: nothing is written then, not even what is there."""
    assert main(["migrate", "--write", "moved.py", "nowhere"]) == 2
    assert capsys.readouterr().err == "hocket: there is no nowhere; nothing was read\n"
    assert (folder / "moved.py").read_text() == MOVED
