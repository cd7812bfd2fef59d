"""The messages of each role, who speaks in a message, and the tool calls that it makes, wherever it has them.

Function messages are the results of calls as OpenAI's API had them before tools, kept for old histories. A remove
message changes a conversation instead of continuing it.

A tool call stands in ``tool_calls``. A message that another program wrote may have it in its content alone: as
Anthropic's ``tool_use``, Gemini's ``functionCall``, an item of the Responses API, or a standard block. And old messages
have one ``function_call`` in ``additional_kwargs``.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast
from uuid import UUID

from pydantic import Field, field_validator, model_validator

from hocket.messages.ai import AIMessage, AIMessageChunk
from hocket.messages.base import BaseMessage, BaseMessageChunk, Content, register_template
from hocket.messages.content import Fields, FieldsView
from hocket.messages.tool_calls import InvalidToolCall, ToolCall, invalid_tool_call, tool_call

__all__ = [
    "OWN_CLASSES",
    "AnyToolCall",
    "ChatMessage",
    "ChatMessageChunk",
    "FunctionMessage",
    "FunctionMessageChunk",
    "HumanMessage",
    "HumanMessageChunk",
    "RemoveMessage",
    "Role",
    "SystemMessage",
    "SystemMessageChunk",
    "ToolMessage",
    "ToolMessageChunk",
    "answered_id",
    "calls_of",
    "calls_of_reply",
    "function_call_of",
    "role_of",
    "roles_of",
]


@register_template
class HumanMessage(BaseMessage, init=False):
    """A message from the user."""

    type: Literal["human"] = "human"  # pyright: ignore[reportIncompatibleVariableOverride]


@register_template
class HumanMessageChunk(HumanMessage, BaseMessageChunk, init=False):
    """A piece of a message from the user."""

    type: Literal["HumanMessageChunk"] = "HumanMessageChunk"  # type: ignore[assignment]


@register_template
class SystemMessage(BaseMessage, init=False):
    """An instruction, usually the first message."""

    type: Literal["system"] = "system"  # pyright: ignore[reportIncompatibleVariableOverride]


@register_template
class SystemMessageChunk(SystemMessage, BaseMessageChunk, init=False):
    """A piece of an instruction."""

    type: Literal["SystemMessageChunk"] = "SystemMessageChunk"  # type: ignore[assignment]


class ChatMessage(BaseMessage, init=False):
    """A message with a role of one's own choosing, a moderator's for one."""

    type: Literal["chat"] = "chat"  # pyright: ignore[reportIncompatibleVariableOverride]
    role: str


class ChatMessageChunk(ChatMessage, BaseMessageChunk, init=False):
    """A piece of a `ChatMessage`."""

    type: Literal["ChatMessageChunk"] = "ChatMessageChunk"  # type: ignore[assignment]

    def _join(self, other: BaseMessageChunk, fields: Fields) -> None:
        if isinstance(other, ChatMessageChunk) and other.role != self.role:
            raise ValueError(f"cannot add a chunk of role {other.role!r} to one of role {self.role!r}")


class FunctionMessage(BaseMessage, init=False):
    """The result of the function ``name``. Deprecated: use `ToolMessage`, which names the call that it answers."""

    type: Literal["function"] = "function"  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = Field()  # pyright: ignore[reportIncompatibleVariableOverride]  # required here

    @model_validator(mode="before")
    @classmethod
    def _warn(cls, values: Any) -> Any:
        if isinstance(values, dict):  # made now, not merely handed on
            warnings.warn(f"{cls.__name__} is deprecated; use ToolMessage", DeprecationWarning, stacklevel=3)
        return cast(Any, values)


class FunctionMessageChunk(FunctionMessage, BaseMessageChunk, init=False):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A piece of a `FunctionMessage`."""

    type: Literal["FunctionMessageChunk"] = "FunctionMessageChunk"  # type: ignore[assignment]

    def _join(self, other: BaseMessageChunk, fields: Fields) -> None:
        if isinstance(other, FunctionMessageChunk) and other.name != self.name:
            raise ValueError(f"cannot add a chunk of function {other.name!r} to one of function {self.name!r}")


class ToolMessage(BaseMessage, init=False):
    """The result of one tool call.

    Args:
        tool_call_id: of the call that this answers; UUIDs and numbers become text.
        artifact: anything else that the tool made; never sent to a model.
        status: whether the tool succeeded.
    """

    type: Literal["tool"] = "tool"  # pyright: ignore[reportIncompatibleVariableOverride]
    tool_call_id: str
    artifact: Any = None
    status: Literal["success", "error"] = "success"
    additional_kwargs: Fields = Field(default_factory=dict, repr=False)
    response_metadata: Fields = Field(default_factory=dict, repr=False)

    @field_validator("tool_call_id", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, UUID | int | float) else value

    @field_validator("content", mode="before")
    @classmethod
    def _as_content(cls, value: Any) -> Content:
        """Take whatever a tool returned: tuples become lists, and everything else its text, as in LangChain."""
        if isinstance(value, list | tuple):
            items = cast("Sequence[object]", value)
            return [cast(Fields, item) if isinstance(item, str | dict) else str(item) for item in items]
        return value if isinstance(value, str) else str(value)


