"""One candidate answer as a message, and a piece of one."""

from typing import Any, Literal, Self

from pydantic import SerializeAsAny, model_validator

from hocket.messages import BaseMessage, BaseMessageChunk
from hocket.outputs.generation import Generation, merged_info

__all__ = ["ChatGeneration", "ChatGenerationChunk"]


class ChatGeneration(Generation):
    """One candidate answer of a chat model.

    Args:
        message: the answer; ``text`` is read off it.
        generation_info: what the provider said about it.
    """

    text: str = ""
    message: SerializeAsAny[BaseMessage]
    type: Literal["ChatGeneration"] = "ChatGeneration"  # type: ignore[assignment]

    @model_validator(mode="after")
    def _read_text(self) -> Self:
        content = self.message.content
        self.__dict__["text"] = content if isinstance(content, str) else self.message.text
        return self


class ChatGenerationChunk(ChatGeneration):
    """A piece of a chat model's answer as it streams in."""

    message: SerializeAsAny[BaseMessageChunk]
    type: Literal["ChatGenerationChunk"] = "ChatGenerationChunk"  # type: ignore[assignment]

    def __add__(self, other: Any) -> Self:
        """Return the answer so far: this chunk and then ``other``, a chunk or a list of chunks.

        Raises:
            TypeError: ``other`` is something else.
        """
        total = self
        for chunk in other if isinstance(other, list) else [other]:  # pyright: ignore[reportUnknownVariableType]
            if not isinstance(chunk, ChatGenerationChunk):
                raise TypeError(f"cannot add {type(chunk).__name__} to {type(self).__name__}")  # pyright: ignore
            total = type(self)(message=total.message + chunk.message, generation_info=merged_info(total, chunk))
        return total
