"""Token usage: sums, differences, and the reports of one stream."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.messages import AIMessage, AIMessageChunk, Collector, UsageMetadata, add_usage, subtract_usage

ZERO = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


def used(prompt: int, said: int, **more: Any) -> Any:
    return {"input_tokens": prompt, "output_tokens": said, "total_tokens": prompt + said, **more}


def reported(*reports: UsageMetadata | None) -> UsageMetadata | None:
    collector = Collector()
    for report in reports:
        collector.add(AIMessageChunk("", usage_metadata=report))
    return collector.message().usage_metadata


# sums and differences


def test_usage_adds_up_key_by_key() -> None:
    """Counts, parts of counts and counts of a provider's own; what one side lacks counts as 0."""
    one = used(5, 1, input_token_details={"cache_read": 3}, cost=0.5)
    other = used(0, 10, output_token_details={"reasoning": 4}, input_token_details={"audio": 1}, cost=0.25, tier="flex")
    assert add_usage(one, other) == used(
        5,
        11,
        input_token_details={"cache_read": 3, "audio": 1},
        output_token_details={"reasoning": 4},
        cost=0.75,
        tier="flex",
    )
    assert one == used(5, 1, input_token_details={"cache_read": 3}, cost=0.5)


def test_usage_subtracts_down_to_nothing() -> None:
    """Nothing falls below 0, and nothing minus something is nothing (LangChain returns the something)."""
    assert subtract_usage(used(5, 1), used(3, 2)) == {"input_tokens": 2, "output_tokens": 0, "total_tokens": 1}
    assert subtract_usage(None, used(3, 2)) == ZERO
    assert subtract_usage(used(3, 2), None) == used(3, 2)
    assert subtract_usage(
        used(5, 5, output_token_details={"reasoning": 4}), used(1, 1, output_token_details={"reasoning": 5})
    ) == used(4, 4, output_token_details={"reasoning": 0})


def test_no_usage() -> None:
    """Nothing and nothing is zero of everything."""
    assert add_usage(None, None) == subtract_usage(None, None) == ZERO


@pytest.mark.parametrize("label", [None, "flex", True, [1], {"x": None}])
def test_what_is_no_count_is_not_counted(label: Any) -> None:
    """Labels, flags and lists pass through, the later one wins, and nothing raises (LangChain's floats do)."""
    assert add_usage(used(1, 1, more=label), used(1, 1)) == used(2, 2, more=label)
    assert add_usage(used(1, 1), used(1, 1, more=label)) == used(2, 2, more=label)
    assert add_usage(used(1, 1, more="x"), used(1, 1, more=1)) == used(2, 2, more=1)


COUNTS = st.integers(0, 1000)
USAGE = st.builds(
    lambda prompt, said, parts: used(prompt, said, **({"output_token_details": parts} if parts else {})),
    COUNTS,
    COUNTS,
    st.dictionaries(st.sampled_from(["audio", "reasoning", "mine"]), COUNTS),
)


@given(st.lists(USAGE, min_size=1))
def test_sums_of_usage_are_sums(usages: list[UsageMetadata]) -> None:
    """In any order; and what was added can be taken away again."""
    total: UsageMetadata | None = None
    for usage in usages:
        total = add_usage(total, usage)
    backwards: UsageMetadata | None = None
    for usage in reversed(usages):
        backwards = add_usage(usage, backwards)
    assert total == backwards
    assert total is not None
    assert total["total_tokens"] == sum(usage["total_tokens"] for usage in usages)
    assert subtract_usage(add_usage(total, usages[0]), usages[0]) == total


# the reports of a stream


def test_increments_are_summed() -> None:
    """A prompt reported once, then what was said since."""
    assert reported(used(700, 0), used(0, 10), None, used(0, 5)) == used(700, 15)


def test_a_running_total_is_replaced() -> None:
    """Three reports of 700 are 700 (in LangChain 2,100); a growing one counts once, in full."""
    assert reported(used(700, 0), used(700, 0), used(700, 0)) == used(700, 0)
    assert reported(used(5, 0), used(5, 1), used(5, 2), used(5, 2)) == used(5, 2)


def test_a_running_total_after_increments() -> None:
    """A report of everything at the end, after increments, is not counted on top of them."""
    assert reported(used(10, 1), used(0, 2), used(10, 3)) == used(10, 3)


def test_what_a_running_total_does_not_mention_stays() -> None:
    """Details that only the first report has are kept; those that are repeated are replaced."""
    first = used(10, 0, input_token_details={"cache_read": 5, "audio": 1}, tier="flex")
    assert reported(first, used(10, 4, input_token_details={"cache_read": 6})) == used(
        10, 4, input_token_details={"cache_read": 6, "audio": 1}, tier="flex"
    )


def test_reports_belong_to_whoever_made_them() -> None:
    """Usage of a sum shares nothing with the chunks it came from."""
    first = AIMessageChunk("", usage_metadata=used(1, 1, input_token_details={"audio": 1}))
    total = first + AIMessageChunk("")
    assert total.usage_metadata is not None
    total.usage_metadata["input_token_details"]["audio"] = 9
    assert first.usage_metadata == used(1, 1, input_token_details={"audio": 1})


# on a message


def test_a_missing_total_is_the_sum() -> None:
    """A provider that leaves the total out has said it all the same; a total of its own stands."""
    given: Any = {"input_tokens": 3, "output_tokens": 4}
    assert AIMessage("", usage_metadata=given).usage_metadata == used(3, 4)
    assert AIMessageChunk("", usage_metadata={**given, "total_tokens": None}).usage_metadata == used(3, 4)
    assert AIMessage("", usage_metadata={**given, "total_tokens": 9}).usage_metadata == {**given, "total_tokens": 9}
    assert given == {"input_tokens": 3, "output_tokens": 4}


@pytest.mark.parametrize("usage", [{"input_tokens": 3}, {"input_tokens": "many", "output_tokens": 1}, "much", 3])
def test_usage_that_is_none_is_refused(usage: Any) -> None:
    """Half a usage, or something else, is an error that names the field."""
    with pytest.raises(ValueError, match="usage_metadata"):
        AIMessage("", usage_metadata=usage)


def test_providers_may_count_more() -> None:
    """Further keys, on both levels, are kept."""
    usage = used(1, 2, input_token_details={"cache_read": 1, "mine": 1}, cost=0.5)
    assert AIMessage("", usage_metadata=usage).usage_metadata == usage
