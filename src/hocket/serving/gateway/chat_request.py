"""A chat completion as OpenAI's clients ask for it, read as messages and options. Pure functions.

What is read comes from strangers. So a message is made of what the format knows, and everything else of it stays beside
it (``additional_kwargs``).
"""

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import ValidationError

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.tool_calls import read_tool_calls
from hocket.remote.chat_completion import decode_content
from hocket.remote.function_calls import fields_beside, read_call
from hocket.serving.gateway.face import AnswerRequest
from hocket.serving.gateway.fields import (
    check_part,
    find_field,
    find_stop,
    is_list_of,
    read_object,
    read_tools,
    refuse_field,
    require_field,
)
from hocket.serving.gateway.options import find_spare, read_options
from hocket.serving.refusals import Refusal

__all__ = ["read_chat_request"]

_CLASSES: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "developer": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
    "tool": ToolMessage,
}
_BARE = frozenset({"role", "content"})
_NAMED = ("name", "tool_call_id")

_READ_HERE = frozenset(
    {
        *("model", "messages", "stop", "stream", "stream_options", "metadata", "max_completion_tokens"),
        *("tools", "tool_choice", "parallel_tool_calls"),
    }
)
_INSTEAD: Mapping[str, str] = {"functions": "tools", "function_call": "tool_choice"}


def read_chat_request(body: bytes) -> AnswerRequest:
    """Return what a body asks for.

    Raises:
        Refusal: it is no JSON, or no request for a chat completion; it names the field.
    """
    fields = read_object(body)
    streaming = cast(Fields, find_field(fields, "stream_options", dict, "an object") or {})
    options = _read_options(fields)
    tools, foreign = _read_tools(fields)
    return AnswerRequest(
        model=require_field(fields, "model", str, "the name of a model"),
        input=_read_messages(cast("list[object]", require_field(fields, "messages", list, "a list of messages"))),
        options=options,
        tools=tools,
        spare=find_spare({**options, **tools}),
        stream=find_field(fields, "stream", bool, "true or false") or False,
        include_usage=find_field(streaming, "include_usage", bool, "true or false") or False,
        metadata=cast("Fields | None", find_field(fields, "metadata", dict, "an object")),
        foreign=foreign,
        body=fields,
    )


def _read_options(fields: FieldsView) -> Fields:
    """Return the options of the call: all that is not read elsewhere, for the model to take or to refuse."""
    if name := next(filter(fields.__contains__, _INSTEAD), None):
        raise Refusal(status=400, message=f"{name} is not served; use {_INSTEAD[name]}", param=name)
    options = read_options(fields, _READ_HERE)
    if (stop := find_stop(fields)) is not None:
        options["stop"] = stop
    if (limit := find_field(fields, "max_completion_tokens", int, "a whole number")) is not None:
        options["max_tokens"] = limit
    form = cast("Fields | None", find_field(fields, "response_format", dict, "an object"))
    match form:
        case {"type": "text"}:
            del options["response_format"]  # what an answer is anyway; not every server has a word for it
        case None | {"type": "json_object"} | {"type": "json_schema", "json_schema": {"schema": {}}}:
            pass
        case _:
            raise refuse_field("response_format", form, "text, json_object, or json_schema with a schema")
    return options


def _read_tools(fields: FieldsView) -> tuple[Fields, list[Refusal]]:
    """Return the tools and the choice among them, as ``bind_tools`` takes them, and the foreign ones."""
    tools, foreign = read_tools(fields, "function", _read_tool)
    choice: object = fields.get("tool_choice")
    if not tools:
        if choice not in (None, "none", "auto") and not foreign:
            raise refuse_field("tool_choice", choice, "given with tools")
        return {}, foreign
    made: Fields = {"tools": tools, "tool_choice": choice}
    made["parallel_tool_calls"] = find_field(fields, "parallel_tool_calls", bool, "true or false")
    return made, foreign


def _read_tool(tool: Fields) -> Fields | None:
    match tool:
        case {"type": "function", "function": {"name": str()}}:
            return tool
        case _:
            return None


def _read_messages(given: Sequence[object]) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for at, one in enumerate(given):
        place = f"messages[{at}]"
        if not isinstance(one, dict):
            raise refuse_field(place, one, "an object with a role and a content")
        try:
            messages.append(message := _read_message(cast(Fields, one)))
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            name = ".".join(map(str, fault["loc"]))
            raise Refusal(status=400, message=f"{place}.{name}: {fault['msg']}", param=f"{place}.{name}") from None
        except (ValueError, TypeError, AttributeError) as error:  # read_call raises all of them, of odd shapes
            raise Refusal(status=400, message=f"{place}: {error}", param=place) from None
        for number, part in enumerate(() if isinstance(message.content, str) else message.content):
            if isinstance(part, dict) and "type" in part:
                check_part(part, f"{place}.content[{number}]")
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
        if cls is not AIMessage or not is_list_of(dict, raw):
            raise InvalidInput(f"its tool_calls are {excerpt(raw)}; they are a list of objects, of an assistant")
        known["tool_calls"], known["invalid_tool_calls"] = read_tool_calls(map(read_call, cast("list[Fields]", raw)))
    return cls(content, additional_kwargs=beside, **known)
