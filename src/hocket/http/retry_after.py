"""How long a server asks us to wait, in all the dialects in which servers say so.

In the order in which they count: ``retry-after-ms``; ``retry-after`` in seconds or as a date (RFC 9110, 10.2.3);
Google's ``RetryInfo`` in the body ("34s"); and, where none of these is there, the reset times of the limits that the
reply says are used up, as Go durations ("6m0s", "120ms"), seconds, or RFC 3339 dates.
"""

import email.utils
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import cast

from hocket._json import JSON

__all__ = ["parse_duration", "parse_number", "parse_time", "read_retry_after"]

FOREVER = 1e12
"""Seconds that are no wait any more: 30,000 years."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)")
_LONGEST = 100  # characters of a duration: to look for one takes the square of their number
_REMAINING = re.compile(r"ratelimit.*remaining")


def read_retry_after(headers: Mapping[str, str], body: object = None, *, now: datetime | None = None) -> float | None:
    """Return the seconds to wait, 0 for a time that is past; None where the server does not say, or says nonsense.

    Args:
        headers: of the reply, names in lower case.
        body: of the reply, as data, for Google's ``RetryInfo``.
        now: the time that dates are compared with; default: this machine's.
    """
    try:
        seconds = _read_wait(headers, body, now or datetime.now(UTC))
    except Exception:  # a date in a year of twenty digits, and whatever else was not foreseen
        return None
    return seconds if seconds is not None and seconds < FOREVER else None


def parse_duration(text: str) -> float | None:
    """Return the seconds of a Go duration ("6m0s", "120ms", "1h2m3.5s"); None if it is none."""
    if not 0 < len(text) <= _LONGEST or _PART.sub("", text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _read_wait(headers: Mapping[str, str], body: object, now: datetime) -> float | None:
    milliseconds = parse_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    for seconds in (parse_time(headers.get("retry-after"), now), _find_retry_info(cast(JSON, body))):
        if seconds is not None:
            return seconds
    return max(_find_resets(headers, now), default=None)


def parse_time(text: str | None, now: datetime) -> float | None:
    """Return the seconds from ``now`` of a number of seconds, a duration or a date; None: it is none of these."""
    if not text:
        return None
    seconds = parse_number(text)
    if seconds is None:
        seconds = parse_duration(text)
    if seconds is not None:
        return max(0.0, seconds)
    date = _parse_date(text)
    return None if date is None else max(0.0, (date - now).total_seconds())


def _parse_date(text: str) -> datetime | None:
    for parse in (email.utils.parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = parse(text)
        except ValueError:
            continue
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    return None


def parse_number(text: str | None) -> float | None:
    """Return the number that a header tells; None: it tells none, or one beyond all sense."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if abs(number) < FOREVER else None  # "nan" and "inf" are numbers to Python


def _find_resets(headers: Mapping[str, str], now: datetime) -> Iterable[float]:
    for name, value in headers.items():
        if _REMAINING.search(name) and parse_number(value) == 0:
            seconds = parse_time(headers.get(name.replace("remaining", "reset")), now)
            if seconds is not None:
                yield seconds


def _find_retry_info(body: JSON) -> float | None:
    """Find the delay in Google's error details (google.rpc.RetryInfo)."""
    if isinstance(body, list) and body:
        body = body[0]
    match body:
        case {"error": {"details": list(details)}}:
            delays = [one.get("retryDelay") for one in details if isinstance(one, dict)]
            found = [parse_duration(delay) for delay in delays if isinstance(delay, str)]
            return next((seconds for seconds in found if seconds is not None), None)
        case _:
            return None
