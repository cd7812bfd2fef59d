"""`hocket chat` without a question, in a terminal: a conversation, its commands, and its keys."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pty", reason="there are no pseudo-terminals here")

from hocket.testing import OpenAIFormat, Reply, Status, Stream, serve

Start = Callable[..., Any]
CTRL_C, CTRL_D = "\x03", "\x04"
PROMPT = "> "


def ask(terminal: Any, question: str) -> str:
    """Type a question; return what came until the next prompt."""
    terminal.type(f"{question}\n")
    shown: str = terminal.wait_for(f"\n{PROMPT}").removeprefix("\n").removesuffix(f"\n{PROMPT}")
    return shown


def heard(terminal: Any, question: str) -> list[str]:
    """Return the conversation, as the echoing model got it with this question."""
    return [text for _, text in json.loads(ask(terminal, question))]


def start(terminal: Start, *arguments: str, **environ: str) -> Any:
    session = terminal(*arguments, **environ)
    session.wait_for(PROMPT)
    return session


def test_a_conversation(terminal: Start) -> None:
    """Each question is sent with all that was said before, until Ctrl-D."""
    session = start(terminal, "--model", "acted:echo", "--system", "be brief")
    assert "acted:echo" in session.said
    assert heard(session, "one") == ["be brief", "one"]
    assert heard(session, "two")[::3] == ["be brief", "two"]
    session.press(CTRL_D)
    assert session.end() == 0


def test_help_fits_a_narrow_terminal(terminal: Start) -> None:
    """What each command is for stays in its column."""
    session = start(terminal, "--model", "acted:echo", size=(40, 24))
    lines = ask(session, "/help").splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert lines[1].startswith(" " * 14) and lines[-1].endswith("a command.")


def test_commands(terminal: Start) -> None:
    """They change what is sent next, and are not sent themselves."""
    session = start(terminal, "--model", "acted:echo")
    assert "/undo" in ask(session, "/help")
    assert heard(session, "one")[-1] == "one"
    assert ask(session, "/undo") == "the last question is forgotten"
    assert ask(session, "/system be brief") == "the instructions are set"
    assert heard(session, "two") == ["be brief", "two"]
    assert ask(session, "/clear") == "the conversation is forgotten"
    assert ask(session, "/system") == "there are no instructions"
    assert heard(session, " /three") == [" /three"]
    assert "no command /four; /help lists" in ask(session, "/four")
    session.type("/exit\n")
    assert session.end() == 0


def test_another_model_goes_on_with_the_conversation(terminal: Start) -> None:
    """A name that nobody knows changes nothing."""
    session = start(terminal, "--model", "acted:counts", "--stats")
    counted = ask(session, "count").splitlines()
    assert counted[0] == "one two three" and "12 tokens in, 3 out" in counted[1]
    assert "did you mean acted?" in ask(session, "/model actor:echo")
    assert ask(session, "/model") == "acted:counts is asked"
    assert ask(session, "/model acted:echo") == "acted:echo is asked"
    assert '["human", "count"], ["ai", "one two three"], ["human", "more"]' in ask(session, "more")


def test_several_lines(terminal: Start) -> None:
    """Are one question."""
    session = start(terminal, "--model", "acted:echo")
    session.type('"""one\n')
    session.wait_for(". ")
    assert heard(session, 'two"""') == ["one\ntwo"]


def test_ctrl_c_stops_an_answer(terminal: Start) -> None:
    """What was said stays in the conversation; a question that nothing was said to does not."""
    session = start(terminal, "--model", "acted:echo")
    session.type("wait\n")
    session.wait_for("and then")
    session.press(CTRL_C)
    assert session.wait_for(PROMPT).endswith("\nhocket: stopped\n> ")
    assert heard(session, "on") == ["wait", "and then", "on"]


def test_ctrl_c_twice_ends(terminal: Start) -> None:
    """At the prompt the first takes back what was typed; the second ends, if nothing was typed in between."""
    session = start(terminal, "--model", "acted:echo")
    for typed in ("some", "more"):
        session.type(typed)
        session.press(CTRL_C)
        session.wait_for("Ctrl-C again, or Ctrl-D, ends\n> ")
    assert heard(session, "one") == ["one"]
    session.press(CTRL_C)
    session.wait_for("ends\n> ")
    session.press(CTRL_C)
    assert session.end() == 130


def test_a_failed_question_is_forgotten(terminal: Start) -> None:
    """It is one line, and the conversation goes on without it."""
    session = start(terminal, "--model", "acted:echo")
    assert heard(session, "one") == ["one"]
    assert ask(session, "RateLimitError") == "half an\nhocket: acted: rate_limit: as asked"
    assert heard(session, "two")[2:] == ["two"]


