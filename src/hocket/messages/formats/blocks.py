"""What the dialects share: a standard block from a native one, and a native one from a standard one, nothing lost.

What a native block says inside of an inner object and no standard field holds, a format's reader keeps under the inner
object's name in the ``extras``, and its writer puts back there.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from hocket.errors import InvalidInput, Unsupported
from hocket.errors.hints import excerpt
from hocket.messages.content import BLOCK_TYPES, ContentBlock, Fields, FieldsView
from hocket.messages.tool_calls import invalid_tool_call, parse_tool_arguments, tool_call

__all__ = [
    "Block",
    "Native",
    "Reader",
    "Source",
    "Writer",
    "as_base64",
    "block",
    "call_block",
    "data_block",
    "document_text",
    "flatten",
    "guess_mime_type",
    "index_of",
    "inner_extras",
    "mapping_at",
    "mappings_at",
    "more",
    "native_block",
    "no_place",
    "non_standard",
    "own_id",
    "rest",
    "source_of",
    "text_at",
    "uri_source",
]

Native: TypeAlias = FieldsView
"""A block as its provider wrote it. Never changed here."""

Reader: TypeAlias = Callable[[Native], list[ContentBlock] | None]
"""Reads a native block; None means "not my dialect, or not readable"."""

Block: TypeAlias = FieldsView
"""A standard block. Never changed here."""

Writer: TypeAlias = Callable[[Block], Fields | None]
"""Writes a standard block as a native one; None means "there is no such thing in this dialect"."""

_FIELDS: dict[str, frozenset[str]] = {
    kind: cast(Any, typed).__required_keys__ | cast(Any, typed).__optional_keys__ for kind, typed in BLOCK_TYPES.items()
}

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


def rest(native: Native, used: Container[str]) -> Fields:
    """What of ``native`` has no standard field: ``id`` and ``index`` as they are, everything else as ``extras``.

    ``used`` names the keys that were read already. Nulls say nothing and are left out.
    """
    kept: Fields = {}
    extras: Fields = {}
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
    """``native`` whole, for readers that know its provider."""
    made: Fields = {"type": "non_standard", "value": dict(native)}
    if (index := index_of(native)) is not None:
        made["index"] = index
    return cast(ContentBlock, made)


def call_block(native: Native, arguments: object, id: str | None, more: FieldsView) -> ContentBlock:
    """A ``tool_call`` block, or an ``invalid_tool_call`` one where the arguments cannot be read.

    ``native`` has the tool's ``name``; ``more`` is what else the block says.
    """
    name = text_at(native, "name") or ""
    made: FieldsView
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


_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (rb"\x89PNG\r\n\x1a\n", "image/png"),
    (rb"\xff\xd8\xff", "image/jpeg"),
    (rb"GIF8[79]a", "image/gif"),
    (rb"RIFF....WEBP", "image/webp"),
    (rb"%PDF-", "application/pdf"),
    (rb"RIFF....WAVE", "audio/wav"),
    (rb"ID3|\xff[\xfb\xf3\xf2]", "audio/mpeg"),
    (rb"fLaC", "audio/flac"),
    (rb"OggS", "audio/ogg"),
)
"""Patterns of how the data of some types begin."""


def guess_mime_type(data: str) -> str | None:
    """Return the MIME type of base64 data by its first 12 bytes; None: it is not one of the common types."""
    try:
        start = b64decode(data[:16])
    except ValueError:
        return None
    return next((mime_type for pattern, mime_type in _SIGNATURES if re.match(pattern, start, re.DOTALL)), None)


def flatten(native: Native, key: str, plain: Container[str]) -> Fields:
    """``native`` with the mapping under ``key`` moved up; keys that are not ``plain`` are prefixed with ``key``."""
    flat = {name: value for name, value in native.items() if name != key}
    for name, value in native[key].items():
        flat[name if name in plain else f"{key}_{name}"] = value
    return flat


class Source(NamedTuple):
    """Where the data of a block are: ``kind`` is url, base64, file_id or text."""

    kind: str
    data: str
    mime_type: str | None

    @property
    def url(self) -> str:
        """The data as a URL: their own, or a ``data:`` one."""
        return self.data if self.kind == "url" else f"data:{self.mime_type};base64,{self.data}"


def source_of(block: Block) -> Source:
    """Return where the data of ``block`` are; a base64 ``data:`` URL counts as what it holds.

    Raises:
        InvalidInput: it has no data, or base64 of unknown type.
    """
    kind = next((name for name in ("file_id", "base64", "url", "text") if block.get(name)), None)
    if kind is None:
        raise InvalidInput(f"a block of type {block['type']!r} holds no data; give one of url, base64 or file_id")
    data, mime_type = block[kind], block.get("mime_type")
    if kind == "url" and "base64" in (inner := uri_source(data) or {}):
        return Source("base64", inner["base64"], mime_type or inner["mime_type"])
    if kind == "url" and isinstance(data, str) and ":" not in data and ("." in data or "/" in data):
        raise InvalidInput(
            f"the url of a block of type {block['type']!r} is {excerpt(data)}, which no server can open; of a file on this "
            "machine give the content: base64=Path(...).read_bytes(), mime_type=...",
            page="providers.md#images-audio-and-pdf-files",
        )
    if kind == "base64" and not mime_type:
        raise InvalidInput(f"a block of type {block['type']!r} holds base64 and no mime_type, such as 'image/png'")
    return Source(kind, data, mime_type)


def more(block: Block, *taken: str) -> Fields:
    """What ``block`` says beyond its standard fields: its extras, but for those ``taken``, and keys of no block."""
    extras: FieldsView = block.get("extras") or {}
    fields = _FIELDS[block["type"]]
    said = {key: value for key, value in block.items() if key not in fields and key != "extras"}
    return said | {key: value for key, value in extras.items() if key not in taken}


def inner_extras(block: Block, key: str) -> FieldsView:
    """What the ``extras`` of ``block`` hold for the inner object ``key`` of the native one; nothing, if it is no mapping."""
    return mapping_at(block.get("extras") or {}, key) or {}


def native_block(kind: str, block: Block, *taken: str, **fields: Any) -> Fields:
    """A native block of type ``kind`` from ``fields`` (None means absent), and what else ``block`` says."""
    given = {name: value for name, value in fields.items() if value is not None}
    return {"type": kind, **given, **more(block, "type", *given, *taken)}


def own_id(block: Block) -> str | None:
    """The id that a provider gave to ``block``; None for one that was made up on this side."""
    id = block.get("id")
    return id if isinstance(id, str) and not id.startswith("lc_") else None


def document_text(block: Block) -> str:
    """A plain-text document as text, for formats that have no such thing: title, context and text."""
    return "\n\n".join(piece for key in ("title", "context", "text") if (piece := block.get(key)))


def no_place(block: Block, where: str) -> Unsupported:
    """The refusal to write ``block``."""
    kind = block["type"]
    return Unsupported(f"a block of type {kind!r}, as it is, has no place in {where}; remove it, or convert it first")
