"""The history of an agent inside a durable run: one of hocket's own, in the database of the runs.

When a run goes on in another process, what this one still does is not written: an agent that is cancelled answers its open
calls, and would answer them for that other process.
"""

from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import HistoryLockLost
from hocket.messages import BaseMessage

__all__ = ["RunHistory"]


class _Execution(Protocol):
    """What the history has to know of the run."""

    @property
    def is_halted(self) -> bool: ...


class RunHistory(BaseChatMessageHistory):
    """The messages of an agent inside a run."""

    def __init__(self, history: BaseChatMessageHistory, execution: _Execution) -> None:
        self._history = history
        self._execution = execution

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages."""
        return await self._history.aget_messages()

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append one turn.

        Raises:
            HistoryLockLost: the run goes on in another process.
        """
        if self._execution.is_halted:
            raise HistoryLockLost("this run goes on in another process: what is done here is not kept")
        await self._history.aadd_messages(messages)

    async def aclear(self) -> None:
        """Forget all messages."""
        await self._history.aclear()

    @property
    def exclusive_key(self) -> Hashable:
        """Which conversation this is."""
        return self._history.exclusive_key

    def exclusive(self, timeout: float | None = None) -> AbstractAsyncContextManager[None, None]:
        """Have the conversation alone."""
        return self._history.exclusive(timeout)
