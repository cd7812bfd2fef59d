"""What a person says."""

from typing import Literal

from hocket.messages.base import BaseMessage, BaseMessageChunk, register_template

__all__ = ["HumanMessage", "HumanMessageChunk"]


@register_template
class HumanMessage(BaseMessage, init=False):
    """A message from the user."""

    type: Literal["human"] = "human"  # pyright: ignore[reportIncompatibleVariableOverride]


@register_template
class HumanMessageChunk(HumanMessage, BaseMessageChunk, init=False):
    """A piece of a message from the user."""

    type: Literal["HumanMessageChunk"] = "HumanMessageChunk"  # type: ignore[assignment]
