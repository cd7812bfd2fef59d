"""Calls that stand beside a message's content, as OpenAI's chat completions have them, and the results of calls as texts.

    {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "<JSON>"}}

Mistral, Cohere and many servers write them like this, each with a difference or two.
"""

from collections.abc import Iterable

from pydantic_core import to_json

from hocket.errors import InvalidInput
from hocket.http.request import json_bytes
from hocket.messages import AIMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats.openai_responses import CUSTOM_INPUT
from hocket.messages.roles import AnyToolCall
from hocket.messages.tool_calls import ToolCallChunk
from hocket.remote.message_parts import UNSPOKEN, IsNative, read_parts

__all__ = ["fields_beside", "join_texts", "mark_error", "read_call", "read_said", "require_call_id", "write_call"]

_KNOWN = frozenset({"id", "type", "index", "function", "custom"})
_SAID = frozenset({"role", "content", "tool_calls"})


def fields_beside(message: FieldsView) -> Fields:
    """Return what a reply, or a piece of one, says beside its content and its calls, for ``additional_kwargs``."""
    return {name: value for name, value in message.items() if value and name not in _SAID}


def read_call(raw: FieldsView) -> ToolCallChunk:
    """Return a tool call, or a piece of one; what it says beyond the format goes into its ``extras``.

    Raises:
        TypeError: its name is no text, or its index is odd.
    """
    custom = raw.get("custom")
    function: FieldsView = custom or raw.get("function") or {}
    name, id, index = function.get("name"), raw.get("id"), raw.get("index")
    if not isinstance(name, str | None) or not isinstance(index, int | str | None):
        raise TypeError("a tool call has a name that is no text, or an odd index")
    call: ToolCallChunk = {
        "name": name,
        "args": _write_arguments(function.get("arguments")),
        "id": id if id is None or isinstance(id, str) else str(id),
        "index": index,
        "type": "tool_call_chunk",
    }
    if custom:
        call["args"] = to_json({CUSTOM_INPUT: custom.get("input") or ""}).decode()
        call["extras"] = {"type": "custom"}
    elif not raw.keys() <= _KNOWN:
        call["extras"] = {name: value for name, value in raw.items() if name not in _KNOWN}
    return call


def _write_arguments(arguments: object) -> str | None:
    """Return arguments as the format has them, as text; some servers send the object itself."""
    return arguments if arguments is None or isinstance(arguments, str) else to_json(arguments).decode()


def write_call(call: AnyToolCall) -> Fields:
    """Return a call as the format has it. Arguments that could not be read go back as the model wrote them."""
    args: object = call["args"]
    text = args if isinstance(args, str) else json_bytes(args or {}).decode()
    return {
        "id": call.get("id") or "",
        "type": "function",
        "function": {"name": call["name"] or "", "arguments": text},
    }


def read_said(message: AIMessage, is_native: IsNative, words: Iterable[str] = ()) -> list[Fields]:
    """Return the parts of a reply without its calls, for formats that have reasoning in the content.

    Args:
        message: the reply, with nothing in it of other providers' but standard blocks (`hocket.remote.handover`).
        is_native, words: see `hocket.remote.message_parts.read_parts`.
    """
    content = [message.content] if isinstance(message.content, str) else message.content
    return [part for part in read_parts(content, is_native, words) if _is_said(part, is_native)]


def _is_said(part: FieldsView, is_native: IsNative) -> bool:
    """Whether a part says something. What is left of a citation that came in a piece of its own does not."""
    kind = part.get("type")
    if kind == "text":
        return bool(part.get("text") or part.get("annotations"))
    return kind not in UNSPOKEN or kind == "reasoning" or is_native(part)


def require_call_id(message: ToolMessage) -> str:
    """Return the id of the call that a tool's result answers.

    Raises:
        InvalidInput: it names none.
    """
    if not message.tool_call_id:
        raise InvalidInput("a tool message names no tool call; give it the tool_call_id that it answers")
    return message.tool_call_id


def mark_error(content: str | list[Fields], kind: str = "text") -> str | list[Fields]:
    """Return the result of a tool that has failed, with a word that says so: the format has no flag for it.

    Args:
        content: the result.
        kind: the type of a part that is text.
    """
    if isinstance(content, list):
        return [{"type": kind, "text": "Error: "}, *content]
    return content if content[:5].lower() == "error" else f"Error: {content}"


def join_texts(content: str | list[Fields]) -> str | list[Fields]:
    """Return parts that are nothing but text as one text, which servers understand that take no parts in some roles."""
    if isinstance(content, str) or any(part.keys() != {"type", "text"} or part["type"] != "text" for part in content):
        return content
    return "".join(part["text"] for part in content)
