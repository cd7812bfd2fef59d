"""The short cut to a chunk gives what the validator would."""

from typing import Any

from hypothesis import given, strategies as st

from hocket.messages import AIMessageChunk
from hocket.messages.ai import Collector
from hocket.messages.fast_chunk import fast_chunk

MAPPING = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)
CALL = st.fixed_dictionaries(
    {
        "name": st.none() | st.text(max_size=3),
        "args": st.none() | st.sampled_from(["", "{}", '{"a": 1}', '{"a"', "x"]),
        "id": st.none() | st.text(max_size=3),
        "index": st.none() | st.integers(0, 2),
        "type": st.just("tool_call_chunk"),
    }
)
USAGE = st.fixed_dictionaries(
    {"input_tokens": st.integers(), "output_tokens": st.integers(), "total_tokens": st.integers()}
)
FIELDS = st.fixed_dictionaries(
    {
        "content": st.text(max_size=3) | st.lists(st.text(max_size=3) | MAPPING, max_size=2),
        "id": st.none() | st.text(max_size=3),
        "additional_kwargs": MAPPING,
        "response_metadata": MAPPING,
        "tool_call_chunks": st.lists(CALL, max_size=2),
        "usage_metadata": st.none() | USAGE,
    }
)


@given(FIELDS)
def test_a_fast_chunk_is_a_validated_one(fields: dict[str, Any]) -> None:
    """Equal, with the same dump, the same tool calls, and the same sum."""
    validated = AIMessageChunk(**fields)
    content, id = fields.pop("content"), fields.pop("id")
    fast = fast_chunk(content, id, **fields)
    assert fast == validated
    assert fast.model_dump() == validated.model_dump()
    assert fast.tool_calls == validated.tool_calls and fast.invalid_tool_calls == validated.invalid_tool_calls
    assert fast + fast == validated + validated
    collectors = Collector(), Collector()
    for collector, chunk in zip(collectors, (fast, validated), strict=True):
        collector.add(chunk)
    assert collectors[0].message() == collectors[1].message()


def test_two_chunks_share_nothing() -> None:
    """Editing one leaves the next as it was."""
    first, second = fast_chunk("a", None), fast_chunk("b", None)
    first.additional_kwargs["x"] = first.response_metadata["x"] = 1
    first.tool_calls.append({"name": "f", "args": {}, "id": None})
    first.name = "ann"
    assert second == AIMessageChunk("b") and second.model_fields_set == set(AIMessageChunk.model_fields)
