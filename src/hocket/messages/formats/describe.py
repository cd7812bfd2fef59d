"""A part of a content in a few words, for a reader who cannot be given the part itself."""

from typing import cast

from hocket.errors import HocketError
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats.blocks import document_text, source_of
from hocket.messages.formats.view import read_block

__all__ = ["describe_part"]

_LONGEST = 500
"""Characters of an address that are written."""


def describe_part(part: FieldsView, why: str) -> str:
    """Return a text in place of a part: its type, its size or address, and why it is not here; a document's own text.

    [image/png, 2 kB: this server takes text only]
    """
    return " ".join(_describe(cast(Fields, block), why) for block in read_block(dict(part)))


def _describe(block: Fields, why: str) -> str:
    if block["type"] == "text-plain" and isinstance(block.get("text"), str):
        return document_text(block)
    value = block.get("value")
    kind = block["type"]
    if kind == "non_standard" and isinstance(value, dict):
        kind = cast(Fields, value).get("type", "part")
    try:
        source = source_of(block)
    except (HocketError, TypeError, AttributeError):
        return f"[{kind}: {why}]"
    data = str(source.data)  # a file may hold anything
    what = _say_size(data) if source.kind == "base64" else data[:_LONGEST]
    return f"[{source.mime_type or kind}, {what}: {why}]"


def _say_size(base64: str) -> str:
    count = len(base64.rstrip("=")) * 3 // 4
    if count < 1000:
        return f"{count} byte{'s' * (count != 1)}"
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
