"""The history of an agent inside a durable run: one of hocket's own, in the database of the runs, or one that was given.

When a run goes on in another process, what this one still does is not written: an agent that is cancelled answers its open
calls, and would answer them for that other process.

A history that was given has other questions, too, before this one and perhaps after it. So a question that a run puts there
says which run it was: it is stored together with the first answer, and the next process of the run finds both or neither.
"""

from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import HistoryLockLost
from hocket.messages import BaseMessage, HumanMessage

__all__ = ["RunHistory"]

_MARK = "durable_run"
"""Under this key of its ``response_metadata`` a question says which run put it, and where in the run."""


class _Execution(Protocol):
    """What the history has to know of the run."""

    @property
    def is_halted(self) -> bool: ...


class RunHistory(BaseChatMessageHistory):
    """The messages of an agent inside a run; of a history that was given those up to its end.

    Args:
        history: where they are kept.
        execution: of the run.
        mark: which question of which run this is; None: nobody else uses the history.
        start: how many messages were there when the agent was told to go on with them; None: its question is marked.

    Attributes:
        kept: where they are kept, with all that others said.
    """

    def __init__(
        self, history: BaseChatMessageHistory, execution: _Execution, mark: str | None = None, start: int | None = None
    ) -> None:
        self.kept: BaseChatMessageHistory = history
        self._execution = execution
        self._mark = mark
        self._start = start

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages."""
        messages = await self.kept.aget_messages()
        return messages[: self.find_own(messages).stop]

    def find_own(self, messages: Sequence[BaseMessage]) -> "slice[int, int, None]":
        """Return where the messages of the agent are."""
        count, start = len(messages), 0
        if self._mark is not None:
            marked = (at for at, one in enumerate(messages) if self._is_own(one))
            start = next(marked, count) if self._start is None else self._start
        others = (at for at in range(start, count) if isinstance(messages[at], HumanMessage))
        end = next((at for at in others if self._mark is not None and not self._is_own(messages[at])), count)
        return slice(start, end)

    def _is_own(self, message: BaseMessage) -> bool:
        return bool(message.response_metadata.get(_MARK) == self._mark)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append one turn.

        Raises:
            HistoryLockLost: the run goes on in another process.
        """
        if self._execution.is_halted:
            raise HistoryLockLost("this run goes on in another process: work done here is not kept")
        await self.kept.aadd_messages([self._write_mark(message) for message in messages])

    def _write_mark(self, message: BaseMessage) -> BaseMessage:
        if self._mark is None or not isinstance(message, HumanMessage):
            return message
        return message.model_copy(update={"response_metadata": {**message.response_metadata, _MARK: self._mark}})

    async def aclear(self) -> None:
        """Forget all messages."""
        await self.kept.aclear()

    @property
    def exclusive_key(self) -> Hashable:
        """Which conversation this is."""
        return self.kept.exclusive_key

    def exclusive(self, timeout: float | None = None) -> AbstractAsyncContextManager[None, None]:
        """Have the conversation alone."""
        return self.kept.exclusive(timeout)
