"""A store defines half of a history; the other half follows."""

import asyncio
import threading
import time
from collections.abc import Sequence
from functools import partial

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel, Field

from hocket._databases import writes
from hocket._runtime.mode import ASYNC
from hocket.chat_history import BaseChatMessageHistory
from hocket.messages import AIMessage, BaseMessage, HumanMessage


class SyncHistory(BaseChatMessageHistory):
    """Blocks, and notes in which thread."""

    def __init__(self, delay: float = 0) -> None:
        self.kept: list[BaseMessage] = []
        self.delay = delay
        self.threads: set[int] = set()

    @property
    def messages(self) -> list[BaseMessage]:
        self.threads.add(threading.get_ident())
        return list(self.kept)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self.threads.add(threading.get_ident())
        time.sleep(self.delay)
        self.kept.extend(messages)

    def clear(self) -> None:
        self.threads.add(threading.get_ident())
        self.kept.clear()


class OneByOneHistory(BaseChatMessageHistory):
    """Only knows how to add one message, as many of LangChain's do; its messages are a plain attribute."""

    def __init__(self) -> None:
        self.messages = []

    def add_message(self, message: BaseMessage) -> None:
        self.messages.append(message)

    def clear(self) -> None:
        self.messages = []


class AsyncHistory(BaseChatMessageHistory):
    """Waits, and notes on which loop."""

    def __init__(self) -> None:
        self.kept: list[BaseMessage] = []
        self.loops: set[object] = set()

    async def aget_messages(self) -> list[BaseMessage]:
        await anyio.sleep(0.001)
        return list(self.kept)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await anyio.sleep(0.001)
        self.loops.add(anyio.lowlevel.current_token().native_token)
        self.kept.extend(messages)

    async def aclear(self) -> None:
        await anyio.sleep(0.001)
        self.kept.clear()


class PydanticHistory(BaseChatMessageHistory, BaseModel):
    """The history of LangChain's examples."""

    messages: list[BaseMessage] = Field(default_factory=list)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self.messages.extend(messages)

    def clear(self) -> None:
        self.messages = []


class NoHistory(BaseChatMessageHistory):
    """Defines nothing."""


HISTORIES = [SyncHistory, OneByOneHistory, AsyncHistory, PydanticHistory]


@pytest.mark.parametrize("history_type", HISTORIES)
def test_any_half_serves_sync_code(history_type: type[BaseChatMessageHistory]) -> None:
    """Whichever half a class defines, the sync methods work."""
    history = history_type()
    history.add_user_message("one")
    history.add_messages([AIMessage("two"), HumanMessage("three")])
    assert [message.text for message in history.messages] == ["one", "two", "three"]
    assert str(history) == "Human: one\nAI: two\nHuman: three"
    history.clear()
    assert history.messages == []


@pytest.mark.parametrize("history_type", HISTORIES)
async def test_any_half_serves_async_code(history_type: type[BaseChatMessageHistory]) -> None:
    """Whichever half a class defines, the async methods work."""
    history = history_type()
    await history.aadd_user_message("one")
    await history.aadd_messages([AIMessage("two"), HumanMessage("three")])
    await history.aadd_ai_message("four")
    assert [message.text for message in await history.aget_messages()] == ["one", "two", "three", "four"]
    await history.aclear()
    assert await history.aget_messages() == []


async def test_sync_storage_does_not_hold_up_the_loop() -> None:
    """What blocks runs in another thread than the loop."""
    history = SyncHistory()
    await history.aadd_user_message("one")
    await history.aget_messages()
    await history.aclear()
    assert history.threads
    assert threading.get_ident() not in history.threads


async def test_async_storage_is_asked_on_the_loop_of_its_caller() -> None:
    """A sync method that is called in a worker thread runs on the loop which that thread was sent from."""
    history = AsyncHistory()
    await ASYNC.call_sync(partial(history.add_user_message, "one"))
    assert history.loops == {anyio.lowlevel.current_token().native_token}


def test_a_history_that_defines_nothing_says_so() -> None:
    """Neither half: an error that names the methods, and no recursion."""
    history = NoHistory()
    with pytest.raises(NotImplementedError, match="NoHistory must define messages or aget_messages"):
        _ = history.messages
    for add in (partial(history.add_message, HumanMessage("x")), partial(history.add_messages, [HumanMessage("x")])):
        with pytest.raises(NotImplementedError, match="NoHistory must define add_messages"):
            add()
    with pytest.raises(NotImplementedError, match="NoHistory must define clear or aclear"):
        history.clear()


async def test_a_history_that_defines_nothing_says_so_to_async_code() -> None:
    """The same for the async methods."""
    history = NoHistory()
    with pytest.raises(NotImplementedError, match="messages or aget_messages"):
        await history.aget_messages()
    with pytest.raises(NotImplementedError, match="add_messages"):
        await history.aadd_messages([HumanMessage("x")])
    with pytest.raises(NotImplementedError, match="clear or aclear"):
        await history.aclear()


class WaitingHistory(SyncHistory):
    """Stores when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self.threads.add(threading.get_ident())
        self.go_on.wait(30)
        super().add_messages(messages)

    async def wait_for_its_thread(self) -> None:
        while not self.threads:  # noqa: ASYNC110 - a thread tells it
            await anyio.sleep(0.001)


async def test_a_cancelled_writer_waits_for_its_thread() -> None:
    """Who sees the cancellation of an append knows that nothing is stored later: the turn is there by then."""
    history = WaitingHistory()

    async def strike() -> None:
        await history.wait_for_its_thread()
        scope.cancel()
        history.go_on.set()

    async with anyio.create_task_group() as group:
        group.start_soon(strike)
        with anyio.CancelScope() as scope:
            await history.aadd_user_message("one")
    assert scope.cancelled_caught
    assert [message.text for message in history.kept] == ["one"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_writer_that_is_cancelled_twice_waits_all_the_same() -> None:
    """A timeout and a shutdown that strike one after the other do not make it leave its thread behind."""
    history = WaitingHistory()
    task = asyncio.create_task(history.aadd_user_message("one"))
    await history.wait_for_its_thread()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0.01)
    history.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [message.text for message in history.kept] == ["one"]


async def test_a_writer_gives_up_a_storage_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its grace a cancelled writer leaves, however long the storage takes."""
    monkeypatch.setattr(writes, "GRACE", 0.05)
    go_on = threading.Event()

    class Hanging(SyncHistory):
        def add_messages(self, messages: Sequence[BaseMessage]) -> None:
            go_on.wait(30)
            super().add_messages(messages)

    history = Hanging()
    with anyio.move_on_after(0.02) as scope:
        await history.aadd_user_message("one")
    assert scope.cancelled_caught
    assert history.kept == []  # the storage still hangs
    go_on.set()


async def test_what_the_storage_raises_comes_out() -> None:
    """An error in the worker thread is raised where the method is awaited, as it is."""

    class Failing(SyncHistory):
        def add_messages(self, messages: Sequence[BaseMessage]) -> None:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        await Failing().aadd_user_message("one")
