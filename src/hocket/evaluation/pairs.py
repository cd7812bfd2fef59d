"""Two runs compared by a judge that is shown both answers at once.

Judges prefer what stands first, or second, whatever it says (Zheng et al., "Judging LLM-as-a-judge with MT-bench and
chatbot arena", 2023). So each pair is shown in both orders, and only a preference that survives the swap counts. A case is
then a score for each run, 1 for the preferred answer, 0 for the other, 0.5 each for neither, and the two runs are
compared as by any other metric.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias, cast

from hocket._runtime.mode import ASYNC
from hocket._runtime.sync_twin import sync_function
from hocket.batch import arun_batch, read_batch
from hocket.batch.progress import Progress
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.evaluation.answer import Answer
from hocket.evaluation.cases import Case
from hocket.evaluation.comparison import compare
from hocket.evaluation.files import AnswerLine, name_run, read_answer_lines
from hocket.evaluation.report import EvalReport, make_report, measure_scores
from hocket.evaluation.scorers.preference import PairJudge, Preference
from hocket.evaluation.statistics.intervals import check_confidence, check_min_difference
from hocket.evaluation.verdict import EvalComparison
from hocket.runnables import RunnableLambda

__all__ = ["acompare_pairs", "compare_pairs"]

_Path: TypeAlias = str | os.PathLike[str]
_Run: TypeAlias = Literal["old", "new"]
_BOTH: tuple[_Run, _Run] = ("old", "new")

_Better: TypeAlias = _Run | Literal["neither"]


async def acompare_pairs(
    old: _Path | EvalReport,
    new: _Path | EvalReport,
    judge: PairJudge,
    out: _Path,
    *,
    min_difference: float = 0.05,
    confidence: float = 0.95,
    max_concurrency: int = 100,
    progress: Progress | None = None,
) -> EvalComparison:
    """Compare two runs by a judge that sees the two answers to a case at once, in both orders.

    Run by run: the first answer to a case with the first. What was asked is in ``out``, by `arun_batch`: called again, it
    goes on where it was. An answer that has failed loses without being shown. The difference is wins less losses, as a
    part of all cases.

    Args:
        old, new: paths of answers, or reports.
        judge: see `prefer`.
        out: the path of its choices.
        min_difference: the least difference that matters, in (0, 1).
        confidence: of the verdict, in (0, 1).
        max_concurrency, progress: see `arun_batch`.

    Returns:
        one verdict, called as the judge is; ``swap_agreement``: the share of preferences that survived the swap.
        ``unscored`` names cases that the judge has failed at; the next call asks again.

    Raises:
        InvalidInput: a path is no run, the runs have nothing in common, the judge chose in no case, or
            an argument is out of range.
        BudgetExceeded: one is used up; the next call goes on.
        TooManyFailures, HocketError: see `arun_batch`.
    """
    if not isinstance(judge, PairJudge):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"judge is {excerpt(judge)}; it is made by prefer(model, rubric)")
    check_confidence(confidence)
    check_min_difference(min_difference)
    pairs = await ASYNC.call_sync(_Pairs, _find_path(old), _find_path(new), judge)
    if pairs.is_any:
        report = await arun_batch(
            RunnableLambda(pairs.choose),
            pairs.rows,
            out,
            id="id",
            input=itemgetter("id"),
            version=f"{judge.name} {judge.version}",
            on_mismatch="redo",
            max_concurrency=max_concurrency,
            progress=progress,
        )
        if report.stopped is not None:
            raise report.stopped
    return await ASYNC.call_sync(pairs.compare, out, min_difference, confidence)


compare_pairs: Final = sync_function(acompare_pairs)
"""`acompare_pairs`, from sync code."""


class _Pairs:
    """The answers of two runs to the same cases."""

    def __init__(self, old: str, new: str, judge: PairJudge) -> None:
        self._judge = judge
        self._paths: dict[_Run, str] = {"old": old, "new": new}
        self._lines: dict[_Run, dict[str, AnswerLine]] = {
            run: {name_run(line.case, line.run): line for line in read_answer_lines(path)}
            for run, path in self._paths.items()
        }
        self._asked = {f"{id}/{first}": (id, first) for id, first in product(self._lines["new"], _BOTH)}

    @property
    def is_any(self) -> bool:
        """Whether there is a pair."""
        return any(self._find(id) for id in self._lines["new"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What is asked, each in its place, also where there is no pair yet: a row is known again by its place."""
        return [
            {"id": key, "answers": [line and line.mark for line in self._get(id)]}
            for key, (id, _) in self._asked.items()
        ]

    def _get(self, id: str) -> list[AnswerLine | None]:
        return [self._lines[run].get(id) for run in _BOTH]

    def _find(self, id: str) -> tuple[AnswerLine, Answer, Answer] | None:
        """Return both answers to a case, and the case; None: one is missing, or the case is another one by now."""
        old, new = self._get(id)
        if old is None or new is None or old.answer is None or new.answer is None:
            return None
        if old.digest and new.digest and old.digest != new.digest:
            return None
        return (old if old.digest else new), old.answer, new.answer

    async def choose(self, key: str) -> dict[str, Any]:
        """Return which answer is better, as a row says it; ``None``: there is no pair."""
        id, first = self._asked[key]
        pair = self._find(id)
        if pair is None:
            return {"better": None}
        line, *answers = pair
        if (better := _choose_whole(*answers)) is not None:
            return {
                "better": better,
                "reason": "both have failed" if better == "neither" else "the other one has failed",
            }
        case = Case(line.input, line.expected, line.case, line.metadata or {})
        shown = answers if first == "old" else answers[::-1]
        said = await self._judge.choose(case, *shown)
        if not isinstance(cast("object", said), Preference) or said.better not in ("first", "second", "neither"):
            raise InvalidInput(f"the judge {self._judge.name} said {excerpt(said)}; it says a Preference")
        order = _BOTH if first == "old" else _BOTH[::-1]
        chosen = {"first": order[0], "second": order[1], "neither": "neither"}
        return {"better": chosen[said.better], "reason": said.reason}

    def compare(self, out: _Path, min_difference: float, confidence: float) -> EvalComparison:
        """Return what the choices in a file come to."""
        chosen = self._read_choices(out) if self.is_any else {}
        name = self._judge.name
        reports = [
            _score(make_report(self._paths[run], [*self._lines[run].values()], confidence), run, name, chosen)
            for run in _BOTH
        ]
        comparison = compare(*reports, min_difference=min_difference, confidence=confidence)
        shown = [both for id, both in chosen.items() if _choose_whole(*cast("Any", self._find(id))[1:]) is None]
        preferred = [both for both in shown if set(both) != {"neither"}]
        missing = {self._lines["new"][id].case for id in self._lines["new"] if id not in chosen and self._find(id)}
        return replace(
            comparison,
            unscored=sorted(missing),
            swap_agreement=sum(len(set(both)) == 1 for both in preferred) / len(preferred) if preferred else None,
        )

    def _read_choices(self, out: _Path) -> dict[str, list[_Better]]:
        """Return for each pair what was chosen in both orders."""
        found: dict[str, list[_Better]] = {}
        keys = [*self._asked]
        for row in read_batch(out):
            said = cast("Mapping[str, Any]", row.output or {}).get("better")
            is_ours = keys[row.row : row.row + 1] == [row.id]  # not what an earlier, longer file had there
            if said is not None and is_ours:
                found.setdefault(self._asked[str(row.id)][0], []).append(said)
        return {id: both for id, both in found.items() if len(both) == len(_BOTH)}


def _find_path(run: _Path | EvalReport) -> str:
    return run.path if isinstance(run, EvalReport) else os.fspath(run)


def _choose_whole(old: Answer, new: Answer) -> _Better | None:
    """Return the answer that has not failed; None: neither has, so that a judge has to choose."""
    if old.error is None and new.error is None:
        return None
    return "neither" if old.error and new.error else "new" if old.error else "old"


def _score(report: EvalReport, run: _Run, name: str, chosen: Mapping[str, list[_Better]]) -> EvalReport:
    """Return a report with nothing but what was chosen for its scores."""
    rows: list[dict[str, Any]] = []
    for row in report.rows:
        both = chosen.get(name_run(row["case"], row["run"]))
        better = None if both is None else both[0] if len(set(both)) == 1 else "neither"
        scores = {} if better is None else {name: 0.5 if better == "neither" else float(better == run)}
        rows.append({**row, "scores": scores, "reasons": {}})
    metric = measure_scores(name, rows, 0.95)
    return replace(report, rows=rows, metrics={} if metric is None else {name: metric})
