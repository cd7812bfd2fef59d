"""Messages and options, written as the body of Ollama's chat API. Pure functions.

Most of what shapes an answer stands in ``options``; what concerns the whole request stands beside them. A message has one
text, with its pictures, its reasoning and its calls in fields beside it.
"""

from collections.abc import Mapping, Sequence

from hocket.errors import InvalidInput, Unsupported
from hocket.language_models.options import collect_options
from hocket.language_models.tool_choice import ToolChoiceKind, drop_extras, get_tool_name, parse_tool_choice
from hocket.messages import AIMessage, BaseMessage, ChatMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import native_content
from hocket.messages.formats.blocks import source_of
from hocket.messages.roles import calls_of, role_of
from hocket.providers.ollama.options import OllamaOptions, RunnerOptions
from hocket.providers.ollama.service import PROVIDER
from hocket.remote.function_calls import mark_error
from hocket.remote.message_parts import arguments_of, read_parts, read_reply_parts
from hocket.remote.options import write_options

__all__ = ["encode_messages", "encode_options", "encode_request"]

_WORDS = {"max_tokens": "num_predict", "repetition_penalty": "repeat_penalty"}
_BESIDE = ("keep_alive", "logprobs", "top_logprobs", "truncate", "shift")
_ELSEWHERE = (*_BESIDE, "think", "reasoning_effort", "response_format")
_EFFORTS: Mapping[str, bool | str] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
}
_ROLES = {"system": "system", "human": "user", "tool": "tool"}
_CALLS = frozenset({"tool_call", "invalid_tool_call"})


def encode_request(messages: Sequence[BaseMessage], options: OllamaOptions, *, stream: bool) -> Fields:
    """Return the body of a request.

    Args:
        messages: the conversation.
        options: those of this call.
        stream: whether the answer is to come in pieces. It is always said: the server streams unless it is told not to.

    Raises:
        InvalidInput: a ``reasoning_effort`` that is none; or see `encode_messages`.
        Unsupported: a tool choice, a form of answer or content that the API has no place for.
    """
    body: Fields = {"model": options.model, "messages": encode_messages(messages), "stream": stream}
    if tools := _encode_tools(options.tools or (), options.tool_choice):
        body["tools"] = tools
    if (think := _encode_thinking(options)) is not None:
        body["think"] = think
    if options.response_format and (form := _encode_format(options.response_format)):
        body["format"] = form
    return body | encode_options(options)


def encode_options(options: RunnerOptions) -> Fields:
    """Return the fields of a body for the options that are set: ``options``, and those that stand beside them.

    Args:
        options: of a chat model or of an embedding model.
    """
    values = collect_options(options)
    stop = {"stop": values["stop"]} if values.get("stop") else {}
    inside = {**write_options(values, _WORDS, *_ELSEWHERE), **stop}
    beside = {name: values[name] for name in _BESIDE if name in values}
    return {**({"options": inside} if inside else {}), **beside}


def _encode_thinking(options: OllamaOptions) -> bool | str | None:
    """Return whether the model is to think, or how much; None: nothing is said."""
    effort = options.reasoning_effort
    if options.think is not None or effort is None:
        return options.think
    if effort not in _EFFORTS:
        raise InvalidInput(f"reasoning_effort={effort!r} is none of {', '.join(_EFFORTS)}")
    return _EFFORTS[effort]


def _encode_format(form: FieldsView) -> object:
    match form.get("type"):
        case "json_schema":
            return form.get("json_schema", form).get("schema", {})
        case "json_object":
            return "json"
        case "text":
            return None
        case kind:
            raise Unsupported(
                f"an answer of the form {kind!r} cannot be asked for: the API takes a JSON schema, or JSON of any kind; "
                "use with_structured_output(schema)",
                options=("response_format",),
                provider=PROVIDER,
            )


def _encode_tools(tools: Sequence[FieldsView], choice: object) -> list[FieldsView]:
    parsed = parse_tool_choice(choice, tools)
    if parsed is not None and parsed.kind not in (ToolChoiceKind.AUTO, ToolChoiceKind.NONE):
        raise Unsupported(
            f"tool_choice={choice!r}: the model decides itself whether it calls a tool; use 'auto', or 'none', which "
            "offers none; with_structured_output(schema) holds an answer to a form",
            options=("tool_choice",),
            provider=PROVIDER,
        )
    if other := next((tool for tool in tools if tool.get("type") != "function"), None):
        raise Unsupported(
            f"the tool {get_tool_name(other)!r} is no function, and the server has no tools of its own",
            provider=PROVIDER,
        )
    return [] if parsed is not None and parsed.kind is ToolChoiceKind.NONE else [*drop_extras(tools)]


# -- messages


def encode_messages(messages: Sequence[BaseMessage]) -> list[Fields]:
    """Return the messages as the API's. A tool's result names the tool and the call: models know the one or the other.

    Raises:
        InvalidInput: a message is of a speaker that the API does not know, or malformed.
        Unsupported: content that the API has no place for, such as an image by URL.
    """
    names = {call["id"]: call["name"] for message in messages for call in calls_of(message) if call["id"]}
    return [_encode(message, names) for message in messages]


def _encode(message: BaseMessage, names: Mapping[str, str | None]) -> Fields:
    if isinstance(message, AIMessage):
        return _encode_reply(message)
    role = message.role if isinstance(message, ChatMessage) else _ROLES.get(role_of(message))
    if role is None:
        raise InvalidInput(f"{type(message).__name__} has no place in a prompt")
    if isinstance(message.content, str):
        encoded: Fields = {"role": role, "content": message.content}
    else:
        encoded = {"role": role, **_encode_parts(read_parts(message.content, _is_native))}
    if isinstance(message, ToolMessage):
        if message.status == "error":
            encoded["content"] = mark_error(encoded["content"])
        encoded["tool_call_id"] = message.tool_call_id
    if role == "tool" and (name := message.name or names.get(getattr(message, "tool_call_id", ""))):
        encoded["tool_name"] = name
    return encoded


def _encode_reply(message: AIMessage) -> Fields:
    beside = message.additional_kwargs
    parts = read_reply_parts(message, _is_native)
    calls = [part for part in parts if part.get("type") in _CALLS]
    said = _encode_parts([part for part in parts if part.get("type") not in _CALLS and not _is_blank(part)])
    thought = beside.get("thinking") or beside.get("reasoning_content")  # LangChain's name
    if isinstance(thought, str) and thought:
        said.setdefault("thinking", thought)
    if beside.get("images"):
        said.setdefault("images", beside["images"])
    if calls:
        said["tool_calls"] = [_encode_call(call) for call in calls]
    if len(said) > 1 and not said["content"]:
        del said["content"]
    return {"role": "assistant", **said}


def _encode_call(call: FieldsView) -> Fields:
    named = {"id": call["id"]} if call.get("id") else {}
    return {**named, "function": {"name": call.get("name") or "", "arguments": arguments_of(call)}}


def _encode_parts(parts: Sequence[FieldsView]) -> Fields:
    for part in parts:
        if part.get("type") == "image" and (source := source_of(part)).kind != "base64":
            raise Unsupported(
                f"an image by {source.kind} has no place here: the API takes data alone, and hocket downloads nothing; "
                "give it as base64, or as a data: URL",
                provider=PROVIDER,
            )
    [fields] = native_content(parts, "ollama")
    return fields


def _is_native(part: FieldsView) -> bool:
    return False  # nothing in a message's content is the API's own: it has one text, and fields beside it


def _is_blank(part: FieldsView) -> bool:
    return part.get("type") == "text" and not part.get("text")
