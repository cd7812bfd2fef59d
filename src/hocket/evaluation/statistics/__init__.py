"""What scores allow to be said: intervals, comparisons of two runs, and when to stop asking. Pure, without I/O.

The unit is the case. The runs of one case depend on one another, so they are averaged before anything else, and each
statement is about *cases like these*. Chance is drawn from a fixed seed, in an order of cases that is a digest of their
ids: the same scores give the same numbers, on each machine and in whichever order they were written.

The standard library is enough for that. scipy and statsmodels weigh 110 MB; the tests hold these functions to theirs.
"""

from hocket.evaluation.statistics.bootstrap import measure_kappa, measure_ratio
from hocket.evaluation.statistics.comparison import RunScores, average, compare_metrics, order_cases
from hocket.evaluation.statistics.intervals import Interval, estimate_mean
from hocket.evaluation.statistics.looks import PairedLook, PairedLooks, PairedResult, VerdictWord, plan_looks

__all__ = [
    "Interval",
    "PairedLook",
    "PairedLooks",
    "PairedResult",
    "RunScores",
    "VerdictWord",
    "average",
    "compare_metrics",
    "estimate_mean",
    "measure_kappa",
    "measure_ratio",
    "order_cases",
    "plan_looks",
]
