"""Messages as stores hold them: one JSON text each. See `hocket.messages.records` for what is in it."""

from collections.abc import Iterable, Sequence
from typing import cast

from hocket.errors import HistoryError, InvalidInput, LoadError
from hocket.errors.hints import bridge_hint
from hocket.messages import BaseMessage
from hocket.messages.records import dumps_message, loads_message

__all__ = ["check_messages", "check_session_id", "dumps_messages", "loads_messages"]


def check_messages(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return the messages of a turn.

    Raises:
        InvalidInput: they are no list of messages.
    """
    anything = cast("object", messages)  # nobody has checked it yet
    if isinstance(anything, BaseMessage) or not isinstance(anything, Iterable):
        raise InvalidInput(f"a turn is a list of messages, not {type(messages).__name__}; add_message() adds one")
    turn = list(messages)
    for message in cast("list[object]", turn):
        if not isinstance(message, BaseMessage):
            raise InvalidInput(
                f"a history takes messages, not {type(message).__name__}: see convert_to_messages(){bridge_hint(message)}"
            )
    return turn


def check_session_id(session_id: object) -> str:
    """Return the name of a conversation.

    Raises:
        InvalidInput: it is no text, or empty, or holds characters that cannot be encoded (lone surrogates).
    """
    if not isinstance(session_id, str) or not session_id:
        raise InvalidInput(f"session_id is {session_id!r}; it must be a text, and not empty")
    try:
        session_id.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"session_id is {session_id!r}; it holds a lone surrogate, which cannot be encoded: leave it out"
        ) from None
    return session_id


def dumps_messages(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the messages of a turn as JSON texts.

    Raises:
        InvalidInput: one of them is no message, or holds what cannot be stored.
    """
    return [dumps_message(message) for message in check_messages(messages)]


def loads_messages(records: Iterable[str | bytes], place: str) -> list[BaseMessage]:
    """Return the messages that JSON texts stand for.

    Args:
        records: in order.
        place: where they come from, for the text of an error.

    Raises:
        HistoryError: one of them is damaged.
    """
    messages: list[BaseMessage] = []
    for record in records:
        try:
            messages.append(loads_message(record))
        except LoadError as error:
            raise HistoryError(f"{place}: message {len(messages) + 1} cannot be read: {error}") from error
    return messages
