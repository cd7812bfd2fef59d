"""The history in memory."""

import copy
import pickle

from hocket.chat_history import InMemoryChatMessageHistory
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage


def test_begins_with_messages() -> None:
    """It may be given the conversation so far, which stays the caller's."""
    so_far: list[BaseMessage] = [HumanMessage("one"), AIMessage("two")]
    history = InMemoryChatMessageHistory(messages=so_far)
    history.add_user_message("three")
    assert [message.text for message in history.messages] == ["one", "two", "three"]
    assert len(so_far) == 2


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
