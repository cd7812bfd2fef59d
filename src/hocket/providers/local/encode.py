"""Messages and options, written as the OpenAI chat completion that llama.cpp reads. Pure functions.

What the runtime would quietly ignore is refused or rewritten here: it knows no images, and treats a call forced by name
as one that the model may make; offering that tool alone, and requiring a call, forces it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hocket.errors import InvalidInput
from hocket.http.request import mend_text
from hocket.language_models.options import collect_options
from hocket.language_models.tool_choice import drop_extras, parse_tool_choice
from hocket.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from hocket.messages.formats import describe_part
from hocket.providers.local.options import CallOptions

__all__ = ["encode_messages", "encode_request"]

_WORDS = {"repetition_penalty": "repeat_penalty"}  # the runtime's own names
_ELSEWHERE = frozenset(
    {"model", "tools", "tool_choice", "prompt_cache", "extra_body"}
)  # what does not go in under its name

# Blocks of a reply that say nothing as text: its tool calls travel beside the content, its reasoning is not sent back.
_UNSPOKEN = frozenset({"reasoning", "thinking", "redacted_thinking", "tool_call", "tool_use", "tool_call_chunk"})


def encode_request(
    messages: Sequence[BaseMessage],
    options: CallOptions,
    instructions: str | None = None,
    sampling: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        messages: the conversation.
        options: of this call, the model's own included.
        instructions: the system message for a conversation that has none; None: it goes without.
        sampling: further fields, under those that the options name.

    Raises:
        InvalidInput: see `encode_messages`; or a tool choice that names no tool.
    """
    turns = encode_messages(messages)
    if instructions and all(turn["role"] != "system" for turn in turns):
        turns.insert(0, {"role": "system", "content": instructions})
    request: dict[str, Any] = {"messages": turns, "max_tokens": -1, **(sampling or {})}  # -1: until the window is full
    own = {name: value for name, value in collect_options(options).items() if name not in _ELSEWHERE}
    request.update((_WORDS.get(name, name), value) for name, value in own.items())
    if options.tools:
        request["tools"], request["tool_choice"] = _encode_tool_choice(drop_extras(options.tools), options.tool_choice)
    return {**request, **(options.extra_body or {})}


def encode_messages(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return the messages as OpenAI's dicts, their content as plain text.

    Raises:
        InvalidInput: there are none, or one has no role here, or holds something that is not text.
    """
    if not messages:
        raise InvalidInput("the embedded model was given no message; it needs at least one")
    return [_encode_message(message) for message in messages]


def _encode_message(message: BaseMessage) -> dict[str, Any]:
    encoded: dict[str, Any] = {"role": _name_role(message), "content": _join_texts(message)}
    if message.name is not None:
        encoded["name"] = message.name
    if isinstance(message, ToolMessage):
        encoded["tool_call_id"] = message.tool_call_id
    if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
        encoded["tool_calls"] = [
            *(_encode_call(call["id"], call["name"], json.dumps(call["args"])) for call in message.tool_calls),
            *(_encode_call(call["id"], call["name"], call["args"] or "") for call in message.invalid_tool_calls),
        ]
    return encoded


def _encode_call(id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"id": id or "", "type": "function", "function": {"name": name or "", "arguments": arguments}}


def _name_role(message: BaseMessage) -> str:
    match message:
        case SystemMessage():
            return "system"
        case HumanMessage():
            return "user"
        case AIMessage():
            return "assistant"
        case ToolMessage():
            return "tool"
        case FunctionMessage():
            return "function"
        case ChatMessage():
            return message.role
        case _:
            raise InvalidInput(f"{type(message).__name__} has no place in a prompt of the embedded model")


def _join_texts(message: BaseMessage) -> str:
    text = message.content if isinstance(message.content, str) else "".join(_iterate_texts(message.content, message))
    try:
        text.encode()
    except UnicodeEncodeError:
        return mend_text(text)
    return text


def _iterate_texts(content: Iterable[str | Mapping[str, Any]], message: BaseMessage) -> Iterable[str]:
    for part in content:
        if isinstance(part, str):
            yield part
        elif part.get("type") in ("text", "text-plain") and isinstance(part.get("text"), str):
            yield part["text"]
        elif isinstance(message, ToolMessage):  # its tool has run, and the history must go on
            yield describe_part(part, "the embedded model reads text only")
        elif not (isinstance(message, AIMessage) and part.get("type") in _UNSPOKEN):
            raise InvalidInput(
                f"the embedded model reads text only, and a message holds a block of type {part.get('type')!r}; "
                "remove it, or use a model that takes such blocks"
            )


def _encode_tool_choice(tools: list[dict[str, Any]], choice: object) -> tuple[list[dict[str, Any]], str]:
    """Return the tools to offer and OpenAI's word for the choice; names offer those tools alone."""
    parsed = parse_tool_choice(choice, tools)
    if parsed is None:
        return tools, "auto"
    if not parsed.names:
        return tools, str(parsed.kind)
    named = [tool for tool in tools if tool["function"]["name"] in parsed.names]
    return named, "required" if parsed.must_call else "auto"
