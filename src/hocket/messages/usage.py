"""Token usage of a reply, and how the reports of one stream add up.

Providers report usage while streaming in two ways that look alike: as increments, to be summed, and as a running total,
repeated or growing, of which the last counts. Summing totals charges a prompt once per chunk (LangChain issue #30429).
"""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ConfigDict
from typing_extensions import TypedDict  # pydantic refuses typing's TypedDict before Python 3.12

__all__ = [
    "InputTokenDetails",
    "OutputTokenDetails",
    "UsageMetadata",
    "add_usage",
    "is_running_total",
    "subtract_usage",
]


class InputTokenDetails(TypedDict, total=False):
    """Parts of the input tokens; they need not sum to the whole, and providers add keys of their own."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    audio: int
    cache_creation: int
    cache_read: int


class OutputTokenDetails(TypedDict, total=False):
    """Parts of the output tokens; they need not sum to the whole, and providers add keys of their own."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    audio: int
    reasoning: int


class _Counted(TypedDict):
    input_tokens: int
    output_tokens: int
    total_tokens: int


class UsageMetadata(_Counted, total=False):
    """Tokens that a call used: input, output, their total, and parts of either."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    input_token_details: InputTokenDetails
    output_token_details: OutputTokenDetails


def add_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Return the sum, key by key and part by part; a missing key counts as 0, as does None."""
    return cast(UsageMetadata, {**_NOTHING, **_combined(left or {}, right or {}, sign=1)})


def subtract_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Return ``left - right``, key by key, nothing below 0. (LangChain returns ``right`` where ``left`` is None.)"""
    return cast(UsageMetadata, {**_NOTHING, **_combined(left or {}, right or {}, sign=-1)})


_NOTHING = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


def _combined(left: Mapping[str, Any], right: Mapping[str, Any], *, sign: int) -> dict[str, Any]:
    combined: dict[str, Any] = {}
    for key in {**left, **right}:
        one, other = left.get(key), right.get(key)
        if isinstance(one, Mapping) or isinstance(other, Mapping):
            combined[key] = _combined(
                cast("Mapping[str, Any]", one or {}), cast("Mapping[str, Any]", other or {}), sign=sign
            )
        elif isinstance(one, str) or isinstance(other, str):
            combined[key] = one if other is None else other  # a provider's label, not a count
        else:
            total = (one or 0) + sign * (other or 0)
            combined[key] = total if sign > 0 else max(total, 0)
    return combined


def is_running_total(before: UsageMetadata, report: UsageMetadata) -> bool:
    """Whether ``report`` counts again what ``before``, the previous report of the same stream, had counted.

    It does when it names the same prompt, of more than 0 tokens, and no less output. An increment would say 0 for a
    prompt that was reported already.
    """
    prompt = report.get("input_tokens", 0)
    return 0 < prompt == before.get("input_tokens", 0) and report.get("output_tokens", 0) >= before.get(
        "output_tokens", 0
    )
