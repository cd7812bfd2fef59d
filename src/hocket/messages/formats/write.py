"""Standard blocks, written as a provider's own content: the way back."""

from collections.abc import Sequence

from hocket.messages.content import Fields
from hocket.messages.content_validate import validate_content_block
from hocket.messages.formats.blocks import Block
from hocket.messages.formats.known import WRITES, ContentFormat

__all__ = ["native_content"]


def native_content(blocks: Sequence[Block], format: ContentFormat) -> list[Fields]:
    """Return standard ``blocks`` as content of ``format``.

    What was read from the same format comes out as it was, but for nulls and for bookkeeping of ours (``index``, ids that
    were made up). What a block says that no field of the format stands for goes out under its own name; citations, of
    which a provider takes only those that it made itself, are left out where they are another's. ``non_standard`` goes
    out as it is. A plain-text document becomes text where a format knows no documents.

    Args:
        blocks: as ``content_blocks`` has them.
        format: "anthropic": blocks of its messages; "converse": of Amazon's Converse API; "google": Gemini's parts;
            "openai_chat", "mistral", "cohere": parts of a chat message; "openai_responses": items of a reply;
            "openai_responses_input": parts of what a user or a tool says; "ollama": a single mapping, the fields
            ``content``, ``images`` and ``thinking`` of its message.

    Raises:
        Unsupported: a block has no place in the format; the text names its type.
        InvalidInput: a block has no data, or base64 data of unknown type; or is malformed.
    """
    try:
        return WRITES[format](blocks)
    except (KeyError, TypeError, AttributeError):
        for block in blocks:
            validate_content_block(block)
        raise
