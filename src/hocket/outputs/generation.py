"""One candidate answer as text, and a piece of one."""

from typing import Any, Literal, Self, cast

from hocket.load.serializable import Serializable
from hocket.messages.content import Fields
from hocket.messages.folding import merge_facts

__all__ = ["Generation", "GenerationChunk"]


class Generation(Serializable):
    """One candidate answer.

    Args:
        text: the answer.
        generation_info: what the provider said about it, the finish reason for one.
    """

    text: str
    generation_info: Fields | None = None
    type: Literal["Generation"] = "Generation"

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Results travel as data: a cache may live in another process."""
        return True


class GenerationChunk(Generation):
    """A piece of an answer as it streams in."""

    def __add__(self, other: Any) -> Self:
        """Return the answer so far: this chunk and then ``other``, a chunk or a list of chunks.

        Texts are joined, and of the infos a later value replaces an earlier one; None replaces nothing.

        Raises:
            TypeError: ``other`` is something else.
        """
        chunks = [self, *cast("list[Any]", other)] if isinstance(other, list | tuple) else [self, other]
        for chunk in chunks:
            if not isinstance(chunk, GenerationChunk):
                raise TypeError(f"cannot add {type(chunk).__name__} to {type(self).__name__}: it is no such chunk")
        info = merge_facts(*(chunk.generation_info for chunk in chunks))
        return type(self)(text="".join(chunk.text for chunk in chunks), generation_info=info or None)
