"""Conversations with a model."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.conversation.conversation import Conversation

__all__ = ["Conversation"]

__getattr__: Loader = loader(__name__, {"conversation": "Conversation"})
