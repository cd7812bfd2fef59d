"""What one provider's way to write content consists of. Each provider's module makes one `ProviderFormat`.

Most providers put everything into the content. Some put part of it beside: a field of its own for reasoning, for
citations, for pictures. Such a field is kept in a message's ``additional_kwargs`` under the provider's name for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from hocket.messages.content import Annotation, Fields
from hocket.messages.formats.blocks import Block, Native, Reader, Writer, no_place

__all__ = ["AnnotationReader", "ProviderFormat", "SourcesReader", "TextReader", "Write", "write_each"]

Write: TypeAlias = Callable[[Sequence[Block]], list[Fields]]
"""Writes standard blocks as a provider's content."""

TextReader: TypeAlias = Callable[[Native], str]
"""Returns the text in a block."""

AnnotationReader: TypeAlias = Callable[[Native], list[Annotation]]
"""Reads one entry of a list of citations that came beside the content."""


SourcesReader: TypeAlias = Callable[[Native, Sequence[str]], list[tuple[int, Annotation]]]
"""Reads where texts come from, out of what a reply says about itself: given that and the texts of the message, returns
citations, each with the position of its text among them."""


@dataclass(frozen=True, slots=True)
class ProviderFormat:
    """A provider's content. Everything is optional: a format that is only read has no ``writes``.

    Attributes:
        readers: of blocks, by their ``type``.
        parts: readers of blocks that have no ``type``, by a key that they have.
        texts: for the types of blocks, other than ``text``, that hold text of the answer, what reads nothing else of them.
            It is asked for each piece of a stream, so it must be quick, and agree with the block's reader.
        reasoning: fields beside the content that hold the model's reasoning, as text.
        annotations: readers of citations beside the content, by the field that holds the list of them.
        sources: readers of where the texts come from, by the key of ``response_metadata`` that says it.
        images: fields beside the content that hold a list of pictures, as base64.
        writes: functions that write content, by the name that `native_content` knows the format by.
    """

    readers: Mapping[str, Reader] = field(default_factory=dict[str, Reader])
    parts: Mapping[str, Reader] = field(default_factory=dict[str, Reader])
    texts: Mapping[str, TextReader] = field(default_factory=dict[str, TextReader])
    reasoning: tuple[str, ...] = ()
    annotations: Mapping[str, AnnotationReader] = field(default_factory=dict[str, AnnotationReader])
    sources: Mapping[str, SourcesReader] = field(default_factory=dict[str, SourcesReader])
    images: tuple[str, ...] = ()
    writes: Mapping[str, Write] = field(default_factory=dict[str, Write])


def write_each(writers: Mapping[str, Writer], place: str) -> Write:
    """Return a function that writes blocks one by one, with the writer of each block's type.

    Args:
        writers: by the type of a standard block.
        place: what the format is the content of, for errors: "a message of Anthropic's API".
    """

    def write(block: Block) -> Fields:
        if block["type"] == "non_standard":
            return dict(block["value"])
        writer = writers.get(block["type"])
        if writer is None or (native := writer(block)) is None:
            raise no_place(block, place)
        return native

    return lambda blocks: [write(block) for block in blocks]