class ToolMessageChunk(ToolMessage, BaseMessageChunk, init=False):
    """A piece of a tool's result. In a sum, ``status`` "error" wins."""

    type: Literal["ToolMessageChunk"] = "ToolMessageChunk"  # type: ignore[assignment]

    def _join(self, other: BaseMessageChunk, fields: Fields) -> None:
        if not isinstance(other, ToolMessageChunk):
            return
        if other.tool_call_id != self.tool_call_id:
            raise ValueError(
                f"cannot add a result of tool call {other.tool_call_id!r} to one of call {self.tool_call_id!r}"
            )
        if other.status == "error":
            fields["status"] = "error"
        if other.artifact is not None:
            held, more = fields["artifact"], other.artifact
            if isinstance(held, list) and isinstance(more, list):
                fields["artifact"] = [*cast("list[object]", held), *cast("list[object]", more)]
            else:
                fields["artifact"] = more


class RemoveMessage(BaseMessage, init=False):
    """An order to remove the message with this ``id`` from a stored conversation.

    Raises:
        ValueError: content is given; there is nothing to say. Or there is no id.
    """

    id: str = Field(coerce_numbers_to_str=True)  # pyright: ignore[reportIncompatibleVariableOverride]
    type: Literal["remove"] = "remove"  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, id: str, **kwargs: Any) -> None:
        if kwargs.pop("content", None):
            raise ValueError("RemoveMessage has no content")
        super().__init__("", id=id, **kwargs)


Role: TypeAlias = Literal["human", "ai", "system", "tool", "function", "chat", "nobody"]
"""Who speaks in a message; ``nobody``: the message that only removes another."""

# Asked of every message of long conversations, again and again: pydantic's `isinstance` takes a third of a microsecond
# where it says no, a look into a table a tenth of that.
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


AnyToolCall: TypeAlias = ToolCall | InvalidToolCall
"""A tool call whose arguments could be read, or could not."""

_CALLS = frozenset({"tool_call", "invalid_tool_call"})


def calls_of(message: BaseMessage) -> list[AnyToolCall]:
    """Return the tool calls that ``message`` makes, each once. A tool message answers each of them.

    First ``tool_calls``, then ``invalid_tool_calls``, which want an answer too, then the calls that only the content
    has. The older ``function_call`` in ``additional_kwargs`` is not among them: it has no id, and a function message
    answers it.
    """
    return calls_of_reply(cast(AIMessage, message)) if role_of(message) == "ai" else []


def calls_of_reply(reply: AIMessage) -> list[AnyToolCall]:
    """Return what `calls_of` does of a message that is known to be the model's."""
    calls: list[AnyToolCall] = [*reply.tool_calls, *reply.invalid_tool_calls]
    if type(reply.content) is not str:
        _add_from_content(reply, calls)
    if calls and reply.additional_kwargs.get("function_call"):
        return [call for call in calls if call["id"]]
    return calls


def answered_id(message: BaseMessage) -> str | None:
    """Return the id of the call that a message answers; None: it answers none.

    In LangChain a search for tools is answered by a person's message, which has OpenAI's item.
    """
    role = role_of(message)
    if role == "tool":
        return cast(ToolMessage, message).tool_call_id
    if role == "human" and type(message.content) is not str:
        for part in message.content:
            if not isinstance(part, str) and part.get("type") == "tool_search_output":
                return part.get("call_id")
    return None


def function_call_of(message: BaseMessage) -> FieldsView | None:
    """Return the older ``function_call`` of a message, as OpenAI wrote it; None if there is none, or `calls_of` has it.

    langchain-google-genai writes the last of a message's tool calls there a second time.
    """
    function = message.additional_kwargs.get("function_call")
    if not function or not isinstance(function, Mapping) or calls_of(message):
        return None
    return cast(FieldsView, function)


def _add_from_content(message: AIMessage, calls: list[AnyToolCall]) -> None:
    """Append to ``calls`` those of the content that none of them stands for."""
    from hocket.messages.formats import read_block, stands_for  # loaded with the first list of blocks

    ids = {call["id"] for call in calls if call["id"]}
    for part in message.content:
        if isinstance(part, str) or part.get("type") == "text" or _id_of(part) in ids:
            continue
        for block in read_block(part):
            call = _as_call(block) if block["type"] in _CALLS else None
            if call is not None and not any(stands_for(block, other) for other in calls):
                calls.append(call)


def _as_call(block: FieldsView) -> AnyToolCall | None:
    """A block as a call with all the keys of one; None: it names no tool. Standard blocks are not checked before."""
    name, args, id = block.get("name"), block.get("args"), block.get("id")
    if not isinstance(name, str):
        return None
    text_id = None if id is None else str(id)
    call: AnyToolCall
    if isinstance(args, dict):
        call = tool_call(name=name, args=cast(Fields, args), id=text_id)
    else:
        error = str(block.get("error") or "The arguments are not a JSON object")
        call = invalid_tool_call(name=name, args=None if args is None else str(args), id=text_id, error=error)
    if isinstance(extras := block.get("extras"), dict):
        call["extras"] = cast(Fields, extras)
    return call


def _id_of(part: Mapping[str, object]) -> object:
    """The id under which a part of the content names its call, where that is not inside of another object."""
    id = part.get("call_id") or part.get("id")
    return id if isinstance(id, str) else None
