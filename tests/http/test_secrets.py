"""What may be shown, and what never."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.http.secrets import MASK, is_sensitive, scrubbed, shown_headers


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdefghijk",
        "sk-ant-api03-abcdefghij",
        "gsk_abcdefghijklm",
        "AIzaSyA1234567890abcdefghijklmnopq",
        "xai-abcdefghijkl",
        "hf_abcdefghijklm",
        "Bearer abc.def-ghi_jkl",
    ],
)
def test_keys_are_known_by_their_looks(key: str) -> None:
    shown = scrubbed(f"Incorrect API key provided: {key}. See the docs.")
    assert key.removeprefix("Bearer ") not in shown
    assert MASK in shown


@pytest.mark.parametrize("text", ["a risk-averse task-oriented desk", "bear with us", "tokens: 12", "sk-"])
def test_ordinary_words_stay(text: str) -> None:
    assert scrubbed(text) == text


@given(st.text(min_size=6), st.text(), st.text())
def test_a_known_secret_is_nowhere_in_data(secret: str, before: str, after: str) -> None:
    shown = scrubbed({"a": [before + secret + after], secret: 1}, [secret])
    texts = [*shown, *shown["a"]]
    assert not any(secret in text.replace(MASK, "") for text in texts) or secret in MASK


def test_headers_are_shown_without_what_they_unlock() -> None:
    headers = {
        "authorization": "Bearer abcdef",
        "api-key": "abcdef",
        "cookie": "a=b",
        "content-type": "application/json",
        "x-ratelimit-remaining-tokens": "12",
    }
    assert shown_headers(headers) == {
        "authorization": f"Bearer {MASK}",
        "api-key": MASK,
        "cookie": MASK,
        "content-type": "application/json",
        "x-ratelimit-remaining-tokens": "12",
    }
    assert is_sensitive("X-Goog-Api-Key")
