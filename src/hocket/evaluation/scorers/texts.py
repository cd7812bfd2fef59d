"""Scorers of texts: the same, a part of it, a pattern, a number. None takes longer than 50 ms for a million characters."""

import math
import re
from collections.abc import Callable
from typing import cast

from hocket._schemas import is_equal
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt, shorten
from hocket.evaluation.answer import Answer, write_input
from hocket.evaluation.cases import Case
from hocket.evaluation.scorer import NamedScorer, Score
from hocket.evaluation.scorers.data import read_data

__all__ = ["close_to", "contains", "exact", "matches"]

_DIGIT = re.compile("[0-9]")
_OF_NUMBERS = re.compile(r"[0-9.,eE+\u2212-]{1,1000}")  # more digits than a float has
_NUMBER = re.compile(
    r"""(?:(?<![\w.,)])[-\u2212])?
    (?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)
    (?:[eE][-+\u2212]?[0-9]+)?""",
    re.VERBOSE,
)


def exact(*, ignore_case: bool = False, name: str = "exact") -> NamedScorer:
    """Return a scorer: whether the answer is what is expected.

    A text is compared with the answer's text, without blanks around both. Other data are compared as JSON, where true is
    not 1; of an answer that is a text, the JSON in it.
    """
    fold = _choose_fold(ignore_case)

    def score(answer: Answer, case: Case) -> Score | bool | None:
        wanted: object = case.expected
        if wanted is None:
            return None
        if isinstance(wanted, str):
            return fold(answer.text.strip()) == fold(wanted.strip())
        try:
            return is_equal(read_data(answer), write_input(wanted))
        except ValueError:
            return Score(False, "no JSON")

    return NamedScorer(name, score, f"ignore_case={ignore_case}")


def contains(*, ignore_case: bool = True, name: str = "contains") -> NamedScorer:
    """Return a scorer: whether the answer's text contains what is expected: a text, or each of a list of texts."""
    fold = _choose_fold(ignore_case)

    def score(answer: Answer, case: Case) -> Score | None:
        given: object = write_input(case.expected)
        several = cast("list[object]", given) if isinstance(given, list) else [given]
        wanted = [str(one) for one in several if one is not None and one != ""]
        if any(isinstance(one, list | dict) for one in several):
            raise InvalidInput(
                f"the case {case.id!r} expects {excerpt(case.expected)}; contains() takes a text, or a list of texts"
            )
        if not wanted:
            return None
        text = fold(answer.text)
        missing = [one for one in wanted if fold(one) not in text]
        return Score(not missing, f"missing: {shorten(', '.join(missing), 200)}" if missing else "")

    return NamedScorer(name, score, f"ignore_case={ignore_case}")


def matches(pattern: str | re.Pattern[str], *, name: str = "matches") -> NamedScorer:
    """Return a scorer: whether a regular expression is found somewhere in the answer's text.

    It is searched in the event loop. A pattern that tries too many ways, such as ``(a+)+$``, can hold up the whole process
    for minutes, in a thread as well: write it so that a text can match it in one way only.

    Raises:
        InvalidInput: it is no regular expression of Python's.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InvalidInput(f"pattern is {pattern!r}, and no regular expression: {error}") from error

    def score(answer: Answer, case: Case) -> bool:
        return compiled.search(answer.text) is not None

    return NamedScorer(name, score, f"{compiled.pattern} {compiled.flags}")


def close_to(tolerance: float = 0.0, *, relative: float = 0.0, name: str = "close_to") -> NamedScorer:
    """Return a scorer: whether the last number in the answer's text is the one that is expected, or close to it.

    A point separates decimals, a comma may separate thousands: ``1,234.5``, ``-3e-7``.

    Args:
        tolerance: how far off it may be.
        relative: the same, as a part of the expected number: 0.01 is one percent. The greater of the two counts.
        name: of the metric.

    Raises:
        InvalidInput: one of them is negative, or not finite.
    """
    for what, given in (("tolerance", tolerance), ("relative", relative)):
        if not 0 <= given < math.inf:
            raise InvalidInput(f"{what} is {given!r}; it is 0 or more, and finite")

    def score(answer: Answer, case: Case) -> Score | None:
        if case.expected is None:
            return None
        wanted = _read_number(case.expected)
        if wanted is None:
            raise InvalidInput(
                f"the case {case.id!r} expects {excerpt(case.expected)}; close_to() compares with a number"
            )
        found = _read_number(answer.text)
        if found is None:
            return Score(False, "no number")
        is_near = found == wanted or abs(found - wanted) <= max(tolerance, relative * abs(wanted))
        return Score(is_near, f"the number is {found:g}")

    return NamedScorer(name, score, f"tolerance={tolerance} relative={relative}")


def _choose_fold(ignore_case: bool) -> Callable[[str], str]:
    return str.casefold if ignore_case else str


def _read_number(value: object) -> float | None:
    """Return a number, or the last one in a text; None: there is none.

    It is looked for from the end, so that a long text costs no more than a short one.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = value if isinstance(value, str) else ""
    backwards = text[::-1]
    last = _DIGIT.search(backwards)
    if last is None:
        return None
    run = _OF_NUMBERS.match(backwards, last.start())
    assert run is not None  # a digit is one of its characters
    found = [*_NUMBER.finditer(text, len(text) - run.end(), len(text) - last.start())]
    return float(found[-1][0].replace(",", "").replace("\N{MINUS SIGN}", "-"))
