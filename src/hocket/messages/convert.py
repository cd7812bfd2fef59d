"""Whatever people write where a message is expected, made a message."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from hocket.errors import InvalidInput
from hocket.messages.ai import AIMessage
from hocket.messages.base import BaseMessage
from hocket.messages.chat import ChatMessage
from hocket.messages.function import FunctionMessage
from hocket.messages.human import HumanMessage
from hocket.messages.modifier import RemoveMessage
from hocket.messages.system import SystemMessage
from hocket.messages.tool import ToolMessage
from hocket.messages.tool_calls import default_tool_parser

__all__ = ["AnyMessage", "MessageLikeRepresentation", "convert_to_messages"]

AnyMessage = AIMessage | HumanMessage | ChatMessage | SystemMessage | FunctionMessage | ToolMessage
MessageLikeRepresentation = BaseMessage | list[str] | tuple[str, Any] | str | dict[str, Any]

_CLASSES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "user": HumanMessage,
    "ai": AIMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
    "function": FunctionMessage,
    "tool": ToolMessage,
    "remove": RemoveMessage,
}
_CALL_KEYS = ("name", "args", "id")


@runtime_checkable
class _Messages(Protocol):
    """A prompt value, without importing it: it is built on messages."""

    def to_messages(self) -> list[BaseMessage]: ...


def convert_to_messages(messages: Iterable[MessageLikeRepresentation] | Any) -> list[BaseMessage]:
    """Return a list of messages.

    Args:
        messages: message-likes, or a prompt value. A message-like is a message; a string (the user's); a pair of role
            and content; or a mapping with ``role`` (or ``type``) and ``content``, OpenAI's ``tool_calls``,
            ``tool_call_id`` and ``name`` included. Roles: human or user, ai or assistant, system, developer, tool,
            function, remove; ``content: None`` reads as ``""``.

    Raises:
        InvalidInput: a role or a shape that is none of these; the message names it.
    """
    if isinstance(messages, _Messages):
        return messages.to_messages()
    return [message if isinstance(message, BaseMessage) else _message(message) for message in messages]


def _message(like: Any) -> BaseMessage:
    if isinstance(like, str):
        return HumanMessage(like)
    if isinstance(like, Mapping):
        return _from_mapping(dict(cast("Mapping[str, Any]", like)))
    if isinstance(like, Sequence):
        parts = list(like)
        if len(parts) == 2 and isinstance(parts[0], str):
            return _made(parts[0], parts[1], {})
    raise InvalidInput(
        f"cannot read {type(like).__name__} {_short(like)} as a message: it takes a message, a string, "
        "a (role, content) pair or a mapping with role and content"
    )


def _from_mapping(fields: dict[str, Any]) -> BaseMessage:
    if fields.get("lc") == 1 and isinstance(fields.get("kwargs"), dict):  # a dumped message
        fields = {"type": str(fields.get("id", [""])[-1]).lower().removesuffix("message"), **fields["kwargs"]}
    role = fields.pop("role", None) or fields.pop("type", None)
    if not isinstance(role, str):
        raise InvalidInput(f"a message given as a mapping needs a 'role' and 'content'; these keys came: {[*fields]}")
    if "content" not in fields and role != "remove":
        raise InvalidInput(f"a message given as a mapping needs 'content'; role {role!r} came with {[*fields]}")
    return _made(role, fields.pop("content", ""), fields)


def _made(role: str, content: Any, fields: dict[str, Any]) -> BaseMessage:
    cls = _CLASSES.get(role)
    if cls is None:
        raise InvalidInput(
            f"unknown role {role!r}: it is one of {', '.join(_CLASSES)}; "
            "a role of your own goes through ChatMessage(content, role=...)"
        )
    if role == "developer":
        fields["additional_kwargs"] = {**fields.get("additional_kwargs", {}), "__openai_role__": "developer"}
    extra = fields.pop("additional_kwargs", None) or {}
    if "function_call" in fields:
        extra = {**extra, "function_call": fields.pop("function_call")}
    if cls is AIMessage and fields.get("tool_calls"):
        fields.update(_tool_calls(fields.pop("tool_calls"), fields.get("invalid_tool_calls") or []))
    if cls is RemoveMessage:
        return RemoveMessage(**fields)
    return cls(content="" if content is None else content, additional_kwargs=extra, **fields)


def _tool_calls(calls: list[Any], invalid: list[Any]) -> dict[str, list[Any]]:
    """Read calls as ours (name, args) or as OpenAI's (function: {name, arguments}), order kept."""
    parsed: list[Any] = []
    refused: list[Any] = list(invalid)
    for call in calls:
        if "function" in call:
            good, bad = default_tool_parser([call])
            parsed.extend(good)
            refused.extend(bad)
        else:
            parsed.append({key: call.get(key) for key in _CALL_KEYS} | {"type": "tool_call"})
    return {"tool_calls": parsed, "invalid_tool_calls": refused}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
