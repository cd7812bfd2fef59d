"""An evaluation: two bulk runs, of answers and of their scores, and looks at both until the verdict is certain."""

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from hocket._runtime.mode import ASYNC
from hocket._runtime.sync_twin import sync_function
from hocket.batch import ResumeMismatch, TooManyFailures, arun_batch
from hocket.batch.fingerprint import make_code_key, make_fingerprint
from hocket.batch.progress import Progress
from hocket.batch.replay import read_open_batches
from hocket.batch.report import BatchReport
from hocket.batch.route import Via
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.evaluation.cases import Case, CaseLike, make_cases, make_digest
from hocket.evaluation.comparison import compare
from hocket.evaluation.files import AnswerLine, Design, is_final, name_run, read_answer_lines, write_line
from hocket.evaluation.report import EvalReport, make_report, read_report
from hocket.evaluation.scorer import Score, Scorer, apply_scorer, check_scorers
from hocket.evaluation.scores import ScoreRows, find_scores_path, name_score
from hocket.evaluation.statistics import order_cases, plan_looks
from hocket.evaluation.statistics.intervals import check_confidence, check_min_difference
from hocket.runnables import RunnableLambda, RunnablePassthrough
from hocket.runnables.base import AnyRunnable
from hocket.runnables.coercion import coerce_to_runnable

__all__ = ["aevaluate", "evaluate"]

Row = dict[str, Any]


async def aevaluate(
    target: AnyRunnable | Callable[..., Any] | None,
    cases: "str | os.PathLike[str] | Iterable[CaseLike]",
    scorers: Sequence[Scorer],
    out: str | os.PathLike[str],
    *,
    repeats: int = 1,
    baseline: str | os.PathLike[str] | None = None,
    metric: str | None = None,
    min_difference: float = 0.05,
    confidence: float = 0.95,
    max_concurrency: int = 100,
    version: str | None = None,
    via: Via = "live",
    retry_via: Via | None = None,
    wait: float | None = None,
    progress: Progress | None = None,
) -> EvalReport:
    """Ask a target for each case, score its answers, and say what they come to, with intervals.

    Answers are written into ``out``, scores next to it (``new.scores.jsonl`` for ``new.jsonl``), both by `arun_batch`: a run
    that was killed goes on when it is called again, and no answer and no judge is paid for twice. With a ``baseline``, an
    earlier run of the same cases, both are compared after each tenth of the cases, and the run stops as soon as the verdict
    is certain.

    Args:
        target: a model, a chain, an agent, a retriever, or a function of the input, async or not. None: the answers are in
            the cases' ``metadata["output"]``.
        cases: a file (`read_cases`), or cases, tuples of input and expectation, or mappings.
        scorers: functions of an `Answer` and a `Case`, such as `exact` or `judge`.
        out: the path of the answers.
        repeats: how often each case is asked.
        baseline: the answers of the run to compare with.
        metric: the one that decides when to stop; None: the first scorer's.
        min_difference: the least difference that matters, in (0, 1).
        confidence: of intervals and verdicts, in (0, 1).
        max_concurrency, version, via, retry_via, wait, progress: see `arun_batch`. ``version`` stands for the target.

    Raises:
        InvalidInput: an argument cannot be used: no case, two equal ids, no scorer, a ``baseline`` that is no run, a
            ``target`` that cannot be run. Nothing was asked.
        ResumeMismatch: ``out`` is of another target, of other cases or of another number of repeats.
        TooManyFailures, HocketError: see `arun_batch`.
    """
    asked = _coerce_target(target)
    if not isinstance(repeats, int) or repeats < 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"repeats is {repeats}; it is a whole number, 1 or more")
    named = check_scorers(scorers)
    decisive = next(iter(named)) if metric is None else metric
    if decisive not in named:
        raise InvalidInput(f"metric is {metric!r}, and no scorer is called so; the scorers are {', '.join(named)}")
    check_confidence(confidence)
    check_min_difference(min_difference)
    known = {case.id: case for case in await ASYNC.call_sync(make_cases, cases)}
    if baseline is not None:
        _check_baseline(await ASYNC.call_sync(read_report, baseline), decisive, known)  # before anything is asked
        known = {id: known[id] for id in order_cases(known)}
    design = Design(len(known), repeats, baseline is not None)
    evaluation = _Evaluation(asked, known, named, out, design)
    options: dict[str, Any] = {"max_concurrency": max_concurrency, "progress": progress}
    sent: dict[str, Any] = {"version": version, "via": via, "retry_via": retry_via, "wait": wait}
    looks = [*((len(known),) if baseline is None else plan_looks(len(known)))]
    under_way = await ASYNC.call_sync(_count_under_way, out)
    while len(looks) > 1 and looks[0] * repeats < under_way:
        looks.pop(0)
    while True:
        look = looks.pop(0)
        try:
            batch = await evaluation.ask(look, **options, **sent)
        except (ResumeMismatch, TooManyFailures) as error:
            for of_rows, ours in _WAYS_OUT:
                error.args = (re.sub(of_rows, ours, str(error)),)
            raise
        lines = await ASYNC.call_sync(lambda: [*read_answer_lines(out)])
        scored = await evaluation.score(lines, max_concurrency)
        report = await ASYNC.call_sync(make_report, out, lines, confidence, design)
        report.stopped = batch.stopped or scored.stopped
        if baseline is not None and decisive in report.metrics:
            report.comparison = await ASYNC.call_sync(
                compare, baseline, report, metric=decisive, min_difference=min_difference, confidence=confidence
            )
            if report.comparison[decisive].verdict != "not decided":
                return report
        if report.stopped is not None or not looks:
            return report


