"""Histories with a fault, and the exam that each has to fail, in the tests that are for it.

Run by `test_broken_histories.py`, in a suite of its own, on asyncio.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import ClassVar

import anyio
import pytest

from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.messages import AIMessage, BaseMessage
from hocket.testing import ChatHistoryConformance


class ReadsAndWritesBack(InMemoryChatMessageHistory):
    """It writes the whole conversation, with the new turn at its end, and looks at nobody else."""

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        before = self.messages
        super().add_messages(messages)
        added = self._kept[len(before) :][: len(messages)]
        time.sleep(0.0001)
        self._kept = before + added


class AddsOneByOne(InMemoryChatMessageHistory):
    """It adds a turn message by message, and lets others go on in between."""

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        for message in messages:
            super().add_messages([message])
            time.sleep(0.0001)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        for message in messages:
            super().add_messages([message])
            await anyio.sleep(0.0001)


class AddsItLater(InMemoryChatMessageHistory):
    """Cancelled, it adds the turn all the same, as one does that leaves its thread behind: once somebody has looked."""

    def __init__(self) -> None:
        super().__init__()
        self._late: list[Sequence[BaseMessage]] = []

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        self._late.append(messages)
        await anyio.sleep(0.01)
        self._late.remove(messages)
        self.add_messages(messages)

    async def aget_messages(self) -> list[BaseMessage]:
        found = await super().aget_messages()
        for late in self._late:
            self.add_messages(late)
        self._late.clear()
        return found


class ReturnsWhatItHas(InMemoryChatMessageHistory):
    """It returns its own list."""

    @property
    def messages(self) -> list[BaseMessage]:
        return self._kept


class ForgetsUsage(InMemoryChatMessageHistory):
    """It keeps what was said, and not what it cost."""

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        super().add_messages(messages)
        for message in self._kept:
            if isinstance(message, AIMessage):
                message.usage_metadata = None


class ForgetsEverybody(InMemoryChatMessageHistory):
    """It clears all sessions."""

    made: ClassVar[list["ForgetsEverybody"]] = []

    def __init__(self) -> None:
        super().__init__()
        self.made.append(self)

    def clear(self) -> None:
        for history in self.made:
            InMemoryChatMessageHistory.clear(history)


class BelongsToItsFirstLoop(InMemoryChatMessageHistory):
    """It has a lock of asyncio's, as if there were one loop in a process."""

    def __init__(self) -> None:
        super().__init__()
        self._turn: asyncio.Event | None = None

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        if self._turn is None:
            self._turn = asyncio.Event()
            asyncio.get_running_loop().call_later(0.001, self._turn.set)
        await self._turn.wait()
        self._turn = asyncio.Event()
        asyncio.get_running_loop().call_soon(self._turn.set)
        self.add_messages(messages)


class SaysItMid(InMemoryChatMessageHistory):
    """It finds out in the middle of a turn that it cannot keep it."""

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        for message in messages:
            super().add_messages([message])


class Exam(ChatHistoryConformance):
    """The exam of the class attribute ``history_type``."""

    history_type: type[BaseChatMessageHistory]

    @pytest.fixture(autouse=True)
    def _store(self) -> None:
        self.kept: dict[str, BaseChatMessageHistory] = {}

    def make(self, session_id: str) -> BaseChatMessageHistory:
        if session_id not in self.kept:
            self.kept[session_id] = self.history_type()
        return self.kept[session_id]


class TestReadsAndWritesBack(Exam):
    history_type = ReadsAndWritesBack


class TestAddsOneByOne(Exam):
    history_type = AddsOneByOne


class TestAddsItLater(Exam):
    history_type = AddsItLater


class TestReturnsWhatItHas(Exam):
    history_type = ReturnsWhatItHas


class TestForgetsUsage(Exam):
    history_type = ForgetsUsage


class TestForgetsEverybody(Exam):
    history_type = ForgetsEverybody


class TestBelongsToItsFirstLoop(Exam):
    history_type = BelongsToItsFirstLoop


class TestSaysItMid(Exam):
    history_type = SaysItMid
