"""Messages of another application, by role, as hocket's messages and back.

Such a message is an object or a mapping with ``role`` and ``content`` and, where there are any, ``tool_calls`` as OpenAI
writes them (``{"id", "type", "function": {"name", "arguments": "<JSON>"}}``, also as objects), ``tool_call_id``, ``name``
and ``base64_image`` (base64, or a data URL of it). What those fields say comes back: an image becomes a block of the
content, and arguments that are no JSON an invalid tool call, in its place among the calls. Other fields are not carried
over.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from hocket.errors import InvalidInput
from hocket.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    default_tool_parser,
)

__all__ = ["MessageAdapter"]

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_KINDS: dict[str, type[BaseMessage]] = {
    "user": HumanMessage,
    "human": HumanMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
}
# How files of these formats begin, in base64.
_FORMATS = {"iVBOR": "image/png", "R0lGOD": "image/gif", "UklGR": "image/webp", "/9j/": "image/jpeg"}


class MessageAdapter:
    """Turns role-based messages of another application into hocket's, and back."""

    @staticmethod
    def to_langchain(message: Any) -> BaseMessage:
        """Return one message as hocket's; one that is hocket's already as it is.

        Args:
            message: an object or a mapping, see this module. ``role`` may be an enum. ``content`` may be None, or
                a list of content blocks, which are taken as they are.

        Raises:
            InvalidInput: the role is none of user, assistant, system and tool; a field has a shape that it cannot have; or
                a tool's message does not say which call it answers. (A role of one's own, which `from_langchain` writes
                for a `ChatMessage`, is not read: it is more often a misspelt one.)
        """
        if isinstance(message, BaseMessage):
            return message
        role = _field(message, "role")
        kind = _KINDS.get(str(getattr(role, "value", role)).lower())
        if kind is None:
            raise InvalidInput(f"the role of a message is {role!r}; it must be user, assistant, system or tool")
        fields: dict[str, Any] = {"content": _content(message)}
        if name := _field(message, "name"):
            fields["name"] = name
        if kind is AIMessage:
            fields |= _read_calls(_field(message, "tool_calls") or ())
        elif kind is ToolMessage:
            if not (call_id := _field(message, "tool_call_id")):
                raise InvalidInput("a tool's message has no tool_call_id: its call is unknown")
            fields["tool_call_id"] = call_id
        return kind(**fields)

    @staticmethod
    def from_langchain(message: BaseMessage, make: Callable[..., Any] = dict) -> Any:
        """Return one of hocket's messages as the other application's.

        A content that is more than text and one image in base64 is handed on as a list of blocks.

        Args:
            message: of any of the four roles, or a `ChatMessage` with a role of its own.
            make: is called with the fields as keywords, those that are empty left out; say, the application's class.

        Raises:
            InvalidInput: the message has no role.
        """
        role = message.role if isinstance(message, ChatMessage) else _ROLES.get(message.type)
        if role is None:
            raise InvalidInput(f"a {type(message).__name__} has no role in another application; leave it out")
        content, image = _parts(message.content)
        fields: dict[str, Any] = {"role": role, "content": content, "name": message.name, "base64_image": image}
        if isinstance(message, AIMessage):
            fields["tool_calls"] = _write_calls(message)
        elif isinstance(message, ToolMessage):
            fields["tool_call_id"] = message.tool_call_id
        return make(**{name: value for name, value in fields.items() if value is not None})

    @staticmethod
    def batch_to_langchain(messages: Iterable[Any]) -> list[BaseMessage]:
        """Return messages as hocket's, in order. See `to_langchain`."""
        return [MessageAdapter.to_langchain(message) for message in messages]

    @staticmethod
    def batch_from_langchain(messages: Iterable[BaseMessage], make: Callable[..., Any] = dict) -> list[Any]:
        """Return hocket's messages as the other application's, in order. See `from_langchain`."""
        return [MessageAdapter.from_langchain(message, make) for message in messages]


