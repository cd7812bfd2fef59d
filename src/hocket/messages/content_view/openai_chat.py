"""Parts of OpenAI's chat completions API, and of the many servers that speak it (Mistral, Cohere, Ollama, vLLM …).

``text`` needs no reader, and a ``refusal`` has no standard form. Mistral gives an image's URL and a recording's data
directly, without OpenAI's inner object.
"""

from collections.abc import Mapping

from hocket.messages.content import ContentBlock
from hocket.messages.content_view.blocks import (
    Native,
    Reader,
    as_base64,
    block,
    data_block,
    flatten,
    mapping_at,
    text_at,
    uri_source,
)

__all__ = ["READERS", "audio", "file"]


def _image(native: Native) -> list[ContentBlock] | None:
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


READERS: Mapping[str, Reader] = {"image_url": _image, "input_audio": audio, "file": file}
