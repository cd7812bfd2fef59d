"""Content blocks, written as the parts of a chat completion's messages. Pure functions.

Three kinds of parts are taken: the format's own, which pass as they are; the standard blocks; and those of other
providers that can be read as standard blocks, since a conversation may have begun elsewhere. Any other is refused before
it is sent. Wrapped as ``{"type": "non_standard", "value": part}`` a part passes whatever it is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from hocket.errors import InvalidInput, Unsupported
from hocket.messages.content_view import content_blocks_of
from hocket.providers.openai.dialects import Dialect

__all__ = ["UNSPOKEN", "encode_content", "plain_text"]

Part = dict[str, Any]

NATIVE = {"image_url": "image_url", "input_audio": "input_audio", "file": "file", "video_url": "video_url"}
"""The format's own parts, beside text, and the field that tells each from a standard block of the same type."""

UNSPOKEN = frozenset(
    {
        "reasoning",
        "thinking",
        "redacted_thinking",
        "tool_call",
        "tool_call_chunk",
        "invalid_tool_call",
        "tool_use",
        "function_call",
    }
)
"""Parts of a reply that are no content here: calls travel beside it, and reasoning, where a server wants it back, too."""

_BOOKKEEPING = frozenset({"id", "index", "annotations", "extras"})  # of standard blocks; no server knows these


def encode_content(content: str | Sequence[str | Mapping[str, Any]], dialect: Dialect) -> str | list[Part]:
    """Return content as the format has it: a text, or a list of parts.

    Raises:
        Unsupported: a part that the format, or this server, has no place for; the message names its type.
        InvalidInput: data without what the format needs to know about them.
    """
    if isinstance(content, str):
        return content
    return [made for part in content for made in _parts(part, dialect)]


def plain_text(content: str | list[Part]) -> str | list[Part]:
    """Return parts that are nothing but text as one text, which servers understand that take no parts in some roles."""
    if isinstance(content, str) or any(part.keys() != {"type", "text"} or part["type"] != "text" for part in content):
        return content
    return "".join(part["text"] for part in content)


def _parts(part: str | Mapping[str, Any], dialect: Dialect) -> list[Part]:
    if isinstance(part, str):
        return [{"type": "text", "text": part}]
    kind = str(part.get("type"))
    if isinstance(part.get(NATIVE.get(kind, "")), Mapping) or kind == "refusal":
        return [dict(part)]
    read: list[Mapping[str, Any]] = [*content_blocks_of([dict(part)], additional_kwargs={}, response_metadata={})]
    if not all(block["type"] in _ENCODERS and block.get("value") != part for block in read):
        raise _unsupported(dialect, f"a part of type {kind!r}", "remove it, or use a model that takes such parts")
    return [_ENCODERS[block["type"]](block, dialect) for block in read]


def _text(block: Mapping[str, Any], dialect: Dialect) -> Part:
    if not isinstance(block.get("text"), str):
        raise InvalidInput(f"a part of type 'text' holds {type(block.get('text')).__name__} instead of a text")
    return {**{key: value for key, value in block.items() if key not in _BOOKKEEPING}, **_extras(block)}


def _document(block: Mapping[str, Any], dialect: Dialect) -> Part:
    if "text" not in block:
        return _file({"mime_type": "text/plain", **block}, dialect)
    pieces = (block.get("title"), block.get("context"), block["text"])
    return {"type": "text", "text": "\n\n".join(piece for piece in pieces if piece), **_extras(block)}


def _image(block: Mapping[str, Any], dialect: Dialect) -> Part:
    if "file_id" in block:
        raise _unsupported(dialect, "an image by file_id", "send its url or its base64 data")
    extras = _extras(block)
    detail = {"detail": extras.pop("detail")} if extras.get("detail") else {}
    return {"type": "image_url", "image_url": {"url": _url(block), **detail}, **extras}


def _audio(block: Mapping[str, Any], dialect: Dialect) -> Part:
    if "base64" not in block:
        raise _unsupported(dialect, "a recording by url or file_id", "send its base64 data")
    form = _mime_type(block).rpartition("/")[2].removeprefix("x-")
    data = _url(block) if dialect.audio_as_url else block["base64"]
    return {"type": "input_audio", "input_audio": {"data": data, "format": _FORMATS.get(form, form)}, **_extras(block)}


_FORMATS = {"mpeg": "mp3", "wave": "wav"}


def _file(block: Mapping[str, Any], dialect: Dialect) -> Part:
    extras = _extras(block)
    name = block.get("filename") or extras.pop("filename", None)
    if "file_id" in block:
        file = {"file_id": block["file_id"]}
    elif "base64" in block:
        # A name is obligatory, and its ending may decide how the file is read.
        file = {"file_data": _url(block), "filename": name or f"file.{_mime_type(block).rpartition('/')[2]}"}
    else:
        raise _unsupported(dialect, "a file by url", "send its base64 data or its file_id")
    return {"type": "file", "file": file, **extras}


def _video(block: Mapping[str, Any], dialect: Dialect) -> Part:
    if not dialect.takes_video or "file_id" in block:
        raise _unsupported(dialect, "a part of type 'video'", "remove it, or use a model that takes such parts")
    return {"type": "video_url", "video_url": {"url": _url(block)}, **_extras(block)}


def _foreign(block: Mapping[str, Any], dialect: Dialect) -> Part:
    return dict(block["value"])


_ENCODERS: Mapping[str, Callable[[Mapping[str, Any], Dialect], Part]] = {
    "text": _text,
    "text-plain": _document,
    "image": _image,
    "audio": _audio,
    "file": _file,
    "video": _video,
    "non_standard": _foreign,
}


def _extras(block: Mapping[str, Any]) -> dict[str, Any]:
    return dict(block.get("extras") or {})


def _url(block: Mapping[str, Any]) -> str:
    if "url" in block:
        return cast(str, block["url"])
    if "base64" not in block:
        raise InvalidInput(f"a part of type {block['type']!r} holds no data; give one of url, base64 or file_id")
    return f"data:{_mime_type(block)};base64,{block['base64']}"


def _mime_type(block: Mapping[str, Any]) -> str:
    if not block.get("mime_type"):
        raise InvalidInput(f"a part of type {block['type']!r} holds base64 data and no mime_type, such as 'image/png'")
    return cast(str, block["mime_type"])


def _unsupported(dialect: Dialect, what: str, way_out: str) -> Unsupported:
    return Unsupported(f"{what} has no place in a chat completion; {way_out}", provider=dialect.name)
