"""Evaluation: whether a changed prompt, model or tool is better, told with an interval.

- `aevaluate`: asks a target for each case, scores its answers, and says what they come to; `read_report`: from its files.
- `compare`: two runs of the same cases: better, worse, the same, or not decided.
- `Case`, `Answer`, `Score`: what is asked, what came of it, and what a scorer says; `hocket.evaluation.scorers` has scorers.
- `acompare_pairs`: two runs compared by a judge that sees both answers; `measure_agreement`: how far a judge agrees with
  people.

What may be concluded from scores is in `hocket.evaluation.statistics`, which knows neither models nor files.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.evaluation.agreement import Agreement, measure_agreement
    from hocket.evaluation.answer import Answer, FoundDocument
    from hocket.evaluation.cases import Case, CaseLike, make_cases, read_cases
    from hocket.evaluation.comparison import compare
    from hocket.evaluation.files import Design
    from hocket.evaluation.page import write_page
    from hocket.evaluation.pairs import acompare_pairs, compare_pairs
    from hocket.evaluation.report import EvalReport, Metric, read_report
    from hocket.evaluation.run import aevaluate, evaluate
    from hocket.evaluation.scorer import NamedScorer, Score, Scorer
    from hocket.evaluation.scorers.calls import called
    from hocket.evaluation.scorers.data import fields, schema
    from hocket.evaluation.scorers.judging import judge
    from hocket.evaluation.scorers.limits import within
    from hocket.evaluation.scorers.meaning import similar
    from hocket.evaluation.scorers.preference import PairJudge, Preference, prefer
    from hocket.evaluation.scorers.retrieval import cites, mrr, ndcg_at, recall_at
    from hocket.evaluation.scorers.texts import close_to, contains, exact, matches
    from hocket.evaluation.verdict import EvalComparison, Verdict

__all__ = [
    "Agreement",
    "Answer",
    "Case",
    "CaseLike",
    "Design",
    "EvalComparison",
    "EvalReport",
    "FoundDocument",
    "Metric",
    "NamedScorer",
    "PairJudge",
    "Preference",
    "Score",
    "Scorer",
    "Verdict",
    "acompare_pairs",
    "aevaluate",
    "called",
    "cites",
    "close_to",
    "compare",
    "compare_pairs",
    "contains",
    "evaluate",
    "exact",
    "fields",
    "judge",
    "make_cases",
    "matches",
    "measure_agreement",
    "mrr",
    "ndcg_at",
    "prefer",
    "read_cases",
    "read_report",
    "recall_at",
    "schema",
    "similar",
    "within",
    "write_page",
]

__getattr__: Loader = loader(
    __name__,
    {
        "agreement": "Agreement measure_agreement",
        "answer": "Answer FoundDocument",
        "cases": "Case CaseLike make_cases read_cases",
        "comparison": "compare",
        "files": "Design",
        "page": "write_page",
        "pairs": "acompare_pairs compare_pairs",
        "report": "EvalReport Metric read_report",
        "run": "aevaluate evaluate",
        "scorer": "NamedScorer Score Scorer",
        "scorers.calls": "called",
        "scorers.data": "fields schema",
        "scorers.judging": "judge",
        "scorers.limits": "within",
        "scorers.meaning": "similar",
        "scorers.preference": "PairJudge Preference prefer",
        "scorers.retrieval": "cites mrr ndcg_at recall_at",
        "scorers.texts": "close_to contains exact matches",
        "verdict": "EvalComparison Verdict",
    },
)
