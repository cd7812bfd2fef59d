"""`hocket batch`: a model asked for each row of a file; `hocket usage`: what it cost."""

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hocket._databases.file_lock import try_lock_file
from hocket.batch import read_batch
from hocket.language_models import FakeListChatModel
from hocket.ledger import JSONLLedger, SQLiteLedger
from hocket.testing import BatchPlan, OpenAIFormat, ReceivedRequest, Reply, serve
from tests.ledger.test_stores import entry, fill

Run = Callable[..., subprocess.CompletedProcess[str]]

ROWS = ['"one"', '{"id": "b", "input": "two"}', '{"id": 3, "messages": [{"role": "user", "content": "three"}]}', ""]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(ROWS))
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def test_rows_are_answered_and_gone_on_with(hocket: Run, rows: Path, out: Path) -> None:
    """Nothing on standard output, one line on standard error, and the second time nothing is asked."""
    done = hocket("batch", str(rows), "--out", str(out), "--model", "fake:yes")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("hocket: 3 of 3 rows done, 0 failed, ")
    assert done.stderr.count("\n") == 1
    assert [(row.row, row.id, row.output) for row in sorted(read_batch(out), key=lambda row: row.row)] == [
        (0, None, "yes"),
        (1, "b", "yes"),
        (2, 3, "yes"),
    ]
    size = out.stat().st_size
    again = hocket("batch", str(rows), "--out", str(out), "--model", "fake:yes")
    assert "3 from an earlier run" in again.stderr
    assert out.stat().st_size == size


def test_rows_are_piped_in(hocket: Run, out: Path) -> None:
    """As `-`, and gone on with, too."""
    command = ("batch", "-", "--out", str(out), "--model", "fake:yes")
    done = hocket(*command, stdin="\n".join(ROWS))
    assert done.returncode == 0 and "3 of 3 rows done" in done.stderr
    assert "3 from an earlier run" in hocket(*command, stdin="\n".join(ROWS)).stderr
    assert "standard input: line 1: it is no JSON" in hocket(*command, stdin="plain").stderr
    assert "standard input has no rows" in hocket(*command, stdin="").stderr


