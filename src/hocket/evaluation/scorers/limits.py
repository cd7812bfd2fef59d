"""A scorer of what an answer has taken."""

from decimal import Decimal

from hocket.errors import InvalidInput
from hocket.evaluation.answer import Answer
from hocket.evaluation.cases import Case
from hocket.evaluation.scorer import NamedScorer, Score

__all__ = ["within"]


def within(
    *, seconds: float | None = None, usd: float | Decimal | None = None, tokens: int | None = None, name: str = "within"
) -> NamedScorer:
    """Return a scorer: whether the answer took no more than each limit.

    Where one of them is not known, as the seconds of a provider's batch or the cost of a model without a price, and no
    other is exceeded, the answer is not scored.

    Args:
        seconds: until the whole answer.
        usd: that it cost.
        tokens: of input and output together.
        name: of the metric.

    Raises:
        InvalidInput: there is no limit, or one is negative.
    """
    limits = {"seconds": seconds, "usd": usd, "tokens": tokens}
    given = {what: Decimal(str(limit)) for what, limit in limits.items() if limit is not None}
    if not given:
        raise InvalidInput("within() has no limit; give seconds=, usd= or tokens=")
    for what, limit in given.items():
        if not limit >= 0:
            raise InvalidInput(f"{what} is {limit}; it is 0 or more")

    def score(answer: Answer, case: Case) -> Score | None:
        used = {
            "seconds": answer.seconds,
            "usd": answer.cost,
            "tokens": None if answer.usage is None else answer.usage["total_tokens"],
        }
        known = {what: Decimal(str(amount)) for what in given if (amount := used[what]) is not None}
        over = [f"{known[what]:.6g} {what} of {given[what]}" for what in known if known[what] > given[what]]
        return None if not over and len(known) < len(given) else Score(not over, ", ".join(over))

    return NamedScorer(name, score, " ".join(f"{what}={limit}" for what, limit in given.items()))
