"""Messages and options, written as the body of Cohere's chat API, version 2. Pure functions."""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.errors import InvalidInput, Unsupported
from hocket.language_models.options import collect_options
from hocket.language_models.tool_choice import ToolChoiceKind, get_tool_name, parse_tool_choice
from hocket.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.roles import calls_of
from hocket.providers.cohere.content import encode_content, encode_reply
from hocket.providers.cohere.options import CohereOptions
from hocket.remote.function_calls import join_texts, mark_error, require_call_id, write_call
from hocket.remote.options import write_options

__all__ = ["encode_messages", "encode_request"]

_BUDGETS: dict[str, int | None] = {
    "minimal": 512,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": None,
    "max": None,
}
"""How many tokens to think with, by effort; None: as many as the model likes, which its guide recommends. (Where a limit is
set, it asks to leave 1,000 of an answer's 32,000 tokens; August 2026.)"""

_TOOL_FIELDS = ("name", "description", "parameters")
_ELSEWHERE = ("reasoning_effort", "thinking", "response_format", "strict_tools")


def encode_request(messages: Sequence[BaseMessage], options: CohereOptions, *, stream: bool) -> Fields:
    """Return the body of a request; `hocket.remote.RemoteChatModel` tells the arguments.

    Raises:
        InvalidInput: an effort that there is not; a tool choice that names no tool; or see `encode_messages`.
        Unsupported: content, a tool or a form of answer that the API has no place for.
    """
    body: Fields = {"model": options.model, "messages": encode_messages(messages)}
    body |= write_options(collect_options(options), {"top_k": "k", "top_p": "p"}, *_ELSEWHERE)
    if options.stop:
        body["stop_sequences"] = options.stop
    body |= _encode_tools(options.tools or (), options.tool_choice, options.strict_tools)
    if thinking := options.thinking or _encode_effort(options.reasoning_effort):
        body["thinking"] = thinking
    if options.response_format:
        body["response_format"] = _encode_format(options.response_format)
    return {**body, **({"stream": True} if stream else {})}


def _encode_effort(effort: str | None) -> Fields | None:
    if effort is None:
        return None
    if effort == "none":
        return {"type": "disabled"}
    if effort not in _BUDGETS:
        raise InvalidInput(f"reasoning_effort={effort!r} is none of none, {', '.join(_BUDGETS)}")
    budget = _BUDGETS[effort]
    return {"type": "enabled"} if budget is None else {"type": "enabled", "token_budget": budget}


def _encode_format(form: FieldsView) -> Fields:
    match form:
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return {"type": "json_object", "json_schema": schema}
        case {"type": "json_object" | "text"}:
            return dict(form)
        case _:
            raise Unsupported(
                f"an answer of the form {form!r} cannot be asked for: the API takes json_object and a JSON schema; use "
                "with_structured_output(schema)",
                options=("response_format",),
                provider="cohere",
            )


def encode_messages(messages: Sequence[BaseMessage]) -> list[Fields]:
    """Return the messages as the API's dicts. Speakers' names stay here.

    Raises:
        InvalidInput: a message has no role here, or is the result of a tool call that it does not name.
        Unsupported: a part of one has no place here.
    """
    return [_encode(message) for message in messages]


def _encode(message: BaseMessage) -> Fields:
    match message:
        case AIMessage():
            return _encode_reply(message)
        case ToolMessage():
            content = join_texts(encode_content(message.content, "tool"))
            told = mark_error(content) if message.status == "error" else content
            return {"role": "tool", "tool_call_id": require_call_id(message), "content": told}
        case SystemMessage():
            role = "system"
        case HumanMessage():
            role = "user"
        case ChatMessage(role="system" | "user" | "assistant" as role):
            pass
        case _:
            raise InvalidInput(
                f"{type(message).__name__} has no place here: the roles are system, user, assistant, tool"
            )
    return {"role": role, "content": encode_content(message.content, role)}


def _encode_reply(message: AIMessage) -> Fields:
    """Return a reply. What the model planned before it called tools goes back with its calls."""
    encoded: Fields = {"role": "assistant"}
    content, plan = encode_reply(message), message.additional_kwargs.get("tool_plan")
    calls = [write_call(call) for call in calls_of(message)]
    if content == plan:  # LangChain's package tells it twice
        content = ""
    if content or not (calls or plan):
        encoded["content"] = content
    if plan:
        encoded["tool_plan"] = plan
    if calls:
        encoded["tool_calls"] = calls
    return encoded


def _encode_tools(tools: Sequence[FieldsView], choice: object, strict: bool | None) -> Fields:
    """Return the fields ``tools``, ``tool_choice`` and ``strict_tools`` of a body, as far as anything need be said.

    The API can be told that some tool must be called, or none. Of tools that are named it is offered those alone.

    Args:
        tools: those that are offered.
        choice: see `parse_tool_choice`.
        strict: whether calls are held to the tools' schemas; None: if all tools want that.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
        Unsupported: a tool is no function.
    """
    parsed = parse_tool_choice(choice, tools)
    if not tools:
        return {}
    names = parsed.names if parsed is not None else ()
    functions = [_function_of(tool) for tool in tools if not names or get_tool_name(tool) in names]
    if strict is None:
        strict = all(function.get("strict") for function in functions) or None
    body: Fields = {"tools": [_encode_tool(function) for function in functions]}
    if strict is not None:
        body["strict_tools"] = strict
    if parsed is not None and parsed.must_call:
        body["tool_choice"] = "REQUIRED"
    elif parsed is not None and parsed.kind is ToolChoiceKind.NONE:
        body["tool_choice"] = "NONE"
    return body


def _function_of(tool: FieldsView) -> FieldsView:
    function = tool.get("function")
    if not isinstance(function, Mapping):
        raise Unsupported(
            f"a tool of type {tool.get('type')!r} has no place in Cohere's API, which takes functions only; remove it",
            provider="cohere",
        )
    return cast(FieldsView, function)


def _encode_tool(function: FieldsView) -> Fields:
    told = {name: function[name] for name in _TOOL_FIELDS if function.get(name) is not None}
    return {"type": "function", "function": {"parameters": {"type": "object", "properties": {}}, **told}}
