"""Evaluation: whether a changed prompt, model or tool is better, told with an interval.

- `aevaluate`: asks a target for each case, scores its answers, and says what they come to; `read_report`: from its files.
- `compare`: two runs of the same cases: better, worse, the same, or not decided.
- `Case`, `Answer`, `Score`: what is asked, what came of it, and what a scorer says.

What may be concluded from scores is in `hocket.evaluation.statistics`, which knows neither models nor files.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.evaluation.answer import Answer, FoundDocument
    from hocket.evaluation.cases import Case, CaseLike, make_cases, read_cases
    from hocket.evaluation.comparison import compare
    from hocket.evaluation.files import Design
    from hocket.evaluation.page import write_page
    from hocket.evaluation.report import EvalReport, Metric, read_report
    from hocket.evaluation.run import aevaluate, evaluate
    from hocket.evaluation.scorer import Score, Scorer
    from hocket.evaluation.verdict import EvalComparison, Verdict

__all__ = [
    "Answer",
    "Case",
    "CaseLike",
    "Design",
    "EvalComparison",
    "EvalReport",
    "FoundDocument",
    "Metric",
    "Score",
    "Scorer",
    "Verdict",
    "aevaluate",
    "compare",
    "evaluate",
    "make_cases",
    "read_cases",
    "read_report",
    "write_page",
]

__getattr__: Loader = loader(
    __name__,
    {
        "answer": "Answer FoundDocument",
        "cases": "Case CaseLike make_cases read_cases",
        "comparison": "compare",
        "files": "Design",
        "page": "write_page",
        "report": "EvalReport Metric read_report",
        "run": "aevaluate evaluate",
        "scorer": "Score Scorer",
        "verdict": "EvalComparison Verdict",
    },
)
