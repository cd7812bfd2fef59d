"""`ChatHistoryManager`: a window over an application's messages that providers take."""

import gc
import json
import sys
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st

from hocket.chat_history import FileChatMessageHistory, InMemoryChatMessageHistory
from hocket.classic.conversation import ChatHistoryManager
from hocket.classic.memory import ConversationBufferMemory
from hocket.errors import HistoryError, InvalidInput
from hocket.messages import HumanMessage, validate_history

SYSTEM = {"role": "system", "content": "be brief"}


def said(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Messages of user and assistant in turn."""
    return [{"role": ("user", "assistant")[at % 2], "content": str(at)} for at in range(start, start + count)]


def contents(manager: ChatHistoryManager) -> list[str]:
    return [message["content"] for message in manager.get_messages()]


def call(*ids: str) -> dict[str, Any]:
    calls = [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(id: str) -> dict[str, Any]:
    return {"role": "tool", "content": f"of {id}", "tool_call_id": id}


def test_the_window_holds_the_last_messages() -> None:
    """Ten by default, not turns, after each message."""
    manager = ChatHistoryManager()
    for message in said(25):
        manager.add_message(message)
        assert manager.message_count <= 10
    assert manager.get_messages() == said(10, 15)
    for forget in (manager.clear, manager.clear_messages):
        manager.add_message(said(1)[0])
        forget()
        assert (manager.message_count, manager.get_messages()) == (0, [])


def test_the_system_message_is_kept_outside() -> None:
    """Where it comes first; unless it is not to be."""
    manager = ChatHistoryManager()
    manager.add_messages([SYSTEM, *said(30)])
    assert manager.message_count == 11
    assert manager.get_messages() == [SYSTEM, *said(10, 20)]
    manager = ChatHistoryManager(include_system=False)
    manager.add_messages([SYSTEM, *said(30)])
    assert manager.get_messages() == said(10, 20)


def test_some_of_the_messages() -> None:
    """Are a window that is smaller; what is kept stays."""
    manager = ChatHistoryManager(k=6)
    manager.add_messages([SYSTEM, *said(9)])
    assert manager.get_messages(max_messages=2) == [SYSTEM, *said(2, 7)]
    assert manager.get_messages(max_messages=0) == [SYSTEM]
    assert manager.get_messages(max_messages=99) == manager.get_messages() == [SYSTEM, *said(6, 3)]


@given(turns=st.lists(st.integers(0, 3), min_size=1, max_size=6), k=st.integers(1, 8), one_by_one=st.booleans())
def test_any_window_is_a_valid_conversation(turns: list[int], k: int, one_by_one: bool) -> None:
    """At every size, and whenever a turn of calls and results is whole; longer than ``k`` only for the last turn."""
    manager = ChatHistoryManager(k=k)
    for index, made in enumerate(turns):
        ids = [f"{index}.{at}" for at in range(made)]
        group = [call(*ids), *map(result, ids)] if ids else []
        for messages in ([said(1)[0]], group, [said(1, 1)[0]]):
            if one_by_one:
                for message in messages:
                    manager.add_message(message)
            else:
                manager.add_messages(messages)
            assert validate_history(manager.messages) == []
            assert manager.message_count <= max(k, len(messages))
            if messages:  # an agent in the middle of its calls has them all
                assert manager.get_messages()[-1] == messages[-1]


def test_a_result_whose_call_has_left_leaves_with_it() -> None:
    """Nobody could tell what it is the result of."""
    manager = ChatHistoryManager(k=2)
    manager.add_messages([said(1)[0], call("c1")])
    manager.add_messages(said(2))
    manager.add_message(result("c1"))
    assert manager.get_messages() == said(2)


def test_recent_context() -> None:
    """The last turns as lines: long texts cut, messages without text left out, the system's no part of it."""
    manager = ChatHistoryManager(k=20)
    manager.add_messages([SYSTEM, *said(4), {"role": "user", "content": "问" * 101}, call("c1"), result("c1")])
    manager.add_message({"role": "assistant", "content": "x" * 100})
    assert manager.get_recent_context() == "\n".join(
        ["用户: 0", "AI: 1", "用户: 2", "AI: 3", f"用户: {'问' * 100}...", "AI: of c1", f"AI: {'x' * 100}"]
    )
    assert manager.get_recent_context(max_turns=1) == f"AI: of c1\nAI: {'x' * 100}"
    assert manager.get_recent_context(max_turns=0) == ""
    assert ChatHistoryManager().get_recent_context() == ""


def test_messages_of_the_application_go_in_and_come_out() -> None:
    """Through the window to the agent's memory: objects in, the same objects out, hocket's in between."""
    manager = ChatHistoryManager(k=2, make=SimpleNamespace)
    given = [SimpleNamespace(**message) for message in said(4)]
    manager.add_messages(given)
    assert [type(message) for message in manager.messages][:1] == [HumanMessage]
    agent = SimpleNamespace(memory=manager.get_messages())
    assert agent.memory == given[2:]
    memory = ConversationBufferMemory(chat_memory=InMemoryChatMessageHistory(manager.messages))
    assert memory.load_memory_variables() == {"history": "Human: 2\nAI: 3"}


def test_several_messages_go_in_or_none() -> None:
    """One that is no message keeps the others out."""
    manager = ChatHistoryManager()
    for put in (manager.add_messages, manager.load_messages):
        with pytest.raises(InvalidInput, match="role of a message is 'nobody'"):
            put([*said(2), {"role": "nobody"}])
    assert manager.message_count == 0
    with pytest.raises(InvalidInput, match="k is 0"):
        ChatHistoryManager(k=0)


def test_loading_replaces() -> None:
    """What was kept is forgotten, and the window holds for what is loaded."""
    manager = ChatHistoryManager(k=4)
    manager.add_messages(said(3))
    manager.load_messages([SYSTEM, *said(9)])
    assert manager.get_messages() == [SYSTEM, *said(4, 5)]


def test_a_client_restores_its_conversation() -> None:
    """The system message that is kept here stays; messages without text are left out."""
    manager = ChatHistoryManager(k=4)
    manager.add_messages([SYSTEM, *said(2)])
    manager.restore_history({"type": "restore_history", "messages": [*said(7, 3), {"role": "user", "content": ""}]})
    assert manager.get_messages() == [SYSTEM, *said(4, 6)]


def restored(role: str = "user", **fields: Any) -> Any:
    """What a client sends, with one message."""
    return {"type": "restore_history", "messages": [{"role": role, **fields}]}


BROKEN: Any = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{"}}


def test_texts_are_restored_bare() -> None:
    """A block is a text and nothing more: what else stands in it is not a person's to say."""
    manager = ChatHistoryManager()
    manager.restore_history(restored(content=["hi ", {"type": "text", "text": "Ada", "cache_control": {"type": "x"}}]))
    (message,) = manager.messages
    assert message.content == [{"type": "text", "text": "hi "}, {"type": "text", "text": "Ada"}]


def test_memory_is_bounded_without_a_storage() -> None:
    """Nothing is kept for a checkpoint that cannot be made."""
    manager = ChatHistoryManager(k=10)
    manager.add_message(SYSTEM)
    weak = [weakref.ref(message) for message in manager.messages]
    for message in [HumanMessage(str(number)) for number in range(30)]:
        manager.add_message(message)
        weak.append(weakref.ref(message))
    del message
    gc.collect()
    assert sum(reference() is not None for reference in weak) == 11


def test_threads_lose_nothing() -> None:
    """Messages that several threads add at once are all kept, and saved."""
    storage = InMemoryChatMessageHistory()
    manager = ChatHistoryManager(k=1000, storage=storage)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [
            threading.Thread(target=lambda: [manager.add_messages(said(1)) for _ in range(50)]) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert manager.message_count == 400
    anyio.run(manager.save_checkpoint)
    assert len(storage.messages) == 400


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"type": "chat", "messages": []}, "a saved conversation is"),
        ({"type": "restore_history", "messages": "all"}, "a saved conversation is"),
        ({"type": "restore_history", "messages": [SYSTEM]}, "not a message of system"),
        ({"type": "restore_history", "messages": [call("c1")]}, "not a message of ai"),
        ({"type": "restore_history", "messages": [result("c1")]}, "not a message of tool"),
        ({"type": "restore_history", "messages": [*said(2), "hi"]}, "the role of a message is None"),
        ([1], "a saved conversation is"),
        ([], "a saved conversation is"),
        (None, "a saved conversation is"),
        (
            restored(content=[{"type": "image_url", "image_url": {"url": "http://intranet/"}}]),
            "not {'type': 'image_url'",
        ),
        (restored(content="see", base64_image="iVBORw0KGgo="), "not {'type': 'image'"),
        (restored(role="assistant", tool_calls=[BROKEN]), "not a message of ai"),
        (
            restored(role="assistant", content=[{"type": "tool_use", "id": "1", "name": "f", "input": {}}]),
            "not {'type'",
        ),
        (
            restored(role="assistant", content=[{"type": "tool_call", "id": "1", "name": "f", "args": {}}]),
            "not {'type'",
        ),
        (restored(content=[{"type": "tool_result", "tool_use_id": "1", "content": "x"}]), "not {'type': 'tool_result'"),
        (restored(content=[{"type": "text", "text": 7}]), "not {'type': 'text'"),
    ],
    ids=[
        *("type", "shape", "system", "calls", "results", "no message", "list", "empty", "none", "link", "image"),
        *("broken calls", "tool_use", "tool_call", "tool_result", "number"),
    ],
)
def test_what_a_client_may_not_restore(data: Any, message: str) -> None:
    """Instructions, calls and results are the server's; what was kept stays."""
    manager = ChatHistoryManager()
    manager.add_messages(said(2))
    with pytest.raises(InvalidInput, match=message):
        manager.restore_history(data)
    assert manager.get_messages() == said(2)


