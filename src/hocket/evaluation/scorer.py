"""What a scorer is: a function of an answer and its case. Those that come with hocket are in `hocket.evaluation.scorers`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeAlias, cast

from hocket._runtime.mode import ASYNC
from hocket.errors import InvalidInput
from hocket.evaluation.answer import Answer
from hocket.evaluation.cases import Case

__all__ = ["NamedScorer", "Score", "ScoreLike", "Scorer", "apply_scorer", "check_scorers", "name_scorer"]


@dataclass(frozen=True)
class Score:
    """What a scorer says.

    Attributes:
        value: from 0 to 1, or True or False; None: the scorer does not apply to this case.
        reason: why.
    """

    value: float | bool | None
    reason: str = ""


ScoreLike: TypeAlias = Score | float | bool | None
"""What a scorer may return."""

Scorer: TypeAlias = Callable[[Answer, Case], ScoreLike | Awaitable[ScoreLike]]
"""Gives an answer to a case a score; its ``__name__`` is the metric's. It may be async; another one runs in a thread."""


@dataclass(frozen=True, repr=False)
class NamedScorer:
    """A scorer of hocket's: it runs in the event loop, and says what its scores depend on.

    Args:
        name: of the metric.
        score: the function.
        version: what else its scores depend on, such as the model and the rubric of a judge: another version scores again.
    """

    name: str
    score: Scorer
    version: str = ""

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, answer: Answer, case: Case) -> ScoreLike | Awaitable[ScoreLike]:
        """Return the score of an answer."""
        return self.score(answer, case)

    def __repr__(self) -> str:
        return f"<scorer {self.name}>"


def name_scorer(scorer: Scorer) -> str:
    """Return the name of a scorer's metric."""
    return str(getattr(scorer, "__name__", None) or type(scorer).__name__)


def check_scorers(scorers: Sequence[Scorer]) -> dict[str, Scorer]:
    """Return scorers by their names.

    Raises:
        InvalidInput: there is none, one cannot be called, or two have one name.
    """
    named: dict[str, Scorer] = {}
    given = cast("object", scorers)
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise InvalidInput(f"scorers is {given!r}; it is a list of functions of an answer and a case, one at least")
    for scorer in scorers:
        name = name_scorer(scorer)
        if not callable(scorer) or isinstance(scorer, type):
            raise InvalidInput(f"a scorer is {scorer!r}; it is a function of an answer and a case")
        if name in named:
            raise InvalidInput(f"two scorers are called {name!r}; give one of them name=...")
        named[name] = scorer
    return named


async def apply_scorer(scorer: Scorer, answer: Answer, case: Case) -> Score:
    """Return what a scorer says.

    Raises:
        InvalidInput: it is no score.
        Exception: what the scorer raises.
    """
    if isinstance(scorer, NamedScorer) or iscoroutinefunction(scorer):
        said: Any = scorer(answer, case)
    else:
        said = await ASYNC.call_sync(scorer, answer, case)
    if isawaitable(said):
        said = await said
    score = said if isinstance(said, Score) else Score(said)
    value = cast(object, score.value)
    if value is None:
        return score
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(
            f"the scorer {name_scorer(scorer)} said {value!r} of the case {case.id!r}; it says True, False, a number from "
            "0 to 1, a Score, or None where it does not apply"
        )
    return Score(float(value), score.reason)
