"""What `hocket batch` and `hocket eval run` have in common: how signals end them, their ledger, answers in a form."""

import json
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket.batch import read_batch
from hocket.ledger import SQLiteLedger
from hocket.testing import BatchPlan, OpenAIFormat, ReceivedRequest, Reply, serve
from tests.kit import warm

Inside = Callable[..., Any]
Run = Callable[..., subprocess.CompletedProcess[str]]
TARGETS = "tests.cli.eval_targets"
SIGNALS = pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(json.dumps({"input": f"q{n}", "expected": f"Q{n}", "id": f"c{n}"}) for n in range(40)))
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(f'"row {number}"' for number in range(40)))
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@SIGNALS
def test_a_batch_finishes_what_is_in_flight(
    environ: dict[str, str], texts: Path, out: Path, number: int, code: int
) -> None:
    """And begins no further row; the same command goes on."""
    asked: list[int] = []
    seen = threading.Event()

    def answer(request: ReceivedRequest) -> Reply:
        asked.append(process.pid)
        if len(asked) == 3:
            process.send_signal(number)
        assert len(asked) < 3 or seen.wait(120)
        return Reply("yes")

    with serve(OpenAIFormat(), answer) as server:
        command = ("-m", "hocket", "batch", str(texts), "--out", str(out), "--base-url", server.url)
        more = ("--model", "m", "--max-concurrency", "2")
        process = warm.Program(*command, *more, env=environ, stderr=subprocess.PIPE)
        assert process.stderr is not None
        assert b"finishing what is in flight; the same command goes on" in process.stderr.readline()
        seen.set()
        process.communicate(timeout=120)
    assert process.returncode == code
    assert 3 <= len(list(read_batch(out))) == len(asked) <= 4


@SIGNALS
def test_the_second_signal_breaks_off_what_is_in_flight(
    environ: dict[str, str], texts: Path, out: Path, number: int, code: int
) -> None:
    """What was answered before is in the file."""
    asked: list[int] = []
    held = threading.Event()

    def answer(request: ReceivedRequest) -> Reply:
        asked.append(process.pid)
        if len(asked) == 3:
            process.send_signal(number)
            held.wait(120)
        return Reply("yes")

    with serve(OpenAIFormat(), answer) as server:
        command = ("-m", "hocket", "batch", str(texts), "--out", str(out), "--base-url", server.url)
        process = warm.Program(*command, "--model", "m", "--max-concurrency", "1", env=environ, stderr=subprocess.PIPE)
        assert process.stderr is not None
        assert b"finishing" in process.stderr.readline()
        process.send_signal(number)
        _, stderr = process.communicate(timeout=120)
        held.set()
    assert process.returncode == code
    assert b"stopped; the same command goes on" in stderr and b"Traceback" not in stderr
    assert len(list(read_batch(out))) == 2


