"""Two runs compared: which cases count, and when nothing is said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket.errors import InvalidInput, ProviderUnavailable
from hocket.evaluation import Answer, Case, compare, evaluate


def right(answer: Answer, case: Case) -> bool:
    return answer.text == case.expected


def short(answer: Answer, case: Case) -> bool:
    return len(answer.text) < 5


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run of so many cases, of which the first ones are wrong."""
    made = 0

    def make(count: int, wrong: int, scorers: Any = (right,), first: int = 0, expected: str = "a") -> Path:
        nonlocal made
        made += 1
        path = tmp_path / f"{made}.jsonl"
        cases = [Case(number, expected, id=f"c{number}") for number in range(first, first + count)]
        evaluate(lambda number: "no" if number < wrong else "a", cases, scorers, path, version=str(made))
        return path

    return make


def test_better_worse_and_the_same(make: Callable[..., Path]) -> None:
    old, new = make(60, 30), make(60, 5)
    better = compare(old, new)
    assert better.verdict == better["right"].verdict == "better" and compare(new, old).verdict == "worse"
    assert better.gained == sorted(f"c{number}" for number in range(5, 30)) and not better.lost
    verdict = better["right"]
    assert (verdict.old, verdict.new, verdict.cases, verdict.more_cases) == (0.5, pytest.approx(55 / 60), 60, 0)
    assert verdict.low < verdict.difference < verdict.high and better.seconds_ratio is not None
    assert compare(make(400, 3), make(400, 3)).verdict == "same"
    assert str(better).splitlines()[1].startswith("  right: better, +41.7 points [")
    assert json.loads(json.dumps(better.asdict()))["verdict"] == "better"


def test_nothing_is_said_of_few(make: Callable[..., Path]) -> None:
    """Of five of five that are better, too: no outcome could have been certain."""
    for count in (1, 5):
        comparison = compare(make(count, count), make(count, 0))
        assert comparison.verdict == "not decided" and comparison["right"].more_cases > 0
        assert "more case" in str(comparison)


def test_cases_that_are_left_out(make: Callable[..., Path]) -> None:
    old, new, changed = make(30, 10), make(30, 0, first=10), make(30, 0, expected="b")
    comparison = compare(old, new)
    assert (comparison["right"].cases, len(comparison.unpaired), comparison.changed) == (20, 20, [])
    assert "left out: 20 in one run alone: c0, " in str(comparison)
    with pytest.raises(InvalidInput, match="have no case in common: 30 have one id and are not the same, and 0"):
        compare(old, changed)
    with pytest.raises(InvalidInput, match="have no case in common: 0 have one id and are not the same, and 60"):
        compare(old, make(30, 0, first=100))


def test_an_answer_that_is_missing_costs_no_look(make: Callable[..., Path], tmp_path: Path) -> None:
    """Of 60 cases 59 have an answer: all 59 count."""

    def answer(number: int) -> str:
        if number == 41:
            raise ProviderUnavailable("down")
        return "a"

    new = tmp_path / "new.jsonl"
    evaluate(answer, [Case(number, "a", id=f"c{number}") for number in range(60)], [right], new)
    verdict = compare(make(60, 2), new)["right"]
    assert (verdict.verdict, verdict.cases) == ("not decided", 59)


def test_metrics_that_both_have(make: Callable[..., Path]) -> None:
    old, new, other = make(30, 30, [right, short]), make(30, 0, [short, right]), make(30, 0, [short])
    both = compare(old, new)
    assert {name: one.verdict for name, one in both.verdicts.items()} == {"right": "better", "short": "not decided"}
    assert both.verdict == "better" and list(compare(old, new, metric="short").verdicts) == ["short"]
    assert list(compare(old, other).verdicts) == ["short"]
    with pytest.raises(KeyError, match="have the metrics right, short in common"):
        both["exact"]
    with pytest.raises(InvalidInput, match="no metric in common: right, short, and short; asked for was 'right'"):
        compare(old, other, metric="right")


@pytest.mark.parametrize("content", [b"", b'{"row": 1}\n', b"\x00\xff"])
def test_files_that_are_no_runs(tmp_path: Path, make: Callable[..., Path], content: bytes) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(content)
    with pytest.raises(InvalidInput):
        compare(bad, make(3, 0))
    with pytest.raises(InvalidInput, match="there is no run at"):
        compare(tmp_path / "none.jsonl", bad)


def test_a_bulk_run_is_no_evaluation(tmp_path: Path) -> None:
    from hocket import FakeListChatModel
    from hocket.batch import run_batch

    path = tmp_path / "bulk.jsonl"
    run_batch(FakeListChatModel(responses=["a"]), ["q"], path)
    with pytest.raises(InvalidInput, match="is no file of an evaluation"):
        compare(path, path)
