"""Listeners to the heads of replies, and to what opens a stream.

A limit learns from the heads of all replies, also from those whose answers nobody shows. What a server says of the tokens
before the first word is no chunk, or what fails behind it could not be tried again; where nothing follows, it was paid for.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TypeAlias

from hocket.outputs import ChatGenerationChunk

__all__ = ["ReplyListener", "opening_listener", "reply_listener"]

ReplyListener: TypeAlias = Callable[[int, Mapping[str, str]], None]
"""Takes the status and the headers, names in lower case, of a reply. Must not raise, nor wait."""

reply_listener: ContextVar[ReplyListener | None] = ContextVar("hocket_reply_listener", default=None)
"""Told of each reply to a request of this context, as soon as its head is there."""

opening_listener: ContextVar[Callable[[ChatGenerationChunk], None] | None] = ContextVar(
    "hocket_opening_listener", default=None
)
"""Told, as a chunk that nobody is handed, of what the stream that is read in this context has said before its answer."""
