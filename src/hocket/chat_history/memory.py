"""A history in this process."""

from collections.abc import Iterable, Sequence

from hocket.chat_history.base import BaseChatMessageHistory
from hocket.chat_history.records import check_messages
from hocket.messages import BaseMessage
from hocket.messages.base import copy_message

__all__ = ["InMemoryChatMessageHistory"]


class InMemoryChatMessageHistory(BaseChatMessageHistory):
    """Keeps the messages of a conversation in a list.

    What goes in and what comes out are copies, so that nobody changes the history by editing a list or a message. Lists
    and mappings are copied all the way down; foreign objects (a tool's artifact that is neither) are shared.

    Safe to use from many threads and event loops. Never waits.

    Args:
        messages: the conversation so far.
    """

    def __init__(self, messages: Iterable[BaseMessage] = ()) -> None:
        self._kept: list[BaseMessage] = []
        self._append(list(messages))

    def _read(self) -> list[BaseMessage]:
        return [copy_message(message) for message in self._kept.copy()]

    def _append(self, messages: Sequence[BaseMessage]) -> None:
        copies = [copy_message(message) for message in check_messages(messages)]
        self._kept.extend(copies)  # one step, also among threads

    @property
    def messages(self) -> list[BaseMessage]:
        """Copies of the messages, oldest first."""
        return self._read()

    async def aget_messages(self) -> list[BaseMessage]:
        """Return copies of the messages, oldest first."""
        return self._read()

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append copies of ``messages``.

        Raises:
            InvalidInput: one of them is no message; none is added.
        """
        self._append(messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append copies of ``messages``. See `add_messages`."""
        self._append(messages)

    def clear(self) -> None:
        """Forget all messages."""
        del self._kept[:]

    async def aclear(self) -> None:
        """Forget all messages."""
        del self._kept[:]

    def __repr__(self) -> str:
        return f"InMemoryChatMessageHistory({len(self._kept)} messages)"
