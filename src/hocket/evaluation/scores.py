"""The file of scores, beside that of the answers: a line for each answer and metric.

It is the file of a bulk run, which knows a row by its place. Answers come behind others, and scorers beside others: so a
place that was given away is kept, and nothing is scored twice. A scorer that is left out keeps its scores, which count again
when it is back. The first line says which scorers the run has now.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from hocket.batch import read_batch

__all__ = ["ScoreRows", "Scores", "find_scores_path", "name_score", "read_scores"]

_SCORERS = "scorers"  # no score is called so: the id of an answer has a "#"
_NOTHING = {"of": None}  # what stands in a place that is empty for now


@dataclass(frozen=True)
class Scores:
    """What a file of scores says.

    Attributes:
        names: of the metrics that the run has now.
        given: by the name of a score (`name_score`) its value and its reason.
        costs: of each line, in US dollars; None: not known.
    """

    names: list[str] = field(default_factory=list[str])
    given: dict[str, tuple[float | None, str]] = field(default_factory=dict[str, tuple[float | None, str]])
    costs: list[Decimal | None] = field(default_factory=list[Decimal | None])


def find_scores_path(out: str | os.PathLike[str]) -> str:
    """Return the path of the scores beside that of the answers: ``new.scores.jsonl`` beside ``new.jsonl``."""
    root, ending = os.path.splitext(str(os.fspath(out)))
    return f"{root}.scores{ending or '.jsonl'}"


def name_score(line: str, metric: str) -> str:
    """Return the id of the score that an answer has of a metric; ``line``: the id of the answer."""
    return f"{line}/{metric}"


class ScoreRows:
    """The rows of a file of scores, in their places.

    Args:
        path: of the file; there may be none yet.
        metrics: of which scorers the run is.

    Raises:
        InvalidInput: it is no file of a bulk run.
        OSError: it cannot be read.
    """

    def __init__(self, path: str, metrics: Iterable[str]) -> None:
        self._rows: list[dict[str, Any]] = []
        for row in read_batch(path) if os.path.exists(path) else ():
            self._rows += [{"id": ""}] * (row.row + 1 - len(self._rows))
            self._rows[row.row] = {"id": row.id, "of": cast("Mapping[str, Any]", row.output or {}).get("of")}
        self._rows[:1] = [{"id": _SCORERS, "of": [*metrics]}]  # its place is the first
        self._places = {row["id"]: place for place, row in enumerate(self._rows)}

    def place(self, wanted: Mapping[str, Sequence[object]]) -> list[dict[str, Any]]:
        """Return all rows; ``wanted``: what each score that is wanted depends on. Another row stays as it is."""
        for id, of in wanted.items():
            place = self._places.setdefault(id, len(self._rows))
            self._rows[place : place + 1] = [{"id": id, "of": of}]
        return self._rows


def read_scores(out: str | os.PathLike[str]) -> Scores:
    """Return the scores of a run, by the path of its answers."""
    path = find_scores_path(out)
    scores = Scores()
    for row in read_batch(path) if os.path.exists(path) else ():
        scores.costs.append(row.cost)
        data = cast("dict[str, Any]", row.output or {})
        if row.id == _SCORERS:
            scores.names.extend(data["of"])
        elif row.output not in (None, _NOTHING):
            scores.given[str(row.id)] = (data["value"], data["reason"])
    return scores
