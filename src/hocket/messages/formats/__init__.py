"""Any provider's content, read as standard blocks, and standard blocks written as a provider's content.

Messages keep content in the shape it came in, so that it can go back to its provider unharmed; whoever wants to look at
it reads it through ``content_blocks_of``. Each dialect is one module with one table of readers, from a block's ``type``
to a small pure function that returns standard blocks, or None where the block is not of its dialect; ``view`` joins the
tables. Nobody needs to say which provider wrote a block: its shape says so. For the way back the module has a table of
writers beside it, from the ``type`` of a standard block; ``native_content`` picks one.

Two rules hold throughout. Nothing is lost: what has no standard field goes to ``extras``, a block that nobody can read
is kept whole as ``non_standard``, and what was read and is written again is equal, nulls aside. And nothing is invented:
no ids are generated, so the same content always reads the same, whichever provider it came from.
"""

from hocket.messages.formats.input import normalize_input_content
from hocket.messages.formats.view import content_blocks_of, read_block, stands_for
from hocket.messages.formats.write import ContentFormat, native_content

__all__ = [
    "ContentFormat",
    "content_blocks_of",
    "native_content",
    "normalize_input_content",
    "read_block",
    "stands_for",
]
