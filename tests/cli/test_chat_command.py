"""`hocket chat` with a question: what goes in, what comes out, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hocket.testing import Hangup, OpenAIFormat, Reply, Status, Stream, serve
from tests.kit import warm

Run = Callable[..., subprocess.CompletedProcess[str]]
Inside = Callable[..., Any]


def sent(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """Return the conversation that the echoing model got."""
    assert (done.returncode, done.stderr) == (0, "")
    messages: list[list[str]] = json.loads(done.stdout)
    return messages


def assert_one_line(done: Any, code: int, *parts: str) -> None:
    assert done.returncode == code, done.stderr
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("hocket: ")
    for part in parts:
        assert part in done.stderr


QUESTIONS: list[tuple[list[str], str | None, str]] = [
    (["why?"], None, "why?"),
    (["why?"], "because\n", "why?\n\nbecause"),
    (["why?"], "", "why?"),
    (["-"], "why?\nwhy?\n", "why?\nwhy?\n"),
    ([], "why?", "why?"),
]


@pytest.mark.parametrize(("arguments", "stdin", "question"), QUESTIONS)
def test_the_question(hocket: Run, arguments: list[str], stdin: str | None, question: str) -> None:
    """From the command line, from standard input, or from both."""
    assert sent(hocket("chat", *arguments, "--model", "acted:echo", stdin=stdin)) == [["human", question]]


def test_a_question_in_other_bytes(environ: dict[str, str]) -> None:
    """Standard output need not be able to show the answer."""
    done = subprocess.run(
        [sys.executable, "-m", "hocket", "chat", "--model", "acted:echo"],
        input="caf\u00e9 \U0001f600".encode(),
        env={**environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == [["human", "caf? ?"]]


def test_options_reach_the_model(hocket: Run) -> None:
    """Instructions as a message; the rest as the model's options, which refuses what it does not have."""
    done = hocket("chat", "hi", "--model", "acted:echo", "--system", "be brief", "--temperature", "0")
    assert sent(done) == [["system", "be brief"], ["human", "hi"]]
    assert_one_line(
        hocket("chat", "hi", "--model", "acted:echo", "--seed", "1"), 2, "Echo takes no --seed: leave it out"
    )


def test_a_pipe_gets_plain_text(hocket: Run) -> None:
    """No reasoning, no style, no prompt; reasoning and figures are there for the asking."""
    done = hocket("chat", "hi", "--model", "acted:thinks")
    assert (done.stdout, done.stderr) == ("so be it\n", "")
    done = hocket("chat", "hi", "--model", "acted:thinks", "--reasoning", "--stats")
    assert done.stdout == "hm, \n\nso be it\n"
    assert done.stderr.startswith("hocket: 12 tokens in, 3 out; first token after ")


def test_a_cut_answer_says_so(hocket: Run) -> None:
    """An answer that hit the token limit is an answer."""
    done = hocket("chat", "hi", "--model", "acted:cut")
    assert (done.returncode, done.stdout) == (0, "and so\n")
    assert "--max-tokens raises it" in done.stderr


def test_wrong_calls_are_one_line(hocket: Run, inside: Inside) -> None:
    """Nothing to ask, nobody to ask, or a package that is missing."""
    assert_one_line(hocket("chat"), 2, "the question is empty")
    assert_one_line(inside("chat", "  "), 2, "the question is empty")
    assert_one_line(inside("chat", "hi", "--model", "opnai:gpt"), 4, "did you mean openai?", "local")
    assert_one_line(
        inside("chat", "hi", "--model", "sonar-pro"),
        4,
        "is a model of 'perplexity'",
        "give --base-url URL; there are",
    )
    assert_one_line(inside("chat", "hi", "--model", "openai", OPENAI_API_KEY="x"), 2, "name its model, openai:MODEL")
    assert_one_line(hocket("chat", "hi", "--model", "broken:x"), 1, "pip install acted[broken]")
    assert hocket("chat", "hi", "--modle", "x").returncode == 2


def test_debug_shows_the_traceback(hocket: Run) -> None:
    """For those who look for the cause."""
    done = hocket("chat", "hi", "--model", "opnai:x", "--debug")
    assert done.returncode == 4
    assert "Traceback" in done.stderr and "UnknownModel" in done.stderr


