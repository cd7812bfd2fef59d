"""Listeners to the heads of replies: a limit learns from all of them, also from those whose answers nobody shows."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TypeAlias

__all__ = ["ReplyListener", "reply_listener"]

ReplyListener: TypeAlias = Callable[[int, Mapping[str, str]], None]
"""Takes the status and the headers, names in lower case, of a reply. Must not raise, nor wait."""

reply_listener: ContextVar[ReplyListener | None] = ContextVar("hocket_reply_listener", default=None)
"""Told of each reply to a request of this context, as soon as its head is there."""
