"""Days, months and other stretches of time for which a budget holds, in the clock of a place."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hocket.errors import InvalidInput

__all__ = ["ALWAYS", "Per", "Period", "find_period", "read_per", "read_timezone"]

Per: TypeAlias = Literal["day", "month"] | float | None
"""How long a budget holds: a calendar day or month, a number of seconds, or None: for ever."""


class Period(NamedTuple):
    """A stretch of time.

    Attributes:
        key: its name in a store.
        start, end: in seconds since 1970; the end is no part of it. None: for ever.
    """

    key: str
    start: float | None = None
    end: float | None = None

    def __contains__(self, now: object) -> bool:
        """Whether a moment, in seconds since 1970, is in it."""
        return self.start is None or self.end is None or (isinstance(now, float) and self.start <= now < self.end)


ALWAYS = Period("always")
"""The period that has neither beginning nor end."""


def find_period(now: float, per: Per, timezone: tzinfo) -> Period:
    """Return the period that a moment is in.

    Args:
        now: in seconds since 1970.
        per: how long periods are. Those of so many seconds are counted from 1970 on.
        timezone: whose days and months.
    """
    if per is None:
        return ALWAYS
    if not isinstance(per, str):
        return _find_stretch(now, round(per * 1000))
    here = datetime.fromtimestamp(now, timezone)
    first = here.replace(day=1) if per == "month" else here
    start, end = _midnight(first), _midnight(_next(first, per))
    while end <= now:  # a clock that was put back over midnight shows the old date once more
        first = _next(first, per)
        start, end = end, _midnight(_next(first, per))
    return Period(f"{first:%Y-%m}" if per == "month" else f"{first:%Y-%m-%d}", start, end)


def _find_stretch(now: float, length: int) -> Period:
    """Return the stretch of ``length`` milliseconds that a moment is in."""
    number = int(now * 1000) // length
    number += now >= (number + 1) * length / 1000  # a product of floats may be rounded either way
    number -= now < number * length / 1000
    return Period(f"{number}x{length}ms", number * length / 1000, (number + 1) * length / 1000)


def _next(day: datetime, per: str) -> datetime:
    return (day + timedelta(days=31)).replace(day=1) if per == "month" else day + timedelta(days=1)


def _midnight(day: datetime) -> float:
    return day.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()


def read_per(per: object) -> Per:
    """Return how long a budget is to hold.

    Raises:
        InvalidInput: it is neither "day" nor "month", nor a number of seconds of at least 1, nor None.
    """
    if per is None:
        return None
    if per in ("day", "month"):
        return per
    if isinstance(per, int | float) and not isinstance(per, bool) and 1 <= per < 1e10:
        return float(per)
    raise InvalidInput(f'per is {per!r}; it is "day", "month", a number of seconds (at least 1), or None: for ever')


def read_timezone(name: str) -> tzinfo:
    """Return a time zone by its name. Reads a file, but for UTC.

    Raises:
        InvalidInput: there is none of that name.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        raise InvalidInput(
            f"timezone is {name!r}, which is not known here; it is a name as 'Europe/Berlin' (where the system has no time "
            "zones: `pip install tzdata`)"
        ) from None
