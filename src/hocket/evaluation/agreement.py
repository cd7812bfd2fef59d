"""How far a judge agrees with people who have labelled the same answers."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.evaluation.cases import read_json_lines
from hocket.evaluation.files import name_run
from hocket.evaluation.report import read_report
from hocket.evaluation.statistics import measure_kappa
from hocket.evaluation.verdict import name_some

__all__ = ["Agreement", "measure_agreement"]

_KEYS = {"case", "run", "label"}


@dataclass(frozen=True)
class Agreement:
    """How far a metric agrees with labels.

    Attributes:
        kappa: Cohen's: 1 where both agree, 0 where they do so no more often than chance would have it.
        low, high: its interval, by the bootstrap over cases.
        cases: that have a label and a score.
        agreed: the share of labelled answers with the same score.
    """

    kappa: float
    low: float
    high: float
    cases: int
    agreed: float

    def __str__(self) -> str:
        several = f"{self.cases} case{'s' * (self.cases != 1)}"
        return f"kappa {self.kappa:.2f} [{self.low:.2f}, {self.high:.2f}] on {several}, {self.agreed:.0%} agreed"


def measure_agreement(
    out: str | os.PathLike[str], labels: str | os.PathLike[str], metric: str, *, confidence: float = 0.95
) -> Agreement:
    """Return how far a metric of a run, such as a judge's, agrees with the labels that people gave.

    Labels and scores are compared as kinds: 0.5 and 0.6 disagree as much as 0 and 1.

    Args:
        out: the path of the run's answers.
        labels: a file of JSON lines: ``{"case": id, "label": true}``, with true, false, or a number from 0 to 1. With
            ``"run": 0`` it is of one answer only, else of all of the case.
        metric: the metric's name.
        confidence: of the interval, in (0, 1).

    Raises:
        InvalidInput: there is no such run or metric; a line is no label, names what the run has not, or labels an answer
            twice; no labelled answer has a score.
        OSError: a file cannot be read.
    """
    report = read_report(out)
    if metric not in report.metrics:
        raise InvalidInput(f"{report.path} has no metric {metric!r}; it has {', '.join(report.metrics) or 'none'}")
    rows = {name_run(row["case"], row["run"]): row for row in report.rows}
    runs: dict[str, list[str]] = {}
    for key, row in rows.items():
        runs.setdefault(row["case"], []).append(key)
    given: dict[str, float] = {}
    unknown: list[str] = []
    for where, case, run, label in _read_labels(os.fspath(labels)):
        named = runs.get(case, ()) if run is None else [key for key in [name_run(case, run)] if key in rows]
        if not named:
            unknown.append(case if run is None else name_run(case, run))
        for key in named:
            if key in given:
                raise InvalidInput(f"{where} labels {key} for the second time")
            given[key] = label
    if unknown:
        raise InvalidInput(f"{labels} labels what {report.path} has no answer to: {name_some(unknown, 10)}")
    pairs: dict[str, list[tuple[float, float]]] = {}
    for key, label in given.items():
        score = rows[key]["scores"].get(metric)
        if score is not None:
            pairs.setdefault(rows[key]["case"], []).append((float(score), label))
    every = [pair for several in pairs.values() for pair in several]
    if not every:
        raise InvalidInput(f"no answer that {labels} labels has a score of {metric!r} in {report.path}")
    kappa = measure_kappa(pairs, confidence)
    agreed = sum(score == label for score, label in every) / len(every)
    return Agreement(kappa.value, kappa.low, kappa.high, len(pairs), agreed)


def _read_labels(name: str) -> Iterator[tuple[str, str, int | None, float]]:
    for where, one in read_json_lines(name):
        data = cast("Mapping[str, object]", one if isinstance(one, Mapping) else {})
        if not data.keys() <= _KEYS or not {"case", "label"} <= data.keys():
            raise InvalidInput(
                f'{where} is {excerpt(data or "no object")}; a label is {{"case": …, "label": …}}, maybe with "run"'
            )
        case, run, label = str(data["case"]), data.get("run"), data["label"]
        if run is not None and (not isinstance(run, int) or isinstance(run, bool)):
            raise InvalidInput(f"{where} has the run {excerpt(run)}; it is a number, from 0")
        if not isinstance(label, int | float) or not 0 <= label <= 1:
            raise InvalidInput(f"{where} has the label {excerpt(label)}; it is true, false, or a number from 0 to 1")
        yield where, case, run, float(label)
