"""Parts of Mistral's chat API. They are OpenAI's, with differences that are read and written here.

Reasoning is a ``thinking`` part that holds a list of texts. A picture's URL and a recording's base64 stand directly in
their part, and a recording does not say of which type it is. A document may be given by its URL. A ``reference`` part
follows the text that it is a citation of: it is read as a text block of no length that has the citation.
"""

from collections.abc import Mapping
from typing import cast

import hocket.messages.formats.openai_chat as openai_chat
from hocket.messages.content import ContentBlock, Fields
from hocket.messages.formats.blocks import (
    Block,
    Native,
    Writer,
    block,
    document_text,
    guess_mime_type,
    inner_extras,
    mappings_at,
    native_block,
    source_of,
    text_at,
    uri_source,
)
from hocket.messages.formats.format import ProviderFormat, write_each

__all__ = ["FORMAT"]


def _thinking(native: Native) -> list[ContentBlock] | None:
    parts = mappings_at(native, "thinking")
    if parts is None:
        return None
    text = "".join(text_at(part, "text") or "" for part in parts)
    are_texts = len(parts) == len(native["thinking"]) and all(
        set(part) - {"index"} == {"type", "text"} and part["type"] == "text" and text_at(part, "text") is not None
        for part in parts
    )
    return [block("reasoning", native, {"thinking"} if are_texts else (), reasoning=text)]


def _write_thinking(block: Block) -> Fields:
    extras: Native = block.get("extras") or {}
    parts = mappings_at(extras, "thinking")
    if parts is None:
        parts = [{"type": "text", "text": text}] if (text := block.get("reasoning")) else []
    return native_block("thinking", block, thinking=parts)


def _reference(native: Native) -> list[ContentBlock] | None:
    ids = native.get("reference_ids")
    if not isinstance(ids, list):
        return None
    citation = {"type": "citation", "extras": {"reference_ids": cast("list[object]", ids)}}
    return [block("text", native, {"reference_ids"}, text="", annotations=[citation])]


def _write_text(block: Block) -> Fields:
    for annotation in block.get("annotations") or () if not block["text"] else ():
        extras: Native = annotation.get("extras") or {}
        ids = extras.get("reference_ids")
        if ids is not None:
            return native_block("reference", block, reference_ids=ids)
    return native_block("text", block, text=block["text"])


def _document(native: Native) -> list[ContentBlock] | None:
    source = uri_source(native.get("document_url"))
    return None if source is None else [block("file", native, {"document_url"}, **source)]


def _audio(native: Native) -> list[ContentBlock] | None:
    """A recording whose type only its first bytes tell."""
    data = text_at(native, "input_audio")
    mime_type = guess_mime_type(data or "")
    if mime_type is None or not mime_type.startswith("audio/"):
        return None
    return [block("audio", native, {"input_audio"}, base64=data, mime_type=mime_type)]


def _write_audio(block: Block) -> Fields | None:
    source = source_of(block)
    return None if source.kind == "file_id" else native_block("input_audio", block, input_audio=source.data)


def _write_image(block: Block) -> Fields | None:
    source = source_of(block)
    if source.kind == "file_id":
        return None
    extras: Native = block.get("extras") or {}
    detail = extras.get("detail")
    url = source.url if detail is None else {"url": source.url, "detail": detail}
    return native_block("image_url", block, "detail", image_url=url)


def _write_file(block: Block) -> Fields | None:
    source = source_of(block)
    if source.kind == "text":
        return native_block("text", block, text=document_text(block))
    if source.kind == "file_id":
        return native_block("file", block, **{"file_id": source.data, **inner_extras(block, "file")})
    return native_block("document_url", block, document_url=source.url)


_WRITERS: Mapping[str, Writer] = {
    "text": _write_text,
    "reasoning": _write_thinking,
    "image": _write_image,
    "audio": _write_audio,
    "file": _write_file,
    "text-plain": _write_file,
}

FORMAT = ProviderFormat(
    readers={
        "thinking": _thinking,
        "reference": _reference,
        "document_url": _document,
        "image_url": openai_chat.image,
        "input_audio": _audio,
    },
    writes={"mistral": write_each(_WRITERS, "the content of Mistral's chat API")},
)
"""How Mistral's API writes a message."""
