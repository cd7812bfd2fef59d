"""What replies tell of limits, in the dialects of servers."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.http.rate_limits import RateLimit, read_rate_limits

NOW = datetime(2026, 11, 23, 12, 0, 0, tzinfo=UTC)

OPENAI = {
    "x-ratelimit-limit-requests": "5000",
    "x-ratelimit-limit-tokens": "800000",
    "x-ratelimit-remaining-requests": "4999",
    "x-ratelimit-remaining-tokens": "799976",
    "x-ratelimit-reset-requests": "12ms",
    "x-ratelimit-reset-tokens": "1ms",
}
ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "49",
    "anthropic-ratelimit-requests-reset": "2026-11-23T12:00:01Z",
    "anthropic-ratelimit-input-tokens-limit": "30000",
    "anthropic-ratelimit-input-tokens-remaining": "0",
    "anthropic-ratelimit-input-tokens-reset": "2026-11-23T12:00:30Z",
    "anthropic-ratelimit-output-tokens-limit": "8000",
    "anthropic-ratelimit-output-tokens-remaining": "8000",
    "anthropic-ratelimit-output-tokens-reset": "2026-11-23T12:00:00Z",
}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (OPENAI, {"requests": RateLimit(5000, 4999, 0.012), "tokens": RateLimit(800_000, 799_976, 0.001)}),
        (
            ANTHROPIC,
            {
                "requests": RateLimit(50, 49, 1),
                "input": RateLimit(30_000, 0, 30),
                "output": RateLimit(8000, 8000, 0),
            },
        ),
        # A limit of a day: it takes longer than a minute to be whole again (Groq, and OpenAI's free tier).
        (
            {
                "x-ratelimit-limit-requests": "200",
                "x-ratelimit-remaining-requests": "199",
                "x-ratelimit-reset-requests": "7m12s",
            },
            {"requests": RateLimit(None, 199, 432)},
        ),
        # Cerebras and Mistral name the period.
        (
            {
                "x-ratelimit-limit-requests-day": "14400",
                "x-ratelimit-remaining-requests-day": "14399",
                "x-ratelimit-limit-tokens-minute": "60000",
                "x-ratelimit-remaining-tokens-minute": "59000",
                "x-ratelimit-reset-tokens-minute": "12.5",
            },
            {"requests": RateLimit(None, 14399, None), "tokens": RateLimit(60_000, 59_000, 12.5)},
        ),
        ({"x-ratelimit-limit-req-minute": "60"}, {"requests": RateLimit(60, None, None)}),
        ({"x-ratelimit-limit-requests-second": "5"}, {"requests": RateLimit(300, None, None)}),
        # Of what, and in which time, nobody knows: only that nothing remains.
        (
            {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "20"},
            {"requests": RateLimit(None, 0, 20)},
        ),
        ({"ratelimit-limit": "60", "ratelimit-remaining": "1"}, {"requests": RateLimit(None, 1, None)}),
        # Not about requests or tokens of the account, or nonsense.
        ({"x-ratelimit-limit-images": "5", "x-ratelimit-limit-project-tokens": "10"}, {}),
        ({"x-ratelimit-limit-requests": "many", "x-ratelimit-limit-tokens": "-1"}, {}),
        ({"x-ratelimit-limit-requests": "nan", "content-type": "text/plain", "x-limit-tokens": "5"}, {}),
        (
            {"x-ratelimit-limit-tokens": "10", "x-ratelimit-reset-tokens": "99999999999999999999-01-01"},
            {"tokens": RateLimit(10, None, None)},
        ),
    ],
    ids=lambda value: next(iter(value), "none") if isinstance(value, dict) else None,
)
def test_dialects(headers: dict[str, str], expected: Any) -> None:
    """OpenAI's, Anthropic's, and their relatives'."""
    assert read_rate_limits(headers, now=NOW) == expected


@given(
    st.dictionaries(
        st.lists(
            st.sampled_from(
                [
                    "x",
                    "ratelimit",
                    "rate-limit",
                    "limit",
                    "remaining",
                    "reset",
                    "requests",
                    "tokens",
                    "input",
                    "day",
                    "minute",
                    "odd",
                ]
            ),
            max_size=6,
        ).map("-".join),
        st.one_of(st.text(max_size=12), st.floats().map(str), st.just("1m"), st.just("2026-01-01")),
    )
)
def test_no_header_breaks_it(headers: dict[str, str]) -> None:
    """And every number that it finds is one."""
    for limit in read_rate_limits(headers).values():
        assert limit.per_minute is None or 0 < limit.per_minute < 1e14
        assert limit.reset is None or limit.reset >= 0