@SIGNALS
def test_an_evaluation_ends_at_once(environ: dict[str, str], rows: Path, out: Path, number: int, code: int) -> None:
    """The same command goes on, and asks for nothing twice."""
    asked: list[str] = []
    held = threading.Event()

    def answer(request: ReceivedRequest) -> Reply:
        asked.append(request.json["messages"][-1]["content"])
        if len(asked) == 5:
            process.send_signal(number)
            held.wait(20)
        return Reply("Q1")

    with serve(OpenAIFormat(), answer) as server:
        named = ("--score", f"{TARGETS}:is_right", "--base-url", server.url, "--model", "m", "--max-concurrency", "1")
        command = ("-m", "hocket", "eval", "run", str(rows), *named, "--out", str(out))
        process = warm.Program(*command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stdout, stderr = process.communicate(timeout=60)
        held.set()
        assert (process.returncode, stdout) == (code, b""), stderr
        assert b"Traceback" not in stderr and b"hocket: stopped; the same command goes on\n" in stderr
        done = warm.run(*command, env=environ, capture_output=True)
        assert done.returncode == 0 and "40 of 40 cases" in done.stdout, done.stderr
    assert len(asked) <= 42 and len({*asked}) == 40


@pytest.mark.parametrize("command", ["chat", "agent"])
def test_sigterm_ends_other_commands_as_ctrl_c_does(environ: dict[str, str], command: str) -> None:
    """What they hold is released, and the code says why."""
    held = threading.Event()

    def answer(request: ReceivedRequest) -> Reply:
        process.send_signal(signal.SIGTERM)
        held.wait(120)
        return Reply("yes")

    with serve(OpenAIFormat(), answer) as server:
        words = ("-m", "hocket", command, "--base-url", server.url, "--model", "m", "Hi")
        process = warm.Program(*words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert (*process.communicate(timeout=120), process.returncode) == (b"", b"", 143)
        held.set()


@pytest.mark.parametrize("via", ["live", "provider"])
@pytest.mark.parametrize("command", ["batch", "eval"])
def test_calls_are_booked(hocket: Run, rows: Path, texts: Path, out: Path, command: str, via: str) -> None:
    """In the ledger that `hocket usage` reads, under the job that they are said to be of."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    book = out.with_name("usage.db")
    asks = ("batch", str(texts)) if command == "batch" else ("eval", "run", str(rows), "--score", f"{TARGETS}:is_right")
    with serve(OpenAIFormat(), lambda request: Reply("Q1", usage=usage)) as server:
        model = ("--model", "openai:gpt-5.2", "--base-url", server.url, "-o", 'metadata={"job": "labels"}')
        more = ("--via", via, "--price", "1,2", "--ledger", str(book))
        done = hocket(*asks, "--out", str(out), *model, *more, OPENAI_API_KEY="k")
    assert done.returncode == 0, done.stderr
    [total] = SQLiteLedger(book).total(by=("job",))
    assert (total.group, total.calls, total.input_tokens, total.open) == ({"job": "labels"}, 40, 400, 0)
    assert float(total.cost) == 40 * 20e-6 * (1 if via == "live" else 0.5)
    assert "labels" in hocket("usage", str(book), "--by", "job").stdout


@pytest.mark.parametrize("via", ["live", "provider"])
def test_cases_are_answered_in_a_form(inside: Inside, out: Path, via: str) -> None:
    """Scorers get data; another form is another target, and with a target there is none."""
    cases = out.with_name("cases.jsonl")
    cases.write_text("".join(json.dumps({"input": name, "expected": {"name": name}}) + "\n" for name in ("Rex", "Tom")))
    asks = ("eval", "run", str(cases), "--out", str(out), "--score", "fields", "--system", "Name the dog.")
    with serve(OpenAIFormat(), lambda request: Reply('{"name": "Rex"}')) as server:
        model = ("--model", "openai:gpt-5.2", "--base-url", server.url, "--via", via)
        done = inside(*asks, *model, "--schema", "name", "--json", OPENAI_API_KEY="k")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert (told["metrics"]["fields"]["mean"], told["unscored"]) == (0.5, 0)
        assert {json.dumps(row.output["answer"]["output"]) for row in read_batch(out)} == {'{"name": "Rex"}'}
        assert inside(*asks, *model, "--schema", "name, age int").returncode == 11
    done = inside(*asks[:-2], "--target", f"{TARGETS}:shout", "--schema", "name")
    assert done.returncode == 2 and "leave --schema out" in done.stderr
    done = inside(*asks, "--model", "fake:yes", "--schema", "name text")
    assert done.returncode == 2 and "is no field with one of the types" in done.stderr


def test_cases_that_a_batch_left_are_asked_live(inside: Inside, rows: Path, out: Path) -> None:
    """As `--retry-via` says, which is for batches alone."""
    asks = ("eval", "run", str(rows), "--out", str(out), "--score", f"{TARGETS}:is_right")
    with serve(OpenAIFormat(), lambda request: Reply("Q1")) as server:
        server.batches.plan = BatchPlan(rows=lambda row: "expired" if row.number % 2 else None)
        model = ("--model", "openai:gpt-5.2", "--base-url", server.url, "--retry-via", "live")
        done = inside(*asks, *model, OPENAI_API_KEY="k")
        assert done.returncode == 2 and "--retry-via is 'live', and is for rows in batches" in done.stderr
        done = inside(*asks, *model, "--via", "provider")
        assert done.returncode == 0 and "40 of 40 rows done" in done.stderr, done.stderr
        assert [len(batch.rows) for batch in server.batches.submitted] == [40]
