"""Content, written as the parts of Mistral's messages. Pure functions.

The API refuses a key that it does not know, so a part goes out with the keys of its kind and no others. Its own
``thinking`` and ``reference`` parts go back as they came, but for the places that they had in a stream.
"""

from collections.abc import Sequence

from hocket.errors import Unsupported
from hocket.errors.hints import excerpt
from hocket.messages import AIMessage
from hocket.messages.content import KNOWN_BLOCK_TYPES, Fields, FieldsView
from hocket.messages.formats import native_content
from hocket.remote.function_calls import join_texts, read_said
from hocket.remote.message_parts import STANDARD, keep_standard, read_parts

__all__ = ["encode_content", "encode_reply", "encode_text", "is_native"]

_WORDS = ("detail", "document_name")  # the API's, where standard blocks have extras
_TEXT = frozenset({"type", "text"})
_KEYS = {
    "document_url": frozenset({"type", "document_url", "document_name"}),
    "file": frozenset({"type", "file_id"}),
    "image_url": frozenset({"type", "image_url"}),
    "reference": frozenset({"type", "reference_ids"}),
    "thinking": frozenset({"type", "thinking", "signature", "closed"}),
}
"""The API's own parts that are no standard blocks, and the keys of each."""


def is_native(part: FieldsView) -> bool:
    """Whether a part is of the API's own format, and no standard block."""
    match part.get("type"):
        case "input_audio":
            return isinstance(part.get("input_audio"), str)
        case "thinking":
            return isinstance(part.get("thinking"), list)
        case "reference":
            return "reference_ids" in part
        case "image_url" | "document_url" as kind:
            return kind in part
        case _:
            return False


def encode_content(content: str | Sequence[str | FieldsView]) -> str | list[Fields]:
    """Return content as the API has it: a text, or a list of parts.

    Raises:
        Unsupported: a part that the API has no place for; the text names its type.
        InvalidInput: data without what the API needs to know about them.
    """
    return content if isinstance(content, str) else [_encode(part) for part in read_parts(content, is_native, _WORDS)]


def encode_text(content: str | Sequence[str | FieldsView], place: str) -> str:
    """Return content that may be nothing but text.

    Args:
        content: of a message.
        place: where it stands, for an error.

    Raises:
        Unsupported: it holds something else; or see `encode_content`.
    """
    text = join_texts(encode_content(content))
    if isinstance(text, str):
        return text
    kind = next(part["type"] for part in text if part.keys() != _TEXT)
    raise Unsupported(f"{place} holds a part of type {excerpt(kind)}, and takes text only; send it as a user message")


def encode_reply(message: AIMessage) -> str | list[Fields]:
    """Return what a message of the model's says, its reasoning included. Raises as `encode_content`.

    A part that nobody knows is one that the API has come up with since, and goes back as it came.
    """
    parts = read_said(message, is_native, _WORDS)
    return join_texts([_encode(part) if part.get("type") in KNOWN_BLOCK_TYPES else _trim(part) for part in parts])


def _encode(part: Fields) -> Fields:
    kind = str(part.get("type"))
    if is_native(part):
        return _trim(part)
    if kind in STANDARD:
        part = keep_standard(part, _WORDS)
    [written] = native_content([part], "mistral")
    return _trim(written) if kind != "non_standard" else written


def _trim(part: Fields) -> Fields:
    """Return a part of the API's own without keys that are not: it refuses them."""
    known = _KEYS.get(str(part.get("type")))
    kept = {name: value for name, value in part.items() if name != "index" and (known is None or name in known)}
    if known is _KEYS["thinking"]:
        kept["thinking"] = [
            {name: value for name, value in piece.items() if name != "index"} for piece in kept["thinking"]
        ]
    return kept
