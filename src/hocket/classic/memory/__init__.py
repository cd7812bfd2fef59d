"""Memories: what of a conversation a model gets to see. LangChain's names.

All of it, the last exchanges, as many as fit, or a summary of what came before them.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.classic.memory.base import BaseChatMemory, BaseMemory
    from hocket.classic.memory.buffer import (
        ConversationBufferMemory,
        ConversationBufferWindowMemory,
        ConversationTokenBufferMemory,
    )
    from hocket.classic.memory.summary import SUMMARY_PROMPT, ConversationSummaryBufferMemory, ConversationSummaryMemory

_LATER = {
    "base": "BaseChatMemory BaseMemory",
    "buffer": "ConversationBufferMemory ConversationBufferWindowMemory ConversationTokenBufferMemory",
    "summary": "ConversationSummaryBufferMemory ConversationSummaryMemory SUMMARY_PROMPT",
}

__all__ = [
    "SUMMARY_PROMPT",
    "BaseChatMemory",
    "BaseMemory",
    "ConversationBufferMemory",
    "ConversationBufferWindowMemory",
    "ConversationSummaryBufferMemory",
    "ConversationSummaryMemory",
    "ConversationTokenBufferMemory",
]

__getattr__: Loader = loader(__name__, _LATER)
