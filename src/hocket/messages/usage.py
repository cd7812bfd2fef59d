"""Token usage of a reply, and how the reports of one stream add up.

Providers report usage while streaming in two ways that look alike: as increments, to be summed, and as a running total,
repeated or growing, of which the last counts. Summing totals charges a prompt once per chunk (LangChain issue #30429).
"""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import with_config
from typing_extensions import TypedDict  # pydantic refuses typing's TypedDict before Python 3.12

from hocket.messages.content import Fields, FieldsView
from hocket.messages.pieces import copy_containers

__all__ = [
    "InputTokenDetails",
    "OutputTokenDetails",
    "UsageMetadata",
    "add_counts",
    "add_report",
    "add_usage",
    "is_running_total",
    "subtract_usage",
    "with_total",
]


@with_config(extra="allow")
class InputTokenDetails(TypedDict, total=False):
    """Parts of the input tokens; they need not sum to the whole, and providers add keys of their own."""

    audio: int
    cache_creation: int
    cache_read: int


@with_config(extra="allow")
class OutputTokenDetails(TypedDict, total=False):
    """Parts of the output tokens; they need not sum to the whole, and providers add keys of their own."""

    audio: int
    reasoning: int


class _Counted(TypedDict):
    input_tokens: int
    output_tokens: int
    total_tokens: int


@with_config(extra="allow")
class UsageMetadata(_Counted, total=False):
    """Tokens that a call used: input, output, their total, and parts of either."""

    input_token_details: InputTokenDetails
    output_token_details: OutputTokenDetails


def add_counts(left: FieldsView, right: FieldsView) -> Fields:
    """Return the sum of two providers' reports in their own words, key by key and part by part."""
    return _combine(left, right, sign=1)


def add_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Return the sum, key by key and part by part; a missing key counts as 0, as does None."""
    return cast(UsageMetadata, {**_NOTHING, **_combine(left or {}, right or {}, sign=1)})


def subtract_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Return ``left - right``, key by key, nothing below 0. (LangChain returns ``right`` where ``left`` is None.)"""
    return cast(UsageMetadata, {**_NOTHING, **_combine(left or {}, right or {}, sign=-1)})


_NOTHING = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


def _combine(left: FieldsView, right: FieldsView, *, sign: int) -> Fields:
    combined: Fields = {}
    for key in {**left, **right}:
        one, other = left.get(key), right.get(key)
        if isinstance(one, Mapping) or isinstance(other, Mapping):
            combined[key] = _combine(_mapping(one), _mapping(other), sign=sign)
        elif _is_count(one) or _is_count(other):
            total = _count(one) + sign * _count(other)
            combined[key] = total if sign > 0 else max(total, 0)
        else:
            combined[key] = copy_containers(one if other is None else other)  # a provider's label, not a count
    return combined


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> Any:
    return value if _is_count(value) else 0


def _mapping(value: Any) -> FieldsView:
    return cast(FieldsView, value) if isinstance(value, Mapping) else {}


def add_report(so_far: UsageMetadata | None, report: UsageMetadata) -> UsageMetadata:
    """Return the usage of a stream after one more ``report``: its sum, or the report itself if it is a running total.

    What a running total does not mention stays as it was.
    """
    if so_far is not None and is_running_total(so_far, report):
        return cast(UsageMetadata, _renew(so_far, report))
    return add_usage(so_far, report)


def _renew(before: FieldsView, after: FieldsView) -> Fields:
    renewed = {**before}
    for key, value in after.items():
        if isinstance(value, Mapping):
            renewed[key] = _renew(_mapping(before.get(key)), cast(FieldsView, value))
        elif value is not None:
            renewed[key] = copy_containers(value)
    return renewed


def is_running_total(so_far: UsageMetadata, report: UsageMetadata) -> bool:
    """Whether ``report`` counts again what the same stream has reported so far.

    It does when it names the same prompt, of more than 0 tokens, and no less output. An increment would say 0 for a
    prompt that was reported already.
    """
    prompt = report.get("input_tokens", 0)
    return 0 < prompt == so_far.get("input_tokens", 0) and report.get("output_tokens", 0) >= so_far.get(
        "output_tokens", 0
    )


def with_total(usage: Any) -> Any:
    """Return ``usage`` with the total of its input and output tokens, if the provider left that out."""
    if not isinstance(usage, dict):
        return usage
    given = cast(Fields, usage)
    if given.get("total_tokens") is not None:
        return given
    both = given.get("input_tokens"), given.get("output_tokens")
    return {**given, "total_tokens": _count(both[0]) + _count(both[1])} if all(map(_is_count, both)) else given
