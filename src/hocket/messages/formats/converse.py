"""Parts of Amazon's Converse API, read: pictures, recordings, videos and documents. Like Gemini's they have no type."""

from hocket.messages.content import ContentBlock
from hocket.messages.formats.blocks import (
    Native,
    as_base64,
    block,
    data_block,
    flatten,
    mapping_at,
    text_at,
)
from hocket.messages.formats.format import ProviderFormat

__all__ = ["FORMAT"]

_FAMILIES = {"image": "image", "video": "video", "audio": "audio", "document": "application"}


def _data(native: Native) -> list[ContentBlock] | None:
    """``{"image": {"format": "png", "source": {"bytes": …}}}`` and its like."""
    kind = next((name for name in _FAMILIES if name in native), "")
    if (part := mapping_at(native, kind)) is None:
        return None
    format, source = text_at(part, "format"), mapping_at(part, "source") or {}
    flat, used = flatten(native, kind, part), {"format", "source"}
    if format == "txt" and (text := text_at(source, "text")) is not None:
        return [block("text-plain", flat, used, text=text, mime_type="text/plain")]
    if format is None or (data := as_base64(source.get("bytes"))) is None:
        return None
    return [data_block(f"{_FAMILIES[kind]}/{format}", flat, used, base64=data)]


FORMAT = ProviderFormat(parts=dict.fromkeys(_FAMILIES, _data))
"""How Amazon's Converse API writes a message; it is read only."""
