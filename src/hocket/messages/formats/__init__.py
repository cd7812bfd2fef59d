"""Any provider's content, read as standard blocks, and standard blocks written as a provider's content.

Messages keep content in the shape it came in, so that it can go back to its provider unharmed. To look at it, read it
through `content_blocks_of` or `text_of_content`. Each provider's format is one module: readers, by a block's ``type``,
small pure functions that return standard blocks, or None where the block is not of that format; and for the way back
writers, by the type of a standard block. ``known`` lists the formats, and nothing else names them. The shape of a block
says which provider wrote it.

Two rules hold throughout. Nothing is lost: what has no standard field goes to ``extras``, a block that cannot be read is
kept whole as ``non_standard``, and what was read and is written again is equal, nulls aside. And nothing is invented: no
ids are generated, so the same content always reads the same, whichever provider it came from.
"""

from hocket.messages.formats.describe import describe_part
from hocket.messages.formats.input import normalize_input_content
from hocket.messages.formats.known import ContentFormat
from hocket.messages.formats.view import content_blocks_of, read_block, stands_for, text_of_content
from hocket.messages.formats.write import native_content

__all__ = [
    "ContentFormat",
    "content_blocks_of",
    "describe_part",
    "native_content",
    "normalize_input_content",
    "read_block",
    "stands_for",
    "text_of_content",
]
