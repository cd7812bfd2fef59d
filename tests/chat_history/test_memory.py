"""The history in memory."""

import copy
import pickle

import pytest

from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage


def test_begins_with_messages() -> None:
    """It may be given the conversation so far, which stays the caller's."""
    so_far: list[BaseMessage] = [HumanMessage("one"), AIMessage("two")]
    history = InMemoryChatMessageHistory(messages=so_far)
    history.add_user_message("three")
    assert [message.text for message in history.messages] == ["one", "two", "three"]
    assert len(so_far) == 2


def test_a_turn_is_read_once() -> None:
    """Whatever it is: what a generator yields is kept, and what is no list of messages is refused with the way out."""
    history = InMemoryChatMessageHistory(HumanMessage(text) for text in ("one", "two"))
    history.add_messages(message for message in history.messages)  # type: ignore[arg-type]
    assert [message.text for message in history.messages] == ["one", "two", "one", "two"]
    for other in (HumanMessage("three"), None):
        with pytest.raises(InvalidInput, match=r"a turn is a list of messages, not .*; add_message\(\) adds one"):
            history.add_messages(other)  # type: ignore[arg-type]


def test_foreign_objects_are_shared() -> None:
    """What is neither a list nor a mapping is not copied: an artifact may be anything."""
    artifact = object()
    history = InMemoryChatMessageHistory([ToolMessage("x", tool_call_id="1", artifact=artifact)])
    (message,) = history.messages
    assert isinstance(message, ToolMessage)
    assert message.artifact is artifact


def test_travels() -> None:
    """It can be pickled and copied, and a copy goes its own way."""
    history = InMemoryChatMessageHistory([HumanMessage("one")])
    for twin in (pickle.loads(pickle.dumps(history)), copy.deepcopy(history)):
        assert twin.messages == history.messages
        twin.clear()
        assert len(history.messages) == 1
