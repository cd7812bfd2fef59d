"""Days and months follow one another without a gap, in every time zone, at every moment."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from hocket.budgets.periods import ALWAYS, Per, find_period, read_per, read_timezone
from hocket.errors import InvalidInput

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/Sao_Paulo",  # its summer time began at midnight
    "Asia/Beirut",
    "America/Havana",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Pacific/Apia",  # which left out a day
]

moments = st.floats(1, 4_000_000_000, allow_nan=False)
pers = st.sampled_from([None, "day", "month"]) | st.floats(1, 1e8)


@given(moments, pers, st.sampled_from(ZONES))
def test_every_moment_is_in_one_period_and_its_end_in_the_next(now: float, per: Per, zone: str) -> None:
    period = find_period(now, per, ZoneInfo(zone))
    assert now in period
    if period.start is None or period.end is None:
        assert period == ALWAYS
        return
    assert period.start < period.end
    following = find_period(period.end, per, ZoneInfo(zone))
    assert following.start == period.end
    assert following.key != period.key
    assert find_period(period.start, per, ZoneInfo(zone)).key == period.key


@given(moments, st.sampled_from(["day", "month"]), st.sampled_from(ZONES))
def test_a_period_is_called_by_its_date(now: float, per: Per, zone: str) -> None:
    period = find_period(now, per, ZoneInfo(zone))
    assert period.start is not None
    first = datetime.fromtimestamp(period.start + 7200, ZoneInfo(zone))
    assert period.key == (f"{first:%Y-%m}" if per == "month" else f"{first:%Y-%m-%d}")


def test_days_may_have_23_or_25_hours() -> None:
    zone = ZoneInfo("Europe/Berlin")
    spring = find_period(datetime(2026, 3, 29, 12, tzinfo=UTC).timestamp(), "day", zone)
    autumn = find_period(datetime(2026, 10, 25, 12, tzinfo=UTC).timestamp(), "day", zone)
    assert [(period.key, period.end - period.start) for period in (spring, autumn)] == [  # type: ignore[operator]
        ("2026-03-29", 23 * 3600),
        ("2026-10-25", 25 * 3600),
    ]


@pytest.mark.parametrize("per", ["week", "", 0, 0.5, -1, float("nan"), float("inf"), True, [], "Day"], ids=repr)
def test_what_is_no_period_is_refused(per: object) -> None:
    with pytest.raises(InvalidInput, match=r"per is .*; it is"):
        read_per(per)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "\0", 5, None], ids=repr)
def test_what_is_no_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidInput, match="timezone is"):
        read_timezone(zone)
