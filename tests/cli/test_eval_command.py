"""`hocket eval`: cases asked and scored, two runs compared, and exit codes that a build goes by."""

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket.cli.eval.run import _SCORERS
from hocket.evaluation import measure_agreement, read_report
from hocket.testing import BatchPlan, OpenAIFormat, ReceivedRequest, Reply, serve

Inside = Callable[..., Any]
Run = Callable[..., subprocess.CompletedProcess[str]]
TARGETS = "tests.cli.eval_targets"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(json.dumps({"input": f"q{n}", "expected": f"Q{n}", "id": f"c{n}"}) for n in range(40)))
    return path


@pytest.fixture
def evaluate(inside: Inside, cases: Path, tmp_path: Path) -> Inside:
    """Run `hocket eval run` with a target of ours, and return how it ended; its answers are in the folder."""

    def run(target: str, out: str, *words: str, code: int = 0, score: str = "is_right") -> Any:
        named = ("--target", f"{TARGETS}:{target}", "--score", f"{TARGETS}:{score}")
        done = inside("eval", "run", str(cases), "--out", str(tmp_path / out), *named, *words)
        assert done.returncode == code, done.stderr
        return done

    return run


def test_a_run(evaluate: Inside, inside: Inside, tmp_path: Path) -> None:
    """The table on standard output, how far it is on standard error; the same is shown again from the files."""
    done = evaluate("shout", "new.jsonl")
    out = str(tmp_path / "new.jsonl")
    assert done.stdout == f"{read_report(out)}\n" and "is_right   100.0%  [91.2%, 100.0%]" in done.stdout
    assert "hocket: 40 of 40 rows done, 0 failed" in done.stderr and done.stderr.count("\n") == 1
    shown = inside("eval", "show", out)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, done.stdout, "")
    assert "40 from an earlier run" in evaluate("shout", "new.jsonl").stderr
    told = json.loads(inside("eval", "show", out, "--json").stdout)
    assert told["metrics"]["is_right"]["mean"] == 1.0 and told["cases"] == 40


def test_scorers_by_name(inside: Inside, tmp_path: Path) -> None:
    """Each that needs no arguments; together, in the order in which they are given."""
    wanted: dict[str, dict[str, Any]] = {
        "called": {"calls": [{"name": "find", "args": {"word": "yes"}}]},
        "cites": {},
        "contains": {"expected": "YES"},
        "exact": {"expected": "exact yes"},
        "fields": {"expected": {"word": "yes"}},
        "mrr": {"relevant": "yes"},
    }
    assert tuple(wanted) == _SCORERS
    for name, case in wanted.items():
        cases = tmp_path / f"{name}.jsonl"
        cases.write_text("".join(json.dumps({"input": f"{name} {word}", **case}) + "\n" for word in ("yes", "no")))
        command = ("eval", "run", str(cases), "--target", f"{TARGETS}:recall", "--score", name, "--json")
        done = inside(*command, "--out", str(tmp_path / f"{name}-out.jsonl"))
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert {one: metric["mean"] for one, metric in told["metrics"].items()} == {name: 0.5}, name
        assert (told["unscored"], told["errors"]) == (0, 0)
    several = [word for name in ("contains", "exact", f"{TARGETS}:is_right") for word in ("--score", name)]
    command = ("eval", "run", str(tmp_path / "exact.jsonl"), "--target", f"{TARGETS}:recall", *several, "--json")
    done = inside(*command, "--out", str(tmp_path / "several.jsonl"))
    assert [*json.loads(done.stdout)["metrics"]] == ["contains", "exact", "is_right"]


