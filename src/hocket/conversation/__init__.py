"""Conversations: with a model, and with applications that have message objects of their own."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.conversation.adapter import MessageAdapter
    from hocket.conversation.conversation import Conversation
    from hocket.conversation.manager import ChatHistoryManager

_LATER = {"ChatHistoryManager": "manager", "Conversation": "conversation", "MessageAdapter": "adapter"}

__all__ = ["ChatHistoryManager", "Conversation", "MessageAdapter"]

__getattr__: Loader = loader(__name__, _LATER)
