"""`hocket logs`: what was said, listed and searched; and the log of llm, taken over."""

import json
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket import open_history
from hocket.cli.chat import talks
from hocket.cli.chat.talks import find_last_talk
from hocket.testing import OpenAIFormat, serve

Inside = Callable[..., Any]
CODE = "fake:So:\n```\nx = 1\n```"


@pytest.fixture
def folder(tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where talks are kept."""
    monkeypatch.setenv("HOCKET_TALKS", str(tmp_path / "talks"))
    return tmp_path / "talks"


def make_log(kind: str, tmp_path: Path) -> str:
    """Return the path of a log that llm has written, by `llm_logs/build.py`."""
    path = tmp_path / f"{kind}.db"
    with sqlite3.connect(path) as db:
        db.executescript((Path(__file__).parent / "llm_logs" / f"{kind}.sql").read_text())
    db.close()
    return str(path)


def test_what_was_said_is_listed(inside: Inside, folder: Path) -> None:
    """The last answers, the last one last; shortly, as JSON, of a talk, and of a model."""
    assert inside("logs") == (0, "", "hocket: nothing was said that this would show\n")
    inside("-m", "fake:Blue.", "What colour\nis it?")
    first = next(folder.glob("*.jsonl")).stem
    inside("-c", "And now?")
    os.utime(folder / f"{first}.jsonl", (1.6e9, 1.6e9))
    inside("-m", CODE, "Write it")
    shown = inside("logs", "-n", "0", "-m", "blue").stdout
    assert shown.startswith(f"# {first}, 2020-09-13 ") and shown.count(f"# {first}") == 2
    assert "\n\n> What colour\n> is it?\n\nBlue.\n\n# " in shown
    assert [line.rpartition("  ")[2] for line in inside("logs", "-s").stdout.splitlines()] == [
        "What colour is it?",
        "And now?",
        "Write it",
    ]
    one = json.loads(inside("logs", "list", "-n", "1", "--json").stdout)
    assert (one["model"], one["question"], one["answer"]) == (CODE, "Write it", "So:\n```\nx = 1\n```")
    assert inside("logs", "-x").stdout == "x = 1\n" and inside("logs", "-r", "-m", "blue").stdout == "Blue.\n"
    assert inside("logs", "-c", first, "-s").stdout.count(first) == 2
    assert inside("logs", "-c", "last", "-s").stdout.endswith("Write it\n")
    assert "2 talks are called 2" in inside("logs", "-c", "2").stderr
    assert inside("logs", "path").stdout == f"{folder}\n"
    assert "HOCKET_TALKS is empty" in inside("logs", HOCKET_TALKS="").stderr


def test_a_line_shows_the_question_and_not_what_comes_before_it(inside: Inside, folder: Path, tmp_path: Path) -> None:
    """By `-f`, also where a picture is attached; in full, and for a search, all of it is there."""
    (tmp_path / "notes.md").write_text("The sea\n\nis wide. " * 9)
    (tmp_path / "sky.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    files = ("-f", str(tmp_path / "notes.md"), "-f", str(tmp_path / "notes.md"))
    with serve(OpenAIFormat(), "Yes.") as server:
        asks = ("--base-url", server.url, "-m", "small", *files)
        inside(*asks, "Is it\n\nwide?", OPENAI_API_KEY="k")
        inside("-c", *asks, "-a", str(tmp_path / "sky.png"), "And blue?")
        assert [{*message} for message in server.requests[1].json["messages"]] == [{"role", "content"}] * 3
    lines = inside("logs", "-s", "-q", "sea").stdout.splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == ["Is it wide?", "And blue?"]
    one = json.loads(inside("logs", "-n", "1", "--json").stdout)
    assert one["asked"] == "And blue?" and one["question"].startswith("notes.md:\nThe sea\n\nis wide. ")
    assert "> notes.md:\n> The sea" in inside("logs").stdout


def test_words_are_searched_for(inside: Inside, folder: Path) -> None:
    """All of them, in question or answer, whatever their case and accents; in a script without spaces, too."""
    inside("-m", "fake:Le ciel est bleuté.", "Which colour?")
    inside("-m", "fake:光は散乱する", "Why?")
    for words, found in (
        ("COLOUR bleute", "Which colour?"),
        ("散乱", "Why?"),
        ("colour why", ""),
        ("col", ""),
    ):
        assert inside("logs", "-s", "-q", words).stdout.rpartition("  ")[2] == (f"{found}\n" if found else "")


def test_a_damaged_talk_is_named(inside: Inside, folder: Path) -> None:
    """With its file and its line; the talks after it are listed all the same."""
    folder.mkdir()
    (folder / "20260101-000000-aaaaaa.jsonl").write_text("junk\n")
    os.utime(folder / "20260101-000000-aaaaaa.jsonl", (1, 1))
    inside("-m", "fake:Blue.", "What?")
    assert inside("logs", "-n", "1").returncode == 0
    done = inside("logs")
    assert done.returncode == 1 and "20260101-000000-aaaaaa.jsonl, line 1: it is not JSON" in done.stderr


@pytest.mark.parametrize("kind", ["rows", "tree"])
def test_the_log_of_llm_is_taken_over(inside: Inside, folder: Path, tmp_path: Path, kind: str) -> None:
    """As talks of their time, that can be gone on with: answers, calls, fragments and attachments; once."""
    log = make_log(kind, tmp_path)
    before = Path(log).read_bytes()
    done = inside("logs", "import", log)
    assert (done.returncode, done.stderr) == (0, f"hocket: of 5 conversations 5 are new, and kept in {folder}\n")
    assert "of 5 conversations 0 are new" in inside("logs", "import", log).stderr and Path(log).read_bytes() == before
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    found = [json.loads(line) for line in inside("logs", "-n", "0", "--json").stdout.splitlines()]
    assert [(one["question"], one["answer"]) for one in found] == [
        ("Why is the sky blue?", "Blue light scatters."),
        ("And at sunset?", "The way is longer."),
        ("What is 2 + 3?", "It is 5."),
        ("Notes about the sea.\nSummarise", "A summary."),
        ("What is it?\n[attached: /home/ada/sky.png]", "A cat."),
        ("And this?", "A dog."),
    ]
    assert found[0]["model"] == "small" and found[0]["usage"]["output_tokens"] == 3
    assert found[0]["at"][:10] == "2026-11-29" and found[0]["talk"].startswith(found[1]["talk"])
    called = open_history(str(folder / f"{found[2]['talk']}.jsonl")).messages
    assert [one.type for one in called] == ["human", "ai", "tool", "ai"]
    assert (called[1].tool_calls[0]["args"], called[2].text) == ({"a": 2, "b": 3}, "5")  # type: ignore[attr-defined]
    pictured = open_history(str(folder / f"{found[5]['talk']}.jsonl")).messages[0].content
    assert isinstance(pictured[1], dict) and pictured[1]["mime_type"] == "image/png"
    os.utime(folder / f"{found[0]['talk']}.jsonl", (1.9e9, 1.9e9))
    assert inside("-c", "-m", "fake:Yes.", "Sure?").stdout == "Yes.\n"
    assert find_last_talk().settings.system == "Be brief."


def test_only_the_latest_are_taken_over(
    inside: Inside, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as are kept, and the others are told of."""
    monkeypatch.setattr("hocket.cli.llm_logs.MOST", 3)
    done = inside("logs", "import", make_log("tree", tmp_path))
    assert "5 conversations 2 are new" in done.stderr and "the 3 oldest are left out: 3 talks are kept" in done.stderr
    assert [path.stem for path in talks.list_talks(folder)] == sorted(
        (p.stem for p in folder.glob("*.jsonl")), reverse=True
    )


def test_what_is_no_log(inside: Inside, folder: Path, tmp_path: Path) -> None:
    """It is named, and nothing is kept."""
    log = make_log("tree", tmp_path)
    (tmp_path / "half.db").write_bytes(Path(log).read_bytes()[:6000])
    (tmp_path / "text.db").write_text("no database at all, but a text of some length")
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE x (y)").connection.close()
    with sqlite3.connect(log) as db:
        db.execute("UPDATE parts SET payload = '{' WHERE type = 'tool_call'")
    db.close()
    for name in ("half.db", "text.db", "empty.db", "tree.db", "none.db"):
        done = inside("logs", "import", str(tmp_path / name))
        assert (done.returncode, done.stdout) == (2, "") and name in done.stderr and len(done.stderr.splitlines()) == 1
    assert not folder.exists()
