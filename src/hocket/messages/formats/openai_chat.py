"""Parts of OpenAI's chat completions API, and of the many servers that speak it (Mistral, Cohere, Ollama, vLLM …).

``text`` needs no reader, and a ``refusal`` has no standard form. Mistral gives an image's URL and a recording's data
directly, without OpenAI's inner object; written is OpenAI's form. Tool calls, reasoning and annotations travel beside
the content.
"""

from collections.abc import Mapping
from typing import Any

import hocket.messages.formats.openai_citations as openai_citations
from hocket.messages.content import Annotation, ContentBlock, Fields, FieldsView
from hocket.messages.formats.blocks import (
    Block,
    Native,
    Reader,
    Writer,
    as_base64,
    block,
    data_block,
    document_text,
    flatten,
    mapping_at,
    more,
    native_block,
    source_of,
    text_at,
    uri_source,
)
from hocket.messages.formats.format import ProviderFormat, write_each

__all__ = ["FORMAT", "as_file", "audio", "file", "filename_of", "image", "write_image"]


def image(native: Native) -> list[ContentBlock] | None:
    """Read ``{"type": "image_url", "image_url": {"url", "detail"} | url}``."""
    if mapping_at(native, "image_url") is None:
        flat: Native = {**native, "url": native.get("image_url")}
    else:
        flat = flatten(native, "image_url", {"url", "detail"})
    source = uri_source(flat.get("url"))
    return None if source is None else [block("image", flat, {"image_url", "url"}, **source)]


def audio(native: Native) -> list[ContentBlock] | None:
    """Read ``{"type": "input_audio", "input_audio": {"data", "format"}}``."""
    if (recording := mapping_at(native, "input_audio")) is None:
        uri = text_at(native, "input_audio") or ""
        source = uri_source(uri) if uri.startswith(("http", "data:")) else None
        return None if source is None else [block("audio", native, {"input_audio"}, **source)]
    data, format = as_base64(recording.get("data")), text_at(recording, "format")
    if data is None or format is None:
        return None
    flat = flatten(native, "input_audio", {"data", "format"})
    return [block("audio", flat, {"data", "format"}, base64=data, mime_type=f"audio/{format}")]


def file(native: Native) -> list[ContentBlock] | None:
    """Read ``{"type": "file", "file": {"file_data": "data:…", "filename"} | {"file_id"}}``."""
    if (inner := mapping_at(native, "file")) is None:
        return None
    flat = flatten(native, "file", {"file_data", "file_id", "filename"})
    if file_id := text_at(inner, "file_id"):
        return [block("file", flat, {"file_id"}, file_id=file_id)]
    source = uri_source(inner.get("file_data"))
    if source is None or "base64" not in source:
        return None
    return [data_block(source.pop("mime_type"), flat, {"file_data"}, **source)]


_READERS: Mapping[str, Reader] = {"image_url": image, "input_audio": audio, "file": file}


def _annotation(native: Native) -> list[Annotation]:
    """An annotation, which comes beside the content, as a standard one; those of other servers are flat."""
    nested = mapping_at(native, "url_citation")
    return [openai_citations.annotation(native if nested is None else {**nested, "type": "url_citation"})]


def _write_document(block: Block) -> Fields | None:
    return native_block("text", block, text=document_text(block)) if "text" in block else _write_file(block)


def _nest(block: Block, key: str, *plain: str, **fields: Any) -> Fields:
    """A part of type ``key`` whose ``fields`` lie in an object of that name: the inverse of `flatten`."""
    inner, outer = dict(fields), {}
    for name, value in more(block, "type", key).items():
        if name in plain or name.startswith(f"{key}_"):
            inner.setdefault(name.removeprefix(f"{key}_"), value)
        else:
            outer[name] = value
    return {"type": key, key: inner, **outer}


def write_image(block: Block) -> Fields | None:
    """Write an image, or, where it has a filename, a file."""
    if as_file(block):
        return _write_file(block)
    source = source_of(block)
    return None if source.kind == "file_id" else _nest(block, "image_url", "detail", url=source.url)


_FORMATS = {"mpeg": "mp3", "wave": "wav"}


def _write_audio(block: Block) -> Fields | None:
    kind, data, mime_type = source_of(block)
    if kind != "base64":
        return None
    if as_file(block):
        return _write_file(block)
    form = (mime_type or "").rpartition("/")[2].removeprefix("x-")
    return _nest(block, "input_audio", data=data, format=_FORMATS.get(form, form))


def _write_file(block: Block) -> Fields | None:
    source = source_of(block)
    if source.kind == "url":
        return None
    data = {"file_id": source.data} if source.kind == "file_id" else {"file_data": source.url}
    if filename := filename_of(more(block)):
        data["filename"] = filename
    return _nest(block, "file", "filename", **data)


def filename_of(said: FieldsView) -> str | None:
    """Return the name of a file by what its block says; langchain-core 0.x had it in ``metadata``."""
    return text_at(said, "filename") or text_at(mapping_at(said, "metadata") or {}, "filename")


def as_file(block: Block) -> bool:
    """Whether a picture or a recording was sent as a file: only files have names."""
    return "filename" in more(block)


_WRITERS: Mapping[str, Writer] = {
    "text": lambda block: native_block("text", block, text=block["text"]),
    "image": write_image,
    "audio": _write_audio,
    "file": _write_file,
    "text-plain": _write_document,
}

FORMAT = ProviderFormat(
    readers=_READERS,
    reasoning=("reasoning_content", "reasoning"),
    annotations={"annotations": _annotation},
    writes={"openai_chat": write_each(_WRITERS, "the content of a chat completion")},
)
"""How OpenAI's chat completions write a message, and servers that are compatible."""
