"""Any provider's content, read as standard blocks.

Messages keep content in the shape it came in, so that it can go back to its provider unharmed; whoever wants to look at
it reads it through ``content_blocks_of``. Each dialect is one module with one table, from a block's ``type`` to a small
pure function that returns standard blocks, or None where the block is not of its dialect; ``view`` joins the tables.
Nobody needs to say which provider wrote a block: its shape says so.

Two rules hold throughout. Nothing is lost: what has no standard field goes to ``extras``, and a block that nobody can
read is kept whole as ``non_standard``. And nothing is invented: no ids are generated, so the same content always reads
the same, whichever provider it came from.
"""

from hocket.messages.content_view.input import normalize_input_content
from hocket.messages.content_view.view import content_blocks_of

__all__ = ["content_blocks_of", "normalize_input_content"]
