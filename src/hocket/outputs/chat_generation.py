"""One candidate answer as a message, and a piece of one.

A hook wraps every chunk of every stream in one, so that one path is short-cut: a message of hocket's own, and nothing
else, needs no validation. A property test holds the outcome to validation's.
"""

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import SerializeAsAny, model_validator

from hocket.load.unvalidated import fill
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, BaseMessageChunk
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

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            """Build from a message alone, as every hook does for every chunk, without the validator (see below)."""
            message = values.get("message")
            if len(values) == 1 and _short_cuts.get(message.__class__) is self.__class__:
                content = message.content
                text = content if content.__class__ is str else message.text
                fields = {"text": text, "generation_info": None, "type": self.__class__.__name__, "message": message}
                fill(self, fields, {"message"})
            else:
                super().__init__(**values)

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


_short_cuts = {AIMessage: ChatGeneration, AIMessageChunk: ChatGenerationChunk}
"""Which class may take which message, by their exact types, without a look."""
