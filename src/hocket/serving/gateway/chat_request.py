"""A chat completion as OpenAI's clients ask for it, read as messages and options. Pure functions.

What is read comes from strangers. So a message is made of what the format knows, everything else of it stays beside it
(``additional_kwargs``); and an option is passed on to the model, which knows what it takes, unless it would not reach the
model at all: hocket's own (``retry``, ``callbacks`` ...), and what would write into the request past all checks
(``extra_body``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from pydantic import ValidationError
from pydantic_core import from_json

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.language_models.call_parts import NOT_SENT
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.tool_calls import read_tool_calls
from hocket.remote.chat_completion import decode_content
from hocket.remote.function_calls import fields_beside, read_call
from hocket.runnables import RunnableConfig
from hocket.serving.refusals import Refusal

__all__ = ["ChatRequest", "read_chat_request"]

T = TypeVar("T")

_CLASSES: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "developer": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
    "tool": ToolMessage,
}
_BARE = frozenset({"role", "content"})
_NAMED = ("name", "tool_call_id")

_READ_HERE = frozenset({"model", "messages", "stream", "stream_options", "n", "metadata", "max_completion_tokens"})
_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
_INSTEAD: Mapping[str, str] = {"functions": "tools", "function_call": "tool_choice"}
_OURS = NOT_SENT | RunnableConfig.__annotations__.keys() | {"input", "config", "run_manager", "prompt", "self"}
_PAST_CHECKS = frozenset({"extra_body", "extra_headers", "extra_query", "api_key", "base_url"})


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """What a client asks for.

    Attributes:
        model: the name of the model.
        messages: the conversation.
        options: of the call.
        tools: what ``bind_tools`` takes: the tools, and the choice among them; none: nothing.
        stream: whether the answer is to come in pieces.
        include_usage: whether a stream is to tell usage.
        metadata: what the client says of the request, for handlers and logs.
    """

    model: str
    messages: list[BaseMessage]
    options: Fields
    tools: Fields = field(default_factory=dict[str, object])
    stream: bool = False
    include_usage: bool = False
    metadata: FieldsView | None = None


def read_chat_request(body: bytes) -> ChatRequest:
    """Return what a body asks for.

    Raises:
        Refusal: it is no JSON, or no request for a chat completion; it names the field.
    """
    try:
        data: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal(status=400, message=f"the body is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise Refusal(status=400, message=f"the body is {excerpt(data)}; it is a JSON object")
    fields = {name: value for name, value in cast(Fields, data).items() if value is not None}
    if (n := _take(fields, "n", int, "1")) not in (None, 1):
        raise _refuse("n", n, "1 here: ask again for a further answer")
    streaming = cast(Fields, _take(fields, "stream_options", dict, "an object") or {})
    return ChatRequest(
        model=_require(fields, "model", str, "the name of a model"),
        messages=_read_messages(cast("list[object]", _require(fields, "messages", list, "a list of messages"))),
        options=_read_options(fields),
        tools=_read_tools(fields),
        stream=_take(fields, "stream", bool, "true or false") or False,
        include_usage=_take(streaming, "include_usage", bool, "true or false") or False,
        metadata=cast("Fields | None", _take(fields, "metadata", dict, "an object")),
    )


def _refuse(name: str, value: object, expected: str) -> Refusal:
    return Refusal(status=400, message=f"{name} is {excerpt(value)}; it is {expected}", param=name)


def _take(fields: FieldsView, name: str, kind: type[T], expected: str) -> T | None:
    """Return a field that has to be of one kind; None: it is not there."""
    value: object = fields.get(name)
    if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        raise _refuse(name, value, expected)
    return value


def _require(fields: FieldsView, name: str, kind: type[T], expected: str) -> T:
    """Return a field that has to be there, and to say something."""
    value = _take(fields, name, kind, expected)
    if not value:
        raise (
            _refuse(name, value, f"{expected}, and not empty")
            if name in fields
            else Refusal(status=400, message=f"{name} is missing; it is {expected}", param=name)
        )
    return value


def _read_options(fields: FieldsView) -> Fields:
    """Return the options of the call: all that is not read elsewhere, for the model to take or to refuse."""
    options: Fields = {}
    for name, value in fields.items():
        if name in _READ_HERE or name in _TOOLS:
            continue
        if name in _INSTEAD:
            raise Refusal(status=400, message=f"{name} is not served; use {_INSTEAD[name]}", param=name)
        if name in _OURS or name in _PAST_CHECKS:
            raise Refusal(status=400, message=f"there is no field {name!r} in a request", param=name)
        options[name] = value
    stop: object = options.pop("stop", None)
    if stop is not None:
        texts = [stop] if isinstance(stop, str) else stop
        if not _is_list_of(str, texts):
            raise _refuse("stop", stop, "a text, or a list of texts")
        options["stop"] = texts
    for name in ("max_tokens", "max_completion_tokens"):
        if (limit := _take(fields, name, int, "a whole number")) is not None:
            options["max_tokens"] = limit
    form = cast("Fields | None", _take(fields, "response_format", dict, "an object"))
    match form:
        case {"type": "text"}:
            del options["response_format"]  # what an answer is anyway; not every server has a word for it
        case None | {"type": "json_object"} | {"type": "json_schema", "json_schema": {"schema": {}}}:
            pass
        case _:
            raise _refuse("response_format", form, "text, json_object, or json_schema with a schema")
    return options


def _read_tools(fields: FieldsView) -> Fields:
    """Return the tools and the choice among them, as ``bind_tools`` takes them; without tools, nothing."""
    tools = cast("list[object]", _take(fields, "tools", list, "a list of tools") or [])
    for at, tool in enumerate(tools):
        match tool:
            case {"type": "function", "function": {"name": str()}}:
                pass
            case _:
                raise _refuse(f"tools[{at}]", tool, "a function: no other kind of tool is served")
    choice: object = fields.get("tool_choice")
    if not tools:
        if choice not in (None, "none", "auto"):
            raise _refuse("tool_choice", choice, "given with tools")
        return {}
    made: Fields = {"tools": tools, "tool_choice": choice}
    made["parallel_tool_calls"] = _take(fields, "parallel_tool_calls", bool, "true or false")
    return made


def _is_list_of(kind: type, value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in cast("list[object]", value))


def _read_messages(given: Sequence[object]) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for at, one in enumerate(given):
        place = f"messages[{at}]"
        if not isinstance(one, dict):
            raise _refuse(place, one, "an object with a role and a content")
        try:
            messages.append(_read_message(cast(Fields, one)))
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            name = ".".join(map(str, fault["loc"]))
            raise Refusal(status=400, message=f"{place}.{name}: {fault['msg']}", param=f"{place}.{name}") from None
        except (ValueError, TypeError, AttributeError) as error:  # read_call raises all of them, of odd shapes
            raise Refusal(status=400, message=f"{place}: {error}", param=place) from None
    return messages


def _read_message(given: FieldsView) -> BaseMessage:
    """Return a message.

    Raises:
        ValueError, TypeError: it is none.
    """
    role: object = given.get("role")
    cls = _CLASSES.get(role) if isinstance(role, str) else None
    if cls is None:
        raise InvalidInput(f"its role is {excerpt(role)}; it is one of {', '.join(_CLASSES)}")
    content = decode_content(given.get("content"))
    if given.keys() <= _BARE and role != "developer":
        return cls(content)
    beside = {name: value for name, value in fields_beside(given).items() if name not in _NAMED}
    known: Fields = {name: given[name] for name in _NAMED if given.get(name) is not None}
    if role == "developer":
        beside["__openai_role__"] = role  # LangChain's key for it
    if raw := given.get("tool_calls"):
        if cls is not AIMessage or not _is_list_of(dict, raw):
            raise InvalidInput(f"its tool_calls are {excerpt(raw)}; they are a list of objects, of an assistant")
        known["tool_calls"], known["invalid_tool_calls"] = read_tool_calls(map(read_call, cast("list[Fields]", raw)))
    return cls(content, additional_kwargs=beside, **known)
