"""Content blocks, written as the parts of a chat completion's messages. Pure functions.

Three kinds of parts are taken: the format's own, which pass as they are; the standard blocks; and those of other
providers that can be read as standard blocks, since a conversation may have begun elsewhere. Any other is refused before
it is sent. Wrapped as ``{"type": "non_standard", "value": part}`` a part passes whatever it is.

What a standard block says beyond its fields goes out as well: some servers take more than the format has. Of a part that
another provider's words were read from, only what the format has a field for does, because servers refuse the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage
from hocket.messages.formats import content_blocks_of, native_content
from hocket.messages.formats.blocks import more, source_of
from hocket.providers.openai.dialects import Dialect

__all__ = ["UNSPOKEN", "encode_content", "encode_reply", "is_foreign", "plain_text"]

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
        "custom_tool_call",
    }
)
"""Parts of a reply that are no content here: calls travel beside it, and reasoning, where a server wants it back, too."""

_STANDARD = frozenset({"text", "image", "audio", "video", "file", "text-plain"})
_WORDS = frozenset({"detail", "filename"})  # the format's, where standard blocks have extras


def encode_content(content: str | Sequence[str | Mapping[str, Any]], dialect: Dialect) -> str | list[Part]:
    """Return content as the format has it: a text, or a list of parts.

    Raises:
        Unsupported: a part that the format, or this server, has no place for; the message names its type.
        InvalidInput: data without what the format needs to know about them.
    """
    return content if isinstance(content, str) else [_encode(block, dialect) for block in _read(content)]


def encode_reply(message: AIMessage, dialect: Dialect) -> str | list[Part]:
    """Return what a message of the model's says, without its calls and its reasoning.

    What another provider alone understands is left out of its replies: tools that ran on its side, parts that are not
    standard, and whatever its parts say beyond the standard.

    Raises:
        Unsupported, InvalidInput: as `encode_content`.
    """
    if isinstance(message.content, str):
        return message.content
    said = [block for block in _read(message.content) if str(block.get("type")) not in UNSPOKEN]
    if is_foreign(message, dialect):
        known = (block for block in said if _is_native(block) or str(block.get("type")) in _STANDARD)
        said = [block if _is_native(block) else _bare(block) for block in known]
    return [_encode(block, dialect) for block in said]


def is_foreign(message: AIMessage, dialect: Dialect) -> bool:
    """Whether another provider is known to have written a message."""
    return message.response_metadata.get("model_provider") not in (None, dialect.name)


def plain_text(content: str | list[Part]) -> str | list[Part]:
    """Return parts that are nothing but text as one text, which servers understand that take no parts in some roles."""
    if isinstance(content, str) or any(part.keys() != {"type", "text"} or part["type"] != "text" for part in content):
        return content
    return "".join(part["text"] for part in content)


def _is_native(part: Mapping[str, Any]) -> bool:
    kind = str(part.get("type"))
    return kind == "refusal" or isinstance(part.get(NATIVE.get(kind, "")), Mapping)


def _read(content: Iterable[str | Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The parts, those of other providers as standard blocks; what cannot be read stays as it is."""
    blocks: list[Mapping[str, Any]] = []
    for part in content:
        if isinstance(part, str):
            blocks.append({"type": "text", "text": part})
        elif _is_native(part) or part.get("type") == "non_standard":
            blocks.append(part)
        else:
            read: list[Any] = content_blocks_of([given := dict(part)], additional_kwargs={}, response_metadata={})
            for block in read:
                unread = block["type"] == "non_standard"
                blocks.append(block["value"] if unread else block if block is given else _bare(block))
    return blocks


def _bare(block: Mapping[str, Any]) -> Part:
    """A block without what it says beyond the standard, unless the format has a word for it."""
    beyond = _beyond(block)
    kept = {name: value for name, value in block.items() if name not in beyond and name != "extras"}
    return kept | {"extras": {name: value for name, value in beyond.items() if name in _WORDS}}


def _beyond(block: Mapping[str, Any]) -> Part:
    if not isinstance(extras := block.get("extras") or {}, Mapping):
        raise InvalidInput(f"the extras of a part of type {block['type']!r} are {type(extras).__name__}, not a dict")
    return more(block)


def _encode(block: Mapping[str, Any], dialect: Dialect) -> Part:
    if _is_native(block):
        return dict(block)
    kind = str(block.get("type"))
    if kind == "non_standard":
        return native_content([block], "openai_chat")[0]
    if kind not in _STANDARD or (kind == "video" and (not dialect.takes_video or "file_id" in block)):
        raise _unsupported(dialect, f"a part of type {kind!r}", "remove it, or use a model that takes such parts")
    if kind == "video":
        return {"type": "video_url", "video_url": {"url": source_of(block).url}, **_beyond(block)}
    if kind == "text" and not isinstance(block.get("text"), str):
        raise InvalidInput(f"a part of type 'text' holds {type(block.get('text')).__name__} instead of a text")
    try:
        [part] = native_content([block], "openai_chat")
    except Unsupported:
        raise _unsupported(dialect, f"a part of type {kind!r} by {source_of(block).kind}", _WAYS_OUT[kind]) from None
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


def _unsupported(dialect: Dialect, what: str, way_out: str) -> Unsupported:
    return Unsupported(f"{what} has no place in a chat completion; {way_out}", provider=dialect.name)
