"""Messages and options, written as the body of a chat completion. Pure functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hocket.errors import InvalidInput, Unsupported
from hocket.errors.hints import excerpt
from hocket.language_models.options import collect_options
from hocket.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from hocket.messages.formats.openai_responses import CUSTOM_INPUT
from hocket.messages.roles import AnyToolCall, calls_of
from hocket.providers.openai.content import Part, encode_content, encode_reply
from hocket.providers.openai.dialects import Dialect
from hocket.providers.openai.options import ModelOptions
from hocket.providers.openai.tools import encode_tools
from hocket.remote.function_calls import join_texts, mark_error, require_call_id, write_call
from hocket.remote.options import write_options

__all__ = ["encode_messages", "encode_request"]


def encode_request(
    messages: Sequence[BaseMessage], options: ModelOptions, dialect: Dialect, *, stream: bool, stream_usage: bool
) -> Part:
    """Return the body of a request.

    Args:
        messages: the conversation.
        options: those of this call.
        dialect: whose words to use.
        stream: whether the answer is to come in pieces.
        stream_usage: whether a stream is to report usage.

    Raises:
        InvalidInput: several answers as a stream; a tool choice that names no tool; or see `encode_messages`.
        Unsupported: content that the server has no place for.
    """
    values = collect_options(options)
    if stream and values.get("n", 1) > 1:
        raise InvalidInput(f"n={options.n} answers cannot come as one stream; use ainvoke or agenerate, or n=1")
    body: Part = {"model": options.model, "messages": encode_messages(messages, dialect)}
    body.update(write_options(values, {**dialect.words, "max_tokens": dialect.token_limit}))
    if options.stop:
        body["stop"] = options.stop
    if options.tools or options.tool_choice is not None:
        body.update(encode_tools(options.tools or [], options.tool_choice, dialect))
    if stream:
        body["stream"] = True
        if stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def encode_messages(messages: Sequence[BaseMessage], dialect: Dialect) -> list[Part]:
    """Return the messages as the format's dicts.

    The id and the metadata of a message stay here, as does an artifact; so does the name of a tool's result, which its
    call's id says already.

    Raises:
        InvalidInput: a message has no role here, or is the result of a tool call that it does not name.
        Unsupported: a part of one has no place here.
    """
    return [_encode(message, dialect) for message in messages]


def _encode(message: BaseMessage, dialect: Dialect) -> Part:
    for kind, encode in _ENCODERS.items():
        if isinstance(message, kind):
            encoded = encode(message, dialect)
            break
    else:
        raise InvalidInput(f"{type(message).__name__} has no place in a prompt")
    if message.name is not None and not isinstance(message, ToolMessage):
        encoded["name"] = message.name
    return encoded


def _system(message: BaseMessage, dialect: Dialect) -> Part:
    role = message.additional_kwargs.get("__openai_role__", "system")  # LangChain's key for "developer"
    return {"role": role, "content": join_texts(encode_content(message.content, dialect))}


def _user(message: BaseMessage, dialect: Dialect) -> Part:
    content = message.content
    return {"role": "user", "content": content if isinstance(content, str) else encode_content(content, dialect)}


def _other(message: ChatMessage, dialect: Dialect) -> Part:
    return {"role": message.role, "content": encode_content(message.content, dialect)}


def _function(message: BaseMessage, dialect: Dialect) -> Part:
    return {"role": "function", "content": join_texts(encode_content(message.content, dialect))}


def _tool(message: ToolMessage, dialect: Dialect) -> Part:
    call_id = require_call_id(message)
    content = join_texts(encode_content(message.content, dialect))
    if isinstance(content, list) and (other := next((part for part in content if part["type"] != "text"), None)):
        raise Unsupported(
            f"a tool message holds a part of type {excerpt(other['type'])}, and takes text only; send it as a user message",
            provider=dialect.name,
        )
    if message.status == "error":
        content = mark_error(content)
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _assistant(message: AIMessage, dialect: Dialect) -> Part:
    content = join_texts(encode_reply(message, dialect))
    encoded: Part = {"role": "assistant", "content": content}
    extra, calls = message.additional_kwargs, calls_of(message)
    if extra.get("refusal"):
        encoded["refusal"] = extra["refusal"]
    if extra.get("function_call") and not calls:  # langchain-google-genai tells calls here a second time
        encoded["function_call"] = extra["function_call"]
    audio: Any = extra.get("audio")
    if isinstance(audio, Mapping) and "id" in audio:
        encoded["audio"] = {"id": audio["id"]}
    if calls:
        encoded["tool_calls"] = [_call(call) for call in calls]
        encoded.update(_echo(message, dialect))
    if not content and len(encoded) > 2:
        encoded["content"] = None
    return encoded


def _call(call: AnyToolCall) -> Part:
    args, extras = call["args"], call.get("extras") or {}
    made = write_call(call)
    if extras.get("type") == "custom" and isinstance(args, dict):
        made = {
            "id": made["id"],
            "type": "custom",
            "custom": {"name": call["name"], "input": args.get(CUSTOM_INPUT, "")},
        }
    # Google's signature of its reasoning: without it, Gemini refuses its own call.
    return made | {"extra_content": extras["extra_content"]} if "extra_content" in extras else made


def _echo(message: AIMessage, dialect: Dialect) -> Part:
    """Return the reasoning that the server wants back with calls."""
    echoed = {name: message.additional_kwargs[name] for name in dialect.echo if message.additional_kwargs.get(name)}
    if echoed or not dialect.echo:
        return echoed
    name = dialect.echo[0]
    blocks = message.content_blocks if name != "reasoning_details" else []
    text = "".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning")
    return {name: text} if text or dialect.echo_empty else {}


_ENCODERS: Mapping[type[BaseMessage], Callable[[Any, Dialect], Part]] = {
    HumanMessage: _user,
    AIMessage: _assistant,
    SystemMessage: _system,
    ToolMessage: _tool,
    FunctionMessage: _function,
    ChatMessage: _other,
}