def test_bad_lines_are_named_before_anything_is_sent(hocket: Run, rows: Path, out: Path) -> None:
    """By number, the first three."""
    rows.write_text('"fine"\nplain text\n{"input": ""}\n{"question": "?"}\n[1]\n"fine"\n')
    done = hocket("batch", str(rows), "--out", str(out), "--model", "fake:yes")
    assert done.returncode == 2
    assert 'line 2: it is no JSON; a text is written in quotes: "like this"' in done.stderr
    assert "line 3: " in done.stderr
    assert "line 4: " in done.stderr
    assert "and 1 more" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["missing.jsonl", "--out", "o"], "missing.jsonl cannot be read"),
        (["IN"], "--out"),
        (["IN", "--out", "."], "a directory"),
        (["IN", "--out", "OUT", "--ledger", "no/where/u.db"], "--ledger no/where/u.db: there is no directory no/where"),
        (["IN", "--out", "OUT", "--ledger", "."], "--ledger . is a directory; name a file in it"),
        (["IN", "--out", "no/where/o.jsonl"], "--out no/where/o.jsonl: there is no directory no/where; make it first"),
        (["IN", "--out", "OUT", "--budget", "0"], "--budget is 0"),
        (["IN", "--out", "OUT", "--budget", "much"], "--budget is 'much'"),
        (["IN", "--out", "OUT", "--max-concurrency", "0"], "no whole number of 1 or more"),
        (["IN", "--out", "OUT", "--price", "1.25"], "'1.25' is no price; it looks like 1.25,10: US dollars"),
        (["IN", "--out", "OUT", "--schema", "name text"], "'name text' is no field with one of the types"),
    ],
    ids=[
        "no file",
        "no out",
        "directory",
        "no directory of a ledger",
        "a ledger that is a directory",
        "no directory",
        "no money",
        "no amount",
        "no concurrency",
        "no price",
        "no schema",
    ],
)
def test_misuse(hocket: Run, rows: Path, out: Path, arguments: list[str], text: str) -> None:
    """One line that says what is wrong, and the code for it."""
    places = {"IN": str(rows), "OUT": str(out)}
    done = hocket("batch", *(places.get(one, one) for one in arguments), "--model", "fake:yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


def test_another_model_is_refused(hocket: Run, rows: Path, out: Path) -> None:
    """Unless the rows are to be asked again."""
    hocket("batch", str(rows), "--out", str(out), "--model", "fake:yes")
    done = hocket("batch", str(rows), "--out", str(out), "--model", "fake:no")
    assert done.returncode != 0
    assert "holds the answers of another model" in done.stderr
    done = hocket("batch", str(rows), "--out", str(out), "--model", "fake:no", "--redo")
    assert {row.output for row in read_batch(out)} == {"no"}


def test_a_budget_ends_it(hocket: Run, rows: Path, out: Path) -> None:
    """With the code for limits, the figures, and a file to go on with."""
    command = ("batch", str(rows), "--out", str(out), "--model", "acted:dear", "--max-concurrency", "1")
    done = hocket(*command, "--budget", "9")
    assert (done.returncode, done.stdout) == (6, "")
    assert " of 3 rows done, 0 failed, " in done.stderr
    assert "run it again with more to go on" in done.stderr
    assert len(list(read_batch(out))) < 3
    assert hocket(*command, "--budget", "1000").returncode == 0
    assert len(list(read_batch(out))) == 3


def test_a_budget_needs_a_price(hocket: Run, rows: Path, out: Path) -> None:
    """Nothing is asked of a model whose price nobody knows, or whose answers have no end; the options are named."""
    command = ("batch", str(rows), "--out", str(out), "--model", "acted:echo", "--budget", "9")
    done = hocket(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no budget in US dollars can hold: say it, --price 1.25,10" in done.stderr and "pip" not in done.stderr
    assert "Budget(" not in done.stderr
    done = hocket(*command, "--price", "1.25,10")
    assert (done.returncode, done.stdout) == (2, "")
    assert "so no budget can hold: give the model --max-tokens N" in done.stderr
    assert "Budget(" not in done.stderr
    assert list(read_batch(out)) == []


def test_a_price_is_for_the_budget_and_the_sum(hocket: Run, rows: Path, out: Path) -> None:
    """US dollars a million tokens of input, and of output."""
    with serve(OpenAIFormat(), lambda request: Reply("yes")) as server:
        command = ("batch", str(rows), "--out", str(out), "--base-url", server.url, "--model", "m", "--max-tokens", "1")
        done = hocket(*command, "--budget", "99", "--price", "1000000,2000000", OPENAI_API_KEY="k")
        assert done.returncode == 0, done.stderr
        assert ", 6 tokens, $9.0000" in done.stderr
    assert {row.cost for row in read_batch(out)} == {Decimal(3)}


def test_answers_in_a_form(hocket: Run, rows: Path, out: Path) -> None:
    """Are data in the file; another form is another model."""
    with serve(OpenAIFormat(), lambda request: Reply('{"name": "Rex", "age": 3}')) as server:
        command = ("batch", str(rows), "--out", str(out), "--base-url", server.url, "--model", "gpt-4o")
        done = hocket(*command, "--schema", "name, age int", OPENAI_API_KEY="k")
        assert done.returncode == 0, done.stderr
        assert [row.output for row in read_batch(out)] == [{"name": "Rex", "age": 3}] * 3
        done = hocket(*command, "--schema", "name, age str", OPENAI_API_KEY="k")
        assert "holds the answers of another model" in done.stderr
        assert "take another file, or --redo to ask again" in done.stderr
        again = hocket(*command, "--schema", "name, age str", "--redo", OPENAI_API_KEY="k")
    assert again.returncode == 1
    assert "hocket: row 0: OutputParserException: " in again.stderr
    assert "hocket: row 2 (3): OutputParserException: " in again.stderr


def test_failures_are_named_and_counted(hocket: Run, rows: Path, out: Path) -> None:
    """The first three."""
    rows.write_text("\n".join(['"InvalidRequest"'] * 5))
    done = hocket("batch", str(rows), "--out", str(out), "--model", "acted:echo")
    assert done.returncode == 1
    assert done.stderr.count("hocket: row ") == done.stderr.count(": InvalidRequest: ") == 3
    assert f"hocket: and 2 more, which are in {out}; in all 5 InvalidRequest" in done.stderr


def test_a_server_that_is_down_ends_it(hocket: Run, rows: Path, out: Path) -> None:
    """With the code of what the rows failed of, and the option that has it go on."""
    rows.write_text("\n".join(f'"row {number}"' for number in range(100)))
    command = ("batch", str(rows), "--out", str(out), "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    done = hocket(*command, "--max-concurrency", "10", "--max-consecutive-failures", "10", OPENAI_API_KEY="k")
    assert (done.returncode, done.stdout) == (5, "")
    assert "10 rows in a row failed, the last one with ConnectionFailed: " in done.stderr
    assert "or raise --max-consecutive-failures 10" in done.stderr
    assert 10 <= len(list(read_batch(out))) < 20


def test_a_terminal_shows_how_far_it_is(terminal: Callable[..., Any], rows: Path, out: Path) -> None:
    """A line that is written over, with the time that is left; the last one stays."""
    pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    rows.write_text("\n".join(f'"row {number}"' for number in range(3)))
    seen = threading.Event()
    asked: list[int] = []

    def answer(request: ReceivedRequest) -> Reply:
        asked.append(1)
        if len(asked) == 3:
            assert seen.wait(120)
        return Reply("yes", usage={"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3})

    with serve(OpenAIFormat(), answer) as server:
        options = ["--out", str(out), "--base-url", server.url, "--model", "m", "--max-concurrency", "1"]
        shown = terminal(str(rows), *options, command="batch", size=(200, 24), OPENAI_API_KEY="k")
        shown.wait_for("2 of 3")
        told = shown.wait_for(" s left")
        seen.set()
        assert shown.end() == 0
    assert re.fullmatch(r" rows done, 0 failed, [\d.]+ rows/s, 6 tokens, cost unknown, \d+ s left", told)
    last = shown.raw.rpartition("\x1b[K")[2]
    assert re.match(r"3 of 3 rows done, 0 failed, [\d.]+ rows/s, 9 tokens, [^\n]*\n", last.replace("\r", ""))
    assert "left" not in last


def test_a_narrow_terminal_shows_one_line(terminal: Callable[..., Any], rows: Path, out: Path) -> None:
    """What would go on in a second row of it is cut off, but for the last line."""
    pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    seen = threading.Event()
    asked: list[int] = []

    def answer(request: ReceivedRequest) -> Reply:
        asked.append(1)
        assert len(asked) < 3 or seen.wait(120)
        return Reply("yes")

    with serve(OpenAIFormat(), answer) as server:
        options = ["--out", str(out), "--base-url", server.url, "--model", "m", "--max-concurrency", "1"]
        shown = terminal(str(rows), *options, command="batch", size=(40, 24), OPENAI_API_KEY="k")
        shown.wait_for("2 of 3 rows done")
        shown.wait_for("…")
        seen.set()
        assert shown.end() == 0
    *live, last = shown.raw.replace("\r", "").split("\x1b[K")[1:]
    assert live and all(len(line) < 40 for line in live)
    assert last.startswith("3 of 3 rows done") and last.endswith(" tokens, cost unknown\n")


def test_usage_as_a_table_and_as_json(hocket: Run, tmp_path: Path) -> None:
    """Grouped by columns and metadata; a cost that is not all is marked."""
    path = tmp_path / "usage.db"

    ledger = SQLiteLedger(path)
    fill(
        ledger,
        entry(1, cost=Decimal("0.25"), input_tokens=10, cache_read=4, output_tokens=2, metadata={"tenant": "acme"}),
        entry(2, outcome="failed", metadata={"tenant": "globex"}),
    )
    ledger.close()
    done = hocket("usage", str(path), "--by", "model,tenant")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "model  tenant  calls  failed  cached  open  input  cached_share  output      cost",
        "m      acme        1       0       0     0     10           40%       2   $0.2500",
        "m      globex      1       1       0     0      0             -       0  $0.0000+",
    ]
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in hocket("usage", str(path), "--by", "tenant", "--json").stdout.splitlines()
    ]
    assert [(line["group"], line["cost"], line["cached_share"]) for line in lines] == [
        ({"tenant": "acme"}, "0.25", 0.4),
        ({"tenant": "globex"}, "0", None),
    ]
    assert hocket("usage", str(path), "--since", "1h").stdout.count("\n") == 1


def test_usage_of_nothing(hocket: Run, tmp_path: Path) -> None:
    """A ledger that is not there is not made; an odd age and a foreign address are refused."""
    for arguments in ([str(tmp_path / "none.db")], ["redis://localhost"], [str(tmp_path), "--since", "week"]):
        done = hocket("usage", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
    assert not os.listdir(tmp_path)


def test_a_ledger_in_lines(hocket: Run, tmp_path: Path) -> None:
    """What a program booked."""
    model = FakeListChatModel(responses=["a"], ledger=JSONLLedger(tmp_path / "usage.jsonl"))
    model.invoke("hi")
    model.ledger.flush()
    assert "calls" in hocket("usage", str(tmp_path / "usage.jsonl")).stdout


# -- through the provider's batches


def by_batch(rows: Path, out: Path, server: Any, *more: str) -> tuple[str, ...]:
    model = ("--model", "openai:gpt-5.2", "--base-url", server.url)
    return ("batch", str(rows), "--out", str(out), *model, "--via", "provider", *more)


def test_rows_go_through_a_batch(hocket: Run, rows: Path, out: Path) -> None:
    with serve(OpenAIFormat(), lambda request: Reply("Yes.")) as server:
        done = hocket(*by_batch(rows, out, server))
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert [row.output for row in read_batch(out)] == ["Yes."] * 3
        assert [len(batch.rows) for batch in server.batches.submitted] == [3]


def test_rows_are_left_under_way_and_collected_later(hocket: Run, rows: Path, out: Path) -> None:
    """As by cron: exit code 8 says that something is under way."""
    with serve(OpenAIFormat(), lambda request: Reply("Yes.")) as server:
        server.batches.plan = BatchPlan(seconds=3600)
        done = hocket(*by_batch(rows, out, server, "--wait", "0"))
        assert done.returncode == 8, done.stderr
        assert "3 at the provider" in done.stderr
        assert "the same command collects them, and with --cancel ends them" in done.stderr
        [batch] = server.batches.submitted
        batch.plan = BatchPlan()
        assert hocket(*by_batch(rows, out, server)).returncode == 0
        assert len(list(read_batch(out))) == 3
        assert len(server.batches.submitted) == 1


def test_batches_are_cancelled(hocket: Run, rows: Path, out: Path) -> None:
    with serve(OpenAIFormat(), lambda request: Reply("Yes.")) as server:
        server.batches.plan = BatchPlan(seconds=3600)
        hocket(*by_batch(rows, out, server, "--wait", "0"))
        done = hocket(*by_batch(rows, out, server, "--cancel"))
        assert done.returncode == 0
        assert "1 batches are asked to end" in done.stderr
        assert server.batches.submitted[0].state == "cancelled"
        assert hocket(*by_batch(rows, out, server, "--retry-via", "live")).returncode == 0


def test_a_budget_is_of_the_file_in_all_runs(hocket: Run, tmp_path: Path) -> None:
    """The same command by cron never passes it: what the file's lines have spent and hold counts."""
    rows, out = tmp_path / "many.jsonl", tmp_path / "out.jsonl"
    rows.write_text("".join(f'"row {number}"\n' for number in range(30)))
    usage = {"prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110}
    with serve(OpenAIFormat(), lambda request: Reply("Yes.", usage=usage)) as server:
        server.batches.plan = BatchPlan(seconds=3600)
        words = ("--wait", "0", "--max-tokens", "100", "--price", "4,20", "--budget", "0.01")  # a row comes to 0.00102
        submitted = list[int]()
        for run in range(4):
            done = hocket(*by_batch(rows, out, server, *words))
            assert done.returncode == 6, done.stderr
            assert "held nothing any more" not in done.stderr
            submitted.append(sum(len(batch.rows) for batch in server.batches.submitted))
            if run == 1:
                server.batches.submitted[0].plan = BatchPlan()
    assert 0 < submitted[0] == submitted[1] <= submitted[-1] <= 9
    assert sum(row.cost or 0 for row in read_batch(out)) <= Decimal("0.01")


def test_a_file_that_is_busy_or_of_another_model_has_a_code_of_its_own(hocket: Run, rows: Path, out: Path) -> None:
    with serve(OpenAIFormat(), lambda request: Reply("Yes.")) as server:
        assert hocket(*by_batch(rows, out, server)).returncode == 0
        done = hocket(*by_batch(rows, out, server, "--max-tokens", "7"))
        assert (done.returncode, done.stdout) == (11, "") and "another model, server, prompt" in done.stderr
        with out.open("r+b") as file:
            assert try_lock_file(file.fileno())
            assert hocket(*by_batch(rows, out, server)).returncode == 10


def test_odd_words_about_batches_are_refused(hocket: Run, rows: Path, out: Path) -> None:
    for words, message in (
        (("--via", "post"), "there are: live, provider"),
        (("--wait", "0"), "--wait is 0.0, and is for rows in batches; give --via provider, too"),
        (("--via", "provider", "--wait", "-1"), "no number of seconds"),
        (("--via", "provider"), "needs a model with a batch endpoint"),
    ):
        done = hocket("batch", str(rows), "--out", str(out), "--model", "fake:yes", *words)
        assert done.returncode == 2, words
        assert message in done.stderr
    assert not out.exists()
