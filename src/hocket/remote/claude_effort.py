"""How much Anthropic's models are to think, in the words that they understand, on whichever road they are reached.

It is said in two ways: newer models take an effort and decide themselves (``adaptive``), older ones take a budget of tokens.
"""

import re

from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView

__all__ = ["encode_effort"]

_BUDGETED = re.compile(r".*claude-(3-7|(sonnet|opus)-4(?!-[5-9]\b)|(sonnet|haiku)-4-5)")
"""Models that think within a budget, and know no effort."""

_SHARES = {"minimal": 10, "low": 20, "medium": 50, "high": 80, "xhigh": 90, "max": 95}
"""The budget of each effort, in percent of the tokens of an answer."""

MIN_BUDGET, MAX_BUDGET = 1024, 128_000
"""The least budget that the API takes, and as many tokens as its models answer with at most."""


def encode_effort(
    effort: str | None,
    model: str,
    max_tokens: int,
    thinking: Fields | None = None,
    output_config: FieldsView | None = None,
) -> Fields:
    """Return the fields ``thinking`` and ``output_config`` of a body, where there is something to say.

    Args:
        effort: none, minimal, low, medium …; None: nothing is said of it.
        model: its name, with or without that of its family and region.
        max_tokens: of the answer.
        thinking, output_config: what else is said, in the API's words.

    Raises:
        InvalidInput: there is no such effort, or there are too few tokens to think at all.
    """
    config = dict(output_config or {})
    if effort == "none":
        thinking = thinking or {"type": "disabled"}
    elif effort is not None and _BUDGETED.match(model):
        thinking = thinking or {"type": "enabled", "budget_tokens": _compute_budget(effort, max_tokens)}
    elif effort is not None:
        thinking = thinking or {"type": "adaptive"}
        config["effort"] = "low" if effort == "minimal" else effort
    return {**({"thinking": thinking} if thinking else {}), **({"output_config": config} if config else {})}


def _compute_budget(effort: str, max_tokens: int) -> int:
    """Return the tokens to think with; a budget has to leave some of ``max_tokens`` for the answer."""
    if effort not in _SHARES:
        raise InvalidInput(f"reasoning_effort={effort!r} is none of none, {', '.join(_SHARES)}")
    if max_tokens <= MIN_BUDGET:
        raise InvalidInput(
            f"reasoning_effort={effort!r} needs at least {MIN_BUDGET} tokens to think with, and max_tokens={max_tokens} "
            "leaves none for the answer; raise max_tokens"
        )
    return min(MAX_BUDGET, max(MIN_BUDGET, max_tokens * _SHARES[effort] // 100))