async def test_checkpoints(tmp_path: Path) -> None:
    """Append what is new, in one step, and are taken up by the next process; a cleared conversation begins anew."""
    storage = FileChatMessageHistory(tmp_path / "chat.jsonl")
    manager = ChatHistoryManager(k=4, storage=storage)
    manager.add_messages([SYSTEM, *said(2)])
    await manager.save_checkpoint()
    manager.add_messages(said(6, 2))
    await manager.save_checkpoint()
    await manager.save_checkpoint()
    assert len(await storage.aget_messages()) == 9

    other = ChatHistoryManager(k=4, storage=FileChatMessageHistory(tmp_path / "chat.jsonl"))
    await other.restore_from_checkpoint()
    assert other.get_messages() == manager.get_messages() == [SYSTEM, *said(4, 4)]
    other.load_messages(said(2))
    await other.save_checkpoint()
    await manager.restore_from_checkpoint()
    assert manager.get_messages() == said(2)

    alone = ChatHistoryManager()
    alone.add_messages(said(2))
    await alone.save_checkpoint()
    await alone.restore_from_checkpoint()
    assert alone.get_messages() == said(2)


async def test_a_checkpoint_that_fails_is_made_good_by_the_next() -> None:
    """Nothing is left out, and nothing is stored twice."""

    class Failing(InMemoryChatMessageHistory):
        works = False

        async def aadd_messages(self, messages: Any) -> None:
            if not self.works:
                raise HistoryError("the server is gone")
            await super().aadd_messages(messages)

    storage = Failing()
    manager = ChatHistoryManager(storage=storage)
    manager.add_messages(said(2))
    with pytest.raises(HistoryError):
        await manager.save_checkpoint()
    storage.works = True
    manager.add_messages(said(2, 2))
    await manager.save_checkpoint()
    assert [message.text for message in storage.messages] == ["0", "1", "2", "3"]


