"""What a person says."""

from typing import Literal

from hocket.messages.base import BaseMessage, BaseMessageChunk, plain

__all__ = ["HumanMessage", "HumanMessageChunk"]


@plain
class HumanMessage(BaseMessage):
    """A message from the user."""

    type: Literal["human"] = "human"  # type: ignore[assignment]


@plain
class HumanMessageChunk(HumanMessage, BaseMessageChunk):
    """A piece of a message from the user."""

    type: Literal["HumanMessageChunk"] = "HumanMessageChunk"  # type: ignore[assignment]
