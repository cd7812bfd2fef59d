"""Stores of messages, to LangChain's and back."""

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory as LCBaseChatMessageHistory
from langchain_core.messages import BaseMessage as LCBaseMessage

from hocket.chat_history import BaseChatMessageHistory
from hocket.interop.langchain.callables import Forwarding
from hocket.interop.langchain.messages import message_from_langchain, message_to_langchain
from hocket.messages import BaseMessage

__all__ = ["HocketHistory", "LangChainHistory"]


class HocketHistory(LCBaseChatMessageHistory):
    """A history of hocket's in LangChain. Made by `to_langchain`."""

    def __init__(self, history: BaseChatMessageHistory) -> None:
        self.history = history

    @property
    def messages(self) -> list[LCBaseMessage]:  # type: ignore[override]
        """The messages, oldest first."""
        return [message_to_langchain(message) for message in self.history.messages]

    async def aget_messages(self) -> list[LCBaseMessage]:
        """Return the messages, oldest first."""
        return [message_to_langchain(message) for message in await self.history.aget_messages()]

    def add_messages(self, messages: Sequence[LCBaseMessage]) -> None:
        """Append one turn."""
        self.history.add_messages([message_from_langchain(message) for message in messages])

    async def aadd_messages(self, messages: Sequence[LCBaseMessage]) -> None:
        """Append one turn."""
        await self.history.aadd_messages([message_from_langchain(message) for message in messages])

    def clear(self) -> None:
        """Forget all messages."""
        self.history.clear()

    async def aclear(self) -> None:
        """Forget all messages."""
        await self.history.aclear()


class LangChainHistory(Forwarding, BaseChatMessageHistory):
    """A history of LangChain's in hocket: its sync half, which is in worker threads under an event loop.

    So it runs on trio, too. Made by `from_langchain`.
    """

    _original = "history"

    def __init__(self, history: LCBaseChatMessageHistory) -> None:
        self.history = history

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        return [message_from_langchain(message) for message in self.history.messages]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append one turn."""
        self.history.add_messages([message_to_langchain(message) for message in messages])

    def clear(self) -> None:
        """Forget all messages."""
        self.history.clear()
