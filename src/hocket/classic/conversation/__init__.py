"""Messages of applications that have message objects of their own: read, written, and kept in a window."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.classic.conversation.adapter import MessageAdapter
    from hocket.classic.conversation.manager import ChatHistoryManager

_LATER = {"adapter": "MessageAdapter", "manager": "ChatHistoryManager"}

__all__ = [
    "ChatHistoryManager",
    "MessageAdapter",
]

__getattr__: Loader = loader(__name__, _LATER)
