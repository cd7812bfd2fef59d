"""Who speaks in a message.

Asked of every message of long conversations, again and again: pydantic's `isinstance` takes a third of a microsecond
where it says no, a look into a table a tenth of that.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from hocket.messages.ai import AIMessage, AIMessageChunk
from hocket.messages.base import BaseMessage
from hocket.messages.chat import ChatMessage, ChatMessageChunk
from hocket.messages.function import FunctionMessage, FunctionMessageChunk
from hocket.messages.human import HumanMessage, HumanMessageChunk
from hocket.messages.system import SystemMessage, SystemMessageChunk
from hocket.messages.tool import ToolMessage, ToolMessageChunk

__all__ = ["OWN_CLASSES", "Role", "role_of", "roles_of"]

Role: TypeAlias = Literal["human", "ai", "system", "tool", "function", "chat", "nobody"]
"""Who speaks in a message; ``nobody``: the message that only removes another."""

_ROLES: dict[type[BaseMessage], Role] = {
    HumanMessage: "human",
    HumanMessageChunk: "human",
    AIMessage: "ai",
    AIMessageChunk: "ai",
    SystemMessage: "system",
    SystemMessageChunk: "system",
    ToolMessage: "tool",
    ToolMessageChunk: "tool",
    FunctionMessage: "function",
    FunctionMessageChunk: "function",
    ChatMessage: "chat",
    ChatMessageChunk: "chat",
}

OWN_CLASSES = frozenset(_ROLES)
"""The classes of messages that say something."""


def role_of(message: BaseMessage) -> Role:
    """Return who speaks: the type of the class, not the chunk's, that ``message`` is of or derives from.

    "nobody": of none of these, as an order to remove a message.
    """
    role = _ROLES.get(message.__class__)
    return _inherited_role(message) if role is None else role


def roles_of(messages: Iterable[BaseMessage]) -> list[Role]:
    """Return the role of each of ``messages``, as `role_of` does, in one pass."""
    return [_ROLES.get(message.__class__) or _inherited_role(message) for message in messages]


def _inherited_role(message: BaseMessage) -> Role:
    for cls, role in _ROLES.items():
        if isinstance(message, cls):
            return role
    return "nobody"