def test_a_missing_key(inside: Inside) -> None:
    """Names the variable."""
    assert_one_line(inside("chat", "hi", "--model", "gpt-5.2"), 3, "OPENAI_API_KEY")


KEY = "canary-in-the-mine"
AT_ONCE = {"x-should-retry": "false"}
FAILURES: list[tuple[Any, int, str, str]] = [
    (Status(401, f"Incorrect API key: {KEY}"), 3, "", "authentication: Incorrect API key"),
    (Status(404, "The model `m` does not exist"), 4, "", "resource_not_found: The model `m` does not exist"),
    (Status(429, "slow down", headers=AT_ONCE), 6, "", "rate_limit: slow down"),
    (Status(429, "pay", error={"code": "insufficient_quota"}), 3, "", "quota_exceeded: pay"),
    (Status(503, "busy", headers=AT_ONCE), 5, "", "provider_unavailable: busy"),
    (Hangup(), 5, "", "provider_unavailable"),
    (Stream("one two", then="eof"), 7, "one two\n", ""),
]


@pytest.mark.parametrize(("behaviour", "code", "out", "says"), FAILURES, ids=lambda value: str(value)[:30])
def test_a_server_that_fails(inside: Inside, behaviour: Any, code: int, out: str, says: str) -> None:
    """One line, what had come of the answer, and a code that a script can use."""
    with serve(OpenAIFormat(), behaviour) as server:
        done = inside("chat", "hi", "--model", "openai:m", OPENAI_BASE_URL=server.url, OPENAI_API_KEY=KEY)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert_one_line(done, code, says)
    assert done.stdout == out
    assert KEY not in done.stderr


def test_a_server_that_is_not_there(inside: Inside) -> None:
    """Whether a model is named or has to be asked for."""
    with serve(OpenAIFormat(), "unheard") as server:
        url = server.url
    for more in (["--model", "m"], []):
        assert_one_line(inside("chat", "hi", "--base-url", url, *more), 5, url.removesuffix("/v1"))


def test_a_server_of_ones_own(inside: Inside) -> None:
    """With `--base-url` the model may be left out where the server has but one."""
    with serve(OpenAIFormat(models=("the-one",)), Reply("Good day", usage={"prompt_tokens": 7})) as server:
        done = inside("chat", "hi", "--base-url", server.url, "--stats")
        assert (done.returncode, done.stdout) == (0, "Good day\n")
        assert done.stderr.startswith("hocket: 7 tokens in, 2 out;")
        assert server.requests[-1].json["model"] == "the-one"
    with serve(OpenAIFormat(models=("a", "b")), "unheard") as server:
        assert_one_line(inside("chat", "hi", "--base-url", server.url), 4, "serves 2 models", "--model: a, b")


def test_a_default_server(inside: Inside) -> None:
    """`HOCKET_BASE_URL` is the server of models without a provider's name; the others are asked where they always are."""
    with serve(OpenAIFormat(models=("the-one",)), ["Good day", "Good night"]) as server:
        assert inside("hi", HOCKET_BASE_URL=server.url).stdout == "Good day\n"
        assert inside("hi", "-m", "other", HOCKET_BASE_URL=server.url).stdout == "Good night\n"
        assert [request.json["model"] for request in server.requests[1:]] == ["the-one", "other"]
        assert inside("hi", "-m", "fake:own", HOCKET_BASE_URL=server.url).stdout == "own\n"
    assert_one_line(inside("hi", HOCKET_BASE_URL="here"), 2, "HOCKET_BASE_URL: 'here' is no address of a server")