def _field(thing: Any, name: str) -> Any:
    if isinstance(thing, Mapping):
        return cast("Mapping[str, Any]", thing).get(name)
    return getattr(thing, name, None)


def _content(message: Any) -> Any:
    """Return the content of a message, the image, if it has one, as a block behind the text."""
    content, image = _field(message, "content"), _field(message, "base64_image")
    if content is None:
        content = ""
    if not isinstance(content, str | list):
        raise InvalidInput(f"the content of a message is {type(content).__name__}; it must be a text, blocks or None")
    if not image:
        return cast(Any, content)
    if not isinstance(image, str):
        raise InvalidInput(f"base64_image is {type(image).__name__}; it must be text")
    if isinstance(content, str):
        return [{"type": "text", "text": content}, _read_image(image)] if content else [_read_image(image)]
    return [*content, _read_image(image)]


def _make_image(base64: str) -> dict[str, Any]:
    mime_type = next((kind for start, kind in _FORMATS.items() if base64.startswith(start)), "image/jpeg")
    return {"type": "image", "base64": base64, "mime_type": mime_type}


def _read_image(text: str) -> dict[str, Any]:
    """Return an image in base64 as a block; a data URL names its type."""
    if not text.startswith("data:"):
        return _make_image(text)
    header, comma, base64 = text.partition(",")
    mime_type, *parameters = header.removeprefix("data:").split(";")
    if not comma or "base64" not in parameters:
        raise InvalidInput(f"base64_image begins with {text[:40]!r}; it must be base64, or data:image/png;base64,...")
    return {**_make_image(base64), "mime_type": mime_type} if mime_type else _make_image(base64)


def _parts(content: str | Sequence[str | dict[str, Any]]) -> tuple[Any, str | None]:
    """Return a content as a text and an image, if that is all there is in it."""
    if isinstance(content, str):
        return content, None
    *texts, last = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content or [""]]
    image = last.get("base64")
    if isinstance(image, str) and last == _make_image(image):
        if not texts:
            return "", image
        if len(texts) == 1 and texts[0] == {"type": "text", "text": texts[0].get("text")}:
            return texts[0]["text"], image
    return list(content), None


def _read_calls(calls: object) -> dict[str, Any]:
    """Return the fields of tool calls: those that can be read, and those that cannot, each with its place among all."""
    iterable = calls
    if not isinstance(iterable, Iterable) or isinstance(iterable, str | Mapping):
        raise InvalidInput(f"tool_calls is {type(calls).__name__}; it must be a list of calls")
    read: list[Any] = []
    invalid: list[Any] = []
    for index, call in enumerate(cast("Iterable[object]", iterable)):
        function = _field(call, "function")
        if function is None:
            raise InvalidInput(f"tool call {index} has no function with a name and arguments: {call!r}")
        named = {"name": _field(function, "name"), "arguments": _field(function, "arguments")}
        good, bad = default_tool_parser([{"id": _field(call, "id"), "function": named}])
        read += [{**one, "index": index} for one in good]
        invalid += [{**one, "index": index} for one in bad]
    if not invalid:  # they are in order anyway
        for one in read:
            del one["index"]
    return {"tool_calls": read, "invalid_tool_calls": invalid}


def _write_calls(message: AIMessage) -> list[dict[str, Any]] | None:
    """Return the calls of a message as OpenAI writes them, in their order; None: there are none."""
    calls: list[Any] = [*message.tool_calls, *message.invalid_tool_calls]
    if all(isinstance(call.get("index"), int) for call in calls):
        calls.sort(key=lambda call: call["index"])
    encoded: list[dict[str, Any]] = []
    for call in calls:
        arguments = call["args"]
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {}, ensure_ascii=False)
        function = {"name": call["name"] or "", "arguments": arguments}
        encoded.append({"id": call["id"], "type": "function", "function": function})
    return encoded or None
