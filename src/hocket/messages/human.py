"""What a person says."""

from typing import Literal

from hocket.messages.base import BaseMessage, BaseMessageChunk, plain

__all__ = ["HumanMessage", "HumanMessageChunk"]


@plain
class HumanMessage(BaseMessage, init=False):
    """A message from the user."""

    type: Literal["human"] = "human"  # pyright: ignore[reportIncompatibleVariableOverride]


@plain
class HumanMessageChunk(HumanMessage, BaseMessageChunk, init=False):
    """A piece of a message from the user."""

    type: Literal["HumanMessageChunk"] = "HumanMessageChunk"  # type: ignore[assignment]