def test_a_judge_and_labels(inside: Inside, tmp_path: Path) -> None:
    """The judge goes by the rubric; what it has said is compared with what people say, as a line and as JSON."""
    asked: list[str] = []

    def reply(request: ReceivedRequest) -> Reply:
        asked.append(json.dumps(request.json["messages"]))
        return Reply(json.dumps({"reason": "I like it.", "passes": "Q1" in asked[-1]}))

    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps({"input": f"q{n}", "id": f"c{n}"}) + "\n" for n in range(10, 30)))
    labels, out = tmp_path / "labels.jsonl", str(tmp_path / "out.jsonl")
    labels.write_text("".join(json.dumps({"case": f"c{n}", "label": n < 19}) + "\n" for n in range(10, 30)))
    with serve(OpenAIFormat(), reply) as server:
        judge = ("--judge", "openai:gpt-5.2", "--rubric", "It is loud.")
        command = ("eval", "run", str(cases), "--target", f"{TARGETS}:shout", "--out", out, *judge)
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test"}
        done = inside(*command, "--at-least", "judge=0.9", **environ)
        assert (done.returncode, len(asked)) == (9, 20) and "judge is below 0.9: 50.0% [" in done.stderr, done.stderr
        assert all("It is loud." in one for one in asked)
        done = inside(*command, "--score", f"{TARGETS}:is_right", "--at-least", "judge=0.4", "--json")
        assert (done.returncode, len(asked)) == (0, 20)  # what it has said stays
        assert [*json.loads(done.stdout)["metrics"]] == ["is_right", "judge"]
    agreement = measure_agreement(out, labels, "judge")
    shown = inside("eval", "show", out, "--labels", str(labels), "--metric", "judge")
    assert shown.returncode == 0 and shown.stdout.endswith(f"judge and the labels: {agreement}\n")
    assert "kappa 0.90 [" in shown.stdout and "on 20 cases, 95% agreed" in shown.stdout
    told = json.loads(inside("eval", "show", out, "--labels", str(labels), "--metric", "judge", "--json").stdout)
    assert told["agreement"] == vars(agreement)
    wrong = inside("eval", "show", out, "--labels", str(labels), "--metric", "judgement")
    assert wrong.returncode == 2 and "has no metric 'judgement'; it has is_right, judge" in wrong.stderr
    labels.write_text('{"case": "c99", "label": true}\n')
    wrong = inside("eval", "show", out, "--labels", str(labels), "--metric", "judge")
    assert wrong.returncode == 2 and "labels what" in wrong.stderr and "c99" in wrong.stderr


def test_two_runs(evaluate: Inside, inside: Inside, tmp_path: Path) -> None:
    """9: certainly worse, and not where nothing is; the other way round it is better."""
    evaluate("shout", "old.jsonl")
    evaluate("weak", "new.jsonl")
    old, new = str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl")
    worse = inside("eval", "compare", old, new)
    assert worse.returncode == 9 and "is_right: worse, -70.0 points" in worse.stdout
    assert worse.stderr == f"hocket: {new} is worse than {old}\n"
    assert inside("eval", "compare", new, old, "--strict").returncode == 0
    unknown = inside("eval", "compare", old, old)
    assert unknown.returncode == 0 and "not decided" in unknown.stdout
    strict = inside("eval", "compare", old, old, "--strict")
    assert strict.returncode == 9 and "it is not decided whether" in strict.stderr
    same = inside("eval", "compare", old, old, "--strict", "--min-difference", "0.3", "--json")
    assert same.returncode == 0 and json.loads(same.stdout)["verdict"] == "same"
    page = tmp_path / "page.html"
    inside("eval", "compare", old, new, "--html", str(page))
    assert "<!doctype html>" in page.read_text() and "Lost: 28" in page.read_text()
    assert "asked for was 'none'" in inside("eval", "compare", old, new, "--metric", "none").stderr


def test_a_baseline_and_rates(evaluate: Inside, tmp_path: Path) -> None:
    """The run stops when it is certainly worse; a rate is missed when it is certainly below."""
    evaluate("shout", "old.jsonl")
    done = evaluate("weak", "new.jsonl", "--baseline", str(tmp_path / "old.jsonl"), code=9)
    assert read_report(tmp_path / "new.jsonl").cases < 40
    assert "certain before the end" in done.stdout
    missed = evaluate("weak", "all.jsonl", "--at-least", "is_right=0.9", code=9)
    assert "hocket: is_right is below 0.9: 30.0% [" in missed.stderr
    evaluate("weak", "all.jsonl", "--at-least", "is_right=0.35")
    strict = evaluate("weak", "all.jsonl", "--at-least", "is_right=0.35", "--strict", code=9)
    assert "it is not certain that is_right is 0.35 or more" in strict.stderr
    evaluate("weak", "all.jsonl", "--at-least", "is_right=0.1", "--strict")


def test_missing_answers_and_scores(evaluate: Inside, tmp_path: Path) -> None:
    """Are a failure if nothing may be missing."""
    evaluate("broken", "new.jsonl")
    assert "4 answers and 0 scores are missing" in evaluate("broken", "new.jsonl", "--strict", code=9).stderr
    assert read_report(tmp_path / "new.jsonl").missing == 4
    done = evaluate("shout", "none.jsonl", "--strict", "--at-least", "unsure=0.1", code=9, score="unsure")
    assert "unsure has no score at all" in done.stderr and "40 scores are missing" in done.stderr
    done = evaluate("shout", "none.jsonl", "--at-least", "unsure=0.1", code=9, score="unsure")
    assert "unsure has no score at all, so it has measured nothing" in done.stderr
    assert "unsure has no score at all" in evaluate("shout", "none.jsonl", code=9, score="unsure").stderr


