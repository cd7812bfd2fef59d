"""`hocket chat --history`: a conversation that outlives the command."""

import json
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket.chat_history import open_history
from hocket.errors import HistoryError
from hocket.messages import AIMessage, HumanMessage
from tests.kit import HookCall, hook_model

Run = Callable[..., Any]

SERVERS = {"redis": "redis://127.0.0.1:6379/0", "postgresql": "postgresql://postgres@127.0.0.1:5432/test"}


@pytest.fixture(params=["file", "directory", "sqlite", "redis", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options of a history of each kind."""
    session = f"test-{uuid.uuid4()}"
    if request.param in SERVERS:
        options = ["--history", SERVERS[request.param], "--session", session]
        try:
            history = open_history(SERVERS[request.param], session)
            _ = history.messages
        except HistoryError as error:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"there is no server: {error}")
        yield options
        history.clear()
        history.close()
    elif request.param == "file":
        yield ["--history", str(tmp_path / "chat.jsonl")]
    elif request.param == "directory":
        yield ["--history", f"{tmp_path}/", "--session", session]
    else:
        yield ["--history", f"sqlite:///{tmp_path / 'chat.db'}", "--session", session]


@pytest.mark.usefixtures("echoing")
def test_a_conversation_goes_on(inside: Run, where: list[str]) -> None:
    """Each run of the command takes up what was said in those before."""
    assert inside("chat", "--model", "echoing:x", *where, "one").stdout == '["one"]\n'
    assert json.loads(inside("chat", "--model", "echoing:x", *where, "two").stdout) == ["one", '["one"]', "two"]


@pytest.fixture
def echoing() -> None:
    """A provider that answers with the texts that it was sent."""
    from hocket.language_models import register_provider

    def answer(call: HookCall) -> str:
        return json.dumps([message.text for message in call.input])

    profile: Any = {"max_input_tokens": 400}
    register_provider("echoing", lambda model, **options: hook_model(answer, "generate", profile=profile))


def test_what_was_answered_survives_the_command(terminal: Run, tmp_path: Path) -> None:
    """Killed at the prompt, or in the middle of an answer: every answer that was followed by a prompt is there."""
    arguments = ("--model", "acted:echo", "--history", str(tmp_path / "chat.jsonl"))
    session = terminal(*arguments)
    for question in ("one", "two"):
        session.wait_for("> ")
        session.type(f"{question}\n")
    session.wait_for("\n> ")
    session.type("wait\n")
    session.wait_for("and then")
    session.process.kill()
    session.process.wait()

    history = open_history(tmp_path / "chat.jsonl").messages
    assert [message.text for message in history][::2] == ["one", "two"]

    session = terminal(*arguments)
    session.wait_for("acted:echo is listening, and knows the 4 messages from before")
    session.wait_for("> ")
    session.type("three\n")
    said = json.loads(session.wait_for("\n> ").strip().splitlines()[0])
    assert [text for kind, text in said if kind == "human"] == ["one", "two", "three"]


def test_ctrl_c_keeps_what_was_said(terminal: Run, tmp_path: Path) -> None:
    """And the next command knows of it."""
    arguments = ("--model", "acted:echo", "--history", str(tmp_path / "chat.jsonl"))
    session = terminal(*arguments)
    session.wait_for("> ")
    session.type("wait\n")
    session.wait_for("and then")
    session.press("\x03")
    session.wait_for("stopped\n> ")
    kept = open_history(tmp_path / "chat.jsonl").messages
    assert [message.text for message in kept] == ["wait", "and then"]
    session.type("/undo\n")
    session.wait_for("hocket: a conversation that is kept cannot be undone")
    session.type("/clear\n")
    session.wait_for("the conversation is forgotten\n> ")
    assert open_history(tmp_path / "chat.jsonl").messages == []


def test_what_is_in_the_way_is_told_before_anything_is_asked(inside: Run, tmp_path: Path) -> None:
    """In one line, and no model hears of the question."""
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("{half\n\n")
    sealed = tmp_path / "sealed.jsonl"
    sealed.touch(0o400)
    nowhere = tmp_path / "nowhere" / "chat.jsonl"
    cases: list[tuple[list[str], int, str]] = [
        ([str(nowhere)], 2, f"there is no directory {nowhere.parent}; make it first"),
        ([str(damaged)], 1, "line 1: it is not JSON"),
        (["mysql://host/database"], 2, "is no address of a history: it is redis://"),
        (["redis://127.0.0.1:1/0", "--session", "ada"], 5, "Connection refused"),
        (["postgresql://postgres@127.0.0.1:1/test", "--session", "ada"], 5, "Connection refused"),
        (["redis://127.0.0.1:1/0"], 2, "name yours, with --session NAME"),
        ([f"sqlite:///{nowhere}"], 2, f"there is no directory {nowhere.parent}; make it first"),
        ([str(tmp_path / "chat.jsonl"), "--session", "ada"], 2, "is a file, which holds one conversation"),
    ]
    if not os.access(sealed, os.W_OK):  # the superuser may write everything
        cases.append(([str(sealed)], 2, "cannot be written; the messages would be lost"))
    for options, code, message in cases:
        done = inside("chat", "--model", "fake:so", "--history", *options, "why?")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), done.stderr
        assert done.stderr.startswith("hocket: ") and message in done.stderr
    done = inside("chat", "--model", "fake:so", "--session", "ada", "why?")
    assert done.stderr == "hocket: --session names a conversation in a history: say which one, with --history\n"


def test_a_password_is_not_shown(inside: Run) -> None:
    """Where a server's address is."""
    for address in ("redis://:hush@127.0.0.1:1/0", "postgresql://postgres:hush@127.0.0.1:1/test"):
        done = inside("chat", "--model", "fake:so", "--history", address, "--session", "ada", "why?")
        assert done.returncode == 5 and "127.0.0.1" in done.stderr
        assert "hush" not in done.stderr


@pytest.mark.parametrize(("package", "extra"), [("redis", "redis"), ("psycopg", "postgres")], ids=["redis", "postgres"])
def test_a_missing_package(hocket: Run, environ: dict[str, str], tmp_path: Path, package: str, extra: str) -> None:
    """The line says how to install it."""
    (tmp_path / f"{package}.py").write_text("raise ImportError('not installed')\n")
    scheme = "redis" if package == "redis" else "postgresql"
    path = os.pathsep.join((str(tmp_path), environ["PYTHONPATH"]))
    where = ("--history", f"{scheme}://127.0.0.1/0", "--session", "ada")
    done = hocket("chat", "--model", "fake:so", *where, "why?", PYTHONPATH=path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and f"pip install 'hocket[{extra}]'" in done.stderr


@pytest.mark.usefixtures("echoing")
def test_a_long_conversation_fits_the_window(inside: Run, tmp_path: Path) -> None:
    """Though the history is many times as long; it keeps everything."""
    path = tmp_path / "chat.jsonl"
    history = open_history(path)
    for index in range(100):
        history.add_messages([HumanMessage(f"question {index}"), AIMessage("word " * 20)])
    sent = json.loads(inside("chat", "--model", "echoing:narrow", "--history", str(path), "now?").stdout)
    assert sent[0].startswith("question 9") and sent[-1] == "now?"
    assert len(history.messages) == 202


def test_a_database_of_ones_own_needs_no_session(inside: Run, tmp_path: Path) -> None:
    """The command names one; another is another conversation."""
    where = ["--history", f"sqlite:///{tmp_path / 'chat.db'}"]
    for arguments in ([], [], ["--session", "ada"]):
        assert inside("chat", "--model", "fake:so", *where, *arguments, "why?").returncode == 0
    assert [len(open_history(where[1], name).messages) for name in ("default", "ada")] == [4, 2]
