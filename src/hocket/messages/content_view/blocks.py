"""What the dialects share: building a standard block from a native one without losing anything."""

from base64 import b64encode
from collections.abc import Callable, Container, Mapping, Sequence
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
    "index_of",
    "mapping_at",
    "mappings_at",
    "non_standard",
    "rest",
    "text_at",
    "uri_source",
]

Native: TypeAlias = Mapping[str, Any]
"""A block as its provider wrote it. Never changed here."""

Reader: TypeAlias = Callable[[Native], list[ContentBlock] | None]
"""Reads a native block; None means "not my dialect, or not readable"."""

_FAMILIES = frozenset({"image", "audio", "video"})


def text_at(native: Native, key: str) -> str | None:
    """The string under ``key``, or None: no provider's word is taken for what it sends."""
    value = native.get(key)
    return value if isinstance(value, str) else None


def mapping_at(native: Native, key: str) -> Native | None:
    """The mapping under ``key``, or None."""
    value = native.get(key)
    return cast(Native, value) if isinstance(value, Mapping) else None


def mappings_at(native: Native, key: str) -> list[Native] | None:
    """The list of mappings under ``key``, or None; what is no mapping in it is left out."""
    value = native.get(key)
    if not isinstance(value, list):
        return None
    return [cast(Native, item) for item in cast(Sequence[object], value) if isinstance(item, Mapping)]


def index_of(native: Native) -> int | str | None:
    """The place of ``native`` in the message it streams in, or None."""
    index = native.get("index")
    return index if isinstance(index, int | str) and not isinstance(index, bool) else None


def rest(native: Native, used: Container[str]) -> dict[str, Any]:
    """What of ``native`` has no standard field: ``id`` and ``index`` as they are, everything else as ``extras``.

    ``used`` names the keys that were read already. Nulls say nothing and are left out.
    """
    kept: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    if "index" not in used and (index := index_of(native)) is not None:
        kept["index"] = index
    for key, value in native.items():
        if value is None or key == "type" or key in used or key in kept:
            continue
        if key == "id" and isinstance(value, str):
            kept["id"] = value
        elif key == "extras" and isinstance(value, Mapping):
            extras.update(cast(Native, value))
        else:
            extras[key] = value
    if extras:
        kept["extras"] = extras
    return kept


def block(kind: str, native: Native, used: Container[str], **fields: Any) -> ContentBlock:
    """A standard block of type ``kind`` from ``fields`` (None means absent) and the rest of ``native``."""
    given = {name: value for name, value in fields.items() if value is not None}
    return cast(ContentBlock, {"type": kind, **rest(native, used), **given})


def non_standard(native: Native) -> ContentBlock:
    """``native`` whole, for those who know its provider."""
    made: dict[str, Any] = {"type": "non_standard", "value": dict(native)}
    if (index := index_of(native)) is not None:
        made["index"] = index
    return cast(ContentBlock, made)


def call_block(native: Native, arguments: object, id: str | None, more: Mapping[str, Any]) -> ContentBlock:
    """A ``tool_call`` block, or an ``invalid_tool_call`` one where the arguments cannot be read.

    ``native`` has the tool's ``name``; ``more`` is what else the block says.
    """
    name = text_at(native, "name") or ""
    made: Mapping[str, Any]
    try:
        made = tool_call(name=name, args=parse_tool_arguments(arguments), id=id)
    except InvalidInput as error:
        text = arguments if isinstance(arguments, str) else repr(arguments)
        made = invalid_tool_call(name=name, args=text, id=id, error=str(error))
    return cast(ContentBlock, {**more, **made})


def data_block(mime_type: str | None, native: Native, used: Container[str], **source: Any) -> ContentBlock:
    """A block for data of which only the MIME type is known: it says whether this is an image, a recording, a file."""
    family = (mime_type or "").partition("/")[0]
    kind = "text-plain" if mime_type == "text/plain" else family if family in _FAMILIES else "file"
    return block(kind, native, used, mime_type=mime_type, **source)


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
