"""Data blocks of langchain-core 0.x, told by their ``source_type``.

``{"type": "image" | "audio" | "file", "source_type": "url" | "base64" | "id" | "text", …}`` with the payload under
``url``, ``data``, ``id`` or ``text``, and ``{"type": "text", "source_type": "text", "text": …}``. langchain-core 1.x
looks for a file's text under ``url``; both places are read here.
"""

from collections.abc import Mapping

from hocket.messages.content import ContentBlock
from hocket.messages.formats.blocks import Native, Reader, as_base64, block, non_standard, text_at
from hocket.messages.formats.format import ProviderFormat

__all__ = ["FORMAT", "READERS"]


def _text(native: Native) -> list[ContentBlock] | None:
    if native.get("source_type") != "text":
        return None
    key = "text" if "text" in native else "url"
    if (text := text_at(native, key)) is None:
        return [non_standard(native)]
    used = {"source_type", key}
    if native.get("mime_type") == "text/plain":  # the only one the standard block has; any other goes to extras
        used.add("mime_type")
    return [block("text-plain", native, used, text=text, mime_type="text/plain")]


def _data(native: Native) -> list[ContentBlock] | None:
    source_type = native.get("source_type")
    if source_type is None or source_type == "text":
        return _text(native)
    source: dict[str, str | None] = {}
    if source_type == "url":
        source["url"] = text_at(native, "url")
    elif source_type == "base64":
        source["base64"] = as_base64(native.get("data"))
    elif source_type == "id":
        source["file_id"] = text_at(native, "id")
    if not any(source.values()):
        return [non_standard(native)]
    # Under "id" the id is the file's; otherwise it is the block's own, and kept as that.
    used = {"source_type", "mime_type", "data" if source_type == "base64" else source_type}
    return [block(native["type"], native, used, mime_type=text_at(native, "mime_type"), **source)]


READERS: Mapping[str, Reader] = {"image": _data, "audio": _data, "file": _data, "text": _text}
"""What reads a block, by its type."""

FORMAT = ProviderFormat(readers=READERS)
"""How LangChain's messages before version 1 wrote data; it is read only."""
