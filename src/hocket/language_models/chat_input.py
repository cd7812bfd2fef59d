"""What a chat model is asked, as messages: in a list of their own, with content in standard blocks."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from hocket.errors import InvalidInput
from hocket.load.construct import get_fields
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_messages
from hocket.messages.base import rebuild
from hocket.prompt_values import PromptValue

__all__ = ["prepare_messages"]

_NO_LISTS = (str, BaseMessage, PromptValue, Mapping)  # although they can be iterated
_PLAIN = frozenset({HumanMessage, AIMessage, SystemMessage, ToolMessage})


def prepare_messages(value: object) -> list[BaseMessage]:
    """Return what a chat model is asked as a new list of messages, with content in standard blocks.

    Args:
        value: an iterable of messages and message-likes. Neither it nor they are changed.

    Raises:
        InvalidInput: they are no messages, or there are none.
    """
    kind = type(value)
    if kind is not list and (isinstance(value, _NO_LISTS) or not isinstance(value, Iterable)):
        raise InvalidInput(f"a conversation is a list of messages, not {kind.__name__}; put it in a list")
    messages: list[Any] = list(cast("Iterable[object]", value))
    if not messages:
        raise InvalidInput("there are no messages to answer: the input is empty")
    for message in messages:
        if type(message) not in _PLAIN or get_fields(message)["content"].__class__ is not str:
            return [_standardise(one) for one in convert_to_messages(messages)]
    return messages


def _standardise(message: BaseMessage) -> BaseMessage:
    from hocket.messages.formats import normalize_input_content  # loaded with the first list of blocks

    content = message.content
    standard = normalize_input_content(content)
    if standard is content:
        return message
    return rebuild(message, {**message.__dict__, "content": standard}, type(message))
