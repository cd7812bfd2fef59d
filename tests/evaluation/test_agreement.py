"""How far a judge agrees with people: which labels are of which answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from hocket.errors import InvalidInput
from hocket.evaluation import Answer, Case, evaluate, measure_agreement


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A run of 20 cases, each twice; the judge likes the first ten."""
    path = tmp_path / "new.jsonl"

    def likes(answer: Answer, case: Case) -> bool | None:
        return None if case.input == 19 else case.input < 10

    evaluate(str, [Case(n, id=f"c{n}") for n in range(20)], [likes], path, version="1", repeats=2)
    return path


def write(path: Path, *labels: Any) -> Path:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in labels), encoding="utf-8")
    return path


def test_kappa_and_share(out: Path, tmp_path: Path) -> None:
    """By hand: 16 of 18 cases agree, each side says yes in 9, so chance agrees in 1/2 and kappa is 7/9."""
    people = {n: (n < 9 if n != 0 else False) or n == 10 for n in (*range(9), *range(10, 19))}
    labels = write(tmp_path / "labels.jsonl", *({"case": f"c{n}", "label": label} for n, label in people.items()))
    found = measure_agreement(out, labels, "likes")
    assert (found.kappa, found.agreed, found.cases) == (pytest.approx(7 / 9), pytest.approx(16 / 18), 18)
    assert found.low < found.kappa < found.high
    assert str(found).startswith("kappa 0.78 [") and str(found).endswith("on 18 cases, 89% agreed")
    narrow = measure_agreement(out, labels, "likes", confidence=0.5)
    assert narrow.low > found.low


def test_a_label_of_one_run(out: Path, tmp_path: Path) -> None:
    """Numbers are labels, too; an answer without a score is left out."""
    labels = write(
        tmp_path / "labels.jsonl",
        {"case": "c0", "run": 0, "label": 1},
        {"case": "c0", "run": 1, "label": 0},
        {"case": "c19", "label": 1},
    )
    found = measure_agreement(out, labels, "likes")
    assert (found.cases, found.agreed) == (1, 0.5)
    same = write(tmp_path / "same.jsonl", {"case": "c0", "label": True}, {"case": "c1", "label": 1.0})
    found = measure_agreement(out, same, "likes")
    assert (found.kappa, found.high, found.cases, found.agreed) == (1, 1, 2, 1) and found.low < 1


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ([{"case": "zz", "label": 1}, {"case": "c0", "label": 1}, {"case": "c0", "run": 7, "label": 1}], "zz, c0#7"),
        ([{"case": f"z{n}", "label": 1} for n in range(12)], "z9 and 2 more"),
        ([{"case": "c0", "label": 1}, {"case": "c0", "run": 0, "label": 0}], "line 2 labels c0#0 for the second time"),
        ([{"case": "c0", "label": "yes"}], "line 1 has the label 'yes'"),
        ([{"case": "c0", "label": 2}], "has the label 2"),
        ([{"case": "c0", "label": 1, "run": "0"}], "has the run '0'"),
        ([{"case": "c0"}], "line 1 is"),
        ([{"case": "c0", "label": 1, "note": ""}], "line 1 is"),
        ([1], "line 1 is .no object."),
        ([], "no answer that"),
        ([{"case": "c19", "label": 1}], "no answer that"),
    ],
)
def test_labels_of_no_use(out: Path, tmp_path: Path, labels: list[Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        measure_agreement(out, write(tmp_path / "labels.jsonl", *labels), "likes")


def test_runs_of_no_use(out: Path, tmp_path: Path) -> None:
    labels = write(tmp_path / "labels.jsonl", {"case": "c0", "label": 1})
    with pytest.raises(InvalidInput, match="has no metric 'judge'; it has likes"):
        measure_agreement(out, labels, "judge")
    with pytest.raises(InvalidInput, match="no run at"):
        measure_agreement(tmp_path / "none.jsonl", labels, "likes")
    with pytest.raises(FileNotFoundError):
        measure_agreement(out, tmp_path / "none.jsonl", "likes")
