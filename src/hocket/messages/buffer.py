"""A conversation as one text, for models and handlers that only read text."""

from collections.abc import Sequence

from hocket.errors import InvalidInput
from hocket.messages.ai import AIMessage
from hocket.messages.base import BaseMessage
from hocket.messages.chat import ChatMessage
from hocket.messages.convert import MessageLikeRepresentation, convert_to_messages
from hocket.messages.function import FunctionMessage
from hocket.messages.human import HumanMessage
from hocket.messages.system import SystemMessage
from hocket.messages.tool import ToolMessage

__all__ = ["get_buffer_string"]


def get_buffer_string(
    messages: Sequence[MessageLikeRepresentation],
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    *,
    system_prefix: str = "System",
    function_prefix: str = "Function",
    tool_prefix: str = "Tool",
    message_separator: str = "\n",
) -> str:
    """Return ``Role: text`` for each message; a reply's tool calls follow its text without a gap, as in LangChain.

    Args:
        messages: messages or message-likes.
        human_prefix: the role of the user's messages. A `ChatMessage` has its own; the others are these:
        ai_prefix: of the model's.
        system_prefix: of the system's.
        function_prefix: of functions'.
        tool_prefix: of tools'.
        message_separator: goes between messages.

    Raises:
        InvalidInput: a message of a class that has no role.
    """
    prefixes: dict[type[BaseMessage], str] = {
        HumanMessage: human_prefix,
        AIMessage: ai_prefix,
        SystemMessage: system_prefix,
        FunctionMessage: function_prefix,
        ToolMessage: tool_prefix,
    }
    return message_separator.join(_line(message, prefixes) for message in convert_to_messages(messages))


def _line(message: BaseMessage, prefixes: dict[type[BaseMessage], str]) -> str:
    if isinstance(message, ChatMessage):
        prefix: str | None = message.role
    else:
        prefix = next((prefix for cls, prefix in prefixes.items() if isinstance(message, cls)), None)
    if prefix is None:
        raise InvalidInput(f"a {type(message).__name__} of type {message.type!r} has no place in a text")
    line = f"{prefix}: {message.text}"
    if isinstance(message, AIMessage):
        if message.tool_calls:
            line += str(message.tool_calls)
        elif message.additional_kwargs.get("function_call"):
            line += str(message.additional_kwargs["function_call"])
    return line
