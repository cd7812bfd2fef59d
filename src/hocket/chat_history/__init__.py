"""Histories: the messages of a conversation, kept in memory, in a file, in SQLite, Redis or PostgreSQL.

Stores are imported when they are first asked for.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.chat_history.base import BaseChatMessageHistory
from hocket.chat_history.memory import InMemoryChatMessageHistory

if TYPE_CHECKING:
    from hocket.chat_history.file import FileChatMessageHistory
    from hocket.chat_history.opening import (
        adelete_session,
        alist_sessions,
        delete_session,
        list_sessions,
        open_history,
    )
    from hocket.chat_history.postgres import PostgresChatMessageHistory
    from hocket.chat_history.redis import RedisChatMessageHistory
    from hocket.chat_history.sqlite import SQLiteChatMessageHistory

__all__ = [
    "BaseChatMessageHistory",
    "FileChatMessageHistory",
    "InMemoryChatMessageHistory",
    "PostgresChatMessageHistory",
    "RedisChatMessageHistory",
    "SQLiteChatMessageHistory",
    "adelete_session",
    "alist_sessions",
    "delete_session",
    "list_sessions",
    "open_history",
]

_LATER = {
    "file": "FileChatMessageHistory",
    "opening": "adelete_session alist_sessions delete_session list_sessions open_history",
    "postgres": "PostgresChatMessageHistory",
    "redis": "RedisChatMessageHistory",
    "sqlite": "SQLiteChatMessageHistory",
}

__getattr__: Loader = loader(__name__, _LATER)
