"""What the application tells the model before the conversation."""

from typing import Literal

from hocket.messages.base import BaseMessage, BaseMessageChunk, register_template

__all__ = ["SystemMessage", "SystemMessageChunk"]


@register_template
class SystemMessage(BaseMessage, init=False):
    """An instruction, usually the first message."""

    type: Literal["system"] = "system"  # pyright: ignore[reportIncompatibleVariableOverride]


@register_template
class SystemMessageChunk(SystemMessage, BaseMessageChunk, init=False):
    """A piece of an instruction."""

    type: Literal["SystemMessageChunk"] = "SystemMessageChunk"  # type: ignore[assignment]
