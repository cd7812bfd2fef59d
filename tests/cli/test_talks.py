"""`hocket chat --continue`: what was said is kept for its owner alone, gone on with, and kept out on demand."""

import json
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket import open_history
from hocket.cli.chat import talks
from hocket.cli.chat.talks import TalkSettings, find_last_talk, start_talk

Run = Callable[..., subprocess.CompletedProcess[str]]
Inside = Callable[..., Any]
ECHO = ("-m", "acted:echo")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where talks are kept."""
    monkeypatch.setenv("HOCKET_TALKS", str(tmp_path / "talks"))
    yield tmp_path / "talks"


def said(done: Any) -> list[str]:
    """Return the texts that the model was sent."""
    assert done.returncode == 0, done.stderr
    return [text for _, text in json.loads(done.stdout)]


def test_a_talk_goes_on(hocket: Run, tmp_path: Path) -> None:
    """With its model and instructions, unless others are named; another question begins another talk."""
    env = {"HOCKET_TALKS": str(tmp_path / "talks")}
    first = said(hocket(*ECHO, "-s", "Be brief.", "one", **env))
    assert first == ["Be brief.", "one"]
    assert said(hocket("-c", "two", **env)) == [
        "Be brief.",
        "one",
        '[["system", "Be brief."], ["human", "one"]]',
        "two",
    ]
    assert len(said(hocket("-c", "-s", "Be long.", "three", **env))) == 6
    assert said(hocket("-c", "four", **env))[0] == "Be long."
    assert hocket("-c", "-m", "fake:other", "five", **env).stdout == "other\n"
    assert hocket("-c", "six", **env).stdout == "other\n"
    assert said(hocket(*ECHO, "new", **env)) == ["new"]
    assert len(said(hocket("chat", "--continue", "and", **env))) == 3
    kept = sorted((tmp_path / "talks").glob("*.jsonl"), key=lambda path: path.stat().st_size)
    assert [len(open_history(str(path)).messages) for path in kept] == [4, 12]


def test_a_talk_is_its_owners(hocket: Run, tmp_path: Path) -> None:
    """Neither what was said nor who was asked can be read by others; a failed question leaves nothing."""
    folder = tmp_path / "hocket" / "talks"
    environ = {"HOCKET_TALKS": str(folder)}
    assert hocket(*ECHO, "RateLimitError", **environ).returncode == 6
    assert list(folder.iterdir()) == [] and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert hocket(*ECHO, "one", **environ).returncode == 0
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600, 0o600]


def test_what_is_not_kept(hocket: Run, tmp_path: Path) -> None:
    """With -n, with another history, and where HOCKET_TALKS is empty; -n -c goes on and adds nothing."""
    env = {"HOCKET_TALKS": str(tmp_path / "talks")}
    assert hocket(*ECHO, "-n", "one", **env).returncode == 0
    assert hocket(*ECHO, "--history", str(tmp_path / "chat.jsonl"), "one", **env).returncode == 0
    assert not (tmp_path / "talks").exists()
    gone = hocket(*ECHO, "-c", "one", **env)
    assert gone.returncode == 2 and "there is no talk to go on with" in gone.stderr
    assert hocket(*ECHO, "one", **env).returncode == 0
    assert len(said(hocket("-c", "-n", "two", **env))) == len(said(hocket("-c", "-n", "two", **env))) == 3
    off = hocket("-c", "two")
    assert off.returncode == 2 and "HOCKET_TALKS is empty" in off.stderr
    both = hocket("-c", "--history", "chat.jsonl", "x", **env)
    assert both.returncode == 2 and "give one of them" in both.stderr


def test_a_folder_that_cannot_be_written(inside: Inside, tmp_path: Path) -> None:
    """Is told, and the question is answered."""
    (tmp_path / "file").touch()
    done = inside("-m", "fake:so", "Hi", HOCKET_TALKS=str(tmp_path / "file" / "talks"))
    assert (done.returncode, done.stdout) == (0, "so\n")
    assert "this talk is not kept in" in done.stderr


def test_a_talk_in_a_terminal(terminal: Callable[..., Any], tmp_path: Path) -> None:
    """The first one says where talks are kept; /undo reaches what is kept, and -c takes it up."""
    env = {"HOCKET_TALKS": str(tmp_path / "talks")}
    session = terminal(*ECHO, **env)
    session.wait_for(f"talks are kept in {tmp_path / 'talks'}")
    session.wait_for("> ")
    for line in ("one", "two", "/undo"):
        session.type(f"{line}\n")
        session.wait_for("\n> ")
    session.type("/exit\n")
    assert session.end() == 0
    again = terminal("-c", **env)
    again.wait_for("knows the 2 messages from before")
    assert "talks are kept in" not in again.said


def test_old_talks_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When there are many, or they are large: the oldest, with their settings."""
    monkeypatch.setattr(talks, "MOST", 3)
    folder.mkdir()
    for age in range(5):
        path = folder / f"{age}.jsonl"
        path.write_text("[]\n")
        path.with_suffix(".json").write_text("{}")
        os.utime(path, (1e9 - age, 1e9 - age))
    assert start_talk() is not None
    assert sorted(path.name for path in folder.iterdir()) == ["0.json", "0.jsonl", "1.json", "1.jsonl"]
    monkeypatch.setattr(talks, "MOST_BYTES", 4)
    start_talk()
    assert sorted(path.name for path in folder.iterdir()) == ["0.json", "0.jsonl"]


def test_settings_that_are_none(folder: Path) -> None:
    """A damaged file of settings costs the settings, not the talk."""
    folder.mkdir()
    (folder / "a.jsonl").write_text("[]\n")
    for text in ("{", "[]", '{"model": 1}'):
        (folder / "a.json").write_text(text)
        assert find_last_talk().settings == TalkSettings()
    (folder / "a.json").write_text('{"model": "fake:x", "more": 1}')
    assert find_last_talk().settings == TalkSettings("fake:x")
    find_last_talk().keep_settings(TalkSettings("fake:x", None, "Be brief."))
    assert find_last_talk().settings == TalkSettings("fake:x", None, "Be brief.")
