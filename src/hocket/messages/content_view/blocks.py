"""What the dialects share: building a standard block from a native one without losing anything."""

from base64 import b64encode
from collections.abc import Callable, Container, Mapping
from typing import Any, TypeAlias, cast

from hocket.errors import InvalidInput
from hocket.messages.content import ContentBlock
from hocket.messages.tool_calls import invalid_tool_call, parse_tool_arguments, tool_call

__all__ = [
    "Native",
    "Reader",
    "as_base64",
    "block",
    "call_block",
    "data_block",
    "flatten",
    "joined_text",
    "non_standard",
    "rest",
    "uri_source",
]

Native: TypeAlias = Mapping[str, Any]
"""A block as its provider wrote it. Never changed here."""

Reader: TypeAlias = Callable[[Native], list[ContentBlock] | None]
"""Reads a native block; None means "not my dialect, or not readable"."""

_FAMILIES = frozenset({"image", "audio", "video"})


def rest(native: Native, used: Container[str]) -> dict[str, Any]:
    """What of ``native`` has no standard field: ``id`` and ``index`` as they are, everything else as ``extras``.

    ``used`` names the keys that were read already. Nulls say nothing and are left out.
    """
    kept: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for key, value in native.items():
        if key == "type" or key in used or value is None:
            continue
        if (key == "id" and isinstance(value, str)) or (key == "index" and isinstance(value, (int, str))):
            kept[key] = value
        elif key == "extras" and isinstance(value, Mapping):
            extras.update(value)
        else:
            extras[key] = value
    if extras:
        kept["extras"] = extras
    return kept


def block(kind: str, native: Native, used: Container[str], **fields: Any) -> ContentBlock:
    """A standard block of type ``kind`` from ``fields`` (None means absent) and the rest of ``native``."""
    made = rest(native, used)
    made.update((name, value) for name, value in fields.items() if value is not None)
    made["type"] = kind
    return cast(ContentBlock, made)


def non_standard(native: Native) -> ContentBlock:
    """``native`` whole, for those who know its provider."""
    made: dict[str, Any] = {"type": "non_standard", "value": dict(native)}
    if isinstance(index := native.get("index"), (int, str)):
        made["index"] = index
    return cast(ContentBlock, made)


def call_block(name: object, arguments: object, id: object, more: Mapping[str, Any]) -> ContentBlock:
    """A ``tool_call`` block, or an ``invalid_tool_call`` one where the arguments cannot be read."""
    name = name if isinstance(name, str) else ""
    id = id if isinstance(id, str) else None
    try:
        made: Any = tool_call(name=name, args=parse_tool_arguments(arguments), id=id)
    except InvalidInput as error:
        text = arguments if isinstance(arguments, str) else repr(arguments)
        made = invalid_tool_call(name=name, args=text, id=id, error=str(error))
    return cast(ContentBlock, {**more, **made})


def data_block(mime_type: object, native: Native, used: Container[str], **source: Any) -> ContentBlock:
    """A block for data of which only the MIME type is known: it says whether this is an image, a recording, a file."""
    mime_type = mime_type if isinstance(mime_type, str) else None
    family = (mime_type or "").partition("/")[0]
    if mime_type == "text/plain":
        return block("text-plain", native, used, mime_type=mime_type, **source)
    return block(family if family in _FAMILIES else "file", native, used, mime_type=mime_type, **source)


def uri_source(uri: object) -> dict[str, str] | None:
    """The source fields for a URI: ``base64`` and ``mime_type`` of a base64 ``data:`` URL, ``url`` of any other."""
    if not isinstance(uri, str) or not uri:
        return None
    if uri.startswith("data:"):
        head, _, data = uri.partition(",")
        mime_type, marker, _ = head[len("data:") :].partition(";base64")
        if marker and mime_type and data:
            return {"base64": data, "mime_type": mime_type}
    return {"url": uri}


def as_base64(data: object) -> str | None:
    """Data as base64 text; some client libraries hand out raw bytes."""
    if isinstance(data, (bytes, bytearray)):
        data = b64encode(data).decode()
    return data if isinstance(data, str) and data else None


def flatten(native: Native, key: str, plain: Container[str]) -> dict[str, Any]:
    """``native`` with the mapping under ``key`` moved up; keys that are not ``plain`` are prefixed with ``key``."""
    flat = {name: value for name, value in native.items() if name != key}
    for name, value in native[key].items():
        flat[name if name in plain else f"{key}_{name}"] = value
    return flat


def joined_text(parts: object) -> str | None:
    """The text of a string, or of a list of ``{"text": …}`` parts; None if it is neither."""
    if isinstance(parts, str):
        return parts
    if not isinstance(parts, list):
        return None
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "".join(map(str, texts)) if len(texts) == len(parts) and all(isinstance(t, str) for t in texts) else None