def test_a_server_that_fails_once(terminal: Start) -> None:
    """The real thing, over the wire: stopped, refused, answered."""
    refusal = Status(429, "slow down", headers={"x-should-retry": "false"})
    with serve(OpenAIFormat(), [Stream("one two", then="stall"), refusal, Reply("Good day")]) as server:
        session = start(terminal, "--base-url", server.url, "--model", "m")
        session.type("count\n")
        session.wait_for("one two")
        session.press(CTRL_C)
        session.wait_for("stopped\n> ")
        assert "rate_limit: slow down" in ask(session, "more")
        assert ask(session, "hello") == "Good day"
        said = [(message["role"], message["content"]) for message in server.requests[-1].json["messages"]]
        assert said == [("user", "count"), ("assistant", "one two"), ("user", "hello")]


def test_reasoning_is_dimmed(terminal: Start) -> None:
    """Unless `NO_COLOR` asks for plain text; a model cannot steer the terminal."""
    session = start(terminal, "--model", "acted:thinks")
    assert "\x1b[2mhm, \n\x1b[0m\nso be it" in ask(session, "why?")
    session = start(terminal, "--model", "acted:thinks", NO_COLOR="1")
    assert ask(session, "why?") == "hm, \n\nso be it"
    ask(session, "/model acted:escapes")
    assert ask(session, "go") == "]0;titletab\tgreen[32m\n1A\U0001f600"


def test_answers_alone_go_to_a_pipe(terminal: Start) -> None:
    """No prompt, no note, no reasoning: what is kept of a session is its answers."""
    reading, writing = os.pipe()
    session = terminal("--model", "acted:thinks", stdout=writing)
    os.close(writing)
    session.type("why?\n")
    session.press(CTRL_D)
    with os.fdopen(reading) as answers:
        assert answers.read() == "so be it\n"
    assert session.end() == 0
    assert PROMPT not in session.said


def test_lines_are_remembered(terminal: Start, tmp_path: Path) -> None:
    """In a file that only its owner can read; arrow up brings them back, in the next session too."""
    history = tmp_path / "new" / "history"
    for _ in range(2):
        session = start(terminal, "--model", "acted:echo", HOCKET_HISTORY=str(history))
        if history.exists():
            session.press("\x1b[A")
            session.wait_for("first")
            session.press("\n")
            assert session.wait_for("\n> ") == '\n[["human", "first"]]\n> '
        else:
            ask(session, "first")
        session.press(CTRL_D)
        assert session.end() == 0
    assert history.read_text().splitlines()[0] == "first"
    assert history.stat().st_mode & 0o777 == 0o600


def test_no_history_where_none_can_be_written(terminal: Start, tmp_path: Path) -> None:
    """It is no reason to fail."""
    (tmp_path / "file").touch()
    session = start(terminal, "--model", "acted:echo", HOCKET_HISTORY=str(tmp_path / "file" / "history"))
    assert heard(session, "one") == ["one"]
    session.press(CTRL_D)
    assert (session.end(), "Error" in session.said) == (0, False)


def test_a_model_is_asked_where_the_screen_says(terminal: Start) -> None:
    """A name that says its provider leaves the server of `--base-url`; one that does not is a model of that server."""
    with (
        serve(OpenAIFormat(models=("small",)), "Here is small.") as own,
        serve(OpenAIFormat(), "Here is the provider.") as theirs,
    ):
        session = start(terminal, "--base-url", own.url, OPENAI_BASE_URL=theirs.url, OPENAI_API_KEY="k")
        assert f"hocket: small at {own.url} is listening" in session.said
        assert ask(session, "hello") == "Here is small."
        assert ask(session, "/model openai:gpt-5.2") == f"openai:gpt-5.2 at {theirs.url} is asked"
        assert ask(session, "hello") == "Here is the provider."
        assert theirs.requests[-1].json["model"] == "gpt-5.2"
        assert ask(session, "/model qwen3:8b") == f"qwen3:8b at {own.url} is asked"
        assert ask(session, "hello") == "Here is small."
        assert own.requests[-1].json["model"] == "qwen3:8b"
        assert ask(session, "/model fake:so") == "fake:so is asked"
        assert len(theirs.requests) == 1


def test_a_model_that_is_not_installed_says_so_at_once(terminal: Start) -> None:
    """Not after the first question has been typed."""
    session = terminal(HOCKET_LOCAL_MODEL="/no/such.gguf")
    session.wait_for("hocket: cannot read the model file '/no/such.gguf'")
    assert session.end() == 1
