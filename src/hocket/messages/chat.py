"""Messages of a speaker that no other class stands for."""

from typing import Literal

from hocket.messages.base import BaseMessage, BaseMessageChunk
from hocket.messages.content import Fields

__all__ = ["ChatMessage", "ChatMessageChunk"]


class ChatMessage(BaseMessage, init=False):
    """A message with a role of one's own choosing, a moderator's for one."""

    type: Literal["chat"] = "chat"  # pyright: ignore[reportIncompatibleVariableOverride]
    role: str


class ChatMessageChunk(ChatMessage, BaseMessageChunk, init=False):
    """A piece of a `ChatMessage`."""

    type: Literal["ChatMessageChunk"] = "ChatMessageChunk"  # type: ignore[assignment]

    def _join(self, other: BaseMessageChunk, fields: Fields) -> None:
        if isinstance(other, ChatMessageChunk) and other.role != self.role:
            raise ValueError(f"cannot add a chunk of role {other.role!r} to one of role {self.role!r}")
