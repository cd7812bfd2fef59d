"""The file of scores, beside that of the answers: a line for each answer and metric.

It is the file of a bulk run, which knows a row by its place. Answers come behind others, and scorers beside others: so a
place that was given away is kept, and nothing is scored twice. A scorer that is left out keeps its scores, which count again
when it is back. The first line says which scorers the run has now.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from hocket.batch import BatchRow, read_batch
from hocket.errors import InvalidInput

__all__ = ["ScoreRows", "Scores", "find_scores_path", "name_score", "read_scores"]

_SCORERS = "scorers"  # no score is called so: the id of an answer has a "#"
_NOTHING = {"of": None}  # what stands in a place that is empty for now


@dataclass(frozen=True)
class Scores:
    """What a file of scores says.

    Attributes:
        names: of the metrics that the run has now.
        given: by the name of a score (`name_score`) its value and its reason.
        errors: likewise the class of the error that its scorer has failed with.
        costs: of each line, in US dollars; None: not known.
    """

    names: list[str] = field(default_factory=list[str])
    given: dict[str, tuple[float | None, str]] = field(default_factory=dict[str, tuple[float | None, str]])
    errors: dict[str, str] = field(default_factory=dict[str, str])
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
        InvalidInput: it is no file of scores, or one is damaged.
        OSError: it cannot be read.
    """

    def __init__(self, path: str, metrics: Iterable[str]) -> None:
        self._rows: list[dict[str, Any]] = []
        for row, data in _read_rows(path):
            self._rows += [{"id": "", **_NOTHING}] * (row.row + 1 - len(self._rows))
            self._rows[row.row] = {"id": row.id, "of": data["of"]}
        self._rows[:1] = [{"id": _SCORERS, "of": [*metrics]}]  # its place is the first
        self._places = {row["id"]: place for place, row in enumerate(self._rows)}

    def place(self, wanted: Mapping[str, Sequence[object]]) -> list[dict[str, Any]]:
        """Return all rows; ``wanted``: what each score that is wanted depends on. Another row stays as it is."""
        for id, of in wanted.items():
            place = self._places.setdefault(id, len(self._rows))
            self._rows[place : place + 1] = [{"id": id, "of": of}]
        return self._rows


def read_scores(out: str | os.PathLike[str]) -> Scores:
    """Return the scores of a run, by the path of its answers.

    Raises:
        InvalidInput: a score is damaged, or nothing says what the scorers are.
        OSError: the file cannot be read.
    """
    path, scores = find_scores_path(out), Scores()
    for row, data in _read_rows(path):
        scores.costs.append(row.cost)
        if row.error is not None:
            scores.errors[str(row.id)] = row.error["type"]
        elif row.id == _SCORERS:
            scores.names.extend(data["of"])
        elif data != _NOTHING:
            scores.given[str(row.id)] = (data["value"], data["reason"])
    if scores.costs and not scores.names:
        raise InvalidInput(f"{path} does not say of which scorers it is; run the evaluation again, which writes it")
    return scores


def _read_rows(path: str) -> Iterator[tuple[BatchRow, dict[str, Any]]]:
    """Yield the rows of a file, each with what its line says; of one that has failed, that it says nothing."""
    for row in read_batch(path) if _is_begun(path) else ():
        data: object = _NOTHING if row.error is not None else row.output
        if not _is_whole(row, data):
            raise InvalidInput(
                f"{path} has a damaged score, in the line of row {row.row} ({row.id}); take that line out, and run the "
                "evaluation again: only that score is made again"
            )
        yield row, cast("dict[str, Any]", data)


def _is_begun(path: str) -> bool:
    """Whether a file has a line: a run that was killed may have left it without one, or half of it."""
    with open(path, "rb") if os.path.exists(path) else contextlib.nullcontext() as lines:
        return lines is not None and lines.readline().endswith(b"\n")


def _is_whole(row: BatchRow, data: object) -> bool:
    if not isinstance(data, dict):
        return False
    fields = cast("dict[str, Any]", data)
    if fields == _NOTHING or (row.id == _SCORERS and isinstance(fields.get("of"), list)):
        return True
    value: object = fields.get("value", "")
    is_score = value is None or (isinstance(value, int | float) and 0 <= value <= 1)
    return is_score and {"of", "reason"} <= fields.keys()
