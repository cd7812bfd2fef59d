"""What a reply says of the limits of an account, in the dialects of OpenAI, Anthropic and their relatives.

OpenAI, and Azure, Groq, Together, Fireworks and more after it: ``x-ratelimit-limit-requests``, ``-remaining-``,
``-reset-`` and the same of ``tokens``. Anthropic: ``anthropic-ratelimit-input-tokens-limit`` and so on. Mistral and
Cerebras add the period: ``x-ratelimit-limit-tokens-minute``. All are read as words in any order; a header with a word
that is not known here is about something else.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from hocket.http.retry_after import parse_number, parse_time

__all__ = ["Kind", "RateLimit", "read_rate_limits"]

Kind = Literal["requests", "tokens", "input", "output"]
"""What a provider counts: requests, all tokens, or those that go in and come out."""

_PERIODS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "month": 30 * 86_400.0}
_NOISE = {"x", "anthropic", "ratelimit", "rate", "ms", "azure", "openai"}
_FIGURES = {"limit", "remaining", "reset"}
_KINDS: dict[frozenset[str], Kind] = {
    frozenset(): "requests",
    frozenset({"requests"}): "requests",
    frozenset({"req"}): "requests",
    frozenset({"tokens"}): "tokens",
    frozenset({"input", "tokens"}): "input",
    frozenset({"output", "tokens"}): "output",
}
_RATE_LIMIT = re.compile(r"rate-?limit")

LONGEST_MINUTE = 90.0
"""Seconds: a limit that takes longer to be whole again is none of a minute's."""


class RateLimit(NamedTuple):
    """One limit.

    Attributes:
        per_minute: its number; None: not told, or it is one of another period, such as a day.
        remaining: what is left of it; None: not told.
        reset: seconds until it is whole again; None: not told.
    """

    per_minute: float | None
    remaining: float | None
    reset: float | None


def read_rate_limits(headers: Mapping[str, str], *, now: datetime | None = None) -> dict[Kind, RateLimit]:
    """Return the limits that a reply tells of; what cannot be read is left out.

    Args:
        headers: of the reply, in lower case.
        now: the time that dates are compared with; default: this machine's.
    """
    figures: dict[tuple[Kind, float | None], dict[str, str]] = {}
    for name, text in headers.items():
        if _RATE_LIMIT.search(name) and (place := _place(name)) is not None:
            figure, kind, period = place
            figures.setdefault((kind, period), {})[figure] = text
    found: dict[Kind, RateLimit] = {}
    for (kind, period), texts in figures.items():
        try:
            limit = _read(texts, period, now or datetime.now(UTC))
        except Exception:  # a date in a year of twenty digits, and whatever else was not foreseen
            continue
        if limit is not None and (kind not in found or found[kind].per_minute is None):
            found[kind] = limit
    return found


def _place(name: str) -> tuple[str, Kind, float | None] | None:
    """Return which figure of which limit a header tells; None: of none."""
    words = set(_RATE_LIMIT.sub("ratelimit", name).split("-")) - _NOISE
    figure, periods = words & _FIGURES, words & _PERIODS.keys()
    kind = _KINDS.get(frozenset(words - figure - periods))
    if len(figure) != 1 or len(periods) > 1 or kind is None:
        return None
    period = _PERIODS[periods.pop()] if periods else None
    return figure.pop(), kind, period if kind != "requests" or period or words & {"requests", "req"} else 0.0


def _read(texts: Mapping[str, str], period: float | None, now: datetime) -> RateLimit | None:
    limit, remaining = parse_number(texts.get("limit")), parse_number(texts.get("remaining"))
    reset = parse_time(texts.get("reset"), now)
    if limit is not None and (limit <= 0 or period == 0.0 or (period is None and (reset or 0.0) > LONGEST_MINUTE)):
        limit = None
    elif limit is not None and period is not None:
        limit = limit * 60 / period if period <= 60 else None
    if limit is None and remaining is None:
        return None
    return RateLimit(limit, remaining, reset)
