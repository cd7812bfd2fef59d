"""What the application tells the model before the conversation."""

from typing import Literal

from hocket.messages.base import BaseMessage, BaseMessageChunk, plain

__all__ = ["SystemMessage", "SystemMessageChunk"]


@plain
class SystemMessage(BaseMessage, init=False):
    """An instruction, usually the first message."""

    type: Literal["system"] = "system"  # pyright: ignore[reportIncompatibleVariableOverride]


@plain
class SystemMessageChunk(SystemMessage, BaseMessageChunk, init=False):
    """A piece of an instruction."""

    type: Literal["SystemMessageChunk"] = "SystemMessageChunk"  # type: ignore[assignment]
