"""How long a server asks us to wait, in all the dialects in which servers say so.

In the order in which they count: ``retry-after-ms``; ``retry-after`` in seconds or as a date (RFC 9110, 10.2.3);
Google's ``RetryInfo`` in the body ("34s"); and, where none of these is there, the reset times of the limits that the
reply says are used up, as Go durations ("6m0s", "120ms"), seconds, or RFC 3339 dates.
"""

import email.utils
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

__all__ = ["duration", "retry_after"]

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)")
_REMAINING = re.compile(r"ratelimit.*remaining")


def retry_after(headers: Mapping[str, str], body: Any = None, *, now: datetime | None = None) -> float | None:
    """Return the seconds to wait, 0 for a time that is past; None where the server does not say.

    Args:
        headers: of the reply, names in lower case.
        body: of the reply, as data, for Google's ``RetryInfo``.
        now: the time that dates are compared with; default: this machine's.
    """
    now = now or datetime.now(UTC)
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    for said in (_time(headers.get("retry-after"), now), _retry_info(body)):
        if said is not None:
            return said
    return max(_resets(headers, now), default=None)


def duration(text: str) -> float | None:
    """Return the seconds that a Go duration says ("6m0s", "120ms", "1h2m3.5s"); None if it is none."""
    if not text or _PART.sub("", text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _time(text: str | None, now: datetime) -> float | None:
    """Read seconds, a duration or a date."""
    if not text:
        return None
    seconds = _number(text)
    if seconds is None:
        seconds = duration(text)
    if seconds is not None:
        return max(0.0, seconds)
    at = _date(text)
    return None if at is None else max(0.0, (at - now).total_seconds())


def _date(text: str) -> datetime | None:
    for read in (email.utils.parsedate_to_datetime, datetime.fromisoformat):
        try:
            at = read(text)
        except ValueError:
            continue
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if abs(number) < 1e12 else None  # "nan" and "inf" are numbers to Python


def _resets(headers: Mapping[str, str], now: datetime) -> Iterable[float]:
    for name, value in headers.items():
        if _REMAINING.search(name) and _number(value) == 0:
            seconds = _time(headers.get(name.replace("remaining", "reset")), now)
            if seconds is not None:
                yield seconds


def _retry_info(body: Any) -> float | None:
    """Find the delay in Google's error details (google.rpc.RetryInfo)."""
    if isinstance(body, list) and body:
        body = body[0]
    error: Any = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    details: Any = cast("dict[str, Any]", error).get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay: Any = cast("dict[str, Any]", detail).get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (seconds := duration(delay)) is not None:
            return seconds
    return None
