"""`hocket runs`: durable runs of a program, looked at and told something from a shell, and worked on."""

import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

pytest.importorskip("dbos", reason="durable runs need dbos")

from hocket.cli.runs import STATUSES
from hocket.durable import RunInfo, open_runs
from hocket.durable.engine import Status
from tests.cli.durable_program import make_runs

Inside = Callable[..., Any]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of runs that some process has left: of three agents, a function that waits, one that has failed."""
    url = f"sqlite:///{tmp_path_factory.mktemp('runs')}/runs.db"
    runs = make_runs(url)
    clerk, *functions = runs.durables
    with runs:
        for id in ("order-1", "order-2", "order-3"):
            clerk.start("Pay back", id=id, metadata={"tenant": "red"})
        for function in functions:
            function.start("tea", id=f"{function.name}-1")
        wait_until(lambda: len(runs.list_runs(status="waiting")) == 5 and runs.list_runs(status="failed"))
    return url


def wait_until(is_so: Callable[[], object]) -> None:
    while not is_so():
        time.sleep(0.05)


@pytest.fixture
def run(inside: Inside, url: str) -> Inside:
    """Run `hocket runs` on these runs, and return what it printed."""

    def call(*words: str, code: int = 0) -> Any:
        done = inside("runs", *words, "--store", url)
        assert done.returncode == code, done.stderr
        return done

    return call


def test_a_list(run: Inside) -> None:
    """A row each, the newest first; of one status or name, and as JSON."""
    head, *rows = [line.split() for line in run("list").stdout.splitlines()]
    assert head == ["id", "name", "status", "waits", "for", "age", "attempts"]
    assert [row[:4] for row in rows[:3]] == [
        ["slow-1", "slow", "waiting", "go"],
        ["failing-1", "failing", "failed", "-"],
        ["report-1", "report", "waiting", "release"],
    ]
    assert rows[-1][:4] == ["order-1", "clerk", "waiting", "call-1"]
    assert rows[-1][-1] == "1"
    assert len(run("list", "--status", "failed").stdout.splitlines()) == 2
    assert len(run("list", "--name", "clerk", "--limit", "2").stdout.splitlines()) == 3
    assert run("list", "--limit", "2", "--before", rows[1][0]).stdout.splitlines()[1].split()[0] == rows[2][0]
    [told] = map(json.loads, run("list", "--name", "report", "--json").stdout.splitlines())
    assert (told["id"], told["waiting_for"], told["attempts"]) == ("report-1", ["release"], 1)


def test_one_run(run: Inside) -> None:
    """The facts, what waits, the error, the messages in short."""
    shown = run("show", "order-1").stdout
    assert '  call-1  refund({"amount": 5})\n' in shown
    assert "  human: Pay back\n" in shown
    assert '{"tenant": "red"}' in shown
    assert "error     ValueError: no tea" in run("show", "failing-1").stdout
    told = json.loads(run("show", "order-1", "--json").stdout)
    assert told["pending"] == [{"id": "call-1", "tool": "refund", "args": {"amount": 5}}]
    assert [message["type"] for message in told["messages"]] == ["human", "ai"]


def test_decisions(run: Inside, url: str) -> None:
    """In the words of `Resume`; what is none is refused, and nothing of it is kept."""
    assert "needs --message" in run("decide", "order-1", "call-1", "respond", code=2).stderr
    assert "has no 'message'" in run("decide", "order-1", "call-1", "approve", "--message", "x", code=2).stderr
    assert "those that wait: 'call-1'" in run("decide", "order-1", "call-2", "approve", code=2).stderr
    assert "is dict" not in run("decide", "order-1", "call-1", "edit", "--args", "{}").stderr
    assert "may have been decided already" in run("decide", "order-1", "call-1", "approve", code=2).stderr
    told = run("decide", "order-2", "call-1", "respond", "--message", "7 is paid back", "--json")
    assert json.loads(told.stdout)["id"] == "order-2"
    assert open_runs(url).run("order-2").pending() == []


def test_what_is_refused(run: Inside, inside: Inside, tmp_path: Path) -> None:
    """In one line, each with the code for misuse; a store that cannot be reached has its own."""
    assert "there is no run 'none'" in run("show", "none", code=2).stderr
    assert "has ended (failed)" in run("signal", "failing-1", "release", code=2).stderr
    assert "only one that failed or was called off" in run("resume", "report-1", code=2).stderr
    for kept, code, words in (
        (f"sqlite:///{tmp_path}/none.db", 2, "there are no durable runs at"),
        ("redis://localhost", 2, "is no address of durable runs"),
        ("runs.db", 2, "is no address of durable runs"),
        ("postgresql://me:secret@localhost:1/x", 5, "Connection refused"),
    ):
        done = inside("runs", "list", "--store", kept)
        assert (done.returncode, done.stdout) == (code, "")
        assert words in done.stderr
        assert "secret" not in done.stderr
    with pytest.raises(SystemExit):
        run("signal", "report-1", "release", "yes")


def test_to_look_makes_nothing(inside: Inside, tmp_path: Path) -> None:
    """No file where there is none, and no table in the database of something else."""
    (tmp_path / "other.db").touch()
    for name in ("none.db", "other.db"):
        assert inside("runs", "list", "--store", f"sqlite:///{tmp_path}/{name}").returncode == 2
    assert [one.name for one in tmp_path.iterdir()] == ["other.db"]
    assert (tmp_path / "other.db").stat().st_size == 0


def test_work(run: Inside, terminal: Callable[..., Any], url: str) -> None:
    """What was decided, signalled, called off and resumed elsewhere: a worker goes on with it, until Ctrl-C."""
    run("decide", "order-3", "call-1", "approve")
    run("signal", "report-1", "release", '"now"')
    run("cancel", "failing-1")
    assert "is failed" in run("cancel", "failing-1").stderr
    assert "is queued" in run("resume", "failing-1", "--rerun", "always").stderr
    worker = terminal("work", "durable_program:runs", command="runs", RUNS=url)
    worker.wait_for(f"works on clerk 1, report 1, failing 1, slow 1 at {url}; Ctrl-C ends it\n")
    found: dict[str, RunInfo] = {}

    def have_ended() -> bool:
        found.update({one.id: one for one in open_runs(url).list_runs()})
        return {found[id].status for id in ("order-3", "report-1", "failing-1")} == {"done", "failed"}

    wait_until(have_ended)
    worker.press("\x03")
    worker.wait_for("Ctrl-C again: at once")
    assert worker.end() == 130
    assert found["failing-1"].attempts == 2
    assert "output    tea: now" in run("show", "report-1").stdout
    assert "  ai: Done: 5 is paid back" in run("show", "order-3").stdout
    assert json.loads(run("show", "order-3", "--json").stdout)["output"] == "Done: 5 is paid back"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal(run: Inside, terminal: Callable[..., Any], url: str, number: int, code: int) -> None:
    """Ends a worker at once, whatever a run does."""
    run("signal", "slow-1", "go")
    worker = terminal("work", "durable_program:runs", command="runs", RUNS=url)
    worker.wait_for("it blocks\n")
    worker.process.send_signal(number)
    worker.wait_for("at once\n")
    worker.process.send_signal(number)
    assert worker.end() == code


def test_what_is_no_runs(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """`work` says what it was given."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    for name, words in (
        ("clerk", "durable_program:clerk is Durable; it is what open_runs() returns"),
        ("none", "durable_program:none has nothing to work on"),
        ("front", "durable_program:front has max_concurrency=0"),
        ("no", "durable_program has no 'no'"),
    ):
        done = inside("runs", "work", f"durable_program:{name}")
        assert done.returncode == 2
        assert words in done.stderr


def test_the_words_for_a_status() -> None:
    """Are those that the store knows."""
    assert get_args(Status) == STATUSES
