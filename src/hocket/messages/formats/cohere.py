"""Parts of Cohere's chat API, version 2: text, ``thinking``, pictures as OpenAI has them, and documents.

A document holds any JSON. Citations come beside the content: each counts the characters of one part of it, and may have
several sources, of which each is read as a citation of its own. So does the ``tool_plan``, what the model thinks before
it calls a tool.
"""

import json
from collections.abc import Mapping
from typing import cast

import hocket.messages.formats.openai_chat as openai_chat
from hocket.messages.content import Annotation, ContentBlock, Fields
from hocket.messages.formats.blocks import (
    Block,
    Native,
    Writer,
    block,
    inner_extras,
    mapping_at,
    mappings_at,
    native_block,
    text_at,
)
from hocket.messages.formats.format import ProviderFormat, write_each

__all__ = ["FORMAT"]


def _document(native: Native) -> list[ContentBlock] | None:
    """``{"type": "document", "document": {"id", "data": "text" | {"text", "title", …}}}``."""
    if (document := mapping_at(native, "document")) is None:
        return None
    data = document.get("data")
    unsaid: Fields
    fields: dict[str, str | None] = {}
    if (inner := mapping_at(document, "data")) is not None:
        fields = {"title": text_at(inner, "title"), "text": text_at(inner, "text")}
    if inner is None or fields["text"] is None:
        fields = {"text": data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)}
        unsaid = {} if isinstance(data, str) else {"data": data}
    else:
        known = {name for name, value in fields.items() if value is not None}
        unsaid = {"data": {key: value for key, value in inner.items() if key not in known}}
    extras: Fields = {key: value for key, value in document.items() if key != "data"} | unsaid
    others: Fields = {**native, "document": extras or None}
    return [block("text-plain", others, (), **fields, mime_type="text/plain")]


def _write_document(block: Block) -> Fields:
    said = inner_extras(block, "document")
    fields = {name: block[name] for name in ("title", "text") if name in block}
    left = said.get("data")
    data: object
    if "data" not in said:
        data = fields["text"] if fields.keys() == {"text"} else fields
    elif isinstance(left, Mapping) and json.dumps(left, ensure_ascii=False, default=str) != block.get("text"):
        data = {**cast(Native, left), **fields}
    else:  # any JSON but a document with a text
        data = cast(object, left)
    return native_block("document", block, document={**said, "data": data})


def _citation(native: Native) -> list[Annotation]:
    """One citation for each source of an entry of ``citations``; one without a source, where there is none."""
    span = {
        ours: at
        for name, ours in (("start", "start_index"), ("end", "end_index"))
        if isinstance(at := native.get(name), int)
    }
    common = {key: native[key] for key in ("text", "type") if native.get(key) is not None}
    made: list[Annotation] = []
    for source in mappings_at(native, "sources") or [{}]:
        document = mapping_at(source, "document") or {}
        named = {name: text for name in ("url", "title") if (text := text_at(document, name)) is not None}
        extras = {**common, **({"source": dict(source)} if source else {})}
        made.append(cast(Annotation, {"type": "citation", **span, **named, "extras": extras}))
    return made


_WRITERS: Mapping[str, Writer] = {
    "text": lambda block: native_block("text", block, text=block["text"]),
    "reasoning": lambda block: native_block("thinking", block, thinking=block.get("reasoning", "")),
    "image": openai_chat.write_image,
    "text-plain": _write_document,
}

FORMAT = ProviderFormat(
    readers={"document": _document},
    reasoning=("tool_plan",),
    annotations={"citations": _citation},
    writes={"cohere": write_each(_WRITERS, "the content of Cohere's chat API")},
)
"""How Cohere's chat API writes a message."""
