"""The view itself: the joined table, and the message's own tool calls and reasoning put in their places."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from hocket.errors import InvalidInput
from hocket.messages.content import KNOWN_BLOCK_TYPES, Annotation, ContentBlock, Fields, FieldsView
from hocket.messages.content_validate import validate_content_block
from hocket.messages.formats.blocks import (
    Native,
    Reader,
    guess_mime_type,
    mapping_at,
    mappings_at,
    non_standard,
    text_at,
    uri_source,
)
from hocket.messages.formats.format import AnnotationReader
from hocket.messages.formats.known import FORMATS
from hocket.messages.tool_calls import InvalidToolCall, ToolCall, ToolCallChunk, parse_tool_arguments

__all__ = ["Content", "content_blocks_of", "read_block", "stands_for", "text_of_content"]

Content: TypeAlias = str | Sequence[str | Fields]
"""What a message says, in any provider's words."""


def _join(tables: Iterable[Mapping[str, Reader]]) -> dict[str, tuple[Reader, ...]]:
    joined: dict[str, tuple[Reader, ...]] = {}
    for table in tables:
        for kind, reader in table.items():
            joined[kind] = (*joined.get(kind, ()), reader)
    return joined


_READERS: Final = _join(known.readers for known in FORMATS)
"""By a block's ``type``. Formats share some: ``text``, ``image``, ``function_call``."""

_PARTS: Final = _join(known.parts for known in FORMATS)
"""For blocks without a type, by a key that they have."""

_TEXTS: Final = {kind: read for known in FORMATS for kind, read in known.texts.items()}
_TEXT_KEYS: Final = frozenset({"text", "citationsContent"})
"""Keys of parts without a type that hold text of the answer."""

_REASONING: Final = tuple(name for known in FORMATS for name in known.reasoning)
_ANNOTATIONS: Final = {name: read for known in FORMATS for name, read in known.annotations.items()}
_SOURCES: Final = {name: read for known in FORMATS for name, read in known.sources.items()}
_IMAGES: Final = tuple(name for known in FORMATS for name in known.images)


def text_of_content(content: Content) -> str:
    """Return the text of a message's content: its strings and texts, joined, whichever provider's words it is in.

    Reasoning is no text, nor are calls, documents or refusals. Equal to the texts of `content_blocks_of`, and quicker.
    """
    if isinstance(content, str):
        return content
    return "".join([part if isinstance(part, str) else _text_in(part) for part in content])


def _text_in(native: Native) -> str:
    kind = native.get("type")
    if kind == "text":
        text = native.get("text")
        return text if isinstance(text, str) else ""
    if kind is None:
        return (
            "".join([block["text"] for block in _translate(native) if block["type"] == "text"])
            if not _TEXT_KEYS.isdisjoint(native)
            else ""
        )
    read = _TEXTS.get(kind) if isinstance(kind, str) else None
    return "" if read is None else read(native)


