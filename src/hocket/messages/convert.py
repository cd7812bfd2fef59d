"""Whatever people write where a message is expected, made a message."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol, cast, runtime_checkable

from pydantic import Discriminator, Tag, ValidationError

from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint, excerpt
from hocket.messages.ai import AIMessage, AIMessageChunk, message_chunk_to_message
from hocket.messages.base import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.records import load_message
from hocket.messages.roles import (
    OWN_CLASSES,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from hocket.messages.tool_calls import default_tool_parser

__all__ = ["AnyMessage", "MessageLikeRepresentation", "coerce_messages", "convert_to_messages"]


def _type_of(value: Any) -> Any:
    return cast(Fields, value).get("type") if isinstance(value, dict) else getattr(value, "type", None)


AnyMessage = Annotated[
    Annotated[AIMessage, Tag("ai")]
    | Annotated[HumanMessage, Tag("human")]
    | Annotated[ChatMessage, Tag("chat")]
    | Annotated[SystemMessage, Tag("system")]
    | Annotated[FunctionMessage, Tag("function")]
    | Annotated[ToolMessage, Tag("tool")]
    | Annotated[AIMessageChunk, Tag("AIMessageChunk")]
    | Annotated[HumanMessageChunk, Tag("HumanMessageChunk")]
    | Annotated[ChatMessageChunk, Tag("ChatMessageChunk")]
    | Annotated[SystemMessageChunk, Tag("SystemMessageChunk")]
    | Annotated[FunctionMessageChunk, Tag("FunctionMessageChunk")]
    | Annotated[ToolMessageChunk, Tag("ToolMessageChunk")],
    Discriminator(_type_of),
]
"""Any message of a conversation, for fields of pydantic models: dumped messages are read back as what they were."""

MessageLikeRepresentation = BaseMessage | list[str] | tuple[str, Any] | str | Fields
"""What stands for a message: a text of the user, a pair of role and content, or a dict with both."""

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
_NEEDED: dict[type[BaseMessage], tuple[tuple[str, str], ...]] = {
    ToolMessage: (("tool_call_id", "the id of the call that it answers"),),
    FunctionMessage: (("name", "that of the function"),),
}
"""What a message of a class cannot be without, beside its content."""

_OF_CHUNKS = frozenset({"tool_call_chunks", "chunk_position"})


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
            function, remove; ``content: None`` reads as ``""``. What a mapping has beside the fields of its message
            goes to ``additional_kwargs``. A mapping may be what `hocket.load.dumpd` or LangChain's ``dumpd`` made of a
            message; chunks read as whole messages. A single string, message or mapping reads as a list of one.

    Raises:
        InvalidInput: a role or a shape that is none of these; the message names it.
        LoadError: a dumped message that is damaged, or none.
    """
    if messages.__class__ is not list:
        if isinstance(messages, _Messages):
            return messages.to_messages()
        if isinstance(messages, str | BaseMessage | Mapping):
            messages = [messages]
    if not isinstance(messages, Iterable):
        raise InvalidInput(
            f"cannot read {type(messages).__name__} {excerpt(messages)} as messages: pass a list of them"
            f"{bridge_hint(messages)}"
        )
    likes = cast("Iterable[BaseMessage]", messages)  # most are
    return [like if like.__class__ in OWN_CLASSES else _message(like) for like in likes]


def _message(like: Any) -> BaseMessage:
    if isinstance(like, BaseMessage):
        return like
    if isinstance(like, str):
        return HumanMessage(like)
    if isinstance(like, Mapping):
        return _from_mapping(dict(cast(FieldsView, like)))
    if isinstance(like, Sequence):
        parts: list[Any] = list(like)  # pyright: ignore[reportUnknownArgumentType]
        if len(parts) == 2 and isinstance(parts[0], str):
            return _make(parts[0], parts[1], {})
    raise InvalidInput(
        f"cannot read {type(like).__name__} {excerpt(like)} as a message: it takes a message, a string, "  # pyright: ignore[reportUnknownArgumentType]  # any object
        f"a (role, content) pair or a mapping with role and content{bridge_hint(cast(object, like))}"
    )


