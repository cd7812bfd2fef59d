"""The shown texts of a run's input and output: short, for values of any kind."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from hocket.agents.result import AgentResult
from hocket.messages import BaseMessage
from hocket.messages.content import Fields
from hocket.messages.roles import calls_of
from hocket.outputs import ChatGeneration, LLMResult
from hocket.serving.hocket_events import as_data
from hocket.serving.message_parts import encode_json, join_reasoning, list_blocks

__all__ = ["LONGEST_TEXT", "crop_text", "describe_value"]

LONGEST_TEXT = 10_000
"""Characters of a text that are kept."""

_MOST_MESSAGES = 50  # of a conversation: the last ones
_ROLES: Mapping[str, str] = {"human": "user", "ai": "assistant"}


def describe_value(value: object) -> list[Fields]:
    """Return what was asked or said: a role ("": it is no message), a text, and calls of tools."""
    parts = [*_split(value)]
    left = len(parts) - _MOST_MESSAGES
    head: list[Fields] = [{"role": "", "text": f"{left} earlier messages are not kept"}] if left > 0 else []
    return head + [_describe(one) for one in parts[-_MOST_MESSAGES:]]


def crop_text(text: str) -> str:
    """Return a text, or as much of it as is kept."""
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else f"{text[:LONGEST_TEXT]} … and {more:,} characters more"


def _split(value: object) -> Iterator[object]:
    """Yield the messages of a conversation or a reply; anything else as it is."""
    if isinstance(value, LLMResult):
        for candidates in value.generations:
            for one in candidates:
                yield one.message if isinstance(one, ChatGeneration) else one.text
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[object]", value):
            yield from _split(inner)
    elif isinstance(value, AgentResult):
        yield cast("AgentResult[object]", value).output
    elif value is not None:
        yield value


def _describe(value: object) -> Fields:
    if not isinstance(value, BaseMessage):
        return {"role": "", "text": crop_text(value if isinstance(value, str) else _write(value))}
    blocks = list_blocks(value)
    others = [f"[{block['type']}]" for block in blocks if block["type"] in ("image", "audio", "video", "file")]
    kind = value.type.removesuffix("MessageChunk").lower()
    told: Fields = {"role": _ROLES.get(kind, kind), "text": crop_text(" ".join([*others, value.text]).strip())}
    if reasoning := join_reasoning(blocks):
        told["reasoning"] = crop_text(reasoning)
    if calls := calls_of(value):
        told["calls"] = [
            {"name": call["name"], "args": crop_text(encode_json(call["args"]).decode())} for call in calls
        ]
    return told


def _write(value: object) -> str:
    try:
        return encode_json(as_data(value)).decode()
    except Exception as error:  # of an object that holds itself, or cannot say what it is
        return f"{type(value).__name__}, which cannot be written: {type(error).__name__}"
