"""`hocket agent`: answers with the help of tools, pauses for approval, and goes on later."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket.chat_history import open_history
from hocket.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from hocket.testing import OpenAIFormat, serve

Run = Callable[..., Any]

CALLER = ("--model", "acted:caller")
SUM = '[["calculator", {"expression": "17 * 23"}]]'
PAY = '[["pay", {"amount": 5}], ["calculator", {"expression": "1 + 1"}]]'
MODULE = """
import pathlib
import time
print("said while it is imported")

def pay(amount: int) -> str:
    '''Pay.'''
    with pathlib.Path("paid.txt").open("a") as file:
        file.write(f"{amount}\\n")
    return f"paid {amount}"

def draw() -> str:
    '''Draw.'''
    return "\\x1b]0;title\\x07" + "x" * 1000

def hang() -> str:
    '''Hang.'''
    print("hanging", flush=True)
    time.sleep(60)
    return "never"

number = 7
"""
TOOLS = ("--tools", "calculator, toolbox:pay")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a module of tools."""
    (tmp_path / "toolbox.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def payments(folder: Path) -> list[str]:
    path = folder / "paid.txt"
    return path.read_text().split() if path.exists() else []


def test_the_answer_and_the_steps(hocket: Run, folder: Path) -> None:
    """The one goes to standard output, the others to standard error."""
    done = hocket("agent", *CALLER, *TOOLS, "--tools", "toolbox:draw", SUM.replace("]]", '], ["draw", {}]]'))
    assert (done.returncode, done.stdout.startswith("391; ")) == (0, True)
    lines = done.stderr.splitlines()
    assert lines[:2] == ["said while it is imported", "hocket: Let me see."]
    assert 'hocket: calculator({"expression": "17 * 23"})' in lines
    assert any(line.startswith("hocket: calculator: 391 (") for line in lines)
    assert "hocket: draw: ]0;title" + "x" * 100 in done.stderr and "x" * 301 not in done.stderr


def test_a_reply_that_cannot_be_read(inside: Run) -> None:
    """Is a line of standard error, so that nobody waits in the dark: what the model said, and what it is told."""
    replies = ("I wonder. " + "x" * 1000, "", "Final Answer: 391")
    with serve(OpenAIFormat(), replies) as server:
        done = inside(
            "agent", "--base-url", server.url, "--model", "m", "--style", "react", "--tools", "calculator", "17 * 23?"
        )
    assert (done.returncode, done.stdout) == (0, "391\n")
    first, second = done.stderr.splitlines()
    assert first.startswith("hocket: a reply could not be read: I wonder. xxx") and "x" * 300 not in first
    assert first.endswith("or a Final Answer: line with the answer.)")
    assert second.startswith("hocket: a reply could not be read: it is empty (the model is told: Your reply was empty.")


def test_an_answer_as_json(hocket: Run, folder: Path) -> None:
    """One object, with all that a script may ask for."""
    done = hocket("agent", *CALLER, *TOOLS, "--json", SUM)
    assert json.loads(done.stdout) == {
        "output": "391",
        "stop": "done",
        "pending": [],
        "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
        "usage_unknown": 2,
        "model_calls": 2,
        "tool_calls": 1,
    }


def test_a_question_is_piped_in(hocket: Run, folder: Path) -> None:
    """As with `hocket chat`."""
    assert hocket("agent", *CALLER, *TOOLS, stdin=SUM).stdout == "391\n"


def test_tools_in_text(hocket: Run) -> None:
    """For a model that cannot call them otherwise."""
    done = hocket("agent", "--model", "fake:Final Answer: 391", "--tools", "calculator", "--style", "react", "17 * 23?")
    assert (done.returncode, done.stdout) == (0, "391\n")


def test_a_run_that_waits_goes_on_in_another_process(hocket: Run, folder: Path) -> None:
    """It pauses with a code of its own, after the calls that need no approval; approved, it pays once."""
    options = (*CALLER, *TOOLS, "--history", "run.jsonl", "--interrupt-on", "pay")
    paused = hocket("agent", *options, PAY)
    assert (paused.returncode, paused.stdout, payments(folder)) == (8, "", [])
    assert 'hocket: call_1 waits for approval: pay({"amount": 5})' in paused.stderr
    assert "--resume --decide call_1=approve" in paused.stderr and "calculator: 2 (" in paused.stderr

    still = hocket("agent", *options, "--resume", "--json")
    assert still.returncode == 8
    assert json.loads(still.stdout)["pending"] == [{"id": "call_1", "tool": "pay", "args": {"amount": 5}}]

    wrong = hocket("agent", *options, "--resume", "--decide", "call_9=approve")
    assert wrong.returncode == 2 and "no call 'call_9' waits" in wrong.stderr and payments(folder) == []

    done = hocket("agent", *options, "--resume", "--decide", "call_1=approve")
    assert (done.returncode, done.stdout, payments(folder)) == (0, "2; paid 5\n", ["5"])

    again = hocket("agent", *options, "--resume", "--decide", "call_1=approve")
    assert again.returncode == 2 and "there is nothing to resume" in again.stderr and payments(folder) == ["5"]


@pytest.mark.parametrize(
    ("decision", "paid", "says"),
    [
        ('call_1={"type": "reject", "message": "too=much"}', [], "too=much"),
        ('call_1={"type": "edit", "args": {"amount": 3}}', ["3"], "paid 3"),
    ],
)
def test_a_decision_may_say_more(hocket: Run, folder: Path, decision: str, paid: list[str], says: str) -> None:
    """As JSON, in the words of `Resume`."""
    options = (*CALLER, *TOOLS, "--history", "run.jsonl")
    assert hocket("agent", *options, "--approve", "ask", PAY).returncode == 8
    done = hocket("agent", *options, "--resume", "--decide", "call_2=approve", "--decide", decision)
    assert (done.returncode, payments(folder)) == (0, paid) and says in done.stdout


def test_what_is_resumed_runs_nothing_that_nobody_approved(hocket: Run, folder: Path) -> None:
    """Also where the option that names the tools is forgotten."""
    options = (*CALLER, *TOOLS, "--history", "run.jsonl")
    hocket("agent", *options, "--interrupt-on", "pay", PAY)
    done = hocket("agent", *options, "--resume")
    assert (done.returncode, payments(folder)) == (8, []) and "call_1 waits for approval" in done.stderr


def test_what_waits_is_not_answered_for_an_option_that_was_forgotten(inside: Run, folder: Path) -> None:
    """Neither --tools nor --approve never decides in the place of a person."""
    kept = open_history("run.jsonl")
    call = ToolCall(type="tool_call", name="pay", args={"amount": 5}, id="call_1")
    flagged = {"awaits_approval": ["call_1"]}
    kept.add_messages([HumanMessage("Pay."), AIMessage("", tool_calls=[call], response_metadata=flagged)])
    before = Path("run.jsonl").read_text()
    options = ("--model", "fake:x", "--history", "run.jsonl", "--resume")
    for more in [(), ("--decide", "call_1=approve"), ("--tools", "calculator", "--approve", "never")]:
        done = inside("agent", *options, *more)
        assert done.returncode == 2 and "has no tool 'pay'" in done.stderr and "--tool or --mcp" in done.stderr
    sys.path.insert(0, str(folder))
    try:
        done = inside("agent", *options, "--tools", "toolbox:pay", "--approve", "never")
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("toolbox", None)
    assert done.returncode == 8 and "call_1 waits for approval" in done.stderr
    assert Path("run.jsonl").read_text() == before and payments(folder) == []


def test_nothing_to_resume(inside: Run, folder: Path) -> None:
    """A history that is not there is not one whose run has ended."""
    done = inside("agent", "--model", "fake:x", "--history", "nobody.jsonl", "--resume", "--decide", "call_1=approve")
    assert done.returncode == 2 and "this history is empty" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tools", "calculatr"], "there is no tool 'calculatr'; did you mean calculator?, and module:name"),
        (["--tools", "calculator,,"], "no list of names"),
        (["--tools", "calculator,calculator"], "two tools are called 'calculator'"),
        (["--tools", "toolbox:number"], "7 cannot be run"),
        (["--tools", "toolbox:pai"], "did you mean 'pay'"),
        (
            ["--tools", "calculator", "--interrupt-on", "calculatr", "--history", "h"],
            "--interrupt-on names 'calculatr'",
        ),
        (["--approve", "ask"], "nobody can be asked"),
        (["--interrupt-on", "calculator"], "nobody can be asked"),
        (["--approve", "never", "--interrupt-on", "calculator"], "drop one"),
        (["--resume"], "--history WHERE"),
        (["--resume", "--history", "h"], "a new one is asked without it"),
        (["--decide", "1=approve"], "--resume"),
        (["--resume", "--decide", "approve"], "'approve' is no decision"),
        (["--resume", "--decide", "1=perhaps"], "ID=reject"),
        (["--resume", "--history", "h", "--decide", "1=approve", "--decide", "1=reject"], "decides '1' twice"),
        (["--resume", "--decide", "1={perhaps}"], "no JSON"),
        (["--max-steps", "0"], "'0' is no whole number"),
        (["--history", "nowhere/chat.jsonl"], "there is no directory nowhere"),
        (["--session", "x"], "--history"),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    says: str,
    folder: Path,
    inside: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line, before anything is asked or paid."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "toolbox", raising=False)
    try:
        code, stdout, stderr = inside("agent", "--model", "fake:x", *arguments, "hi")
    except SystemExit as exit:  # argparse's own
        code, (stdout, stderr) = exit.code, capsys.readouterr()
    assert (code, stdout) == (2, "") and says in stderr.splitlines()[-1]


def test_nothing_to_ask(inside: Run) -> None:
    """An example is shown."""
    done = inside("agent", "--model", "fake:x", " ")
    assert done.returncode == 2 and 'hocket agent --tool calculator "What is' in done.stderr


def test_a_limit_on_steps(hocket: Run, folder: Path) -> None:
    """The model answers once more; without an answer, that is a failure."""
    done = hocket("agent", *CALLER, *TOOLS, "--max-steps", "1", SUM)
    assert (done.returncode, done.stdout) == (0, "391\n") and "--max-steps raises it" in done.stderr


def test_the_tools_of_a_server(hocket: Run, inside: Run, folder: Path) -> None:
    """A command that speaks MCP, which ends with this one; one that does not is an error in one line."""
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    serve = f"{sys.executable} -m hocket mcp serve toolbox:pay"
    done = hocket("agent", *CALLER, "--mcp", serve, '[["pay", {"amount": 4}]]')
    assert (done.returncode, done.stdout, payments(folder)) == (0, "paid 4\n", ["4"])
    done = inside("agent", "--model", "fake:x", "--mcp", "no-such-command", "hi")
    assert done.returncode != 0 and done.stderr.count("\n") == 1 and "no-such-command" in done.stderr


def test_an_error_of_the_model(hocket: Run) -> None:
    """Has the code that it has with `hocket chat`."""
    done = hocket("agent", "--model", "acted:echo", "RateLimitError")
    assert (done.returncode, done.stdout) == (6, "") and "as asked" in done.stderr


# -- in a terminal


@pytest.fixture
def at_terminal(terminal: Run, folder: Path) -> Run:
    """Start `hocket agent` in a terminal."""
    pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    return lambda *arguments: terminal(*CALLER, *TOOLS, *arguments, command="agent")


def test_a_person_approves(at_terminal: Run, folder: Path) -> None:
    """And the run goes on, without a history, too."""
    session = at_terminal("--interrupt-on", "pay", PAY)
    session.wait_for('may it run pay({"amount": 5})?')
    session.wait_for("decide later\n")
    session.type("y\n")
    session.wait_for("2; paid 5\n")
    assert (session.end(), payments(folder)) == (0, ["5"])


def test_a_person_says_no(at_terminal: Run, folder: Path) -> None:
    """The model is told, and also why; each call is asked about."""
    session = at_terminal("--approve", "ask", PAY)
    session.wait_for("may it run pay")
    session.wait_for("decide later\n")
    session.type("much too much\n")
    session.wait_for("may it run calculator")
    session.wait_for("decide later\n")
    session.type("n\n")
    session.wait_for("much too much")
    assert (session.end(), payments(folder)) == (0, [])


@pytest.mark.parametrize(("key", "code"), [("\x04", 8), ("\x03", 130)], ids=["Ctrl-D", "Ctrl-C"])
def test_a_person_decides_later(at_terminal: Run, folder: Path, key: str, code: int) -> None:
    """The call waits, where the run is kept."""
    session = at_terminal("--interrupt-on", "pay", "--history", "run.jsonl", PAY)
    session.wait_for("decide later\n")
    session.press(key)
    assert (session.end(), payments(folder)) == (code, [])
    session = at_terminal("--history", "run.jsonl", "--resume")
    session.wait_for("may it run pay")
    session.wait_for("decide later\n")
    session.type("yes\n")
    session.wait_for("2; paid 5\n")
    assert (session.end(), payments(folder)) == (0, ["5"])


def test_ctrl_c_keeps_a_history_that_is_whole(at_terminal: Run, folder: Path) -> None:
    """The call that ran is answered as cancelled."""
    session = at_terminal("--tools", "toolbox:hang", "--history", "run.jsonl", '[["hang", {}], ["pay", {"amount": 7}]]')
    session.wait_for("hanging")
    session.wait_for("pay: paid 7")
    session.press("\x03")
    assert session.end() == 130
    results = [one for one in open_history(folder / "run.jsonl").messages if isinstance(one, ToolMessage)]
    assert sorted(one.text.split()[0] for one in results) == ["hang", "paid"]
