"""What a run has added to its conversation: in the store, and in what the model is shown next."""

import contextlib
import functools
from collections.abc import Sequence

from hocket._databases.writes import finish_write
from hocket._runtime.runtime import ASYNC
from hocket.chat_history import BaseChatMessageHistory
from hocket.chat_history.turn import append_partial, make_partial
from hocket.messages import AIMessage, BaseMessage, ToolMessage
from hocket.messages.calls import calls_of

__all__ = ["RunRecord"]


class RunRecord:
    """Keeps the messages of a run: each one is stored before what it causes.

    Nothing is stored before there is an answer of the model, or a part of one: a question that was never answered is not
    part of a conversation.

    Args:
        history: the store; None: there is none.

    Attributes:
        messages: that were added.
        question: that are added together with the first answer.
        is_asking: whether an answer of the model is under way.
        is_unsure: whether the store has failed, so that nobody knows what it has.
    """

    def __init__(self, history: BaseChatMessageHistory | None) -> None:
        self.messages: list[BaseMessage] = []
        self.question: list[BaseMessage] = []
        self.is_asking: bool = False
        self.is_unsure: bool = False
        self._history = history
        self._stored: set[str] = set()  # the ids of results
        self._waiting: list[ToolMessage] = []
        self._is_storing = False

    async def add_answer(self, answer: BaseMessage) -> None:
        """Add an answer of the model, and the question before it, in one step."""
        added = [*self.question, answer]

        async def keep() -> None:
            self.is_asking = False
            if self._history is not None:
                await self._append(self._history, added)
            self.question = []
            self.messages.extend(added)

        self._stored.clear()
        await (keep() if self._history is None else finish_write(keep))

    async def add_partial(self, answer: AIMessage) -> None:
        """Add what had come of the answer under way when the run was cut off, and the question before it.

        It is stored for a run that has been cancelled, too; should the store fail, what ended the run is what counts.
        """
        part = make_partial(answer) if self.is_asking else None
        if part is None:
            return
        asked, self.question, self.is_asking = self.question, [], False
        self.messages.extend([*asked, part])
        if self._history is not None:
            with contextlib.suppress(Exception):
                await append_partial(ASYNC, self._history, asked, part)

    def holds(self, answer: BaseMessage) -> bool:
        """Whether an answer is the last message that was added."""
        return bool(self.messages) and self.messages[-1] is answer

    async def add_results(self, results: Sequence[ToolMessage]) -> None:
        """Store results of calls, those that are not stored yet; what comes while others are written is written next."""
        if self._history is None:
            return
        new = [result for result in results if result.tool_call_id not in self._stored]
        self._stored.update(result.tool_call_id for result in new)
        self._waiting.extend(new)
        if self._waiting and not self._is_storing:
            await finish_write(functools.partial(self._write_waiting, self._history))

    async def _write_waiting(self, history: BaseChatMessageHistory) -> None:
        self._is_storing = True
        try:
            if self.is_unsure:
                self._waiting = await _find_missing(history, self._waiting)
            while self._waiting:
                messages, self._waiting = self._waiting, []
                try:
                    await self._append(history, messages)
                except BaseException:
                    self._waiting = [*messages, *self._waiting]  # for one more try, when the run ends
                    raise
        finally:
            self._is_storing = False

    async def _append(self, history: BaseChatMessageHistory, messages: Sequence[BaseMessage]) -> None:
        try:
            await history.aadd_messages(messages)
        except BaseException:
            self.is_unsure = True
            raise


async def _find_missing(history: BaseChatMessageHistory, results: Sequence[ToolMessage]) -> list[ToolMessage]:
    """Return the results that a store lacks of the calls that it has."""
    messages = await history.aget_messages()
    made = {call["id"] for message in messages for call in calls_of(message)}
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    missing = made - answered
    return [result for result in results if result.tool_call_id in missing]
