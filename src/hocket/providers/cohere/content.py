"""Content, written as the parts of Cohere's messages. Pure functions.

What a message may hold depends on who speaks: pictures stand in the user's messages alone, documents in the results of
tools, and reasoning in the model's own. Documents for the user's question go into the option ``documents``.
"""

from collections.abc import Mapping, Sequence

from hocket.errors import Unsupported
from hocket.errors.hints import excerpt
from hocket.messages import AIMessage
from hocket.messages.content import KNOWN_BLOCK_TYPES, Fields, FieldsView
from hocket.messages.formats import native_content
from hocket.remote.function_calls import join_texts, read_said
from hocket.remote.message_parts import STANDARD, keep_standard, read_parts

__all__ = ["encode_content", "encode_reply", "is_native"]

_TAKEN: Mapping[str, frozenset[str]] = {
    "system": frozenset({"text"}),
    "user": frozenset({"text", "image_url"}),
    "assistant": frozenset({"text", "thinking"}),
    "tool": frozenset({"text", "document"}),
}
"""The parts that a message may hold, by its role."""

_NATIVE = frozenset({"thinking", "document", "image_url"})
_THINKING = frozenset({"type", "thinking", "index"})


def is_native(part: FieldsView) -> bool:
    """Whether a part is of the API's own format, and no standard block."""
    match part.get("type"):
        case "thinking":
            return part.keys() <= _THINKING and isinstance(part.get("thinking"), str)
        case "document" | "image_url" as kind:
            return isinstance(part.get(kind), Mapping)
        case _:
            return False


def encode_content(content: str | Sequence[str | FieldsView], role: str) -> str | list[Fields]:
    """Return content as the API has it: a text, or a list of parts.

    Args:
        content: of a message.
        role: of who speaks.

    Raises:
        Unsupported: a part that the API has no place for there; the text names its type.
        InvalidInput: data without what the API needs to know about them.
    """
    return content if isinstance(content, str) else _encode_parts(read_parts(content, is_native, ("detail",)), role)


def encode_reply(message: AIMessage) -> str | list[Fields]:
    """Return what the model has said and thought, as `encode_content` does; parts that nobody knows as they came."""
    return join_texts(_encode_parts(read_said(message, is_native), "assistant"))


def _encode_parts(parts: Sequence[Fields], role: str) -> list[Fields]:
    encoded: list[Fields] = []
    for part in parts:
        is_new = role == "assistant" and part.get("type") not in KNOWN_BLOCK_TYPES | _NATIVE
        written = _drop_index(part) if is_new else _encode(part, role)
        encoded.append(written)
        if not is_new and part.get("type") != "non_standard" and written["type"] not in _TAKEN[role]:
            raise Unsupported(
                f"a part of type {excerpt(part['type'])} has no place in a message of role {role!r}, which holds "
                f"{' and '.join(sorted(_TAKEN[role]))} in Cohere's API; remove it, or send it elsewhere",
                provider="cohere",
            )
    return encoded


def _encode(part: Fields, role: str) -> Fields:
    kind = part.get("type")
    if is_native(part):
        return _drop_index(part)
    if kind in STANDARD:
        part = keep_standard(part, ("detail", "document"))
    is_plain = kind == "text-plain" and role != "tool"  # the words of a document, where none may stand
    [written] = native_content([part], "openai_chat" if is_plain else "cohere")
    return written


def _drop_index(part: Fields) -> Fields:
    return {name: value for name, value in part.items() if name != "index"}
