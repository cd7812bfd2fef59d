"""Standard blocks, written as a provider's own content: the way back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from hocket.messages.content_validate import validate_content_block
from hocket.messages.formats import anthropic, google, openai_chat, openai_responses
from hocket.messages.formats.blocks import Block, Writer, no_place

__all__ = ["ContentFormat", "native_content"]

ContentFormat = Literal["anthropic", "google", "openai_chat", "openai_responses", "openai_responses_input"]
"""Anthropic's messages, Gemini's parts, chat completions' parts, and the Responses API's items and parts of input."""


def _each(writers: Mapping[str, Writer], place: str) -> Callable[[Sequence[Block]], list[dict[str, Any]]]:
    """A format whose blocks are written one by one."""

    def native(block: Block) -> dict[str, Any]:
        if block["type"] == "non_standard":
            return dict(block["value"])
        write = writers.get(block["type"])
        if write is None or (made := write(block)) is None:
            raise no_place(block, place)
        return made

    return lambda blocks: [native(block) for block in blocks]


_FORMATS: Final[Mapping[str, Callable[[Sequence[Block]], list[dict[str, Any]]]]] = {
    "anthropic": _each(anthropic.WRITERS, "a message of Anthropic's API"),
    "google": _each(google.WRITERS, "a message of Gemini's API"),
    "openai_chat": _each(openai_chat.WRITERS, "the content of a chat completion"),
    "openai_responses": openai_responses.write_items,
    "openai_responses_input": _each(openai_responses.INPUT_WRITERS, "the input of the Responses API"),
}


def native_content(blocks: Sequence[Block], format: ContentFormat) -> list[dict[str, Any]]:
    """Return standard ``blocks`` as content of ``format``.

    What was read from the same format comes out as it was, but for nulls and for bookkeeping of ours (``index``, ids that
    were made up). What a block says that no field of the format stands for goes out under its own name; citations, of
    which a provider takes only those that it made itself, are left out where they are another's. ``non_standard`` goes
    out as it is. A plain-text document becomes text where a format knows no documents.

    Raises:
        Unsupported: a block has no place in the format; the text names its type.
        InvalidInput: a block has no data, or base64 data of unknown type; or is malformed.
    """
    try:
        return _FORMATS[format](blocks)
    except (KeyError, TypeError, AttributeError):
        for block in blocks:
            validate_content_block(block)
        raise
