"""A turn of a conversation, read from and written to a history on either runtime."""

from collections.abc import Sequence
from typing import Any, cast

from hocket._runtime.runtime import Runtime
from hocket.chat_history.base import BaseChatMessageHistory
from hocket.errors import InvalidInput
from hocket.message_toolkit import repair_history, validate_history
from hocket.message_toolkit.calls import is_empty
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

__all__ = ["append", "conversation", "read", "spoken"]

_NO_ANSWERS = ("orphaned_result", "duplicate_result")


async def read(runtime: Runtime, history: BaseChatMessageHistory) -> list[BaseMessage]:
    """Return the messages of a history, in a list of the caller's own."""
    return list(await history.aget_messages() if runtime.is_async else history.messages)


async def append(
    runtime: Runtime, history: BaseChatMessageHistory, asked: Sequence[BaseMessage], answered: Sequence[BaseMessage]
) -> None:
    """Append a turn, in one step, without messages that say nothing: providers refuse them. No answer is no turn."""
    turn = [message for message in (*asked, *answered) if not is_empty(message)]
    if all(is_empty(message) for message in answered):
        return
    if runtime.is_async:
        await history.aadd_messages(turn)
    else:
        history.add_messages(turn)


def conversation(past: Sequence[BaseMessage], asked: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what was said before, as providers accept it, and then what is asked: results of its last calls, perhaps.

    Raises:
        InvalidInput: a result answers no call, or one that has its result.
    """
    if not any(isinstance(message, ToolMessage) for message in asked):
        return [*repair_history(past), *asked]
    messages = [*past, *asked]
    for problem in validate_history(messages):
        if problem.index >= len(past) and problem.code in _NO_ANSWERS:
            raise InvalidInput(f"what is asked is no answer to the calls before: {problem.detail}")
    return repair_history(messages)


def spoken(value: Any, by: type[HumanMessage] | type[AIMessage], what: str) -> list[BaseMessage]:
    """Return what was said as messages: a text as one ``by`` its speaker, a message or a list of messages as it is.

    Raises:
        InvalidInput: it is none of these; ``what`` it is the message says.
    """
    if isinstance(value, str):
        return [by(value)]
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, list | tuple) and all(isinstance(one, BaseMessage) for one in cast("Sequence[Any]", value)):
        return list(cast("Sequence[BaseMessage]", value))
    kind = "None" if value is None else type(value).__name__
    raise InvalidInput(f"{what} must be a text, a message or a list of messages, not {kind}")