def _from_mapping(fields: Fields) -> BaseMessage:
    if fields.get("lc") == 1 and "kwargs" in fields:
        return message_chunk_to_message(load_message(fields))
    kind = fields.pop("type", None)
    if isinstance(kind, str) and kind.endswith("MessageChunk"):
        kind = kind.removesuffix("MessageChunk").lower()
        fields = {name: value for name, value in fields.items() if name not in _OF_CHUNKS}
    if kind == "chat" and "role" in fields:  # whose role is anybody's
        return ChatMessage(**fields)
    role = fields.pop("role", None) or kind
    if not isinstance(role, str):
        raise InvalidInput(f"a message given as a mapping needs a 'role' and 'content'; these keys came: {[*fields]}")
    if not ("content" in fields or role == "remove" or fields.get("tool_calls") or fields.get("function_call")):
        raise InvalidInput(f"a message given as a mapping needs 'content'; role {role!r} came with {[*fields]}")
    return _make(role, fields.pop("content", None), fields)


def _make(role: str, content: Any, fields: Fields) -> BaseMessage:
    cls = _CLASSES.get(role)
    if cls is None:
        raise InvalidInput(
            f"unknown role {role!r}: it is one of {', '.join(_CLASSES)}; "
            "a role of your own goes through ChatMessage(content, role=...)"
        )
    if cls is RemoveMessage:
        if "id" not in fields:
            raise InvalidInput(f"a message of role 'remove' needs the 'id' of another; it came with {[*fields]}")
        return RemoveMessage(**fields)
    for name, what in _NEEDED.get(cls, ()):
        if fields.get(name) is None:
            raise InvalidInput(f"a message of role {role!r} needs {name!r}, {what}; it came with {[*fields]}")
    if cls is AIMessage and fields.get("tool_calls"):
        fields.update(_tool_calls(fields["tool_calls"], fields.get("invalid_tool_calls") or []))
    known = {name: value for name, value in fields.items() if name in cls.model_fields and value is not None}
    others = {name: value for name, value in fields.items() if name not in cls.model_fields}
    if role == "developer":
        others["__openai_role__"] = role
    if isinstance(given := known.get("additional_kwargs", {}), Mapping):  # or else validation refuses it
        known["additional_kwargs"] = {**others, **given}
    try:
        return cls("" if content is None else content, **known)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])
        raise InvalidInput(f"a message of role {role!r} cannot be read: {faults}") from None


def _tool_calls(calls: Any, invalid: list[Any]) -> dict[str, list[Any]]:
    """Read calls as ours (name, args) or as OpenAI's (function: {name, arguments}), order kept."""
    parsed: list[Any] = []
    refused: list[Any] = list(invalid)
    given: list[Any] = [*calls] if isinstance(calls, Sequence) else [calls]
    if isinstance(calls, Mapping) or not all(isinstance(call, Mapping) for call in given):
        raise InvalidInput(f"'tool_calls' are a list of mappings, not {excerpt(calls)}")  # pyright: ignore[reportUnknownArgumentType]  # any object
    for call in given:
        if isinstance(call.get("function"), Mapping):
            good, bad = default_tool_parser([call])
            parsed.extend(good)
            refused.extend(bad)
        else:
            parsed.append({"id": None, **call, "type": "tool_call"})
    return {"tool_calls": parsed, "invalid_tool_calls": refused}


def coerce_messages(value: object, speaker: type[HumanMessage] | type[AIMessage], what: str) -> list[BaseMessage]:
    """Return a text, a message or a list of messages as messages.

    Args:
        value: one of the three.
        speaker: of a text.
        what: names ``value`` in the text of an error.

    Raises:
        InvalidInput: it is none of these.
    """
    if isinstance(value, str):
        return [speaker(value)]
    if isinstance(value, BaseMessage):
        return [value]
    given = value  # the checkers narrow `value` below, each in its own way
    if isinstance(value, list | tuple):
        messages = cast("Sequence[object]", value)
        if all(isinstance(one, BaseMessage) for one in messages):
            return [*cast("Sequence[BaseMessage]", messages)]
    kind = "None" if given is None else type(given).__name__
    raise InvalidInput(f"{what} must be a text, a message or a list of messages, not {kind}{bridge_hint(given)}")