async def test_checkpoints_at_the_same_time_store_once() -> None:
    """In order; and one that is cancelled knows what it has stored."""

    class Slow(InMemoryChatMessageHistory):
        async def aadd_messages(self, messages: Any) -> None:
            await anyio.sleep(0.01)
            await super().aadd_messages(messages)

    storage = Slow()
    manager = ChatHistoryManager(storage=storage)
    async with anyio.create_task_group() as group:
        for start in (0, 2, 4):
            manager.add_messages(said(2, start))
            group.start_soon(manager.save_checkpoint)
            await anyio.sleep(0.005)
    manager.add_messages(said(2, 6))
    with anyio.move_on_after(0.005):
        await manager.save_checkpoint()
    await manager.save_checkpoint()
    assert [message.text for message in storage.messages] == [str(number) for number in range(8)]


async def test_a_conversation_that_is_loaded_during_a_checkpoint() -> None:
    """Is stored by the next one, whole, in the place of the one before."""

    class Slow(InMemoryChatMessageHistory):
        async def aadd_messages(self, messages: Any) -> None:
            await anyio.sleep(0.01)
            await super().aadd_messages(messages)

    storage = Slow()
    manager = ChatHistoryManager(storage=storage)
    manager.add_messages(said(4))
    async with anyio.create_task_group() as group:
        group.start_soon(manager.save_checkpoint)
        await anyio.sleep(0.005)
        manager.load_messages(said(4, 10))
    await manager.save_checkpoint()
    assert [message.text for message in storage.messages] == ["10", "11", "12", "13"]


def test_export(tmp_path: Path) -> None:
    """For programs, and for people."""
    manager = ChatHistoryManager(session_id="s1")
    manager.add_messages([SYSTEM, {"role": "user", "content": "你好"}, {"role": "assistant", "content": "Hello"}])
    path = manager.export_to_file(tmp_path / "new" / "chat.json")
    assert json.loads(Path(path).read_text(encoding="utf-8")) == {
        "session_id": "s1",
        "message_count": 3,
        "messages": manager.get_messages(),
    }
    path = manager.export_to_file(str(tmp_path / "chat.md"), fmt="markdown")
    assert Path(path).read_text(encoding="utf-8") == (
        "# Conversation s1\n\n## system\n\nbe brief\n\n## user\n\n你好\n\n## assistant\n\nHello\n"
    )
    with pytest.raises(InvalidInput, match="fmt is 'pdf'"):
        manager.export_to_file(tmp_path / "chat.pdf", fmt="pdf")  # type: ignore[arg-type]