def content_blocks_of(
    content: Content,
    *,
    additional_kwargs: FieldsView,
    response_metadata: FieldsView,
    tool_calls: Sequence[ToolCall] | None = None,
    invalid_tool_calls: Sequence[InvalidToolCall] | None = None,
    tool_call_chunks: Sequence[ToolCallChunk] | None = None,
) -> list[ContentBlock]:
    """Return a message's content as standard blocks, in order.

    Standard blocks are handed out as they are, not copied; nothing that is passed in is changed.

    Args:
        content: The message's content, in any provider's shape.
        additional_kwargs: What a provider wrote beside the content, under the names in its `ProviderFormat`. Reasoning
            becomes the first block, unless the content has some of its own. Citations become those of the text that they
            belong to, unless a text has its own. Pictures become the last blocks.
        response_metadata: ``output_version="v1"`` says that the content is standard already, and none of it is
            translated. What it says of the sources of texts becomes their citations, unless a text has its own.
        tool_calls: The message's calls. They are what the message means: a call in the content takes their name and
            arguments, and calls that the content does not hold are appended.
        invalid_tool_calls: The same for the calls that could not be read.
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
    if additional_kwargs:
        _add_from_beside(blocks, additional_kwargs)
    if not _SOURCES.keys().isdisjoint(response_metadata):
        _add_sources(blocks, response_metadata)
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
        readers: Iterable[Reader] = [reader for key in native for reader in _PARTS.get(key, ())]
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


def _add_from_beside(blocks: list[ContentBlock], fields: Mapping[str, object]) -> None:
    """Add to ``blocks`` what a provider wrote beside the content."""
    for name, read in _ANNOTATIONS.items():
        if annotations := mappings_at(fields, name):
            _annotate(blocks, annotations, read)
    for name in _IMAGES:
        if isinstance(images := fields.get(name), list):
            blocks.extend(_image(data) for data in cast("list[object]", images) if isinstance(data, str))
    reasoning = next((text for name in _REASONING if (text := text_at(fields, name))), "")
    if reasoning and not any(block["type"] == "reasoning" for block in blocks):
        blocks.insert(0, {"type": "reasoning", "reasoning": reasoning})


def _annotate(blocks: list[ContentBlock], entries: Sequence[Native], read: AnnotationReader) -> None:
    """Show citations on the text that they count the characters of: the block of their ``content_index``, or the first."""
    texts = [at for at, block in enumerate(blocks) if block["type"] == "text"]
    if not texts or any("annotations" in blocks[at] for at in texts):
        return
    shown: dict[int, list[Annotation]] = {}
    for entry in entries:
        place = entry.get("content_index")
        at = place if isinstance(place, int) and place in texts else texts[0]
        shown.setdefault(at, []).extend(read(entry))
    _show(blocks, shown)


def _add_sources(blocks: list[ContentBlock], facts: FieldsView) -> None:
    """Show on the texts where they come from, out of what the reply says about itself."""
    texts = [at for at, block in enumerate(blocks) if block["type"] == "text"]
    if any("annotations" in blocks[at] for at in texts):
        return
    shown: dict[int, list[Annotation]] = {}
    for name, read in _SOURCES.items():
        if (said := mapping_at(facts, name)) is not None:
            for place, citation in read(said, [cast(str, blocks[at].get("text")) for at in texts]):
                shown.setdefault(texts[place], []).append(citation)
    _show(blocks, shown)


def _show(blocks: list[ContentBlock], shown: Mapping[int, list[Annotation]]) -> None:
    for at, annotations in shown.items():
        blocks[at] = cast(ContentBlock, {**blocks[at], "annotations": annotations})


def _image(data: str) -> ContentBlock:
    if data.startswith("data:") and (source := uri_source(data)):
        return cast(ContentBlock, {"type": "image", **source})
    if (mime_type := guess_mime_type(data)) is None:
        return non_standard({"images": [data]})
    return {"type": "image", "base64": data, "mime_type": mime_type}


_CALL_TYPES: Final = frozenset({"tool_call", "tool_call_chunk", "invalid_tool_call", "server_tool_call_chunk"})


def _place_calls(blocks: list[ContentBlock], kind: str, calls: Sequence[FieldsView]) -> None:
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


def stands_for(block: FieldsView, call: FieldsView) -> bool:
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


def _call_block(kind: str, call: FieldsView, block: FieldsView) -> ContentBlock:
    """``call`` as a block, with the ``id``, ``index`` and ``extras`` of the block that stood for it."""
    made: Fields = {"type": kind, "id": None, "name": None, "args": None}
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
        return validate_content_block({**block, "type": "server_tool_call", "args": args})
    except InvalidInput:
        return block


def _as_fragment(block: ContentBlock) -> ContentBlock:
    """A server tool call that has just begun to stream: its arguments are still to come."""
    if block["type"] != "server_tool_call" or block["args"]:
        return block
    return cast(ContentBlock, {**block, "type": "server_tool_call_chunk", "args": ""})
