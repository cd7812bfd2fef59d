"""A model that chooses between two answers to one case. Which is shown first must not matter, so both orders are asked."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

from hocket.evaluation.answer import Answer
from hocket.evaluation.cases import Case
from hocket.evaluation.scorers.judging import JudgeModel, quote_case
from hocket.language_models import BaseChatModel

__all__ = ["Choice", "PairJudge", "Preference", "prefer"]

Choice: TypeAlias = Literal["first", "second", "neither"]
"""Which of two answers is better, as they are shown."""

_TASK = """You compare two answers to the same question, of other programs, by a rubric. Say first why, then which is \
better. The order in which they stand says nothing. Where neither is better by the rubric, say "neither".

The rubric:
{rubric}"""


@dataclass(frozen=True)
class Preference:
    """Which of two answers is better, and why."""

    better: Choice
    reason: str = ""


@dataclass(frozen=True)
class PairJudge:
    """What chooses between two answers.

    Args:
        name: of the verdict.
        choose: is given a case and two answers, in the order in which they are to be shown.
        version: what its choices depend on, such as model and rubric: another version asks again.
    """

    name: str
    choose: Callable[[Case, Answer, Answer], Awaitable[Preference]]
    version: str = ""


class _Comparison(BaseModel):
    """The comparison of two answers."""

    reason: str = Field(description="Why: one to three sentences that name what the rubric asks for.")
    better: Choice = Field(description="Which answer is better by the rubric.")


def prefer(model: BaseChatModel | str, rubric: str, *, name: str = "prefer") -> PairJudge:
    """Return what `acompare_pairs` asks: a model says which of two answers is better by a rubric, or neither.

    Args:
        model: a chat model that can be given a schema, or the name of one.
        rubric: what makes an answer the better one.
        name: of the verdict.

    Raises:
        InvalidInput: the rubric is empty, or the model takes no schema.
    """
    judging = JudgeModel(model, _TASK, rubric, _Comparison)

    async def choose(case: Case, first: Answer, second: Answer) -> Preference:
        said = await judging.ask(quote_case(case, first_answer=first.text, second_answer=second.text))
        return Preference(said.better, said.reason)

    return PairJudge(name, choose, judging.version)
