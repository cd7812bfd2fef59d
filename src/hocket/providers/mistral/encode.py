"""Messages and options, written as the body of Mistral's chat API. Pure functions.

The API refuses a field that it does not know, so a message says no more than the API has a place for: the names of
speakers stay here, and the result of a tool carries the tool's.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.errors import InvalidInput
from hocket.language_models.options import collect_options
from hocket.language_models.tool_choice import ToolChoiceKind, get_tool_name, parse_tool_choice
from hocket.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.roles import calls_of
from hocket.providers.mistral.content import encode_content, encode_reply, encode_text
from hocket.providers.mistral.options import MistralOptions
from hocket.remote.function_calls import join_texts, mark_error, require_call_id, write_call
from hocket.remote.options import write_options

__all__ = ["encode_messages", "encode_request"]

_ROLES = frozenset({"system", "user", "assistant"})
_TOOL_FIELDS = ("name", "description", "parameters", "strict")
_CHOICES = {ToolChoiceKind.AUTO: "auto", ToolChoiceKind.NONE: "none", ToolChoiceKind.REQUIRED: "any"}


def encode_request(messages: Sequence[BaseMessage], options: MistralOptions, *, stream: bool) -> Fields:
    """Return the body of a request; `hocket.remote.RemoteChatModel` tells the arguments.

    Raises:
        InvalidInput: several answers as a stream; a tool choice that names no tool; or see `encode_messages`.
        Unsupported: content that the API has no place for.
    """
    if stream and (options.n or 1) > 1:
        raise InvalidInput(f"n={options.n} answers cannot come as one stream; use ainvoke or agenerate, or n=1")
    body: Fields = {"model": options.model, "messages": encode_messages(messages)}
    body |= write_options(collect_options(options), {"seed": "random_seed"})
    if options.stop:
        body["stop"] = options.stop
    body |= _encode_tools(options.tools or (), options.tool_choice)
    return {**body, **({"stream": True} if stream else {})}


def encode_messages(messages: Sequence[BaseMessage]) -> list[Fields]:
    """Return the messages as the API's dicts.

    A reply that stands last, and calls nothing, is marked as the beginning of the answer (``prefix``): the API takes it
    for nothing else there.

    Raises:
        InvalidInput: a message has no role here, or is the result of a tool call that it does not name.
        Unsupported: a part of one has no place here.
    """
    names = {call["id"]: call["name"] for message in messages for call in calls_of(message)}
    encoded = [_encode(message, names) for message in messages]
    if encoded and encoded[-1]["role"] == "assistant" and "tool_calls" not in encoded[-1]:
        encoded[-1]["prefix"] = True
    return encoded


def _encode(message: BaseMessage, names: Mapping[str | None, str | None]) -> Fields:
    match message:
        case AIMessage():
            return _encode_reply(message)
        case ToolMessage():
            return _encode_result(message, message.name or names.get(message.tool_call_id))
        case SystemMessage():
            return {"role": "system", "content": encode_text(message.content, "a system message")}
        case HumanMessage():
            return {"role": "user", "content": encode_content(message.content)}
        case ChatMessage(role=role) if role in _ROLES:
            return {"role": role, "content": encode_content(message.content)}
        case _:
            raise InvalidInput(
                f"{type(message).__name__} has no place here: the roles are system, user, assistant, tool"
            )


def _encode_reply(message: AIMessage) -> Fields:
    calls = [write_call(call) for call in calls_of(message)]
    return {"role": "assistant", "content": encode_reply(message), **({"tool_calls": calls} if calls else {})}


def _encode_result(message: ToolMessage, name: str | None) -> Fields:
    content = join_texts(encode_content(message.content))
    if message.status == "error":
        content = mark_error(content)
    named = {"name": name} if name else {}
    return {"role": "tool", "tool_call_id": require_call_id(message), **named, "content": content}


def _encode_tools(tools: Sequence[FieldsView], choice: object) -> Fields:
    """Return the fields ``tools`` and ``tool_choice`` of a body, without one of which nothing need be said.

    A choice among several tools offers them alone: the API can name one tool at most.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
    """
    parsed = parse_tool_choice(choice, tools)
    if not tools:
        return {}
    body: Fields = {"tools": [_encode_tool(tool) for tool in tools]}
    if parsed is None:
        return body
    if parsed.kind is ToolChoiceKind.ONE:
        return {**body, "tool_choice": {"type": "function", "function": {"name": parsed.names[0]}}}
    if parsed.kind is ToolChoiceKind.SUBSET:
        body["tools"] = [_encode_tool(tool) for tool in tools if get_tool_name(tool) in parsed.names]
        return {**body, "tool_choice": "any" if parsed.must_call else "auto"}
    return {**body, "tool_choice": _CHOICES[parsed.kind]}


def _encode_tool(tool: FieldsView) -> Fields:
    """Return a function with the fields that the API knows: it refuses others. Any other tool stays as it is."""
    if not isinstance(tool.get("function"), Mapping):
        return dict(tool)
    function = cast(FieldsView, tool["function"])
    told = {name: function[name] for name in _TOOL_FIELDS if function.get(name) is not None}
    return {"type": "function", "function": {"parameters": {"type": "object", "properties": {}}, **told}}