def test_what_measures_nothing_is_named(evaluate: Inside, inside: Inside, cases: Path, tmp_path: Path) -> None:
    """A scorer without a score, beside one that has some; a target that fails always; a judge that cannot judge."""
    done = evaluate("shout", "two.jsonl", "--score", f"{TARGETS}:unsure", code=9)
    assert "unsure has no score at all" in done.stderr and "  unsure    no score\n" in done.stdout
    assert "the target has failed in each case" in evaluate("failing", "failed.jsonl", code=9).stderr
    words = ("--judge", 'fake:{"reason": "x", "passes": true}', "--rubric", "ok", "--out", str(tmp_path / "j.jsonl"))
    done = inside("eval", "run", str(cases), "--target", f"{TARGETS}:shout", *words)
    assert done.returncode == 2 and "a fake model says its text" in done.stderr and not (tmp_path / "j.jsonl").exists()


def test_changed_code_is_another_target_and_scores_anew(
    inside: Inside, cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of answers is refused, or goes on under a name; scores alone are made again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def run(target: str, score: str, *words: str, out: str = "new.jsonl") -> Any:
        code = f"def target(text):\n    return text{target}\n\ndef score(answer, case):\n    return {score}\n"
        (tmp_path / "edited.py").write_text(code)
        sys.modules.pop("edited", None)
        importlib.invalidate_caches()
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        named = ("--target", "edited:target", "--score", "edited:score", "--out", out, *words)
        return inside("eval", "run", str(cases), *named)

    assert "score   100.0%" in run("", "1.0").stdout
    again = run("", "0.0")
    assert again.returncode == 0 and "score     0.0%" in again.stdout and "40 from an earlier run" in again.stderr
    changed = run(".upper()", "0.0")
    assert changed.returncode == 11 and "another model" in changed.stderr
    assert run("", "1.0", "--version", "1", out="named.jsonl").returncode == 0
    assert run(".upper()", "1.0", "--version", "1", out="named.jsonl").returncode == 0


def test_what_was_asked_in_parts_is_of_no_earlier_run(evaluate: Inside, tmp_path: Path) -> None:
    """With a baseline a run looks ten times."""
    evaluate("shout", "old.jsonl")
    assert "earlier run" not in evaluate("shout", "new.jsonl", "--baseline", str(tmp_path / "old.jsonl")).stderr
    assert "earlier run" in evaluate("shout", "new.jsonl", "--baseline", str(tmp_path / "old.jsonl")).stderr


def test_a_target_that_is_not_there(evaluate: Inside) -> None:
    """Names that its module has made are told, not those that it imports."""
    said = evaluate("nope", "new.jsonl", code=2).stderr
    assert "shout, unsure, weak" in said and "AIMessage" not in said and "json" not in said


def test_a_budget_is_of_the_files_in_all_runs(inside: Inside, cases: Path, tmp_path: Path) -> None:
    """The same command again does not spend it again."""
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    with serve(OpenAIFormat(), lambda request: Reply("Q1", usage=usage)) as server:
        model = ("--model", "m", "--base-url", server.url, "--max-tokens", "10", "--price", "0,1", "--budget", "0.0001")
        command = ("eval", "run", str(cases), "--out", str(tmp_path / "out.jsonl"), *model, "--max-concurrency", "1")
        for _ in range(2):
            assert inside(*command).returncode == 6
        assert len(server.requests) == 10  # each comes to 0.00001


def test_models(inside: Inside, cases: Path, tmp_path: Path) -> None:
    """Instructions come before each case, and are part of what tells two targets apart; money has an end."""
    asked: list[Any] = []

    def reply(request: ReceivedRequest) -> Reply:
        asked.append(request.json["messages"])
        return Reply("Q1")

    with serve(OpenAIFormat(), reply) as server:
        command = ("eval", "run", str(cases), "--score", f"{TARGETS}:is_right", "--model", "gpt-5.2")
        named = (*command, "--base-url", server.url, "--max-concurrency", "1", "--max-tokens", "20", "--repeats", "2")
        out = ("--out", str(tmp_path / "a.jsonl"))
        done = inside(*named, *out, "--system", "Shout.", "--price", "1000,0", "--budget", "0.05")
        assert done.returncode == 6 and "run it again with more to go on" in done.stderr
        assert 1 <= len(asked) < 80
        assert asked[0] == [{"role": "system", "content": "Shout."}, {"role": "user", "content": "q0"}]
        done = inside(*named, *out, "--system", "Whisper.")
        assert done.returncode == 11 and "holds the answers of another model" in done.stderr
        done = inside(*named, *out, "--system", "Shout.")
        assert (done.returncode, len(asked)) == (0, 80)


def test_batches_that_are_under_way(inside: Inside, cases: Path, tmp_path: Path) -> None:
    """The same command collects them; there is no option that ends them, and none is spoken of."""
    with serve(OpenAIFormat(), lambda request: Reply("Q1")) as server:
        server.batches.plan = BatchPlan(seconds=3600)
        model = ("--model", "openai:gpt-5.2", "--base-url", server.url, "--via", "provider")
        command = ("eval", "run", str(cases), "--out", str(tmp_path / "out.jsonl"), *model)
        done = inside(*command, "--wait", "0")
        assert done.returncode == 8 and done.stderr.endswith("provider: the same command collects them\n"), done.stderr
        assert "stopped by BatchPending" in done.stdout and "cancel_batch" not in done.stdout
        server.batches.submitted[0].plan = BatchPlan()
        done = inside(*command)
        assert (done.returncode, len(server.batches.submitted)) == (0, 1) and "2.5%" in done.stdout, done.stderr


def test_a_file_of_other_answers(evaluate: Inside, tmp_path: Path) -> None:
    """Is refused in the words of this command, which has no option that asks again."""
    evaluate("shout", "new.jsonl")
    for target, words, text in (
        ("weak", (), "with other options; take another file"),
        (
            "shout",
            ("--repeats", "2"),
            "give the cases, --repeats and --baseline of the first run, or take another file",
        ),
    ):
        done = evaluate(target, "new.jsonl", *words, code=11)
        assert done.stderr.endswith(f"{text}\n"), done.stderr


def test_in_a_shell(hocket: Run, tmp_path: Path) -> None:
    """A table of cases, and a model that a shell names; a script of one's own stands in the working folder."""
    (tmp_path / "cases.csv").write_text("input,expected,topic\nCapital of France?,Paris,cities\nOf Peru?,Lima,cities\n")
    out = str(tmp_path / "out.jsonl")
    done = hocket("eval", "run", str(tmp_path / "cases.csv"), "--model", "fake:Paris", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["exact"]["mean"] == 0.5


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["run", "none.jsonl", "--out", "OUT"], "none.jsonl cannot be read: No such file"),
        (["run", "CASES"], "--out"),
        (["run", "CASES", "--out", "no/where/o"], "there is no directory no/where"),
        (["run", "CASES", "--out", "OUT", "--html", "no/where/p"], "there is no directory no/where"),
        (
            ["run", "CASES", "--out", "OUT", "--score", "exakt"],
            "no scorer 'exakt' that needs no arguments; did you mean",
        ),
        (["run", "CASES", "--out", "OUT", "--judge", "fake:1"], "--judge and --rubric go together"),
        (["run", "CASES", "--out", "OUT", "--target", "a:b", "--temperature", "0"], "leave --temperature out"),
        (["run", "CASES", "--out", "OUT", "--target", f"{TARGETS}:long"], "'no function'"),
        (["run", "CASES", "--out", "OUT", "--min-difference", "5"], "'5' is no share"),
        (["run", "CASES", "--out", "OUT", "--min-difference", "1"], "--min-difference is 1.0; it lies between 0 and 1"),
        (["run", "CASES", "--out", "OUT", "--at-least", "0.9"], "it looks like exact=0.9"),
        (["run", "CASES", "--out", "OUT", "--at-least", "best=0.9"], "the scorers are is_right"),
        (["run", "CASES", "--out", "OUT", "--baseline", "none.jsonl"], "there is no run at none.jsonl"),
        (["compare", "none.jsonl", "CASES"], "there is no run at none.jsonl"),
        (["show", "CASES"], "cases.jsonl"),
        (["show", "CASES", "--labels", "l"], "--labels and --metric go together"),
        (["show", "none.jsonl"], "there is no run at none.jsonl"),
    ],
)
def test_misuse(inside: Inside, cases: Path, tmp_path: Path, words: list[str], text: str, capsys: Any) -> None:
    """One line that says what is wrong, and the code for it; nothing is asked."""
    places = {"CASES": str(cases), "OUT": str(tmp_path / "out.jsonl")}
    model = ["--model", "fake:yes"] if words[0] == "run" and "--target" not in words else []
    score = ["--score", f"{TARGETS}:is_right"] if words[0] == "run" and "--score" not in words else []
    try:
        code, stdout, stderr = inside("eval", *(places.get(word, word) for word in words), *model, *score)
    except SystemExit as misused:
        code, (stdout, stderr) = misused.code, capsys.readouterr()
    assert (code, stdout) == (2, ""), stderr
    assert text in stderr and stderr.count("\n") == 1
    assert not (tmp_path / "out.jsonl").exists()
