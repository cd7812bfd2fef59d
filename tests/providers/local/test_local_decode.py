"""The runtime's chunks become chunks of a message that fold to the whole reply."""

import functools
import operator
from typing import Any

from hocket.messages import AIMessageChunk
from hocket.providers.local.decode import decode_chunk

BASE = {"id": "chatcmpl-1", "model": "tiny.gguf", "object": "chat.completion.chunk"}
TIMINGS = {"cache_n": 30, "prompt_n": 7, "predicted_per_second": 90.5}
USAGE = {"prompt_tokens": 37, "completion_tokens": 3, "total_tokens": 40}


def delta(reason: str | None = None, **said: Any) -> dict[str, Any]:
    return {**BASE, "choices": [{"index": 0, "finish_reason": reason, "delta": said}]}


def folded(*chunks: dict[str, Any]) -> AIMessageChunk:
    decoded = [message for chunk in chunks if (message := decode_chunk(chunk)) is not None]
    return functools.reduce(operator.add, decoded)


def test_text_with_usage_and_reason() -> None:
    """A plain answer: its text, why it ended, what it cost and how fast it was."""
    message = folded(
        delta(role="assistant", content=None),
        delta(content="Par"),
        delta(content="is"),
        delta("stop"),
        {**BASE, "choices": [], "usage": USAGE, "timings": TIMINGS},
    )

    assert message.content == "Paris"
    assert message.id == "chatcmpl-1"
    assert message.response_metadata == {"finish_reason": "stop", "model_name": "tiny.gguf", "timings": TIMINGS}
    assert message.usage_metadata == {
        "input_tokens": 37,
        "output_tokens": 3,
        "total_tokens": 40,
        "input_token_details": {"cache_read": 30},
    }
    assert message.chunk_position == "last"


def test_the_opening_chunk_says_nothing() -> None:
    """Role, progress and empty choices are no chunks of a message."""
    assert decode_chunk(delta(role="assistant", content=None)) is None
    assert decode_chunk({**BASE, "choices": []}) is None


def test_tool_calls_fold_into_a_call() -> None:
    """Pieces of arguments make one parsed call."""
    message = folded(
        delta(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": {"name": "w", "arguments": ""}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"city":'}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '"Paris"}'}}]),
        delta("tool_calls"),
    )

    assert message.tool_calls == [{"name": "w", "args": {"city": "Paris"}, "id": "c1", "type": "tool_call"}]
    assert message.response_metadata == {"finish_reason": "tool_calls"}


def test_reasoning_is_kept_apart() -> None:
    """What a thinking model thinks is no part of its text."""
    message = folded(delta(reasoning_content="Let me "), delta(reasoning_content="see."), delta(content="42"))

    assert message.content == "42"
    assert message.additional_kwargs == {"reasoning_content": "Let me see."}
