"""Token usage, out of the format's words and those of the servers that have their own for a cached prompt."""

from collections.abc import Mapping
from typing import Any, cast

from hocket.messages import UsageMetadata

__all__ = ["decode_usage"]

INPUT = {"cache_read": "cached_tokens", "cache_creation": "cache_write_tokens", "audio": "audio_tokens"}
OUTPUT = {"reasoning": "reasoning_tokens", "audio": "audio_tokens"}
CACHE_READ = ("prompt_cache_hit_tokens", "cached_tokens")
"""Where DeepSeek, and Moonshot and Together, say how much of a prompt was cached."""


def decode_usage(usage: Any) -> UsageMetadata | None:
    """Return the usage that a server reports; None where it reports none. What it does not mention is left out."""
    if not isinstance(usage, dict) or not usage:
        return None
    raw = cast("dict[str, Any]", usage)
    into, out = _count(raw.get("prompt_tokens")) or 0, _count(raw.get("completion_tokens")) or 0
    total = _count(raw.get("total_tokens"))
    made: dict[str, Any] = {
        "input_tokens": into,
        "output_tokens": out,
        "total_tokens": into + out if total is None else total,
    }
    details = _details(raw.get("prompt_tokens_details"), INPUT)
    if "cache_read" not in details:
        cached = next((count for name in CACHE_READ if (count := _count(raw.get(name))) is not None), None)
        details |= {} if cached is None else {"cache_read": cached}
    if details:
        made["input_token_details"] = details
    if details := _details(raw.get("completion_tokens_details"), OUTPUT):
        made["output_token_details"] = details
    return cast(UsageMetadata, made)


def _details(details: Any, names: Mapping[str, str]) -> dict[str, int]:
    if not isinstance(details, dict):
        return {}
    raw = cast("dict[str, Any]", details)
    return {name: count for name, key in names.items() if (count := _count(raw.get(key))) is not None}


def _count(value: Any) -> int | None:
    """A number of tokens; some gateways send floats."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
