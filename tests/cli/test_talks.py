"""`hocket chat --continue`: what was said is kept for its owner alone, gone on with, and kept out on demand."""

import json
import os
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket import open_history
from hocket.cli.chat import talks
from hocket.cli.chat.talks import TalkSettings, find_last_talk, start_talk
from hocket.testing import OpenAIFormat, serve
from tests.kit import warm
from tests.kit.amount import leave_for_night

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
    talk = find_last_talk()
    talk.settings = TalkSettings("fake:x", None, "Be brief.")
    talk.keep_settings()
    assert find_last_talk().settings == TalkSettings("fake:x", None, "Be brief.")


def test_a_talk_keeps_its_server(hocket: Run, tmp_path: Path) -> None:
    """Whoever named it: the environment may say another by now, or none. Another server is asked when it is named."""
    env = {"HOCKET_TALKS": str(tmp_path / "talks")}
    with serve(OpenAIFormat(), ["one"] * 4) as own, serve(OpenAIFormat(), ["two"] * 4) as other:
        first = hocket("-m", "openai:x", "a", OPENAI_BASE_URL=own.url, **env)
        assert first.stdout == "one\n", first.stderr
        same = hocket("-c", "b", OPENAI_BASE_URL=own.url, **env)
        assert (same.stdout, same.stderr) == ("one\n", "")
        for arguments in (["-c"], ["-c", "-m", "openai:y"]):  # another model of that provider is asked there, too
            moved = hocket(*arguments, "c", OPENAI_BASE_URL=other.url, OPENAI_API_KEY="sk-others", **env)
            assert moved.stdout == "one\n"
            assert f"the talk was held at {own.url}, and goes on there, not at {other.url}" in moved.stderr
        named = hocket("-c", "-m", "x", "--base-url", other.url, "d", **env)
        assert (named.stdout, named.stderr) == ("two\n", "")
    assert [request.json["model"] for request in own.requests] == ["x", "x", "x", "y"]
    assert not any("authorization" in request.headers for request in own.requests)
    gone = hocket("-c", "e", **env)  # at the last one, which is closed: and nowhere else
    assert gone.returncode == 5 and other.url.removesuffix("/v1") in gone.stderr


def test_a_model_without_its_provider_is_of_the_talks_server(hocket: Run, tmp_path: Path) -> None:
    """With -c as with /model; a provider's name means that provider, at its own address, also the next time."""
    env = {"HOCKET_TALKS": str(tmp_path / "talks")}
    with serve(OpenAIFormat(), ["one"] * 3) as server:
        hocket("--base-url", server.url, "-m", "x", "a", **env)
        assert hocket("-c", "-m", "gpt-5.2", "b", **env).stdout == "one\n"
        assert said(hocket("-c", *ECHO, "c", **env))[-1] == "c"
        assert said(hocket("-c", "d", **env))[-1] == "d"
        assert hocket("-c", "-m", "z", "e", **env).stdout == "one\n"
    assert [request.json["model"] for request in server.requests] == ["x", "gpt-5.2", "z"]


def test_a_server_that_cannot_be_asked_again(hocket: Run, tmp_path: Path) -> None:
    """A provider whose code says another address is refused, before anything is sent."""
    env = {"HOCKET_TALKS": str(tmp_path / "talks")}
    with serve(OpenAIFormat(), "one") as server:
        assert hocket("-m", "acted:fixed", "a", FIXED=server.url, **env).stdout == "one\n"
        moved = hocket("-c", "b", FIXED="http://127.0.0.1:9/v1", **env)
    assert moved.returncode == 2 and len(server.requests) == 1
    assert f"the talk was held at {server.url}, and acted:fixed cannot be asked there any more" in moved.stderr


def test_a_talk_keeps_no_password(hocket: Run, tmp_path: Path) -> None:
    """The address that is kept is without one."""
    with serve(OpenAIFormat(), ["one", "one"]) as server:
        url = server.url.replace("http://", "http://ada:s3cret-word@")
        env = {"HOCKET_TALKS": str(tmp_path / "talks"), "OPENAI_BASE_URL": url}
        assert hocket("-m", "openai:x", "a", **env).returncode == 0
        assert hocket("--base-url", url, "-m", "x", "a", **env).returncode == 0
    kept = [path.read_text() for path in (tmp_path / "talks").glob("*.json")]
    assert [json.loads(text)["address"] for text in kept] == [server.url] * 2 and "s3cret" not in "".join(kept)


def test_a_talk_keeps_the_model_of_the_environment(hocket: Run, tmp_path: Path) -> None:
    """And the one that a server served alone."""
    env = {"HOCKET_TALKS": str(tmp_path / "talks")}
    hocket("a", HOCKET_MODEL="fake:one", **env)
    assert hocket("-c", "b", HOCKET_MODEL="fake:two", **env).stdout == "one\n"


@pytest.mark.parametrize("how", ["stopped", *leave_for_night("closed")])
def test_a_first_answer_that_is_cut_keeps_who_was_asked(environ: dict[str, str], tmp_path: Path, how: str) -> None:
    """By a reader that leaves, or by Ctrl-C: what was said until then goes on with its model and instructions."""
    env = {**environ, "HOCKET_TALKS": str(tmp_path / "talks")}
    question = "x" * 10**6 if how == "closed" else "wait"
    with warm.Program(
        "-m", "hocket", *ECHO, "-s", "Be brief.", env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(question.encode())
        process.stdin.close()
        assert process.stdout.read(3) in (b'[["', b"and")
        if how == "stopped":
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        process.stdout.close()
        assert process.wait(30) == (141 if how == "closed" else 130)
    again = warm.run("-m", "hocket", "-c", "b", env=env, capture_output=True, check=True)
    assert json.loads(again.stdout)[0] == ["system", "Be brief."]
