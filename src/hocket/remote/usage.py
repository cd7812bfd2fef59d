"""Token usage, out of whatever numbers a server reports."""

import math
from collections.abc import Mapping
from typing import cast

from hocket.messages import UsageMetadata
from hocket.messages.content import Fields

__all__ = ["count_of", "counts_at", "make_usage"]


def count_of(value: object) -> int | None:
    """Return a number of tokens, 0 for one below; None where this is none. Some gateways send floats, some nonsense."""
    if isinstance(value, int) and not isinstance(value, bool):
        return max(value, 0)
    return max(int(value), 0) if isinstance(value, float) and math.isfinite(value) else None


def counts_at(source: object, names: Mapping[str, str]) -> dict[str, int]:
    """Return the counts that a server's data have, under other names.

    Args:
        source: the server's data; what is no mapping has none.
        names: what each count is to be called, and what the server calls it.
    """
    if not isinstance(source, Mapping):
        return {}
    raw = cast("Mapping[str, object]", source)
    return {name: count for name, key in names.items() if (count := count_of(raw.get(key))) is not None}


def make_usage(
    input_tokens: int | None,
    output_tokens: int | None,
    total_tokens: int | None = None,
    *,
    input_details: Mapping[str, int] | None = None,
    output_details: Mapping[str, int] | None = None,
) -> UsageMetadata:
    """Return usage in hocket's form.

    Args:
        input_tokens: of the prompt, those read from and written to a cache included.
        output_tokens: of the answer, reasoning included.
        total_tokens: what the server says; None: the sum.
        input_details, output_details: parts of these: cache_read, cache_creation, audio; reasoning, audio.
    """
    into, out = input_tokens or 0, output_tokens or 0
    usage: Fields = {
        "input_tokens": into,
        "output_tokens": out,
        "total_tokens": into + out if total_tokens is None else total_tokens,
    }
    if input_details:
        usage["input_token_details"] = dict(input_details)
    if output_details:
        usage["output_token_details"] = dict(output_details)
    return cast(UsageMetadata, usage)
