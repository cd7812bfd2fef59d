"""A conversation as one text, for models and handlers that only read text."""

from collections.abc import Sequence

from hocket.errors import InvalidInput
from hocket.messages.ai import AIMessage
from hocket.messages.base import BaseMessage
from hocket.messages.chat import ChatMessage
from hocket.messages.convert import MessageLikeRepresentation, convert_to_messages

__all__ = ["get_buffer_string"]

_PREFIXES = {"system": "System", "function": "Function", "tool": "Tool"}


def get_buffer_string(
    messages: Sequence[MessageLikeRepresentation], human_prefix: str = "Human", ai_prefix: str = "AI"
) -> str:
    """Return one line ``Role: text`` a message; a reply's tool calls follow its text, as in LangChain.

    Raises:
        InvalidInput: a message of a class that has no role.
    """
    return "\n".join(_line(message, human_prefix, ai_prefix) for message in convert_to_messages(messages))


def _line(message: BaseMessage, human_prefix: str, ai_prefix: str) -> str:
    kind = message.type.removesuffix("MessageChunk").lower()
    if isinstance(message, ChatMessage):
        prefix = message.role
    elif kind in ("human", "ai"):
        prefix = human_prefix if kind == "human" else ai_prefix
    elif kind in _PREFIXES:
        prefix = _PREFIXES[kind]
    else:
        raise InvalidInput(f"a message of type {message.type!r} has no place in a text")
    line = f"{prefix}: {message.text}"
    if isinstance(message, AIMessage):
        if message.tool_calls:
            line += str(message.tool_calls)
        elif "function_call" in message.additional_kwargs:
            line += str(message.additional_kwargs["function_call"])
    return line
