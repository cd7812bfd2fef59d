"""Content blocks, written as the parts of a chat completion's messages. Pure functions.

Three kinds of parts are taken: the format's own, which pass as they are; the standard blocks; and those of other
providers that can be read as standard blocks, since a conversation may have begun elsewhere. Any other is refused before
it is sent. Wrapped as ``{"type": "non_standard", "value": part}`` a part passes whatever it is.

What a standard block says beyond its fields goes out as well: some servers take more than the format has. Of a part that
another provider's words were read from, only what the format has a field for does, because servers refuse the rest.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hocket.errors import InvalidInput, Unsupported
from hocket.errors.hints import excerpt
from hocket.messages import AIMessage
from hocket.messages.formats import native_content
from hocket.messages.formats.blocks import more, source_of
from hocket.providers.openai.dialects import Dialect
from hocket.remote.message_parts import STANDARD, UNSPOKEN, read_parts

__all__ = ["Part", "encode_content", "encode_reply", "is_native"]

Part = dict[str, Any]
"""A message, or a part of one, as the format has it."""

NATIVE = {"image_url": "image_url", "input_audio": "input_audio", "file": "file", "video_url": "video_url"}
"""The format's own parts, beside text, and the field that tells each from a standard block of the same type."""

_WORDS = ("detail", "filename")  # the format's, where standard blocks have extras


def encode_content(content: str | Sequence[str | Mapping[str, Any]], dialect: Dialect) -> str | list[Part]:
    """Return content as the format has it: a text, or a list of parts.

    Raises:
        Unsupported: a part that the format, or this server, has no place for; the message names its type.
        InvalidInput: data without what the format needs to know about them.
    """
    return (
        content
        if isinstance(content, str)
        else [_encode(block, dialect) for block in read_parts(content, is_native, _WORDS)]
    )


def encode_reply(message: AIMessage, dialect: Dialect) -> str | list[Part]:
    """Return what a message of the model's says, without its calls and its reasoning.

    Raises:
        Unsupported, InvalidInput: as `encode_content`.
    """
    if isinstance(message.content, str):
        return message.content
    parts = [part for part in read_parts(message.content, is_native, _WORDS) if str(part.get("type")) not in UNSPOKEN]
    return [_encode(part, dialect) for part in parts if not _is_bare_citation(part)]


def is_native(part: Mapping[str, object]) -> bool:
    """Whether a part is of the format itself, and no standard block."""
    kind = str(part.get("type"))
    return kind == "refusal" or isinstance(part.get(NATIVE.get(kind, "")), Mapping)


def _is_bare_citation(part: Mapping[str, object]) -> bool:
    """Whether a part is a text without text: what is left of a citation that came in a piece of its own."""
    return part.get("type") == "text" and "text" not in part and bool(part.get("citations") or part.get("annotations"))


def _encode(block: Mapping[str, Any], dialect: Dialect) -> Part:
    if is_native(block):
        return dict(block)
    kind = str(block.get("type"))
    if kind == "non_standard":
        return native_content([block], "openai_chat")[0]
    if kind not in STANDARD or (kind == "video" and (not dialect.takes_video or "file_id" in block)):
        raise _make_unsupported(
            dialect, f"a part of type {excerpt(kind)}", "remove it, or use a model that takes such parts"
        )
    if kind == "video":
        return {"type": "video_url", "video_url": {"url": source_of(block).url}, **more(block)}
    if kind == "text" and not isinstance(block.get("text"), str):
        raise InvalidInput(f"a part of type 'text' holds {type(block.get('text')).__name__} instead of a text")
    try:
        [part] = native_content([block], "openai_chat")
    except Unsupported:
        raise _make_unsupported(
            dialect, f"a part of type {excerpt(kind)} by {source_of(block).kind}", _WAYS_OUT[kind]
        ) from None
    if "file_data" in (file := part.get("file", {})):
        # A name is obligatory, and its ending may decide how the file is read.
        file.setdefault("filename", f"file.{str(source_of(block).mime_type).rpartition('/')[2]}")
    if dialect.audio_as_url and "input_audio" in part:
        part["input_audio"]["data"] = source_of(block).url
    return part


_WAYS_OUT = {
    "image": "send its url or its base64 data",
    "audio": "send its base64 data",
    "file": "send its base64 data or its file_id",
    "text-plain": "send its text",
}


def _make_unsupported(dialect: Dialect, what: str, way_out: str) -> Unsupported:
    return Unsupported(f"{what} has no place in a chat completion; {way_out}", provider=dialect.name)
