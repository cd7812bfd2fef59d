"""A conversation as one text, for models and handlers that only read text."""

from collections.abc import Sequence
from typing import Literal, cast

from hocket.errors import InvalidInput
from hocket.messages.ai import AIMessage
from hocket.messages.base import BaseMessage
from hocket.messages.convert import MessageLikeRepresentation, convert_to_messages
from hocket.messages.roles import ChatMessage, Role, function_call_of, role_of

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
    format: Literal["prefix", "xml"] = "prefix",
) -> str:
    """Return a conversation as one text: ``Role: text`` for each message, or an element of XML.

    A reply's tool calls follow its text without a gap, as in LangChain. In XML, they and all that can be said in a few
    words about other content are elements, and what messages say cannot be mistaken for the next message.

    Args:
        messages: messages or message-likes.
        human_prefix: the role of the user's messages. A `ChatMessage` has its own; the others are these:
        ai_prefix: of the model's.
        system_prefix: of the system's.
        function_prefix: of functions'.
        tool_prefix: of tools'.
        message_separator: goes between messages.
        format: "prefix", or "xml": ``<message type="human">text</message>``, the type being the role in lower case.

    Raises:
        InvalidInput: a message of a class that has no role; an unknown format.
    """
    if format not in ("prefix", "xml"):
        raise InvalidInput(f"format {format!r} is unknown; it is 'prefix' or 'xml'")
    prefixes: dict[Role, str] = {
        "human": human_prefix,
        "ai": ai_prefix,
        "system": system_prefix,
        "function": function_prefix,
        "tool": tool_prefix,
    }
    if format == "xml":
        prefixes = {role: prefix.lower() for role, prefix in prefixes.items()}
    said = [(_speaker(message, prefixes), message) for message in convert_to_messages(messages)]
    if format == "prefix":
        return message_separator.join([f"{speaker}: {message.text}{_calls(message)}" for speaker, message in said])
    from hocket.messages.buffer_xml import element  # few conversations are written so

    return message_separator.join([element(message, speaker) for speaker, message in said])


def _speaker(message: BaseMessage, prefixes: dict[Role, str]) -> str:
    role = role_of(message)
    if role == "chat":
        return cast(ChatMessage, message).role
    prefix = prefixes.get(role)
    if prefix is None:
        raise InvalidInput(f"a {type(message).__name__} of type {message.type!r} has no place in a text")
    return prefix


def _calls(message: BaseMessage) -> str:
    if role_of(message) != "ai":
        return ""
    calls = function_call_of(message) or cast(AIMessage, message).tool_calls
    return str(calls) if calls else ""
