"""The view itself: the joined table, and the message's own tool calls and reasoning put in their places."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from hocket.errors import InvalidInput
from hocket.messages.content import KNOWN_BLOCK_TYPES, ContentBlock
from hocket.messages.formats import anthropic, converse, google, langchain_v0, openai_chat, openai_responses
from hocket.messages.formats.blocks import Native, Reader, mappings_at, non_standard
from hocket.messages.tool_calls import InvalidToolCall, ToolCall, ToolCallChunk, parse_tool_arguments

__all__ = ["content_blocks_of", "read_block", "stands_for"]


def _joined(*tables: Mapping[str, Reader]) -> dict[str, tuple[Reader, ...]]:
    joined: dict[str, tuple[Reader, ...]] = {}
    for table in tables:
        for kind, reader in table.items():
            joined[kind] = (*joined.get(kind, ()), reader)
    return joined


_READERS: Final = _joined(
    langchain_v0.READERS, openai_chat.READERS, openai_responses.READERS, anthropic.READERS, google.READERS
)
"""Readers by native type, tried in this order. Dialects share some names: ``text``, ``image``, ``function_call``."""

_PARTS: Final[Mapping[str, Reader]] = {**google.PARTS, **converse.PARTS}
"""Readers of what has no type, by a key that it has."""


def content_blocks_of(
    content: str | Sequence[str | dict[str, Any]],
    *,
    additional_kwargs: Mapping[str, Any],
    response_metadata: Mapping[str, Any],
    tool_calls: Sequence[ToolCall] | None = None,
    invalid_tool_calls: Sequence[InvalidToolCall] | None = None,
    tool_call_chunks: Sequence[ToolCallChunk] | None = None,
) -> list[ContentBlock]:
    """Return a message's content as standard blocks, in order.

    Standard blocks are handed out as they are, not copied; nothing that is passed in is changed.

    Args:
        content: The message's content, in any provider's shape.
        additional_kwargs: ``reasoning_content`` (DeepSeek and others), or ``reasoning`` (vLLM, Groq, OpenRouter),
            becomes the first block, unless the content has reasoning of its own. ``annotations`` (of OpenAI's chat
            completions) become those of the first text, unless a text has its own.
        response_metadata: ``output_version="v1"`` says that the content is standard already, and none of it is
            translated.
        tool_calls: The message's calls. They are what the message means: a call in the content takes their name and
            arguments, and calls that the content does not hold are appended.
        invalid_tool_calls: Likewise, the calls that could not be read.
        tool_call_chunks: Given, even empty, while the message is a fragment of a stream that goes on. Fragments of
            calls then take the place of the calls, which are still guesses.
    """
    blocks: list[ContentBlock] = []
    if isinstance(content, str):
        if content:
            blocks.append({"type": "text", "text": content})
    else:
        standard = response_metadata.get("output_version") == "v1"
        for item in content:
            if isinstance(item, str):
                blocks.append({"type": "text", "text": item})
            elif standard:
                blocks.append(_as_it_is(item))
            else:
                blocks.extend(_translate(item))
    if tool_call_chunks:
        _place_calls(blocks, "tool_call_chunk", tool_call_chunks)
    else:
        if tool_calls:
            _place_calls(blocks, "tool_call", tool_calls)
        if invalid_tool_calls:
            _place_calls(blocks, "invalid_tool_call", invalid_tool_calls)
    settle = _as_whole if tool_call_chunks is None else _as_fragment
    blocks = [settle(block) for block in blocks]
    if annotations := mappings_at(additional_kwargs, "annotations"):
        _annotate(blocks, annotations)
    reasoning = additional_kwargs.get("reasoning_content") or additional_kwargs.get("reasoning")
    if reasoning and isinstance(reasoning, str) and not any(block["type"] == "reasoning" for block in blocks):
        blocks.insert(0, {"type": "reasoning", "reasoning": reasoning})
    return blocks


def read_block(native: Native) -> list[ContentBlock]:
    """Return one block of a message's content as standard blocks, with its message's own fields left aside.

    Most blocks are read as one; an item of the Responses API may hold several. A block that cannot be read is kept
    whole, as ``non_standard``.
    """
    return [_as_whole(block) for block in _translate(native)]


def _translate(native: Native) -> list[ContentBlock]:
    kind = native.get("type")
    if kind is None:
        readers: Iterable[Reader] = [_PARTS[key] for key in native if key in _PARTS]
    else:
        readers = _READERS.get(kind, ()) if isinstance(kind, str) else ()
    for reader in readers:
        if (blocks := reader(native)) is not None:
            return blocks
    return [_as_it_is(native)]


def _as_it_is(native: Native) -> ContentBlock:
    kind = native.get("type")
    known = isinstance(kind, str) and kind in KNOWN_BLOCK_TYPES
    return cast(ContentBlock, native) if known else non_standard(native)


def _annotate(blocks: list[ContentBlock], annotations: Sequence[Native]) -> None:
    """Show citations that came beside the content on the text that they count the characters of."""
    texts = [at for at, block in enumerate(blocks) if block["type"] == "text"]
    if texts and not any("annotations" in blocks[at] for at in texts):
        shown = [openai_chat.annotation(each) for each in annotations]
        blocks[texts[0]] = cast(ContentBlock, {**blocks[texts[0]], "annotations": shown})


_CALL_TYPES: Final = frozenset({"tool_call", "tool_call_chunk", "invalid_tool_call", "server_tool_call_chunk"})


def _place_calls(blocks: list[ContentBlock], kind: str, calls: Sequence[Mapping[str, Any]]) -> None:
    """Put each call, as a block of ``kind``, over the block that stands for it, and those without one at the end."""
    left = list(calls)
    for position, block in enumerate(blocks):
        if block["type"] not in _CALL_TYPES:
            continue
        for at, call in enumerate(left):
            if stands_for(block, call):
                blocks[position] = _call_block(kind, left.pop(at), block)
                break
    blocks.extend(_call_block(kind, call, {}) for call in left)


def stands_for(block: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    """Return whether ``block``, a standard one, is the content's own block of ``call``, one of its message's.

    By id; without ids by index, and for whole calls (Gemini may send them without ids) by what they say.
    """
    if block.get("id") is not None and call.get("id") is not None:
        return bool(block["id"] == call["id"])
    if block.get("index") is not None and call.get("index") is not None:
        return bool(block["index"] == call["index"])
    if block["type"] == "server_tool_call_chunk":
        return False
    return bool(block.get("name") == call.get("name") and block.get("args") == call.get("args"))


def _call_block(kind: str, call: Mapping[str, Any], block: Mapping[str, Any]) -> ContentBlock:
    """``call`` as a block, with the ``id``, ``index`` and ``extras`` of the block that stood for it."""
    made: dict[str, Any] = {"type": kind, "id": None, "name": None, "args": None}
    if kind == "invalid_tool_call":
        made["error"] = None
    made.update((name, block[name]) for name in ("id", "index", "extras") if name in block)
    made.update((name, value) for name, value in call.items() if value is not None and name != "type")
    if block.get("extras") and call.get("extras"):
        made["extras"] = {**block["extras"], **call["extras"]}
    return cast(ContentBlock, made)


def _as_whole(block: ContentBlock) -> ContentBlock:
    """A server tool call whose pieces have all come, unless something is wrong with it."""
    if block["type"] != "server_tool_call_chunk" or not block.get("id") or not block.get("name"):
        return block
    try:
        args = parse_tool_arguments(block.get("args"))
    except InvalidInput:
        return block
    return cast(ContentBlock, {**block, "type": "server_tool_call", "args": args})


def _as_fragment(block: ContentBlock) -> ContentBlock:
    """A server tool call that has just begun to stream: its arguments are still to come."""
    if block["type"] != "server_tool_call" or block["args"]:
        return block
    return cast(ContentBlock, {**block, "type": "server_tool_call_chunk", "args": ""})
