"""A conversation as questions, each with all that came of it."""

from collections.abc import Sequence
from typing import Any

from hocket.message_toolkit.trim import trim_messages
from hocket.message_toolkit.turns import split_turns
from hocket.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.roles import calls_of

__all__ = ["join_exchanges", "keep_last", "split_at_questions", "split_exchanges", "split_open", "split_system"]


def split_exchanges(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Return ``messages`` as exchanges, in order: each begins with what the user said. What came before is the first.

    Cut there, a conversation begins as every provider wants it to, and no tool call is parted from its results.
    """
    found: list[list[BaseMessage]] = []
    for turn in split_turns(messages):
        if not found or isinstance(turn[0], HumanMessage):
            found.append([])
        found[-1] += turn
    return found


def split_at_questions(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Return ``messages`` as exchanges, as `split_exchanges` does, of a conversation that `repair_history` has mended.

    There results follow their calls, so that no question stands between them, and one look at each message is enough.
    """
    found: list[list[BaseMessage]] = []
    for message in messages:
        if not found or isinstance(message, HumanMessage):
            found.append([])
        found[-1].append(message)
    return found


def keep_last(messages: list[BaseMessage], **limit: Any) -> list[BaseMessage]:
    """Return the last exchanges that fit ``limit``, as `trim_messages` takes it; all messages, if they do."""
    trimmed = trim_messages(messages, **limit)
    if len(trimmed) == len(messages):
        return messages
    return join_exchanges([part for part in split_exchanges(trimmed) if isinstance(part[0], HumanMessage)])


def join_exchanges(parts: Sequence[Sequence[BaseMessage]]) -> list[BaseMessage]:
    """Return exchanges as the messages that they are made of."""
    return [message for part in parts for message in part]


def split_open(messages: list[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Return what comes before the last exchange, and that exchange, if calls in it still wait for their results.

    Else return all of it, and nothing.
    """
    last = (split_exchanges(messages) or [[]])[-1]
    called = {call["id"] for message in last for call in calls_of(message)}
    if called <= {message.tool_call_id for message in last if isinstance(message, ToolMessage)}:
        return messages, []
    return messages[: len(messages) - len(last)], last


def split_system(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Return the system message at the beginning, if there is one, in a list, and what comes after it."""
    head = 1 if messages and isinstance(messages[0], SystemMessage) else 0
    return list(messages[:head]), list(messages[head:])
