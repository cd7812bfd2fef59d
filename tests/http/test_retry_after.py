"""The same wait, in every dialect."""

from datetime import UTC, datetime
from typing import Any

import pytest

from hocket.http.retry_after import parse_duration, read_retry_after

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, None, 7.0),
        ({"retry-after": "0.5"}, None, 0.5),
        ({"retry-after": "Sun, 22 Nov 2026 12:00:30 GMT"}, None, 30.0),
        ({"retry-after": "Sun, 22 Nov 2026 11:00:00 GMT"}, None, 0.0),
        ({"retry-after": "2026-11-22T12:00:05Z"}, None, 5.0),
        ({"retry-after": "-3"}, None, 0.0),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": "nan"}, None, None),
        ({"retry-after": "inf"}, None, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, None, 0.25),
        ({}, {"error": {"details": [{"@type": "x"}, {"retryDelay": "34s"}]}}, 34.0),
        ({}, [{"error": {"details": [{"retryDelay": "1.5s"}]}}], 1.5),
        ({}, {"error": {"details": [{"retryDelay": 3}, "odd"]}}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, None, 360.0),
        ({"x-ratelimit-remaining-tokens": "1", "x-ratelimit-reset-tokens": "6m0s"}, None, None),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "120ms",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "2s",
            },
            None,
            2.0,
        ),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-11-22T12:01:00Z",
            },
            None,
            60.0,
        ),
        ({"retry-after": "1", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s"}, None, 1.0),
        ({}, None, None),
        ({}, "text", None),
    ],
)
def test_the_wait_that_a_reply_asks_for(headers: dict[str, str], body: Any, seconds: float | None) -> None:
    assert read_retry_after(headers, body, now=NOW) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("6m0s", 360.0), ("120ms", 0.12), ("1h2m3.5s", 3723.5), ("1s", 1.0), ("", None), ("5", None), ("5x", None)],
)
def test_go_durations(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


def test_a_duration_without_end_is_none() -> None:
    """A server may write one into a header: to read it took the square of its length."""
    assert parse_duration("0" * 100_000) is None and parse_duration("1s" * 51) is None
