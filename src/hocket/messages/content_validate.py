"""Checking one content block against its definition.

The adapters are built when a type of block is first seen and kept: building one costs a thousand times what using it
does, and most programs never check a block.
"""

from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from hocket.errors import InvalidInput
from hocket.messages.content import BLOCK_TYPES, ContentBlock, FieldsView

__all__ = ["validate_content_block"]


def validate_content_block(block: FieldsView) -> ContentBlock:
    """Return ``block`` itself, typed, if it is a well-formed standard block.

    Nothing is converted: a number is not taken for text. Keys beyond the definition are allowed.

    Raises:
        InvalidInput: ``type`` is missing or unknown (a provider's own block belongs into a ``non_standard`` one), a
            field is missing or of the wrong type, or ``base64`` data does not say its ``mime_type``.
    """
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in BLOCK_TYPES:
        raise InvalidInput(
            f"Unknown content block type {kind!r}. Known types: {', '.join(sorted(BLOCK_TYPES))}; "
            f"wrap a provider's own block as {{'type': 'non_standard', 'value': block}}"
        )
    try:
        _adapter(kind).validate_python(block, strict=True)
    except ValidationError as error:
        # Pydantic's own text repeats the values, and a value can be megabytes of base64.
        faults = (f"{'.'.join(map(str, fault['loc'])) or kind}: {fault['msg']}" for fault in error.errors())
        raise InvalidInput(f"Malformed {kind!r} content block: {'; '.join(faults)}") from None
    if block.get("base64") and not block.get("mime_type"):
        raise InvalidInput(f"Malformed {kind!r} content block: base64 data needs a mime_type, such as 'image/png'")
    return cast(ContentBlock, block)


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(BLOCK_TYPES[kind])
