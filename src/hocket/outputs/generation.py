"""One candidate answer as text, and a piece of one."""

from typing import Any, Literal, Self

from hocket.load.serializable import Serializable

__all__ = ["Generation", "GenerationChunk", "merged_info"]


class Generation(Serializable):
    """One candidate answer.

    Args:
        text: the answer.
        generation_info: what the provider said about it, the finish reason for one.
    """

    text: str
    generation_info: dict[str, Any] | None = None
    type: Literal["Generation"] = "Generation"

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Results travel as data: a cache may live in another process."""
        return True


class GenerationChunk(Generation):
    """A piece of an answer as it streams in."""

    def __add__(self, other: Any) -> Self:
        """Return both texts joined; info of the later one wins, key by key.

        Raises:
            TypeError: ``other`` is no `GenerationChunk`.
        """
        if not isinstance(other, GenerationChunk):
            raise TypeError(f"cannot add {type(other).__name__} to {type(self).__name__}")
        return type(self)(text=self.text + other.text, generation_info=merged_info(self, other))


def merged_info(left: Generation, right: Generation) -> dict[str, Any] | None:
    """Return the info of two pieces of one answer: a later value replaces an earlier one, None replaces nothing."""
    if not right.generation_info:
        return left.generation_info
    news = {key: value for key, value in right.generation_info.items() if value is not None}
    return {**right.generation_info, **(left.generation_info or {}), **news}