evaluate: Final = sync_function(aevaluate)
"""`aevaluate`, from sync code. Ctrl-C cancels it; the files can be gone on with."""


_WAYS_OUT = (
    (', or on_mismatch="redo" to ask again', ""),
    (
        "the rows of the first run, in its order",
        "the cases, repeats and baseline of the first run, or take another file",
    ),
    (
        r"rows that failed; or raise max_consecutive_failures=\d+",
        "what a server has failed at; what the target itself has done wrong is asked again in another file alone",
    ),
)
"""What errors of a bulk run say of it, and what an evaluation has in its place."""


def _count_under_way(out: str | os.PathLike[str]) -> int:
    """Return how many rows a look needs to have all those that are in batches: those of a later look would be left there."""
    try:
        return max((entry.numbers[-1] + 1 for entry in read_open_batches(out)), default=0)
    except (OSError, InvalidInput):  # it is not there yet, or no file of ours, which the run says
        return 0


def _coerce_target(target: object) -> AnyRunnable | None:
    try:
        return None if target is None else coerce_to_runnable(target)
    except TypeError as error:
        raise InvalidInput(
            f"target is {excerpt(target)}; it is a Runnable, such as a model or a chain, a function of the input, or None: "
            'each case has its "output"'
        ) from error


def _check_baseline(baseline: EvalReport, metric: str, cases: Mapping[str, Case]) -> None:
    if metric not in baseline.metrics:
        raise InvalidInput(f"{baseline.path} has no metric {metric!r}; it has {', '.join(baseline.metrics) or 'none'}")
    if not any(row["case"] in cases for row in baseline.rows):
        raise InvalidInput(f"{baseline.path} has none of these cases; compare with a run of the same ones")


class _Evaluation:
    """What is asked and scored, in as many parts as there are looks."""

    def __init__(
        self,
        target: AnyRunnable | None,
        cases: dict[str, Case],
        scorers: dict[str, Scorer],
        out: str | os.PathLike[str],
        design: Design,
    ) -> None:
        self._is_given = target is None
        self._target: AnyRunnable = RunnablePassthrough() if target is None else target
        code = make_code_key(target)
        self._version = f"{make_fingerprint(target)} {code}" if code else None
        self._runs = {name_run(id, run): case for id, case in cases.items() for run in range(design.repeats)}
        self._digests = {id: make_digest(case) for id, case in cases.items()}
        self._scorers = scorers
        self._out = out
        self._design = design
        self._score_rows: ScoreRows | None = None

    def ask(self, count: int, *, version: str | None, **options: Any) -> Awaitable[BatchReport]:
        """Ask for the first cases, as far as they are not answered."""
        is_live = options.get("via") == "live"
        runs = islice(self._runs.items(), count * self._design.repeats)

        def write(row: Row, result: object, seconds: float) -> dict[str, Any]:
            case = self._runs[row["id"]]
            return write_line(case, row["digest"], self._design, result, seconds if is_live else None)

        return arun_batch(
            self._target,
            [{"id": id, "digest": self._digests[case.id]} for id, case in runs],
            self._out,
            id="id",
            input=self._read_input,
            write=write,
            retry_failed=lambda row: not is_final(row),
            version="outputs" if self._is_given else version or self._version,
            **options,
        )

    def _read_input(self, row: Row) -> object:
        case = self._runs[row["id"]]
        if not self._is_given:
            return case.input
        if "output" not in case.metadata:
            raise InvalidInput(f'the case {case.id!r} has no "output", and there is no target that could be asked')
        return case.metadata["output"]

    async def score(self, lines: Sequence[AnswerLine], max_concurrency: int) -> BatchReport:
        """Score the answers without scores."""
        if self._score_rows is None:
            self._score_rows = await ASYNC.call_sync(ScoreRows, find_scores_path(self._out), self._scorers)
        versions = {name: getattr(one, "version", "") or make_code_key(one) for name, one in self._scorers.items()}
        scored = {
            name_score(id, name): ([line.mark, versions[name]], line.answer, self._runs[id], scorer)
            for line in lines
            if line.answer is not None and (id := name_run(line.case, line.run)) in self._runs
            for name, scorer in self._scorers.items()
        }

        async def score(row: Row) -> dict[str, Any]:
            if row["id"] not in scored:  # the list of scorers, or a place that nothing is wanted of
                return {"of": row["of"]}
            _, answer, case, scorer = scored[row["id"]]
            given = Score(0.0, answer.error) if answer.error else await apply_scorer(scorer, answer, case)
            return {"of": row["of"], **vars(given)}

        return await arun_batch(
            RunnableLambda(score),
            self._score_rows.place({id: of for id, (of, *_) in scored.items()}),
            find_scores_path(self._out),
            id="id",
            version="scores",
            on_mismatch="redo",
            max_consecutive_failures=None,
            max_concurrency=max_concurrency,
        )