def test_an_answer_streams(environ: dict[str, str]) -> None:
    """What has come is there before the rest is, and Ctrl-C ends the wait for it, with the shell's code."""
    with serve(OpenAIFormat(), Stream("one two", then="stall")) as server:
        command = ("-m", "hocket", "chat", "hi", "--base-url", server.url, "--model", "m")
        with warm.Program(
            *command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            shown = b""
            while shown != b"one two":
                shown += os.read(process.stdout.fileno(), 1)
            process.send_signal(signal.SIGINT)
            assert (process.stdout.read(), process.stderr.read()) == (b"\n", b"")
            assert process.wait() == 130
        server.block_for(lambda server: server.open_connections == 0)


def test_help_tells_the_exit_codes(hocket: Run) -> None:
    """Where whoever writes a script looks for them."""
    done = hocket("chat", "--help")
    assert "3    the key is missing" in done.stdout and "130  Ctrl-C" in done.stdout


MISUSES: list[tuple[list[str], str]] = [
    (["hi", "--max-tokens", "0"], "argument --max-tokens: '0' is no whole number of 1 or more"),
    (["hi", "--max-tokens", "many"], "argument --max-tokens: 'many' is no whole number"),
    (["hi", "--temperature", "-1"], "argument --temperature: "),
    (["hi", "--temperature", "nan"], "argument --temperature: 'nan' is no number of 0 or more"),
    (
        ["hi", "--base-url", "localhost:8080"],
        "'localhost:8080' is no address of a server; it looks like http://localhost:8080/v1",
    ),
    (["hi", "--base-url", "http://"], "'http://' is no address of a server"),
    (["hi", "--base-url", "http://host:port"], "is no address of a server"),
    (["hi", "--base-url", "http://[::1"], "is no address of a server"),
    (["hi", "--seed", "-1", "--model", "local"], "--seed -1 will not do: "),
    (["hi", "--history", "/no/such/x"], "--history /no/such/x: there is no directory /no/such; make it first"),
    (["hi", "--model", "azure:m"], "has no address of its own: give --base-url URL, or set AZURE_OPENAI_ENDPOINT"),
    ([""], "the question is empty"),
    (["hi", "--frobnicate"], "there is no option --frobnicate; see hocket chat --help"),
]


@pytest.mark.parametrize(
    ("arguments", "says"), MISUSES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_misuse(inside: Inside, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    """A wrong option or argument is one line, code 2, in the command's words."""
    try:
        done = inside("chat", *arguments, OPENAI_API_KEY="x")
        code, err = done.returncode, done.stderr
    except SystemExit as leaving:
        code, err = leaving.code, capsys.readouterr().err
    assert (code, err.count("\n")) == (2, 1), err
    assert err.startswith("hocket: ") and says in err
    assert "Value error" not in err and "=..." not in err


def test_no_word_of_python_in_the_way_out(inside: Inside) -> None:
    """What the command does not have, it does not name."""
    way_out = "needs a key: set OPENAI_API_KEY, or `hocket keys set openai`\n"
    assert_one_line(inside("chat", "hi", "--model", "gpt-5.2"), 3, way_out)
    done = inside("chat", "word " * 9000)
    assert "n_ctx=4096: shorten the conversation\n" in done.stderr


@pytest.fixture
def open_pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A standard input as cron, CI and ssh give it: a pipe that stays open. Returns its other end."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin, os.fdopen(writing, "wb", 0):
        monkeypatch.setattr("sys.stdin", stdin)
        yield writing


def test_an_open_pipe_is_not_waited_for(inside: Inside, open_pipe: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For ever: nothing tells whether it will ever speak, so that the question is refused, and both ways out are named."""
    monkeypatch.setattr("hocket.cli.standard_input.PATIENCE", 0.01)
    done = inside("chat", "hi", "--model", "fake:so")
    assert_one_line(done, 2, "nothing came out of it for 0.01 s", "</dev/null", "- behind the question")
    assert done.stdout == ""


def test_a_pipe_that_is_to_bring_the_question(inside: Inside, open_pipe: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for longer, and the person is told; without end only behind a dash."""
    monkeypatch.setattr("hocket.cli.standard_input.PATIENCE", 0.01)
    monkeypatch.setattr("hocket.cli.standard_input.LONG_PATIENCE", 0.02)
    done = inside("--model", "fake:so")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 2)
    assert "waiting for the question on standard input" in done.stderr
    assert "nothing came out of it for 0.02 s; a - behind the command waits" in done.stderr


def test_several_words_and_a_dash(hocket: Run) -> None:
    """Words are one question; ``-`` is where what is piped in goes."""
    echo = ("--model", "acted:echo")
    assert sent(hocket("chat", *echo, "why", "is", "it?")) == [["human", "why is it?"]]
    assert sent(hocket("chat", *echo, "one", "-", "three", stdin="two\n")) == [["human", "one\n\ntwo\n\nthree"]]
