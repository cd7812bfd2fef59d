"""Tests of code that asks a model: recorded once, replayed from then on."""

import pytest
from summary import Notice, read_notice, summarise, summarise_all

from hocket import LLMError
from hocket.testing import CassetteMiss

NOTICE = "The boiler is bled on the first of May 2026. Please be at home between nine and ten."


@pytest.mark.cassette
async def test_a_summary() -> None:
    """The model's own words, as they came."""
    sentence = await summarise(NOTICE)
    assert "boiler" in sentence and sentence.count(".") == 1


@pytest.mark.cassette
async def test_an_object() -> None:
    """A schema goes out, and an object comes back."""
    assert await read_notice(NOTICE) == Notice(date="2026-05-01", urgent=False)


@pytest.mark.cassette
async def test_one_of_many_fails() -> None:
    """The provider refused the second text, and does so again whenever this runs."""
    first, second, third = await summarise_all([NOTICE, "…", "Bring the keys back."])
    assert isinstance(first, str) and isinstance(third, str)
    assert isinstance(second, LLMError)


@pytest.mark.cassette("cassettes/test_summary/test_a_summary.json")  # relative to this file
async def test_what_is_not_recorded() -> None:
    """Is never sent: the miss shows what differs, and how to record it."""
    await summarise(NOTICE)
    with pytest.raises(CassetteMiss, match="--hocket-record=new"):
        await summarise("Something else.")
