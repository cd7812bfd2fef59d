"""What the application tells the model before the conversation."""

from typing import Literal

from hocket.messages.base import BaseMessage, BaseMessageChunk, plain

__all__ = ["SystemMessage", "SystemMessageChunk"]


@plain
class SystemMessage(BaseMessage):
    """An instruction, usually the first message."""

    type: Literal["system"] = "system"  # type: ignore[assignment]


@plain
class SystemMessageChunk(SystemMessage, BaseMessageChunk):
    """A piece of an instruction."""

    type: Literal["SystemMessageChunk"] = "SystemMessageChunk"  # type: ignore[assignment]
