"""Parts of OpenAI's chat completions API, and of the many servers that speak it (Mistral, Cohere, Ollama, vLLM …).

``text`` needs no reader, and a ``refusal`` has no standard form. Mistral gives an image's URL and a recording's data
directly, without OpenAI's inner object.
"""

from collections.abc import Mapping

from hocket.messages.content import ContentBlock
from hocket.messages.content_view.blocks import Native, Reader, as_base64, block, data_block, flatten, uri_source

__all__ = ["READERS", "audio", "file"]


def _image(native: Native) -> list[ContentBlock] | None:
    image = native.get("image_url")
    flat = flatten(native, "image_url", {"url", "detail"}) if isinstance(image, Mapping) else {**native, "url": image}
    source = uri_source(flat.get("url"))
    return None if source is None else [block("image", flat, {"image_url", "url"}, **source)]


def audio(native: Native) -> list[ContentBlock] | None:
    """Read ``{"type": "input_audio", "input_audio": {"data", "format"}}``."""
    recording = native.get("input_audio")
    if isinstance(recording, str) and recording.startswith(("http", "data:")):
        source = uri_source(recording) or {}
        return [block("audio", native, {"input_audio"}, **source)]
    if not isinstance(recording, Mapping):
        return None
    data, format = as_base64(recording.get("data")), recording.get("format")
    if data is None or not isinstance(format, str):
        return None
    flat = flatten(native, "input_audio", {"data", "format"})
    return [block("audio", flat, {"data", "format"}, base64=data, mime_type=f"audio/{format}")]


def file(native: Native) -> list[ContentBlock] | None:
    """Read ``{"type": "file", "file": {"file_data": "data:…", "filename"} | {"file_id"}}``."""
    if not isinstance(inner := native.get("file"), Mapping):
        return None
    flat = flatten(native, "file", {"file_data", "file_id", "filename"})
    if isinstance(file_id := inner.get("file_id"), str) and file_id:
        return [block("file", flat, {"file_id"}, file_id=file_id)]
    source = uri_source(inner.get("file_data"))
    if source is None or "base64" not in source:
        return None
    return [data_block(source.pop("mime_type"), flat, {"file_data"}, **source)]


READERS: Mapping[str, Reader] = {"image_url": _image, "input_audio": audio, "file": file}
