"""Tool calls as data: what a model asks to have run, whole, in fragments, or unreadable.

A call's arguments reach us as text that a model wrote, so they can be broken. One function, ``parse_tool_arguments``,
decides what counts as readable, for whole replies and for folded streams alike: both must give the same calls.

A record may be written without its ``type``; in a message it has one, as in LangChain.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, NotRequired, cast

from pydantic import Field
from pydantic_core import from_json
from typing_extensions import TypedDict  # pydantic refuses typing's TypedDict before Python 3.12

from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView

__all__ = [
    "FIND_TOOLS",
    "InvalidToolCall",
    "ToolCall",
    "ToolCallChunk",
    "decode_arguments",
    "default_tool_chunk_parser",
    "default_tool_parser",
    "invalid_tool_call",
    "parse_tool_arguments",
    "read_tool_calls",
    "tool_call",
    "tool_call_chunk",
    "tool_call_chunks_of",
]

FIND_TOOLS = "find_tools"
"""The name of the tool that finds others. A search of OpenAI's that the client makes is read as a call of it."""


class ToolCall(TypedDict):
    """A model's request to run one tool. ``id`` links it to the ``ToolMessage`` that answers it."""

    name: str
    args: Fields
    id: str | None
    type: NotRequired[Annotated[Literal["tool_call"], Field(default="tool_call")]]
    index: NotRequired[int | str]
    extras: NotRequired[Fields]


class ToolCallChunk(TypedDict):
    """A fragment of a tool call while it streams: ``args`` is a piece of JSON text, ``index`` says of which call."""

    name: str | None
    args: str | None
    id: str | None
    index: NotRequired[int | str | None]
    type: NotRequired[Annotated[Literal["tool_call_chunk"], Field(default="tool_call_chunk")]]
    extras: NotRequired[Fields]


class InvalidToolCall(TypedDict):
    """A tool call that could not be read: ``args`` is the model's own text, ``error`` what is wrong with it."""

    name: str | None
    args: str | None
    id: str | None
    error: str | None
    type: NotRequired[Annotated[Literal["invalid_tool_call"], Field(default="invalid_tool_call")]]
    index: NotRequired[int | str]
    extras: NotRequired[Fields]


def tool_call(*, name: str, args: Fields, id: str | None) -> ToolCall:
    """Return a ``ToolCall`` with its ``type`` set."""
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def tool_call_chunk(
    *, name: str | None = None, args: str | None = None, id: str | None = None, index: int | str | None = None
) -> ToolCallChunk:
    """Return a ``ToolCallChunk`` with its ``type`` set."""
    return {"name": name, "args": args, "id": id, "index": index, "type": "tool_call_chunk"}


def invalid_tool_call(
    *, name: str | None = None, args: str | None = None, id: str | None = None, error: str | None = None
) -> InvalidToolCall:
    """Return an ``InvalidToolCall`` with its ``type`` set."""
    return {"name": name, "args": args, "id": id, "error": error, "type": "invalid_tool_call"}


_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_CONTROL = re.compile(r"[\0-\x1f]")


def decode_arguments(text: str, *, partial: bool = False) -> object:
    """Return the value of a JSON text that a model wrote. Line breaks and other control characters may be in its strings.

    JSON wants them escaped; models that write code often do not, and LangChain reads them, too.

    Args:
        text: the text.
        partial: whether text that ends early is completed.

    Raises:
        ValueError: it is not JSON.
    """
    allowed: Literal["trailing-strings", "off"] = "trailing-strings" if partial else "off"
    try:
        return cast(object, from_json(text, allow_partial=allowed))
    except ValueError:
        if not _CONTROL.search(text):
            raise
        escaped = _STRING.sub(lambda string: _CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", string[0]), text)
        return cast(object, from_json(escaped, allow_partial=allowed))


def parse_tool_arguments(arguments: object, *, partial: bool = False) -> Fields:
    """Return the arguments of a tool call as a dict.

    Args:
        arguments: The JSON text that the model wrote. Nothing, blank text and JSON's ``null`` all mean "no arguments";
            a mapping (some servers send one instead of text) is taken as it is.
        partial: Whether text that ends early is completed: ``{"a": "b`` then reads ``{"a": "b"}``.

    Raises:
        InvalidInput: The text is not JSON (the message tells the line and column), or is not an object.
    """
    if isinstance(arguments, str):
        if not arguments.strip():
            return {}
        try:
            arguments = decode_arguments(arguments, partial=partial)
        except ValueError as error:
            raise InvalidInput(f"The arguments are not valid JSON: {error}") from None
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise InvalidInput(f"The arguments must be a JSON object, not {type(arguments).__name__}")
    return dict(cast(FieldsView, arguments))


def default_tool_parser(raw_tool_calls: Sequence[FieldsView]) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """Read tool calls as OpenAI's chat API writes them: ``{"id", "function": {"name", "arguments": "<JSON>"}}``.

    Entries without a ``function`` are skipped (a server's own tools). Returns the calls that could be read and those
    that could not, each list in the order of ``raw_tool_calls``.
    """
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for raw in raw_tool_calls:
        if (function := _function_of(raw)) is None:
            continue
        name, arguments, id = function.get("name"), function.get("arguments"), raw.get("id")
        try:
            calls.append(tool_call(name=name or "", args=parse_tool_arguments(arguments), id=id))
        except InvalidInput as error:
            invalid.append(invalid_tool_call(name=name, args=_as_text(arguments), id=id, error=str(error)))
    return calls, invalid


def default_tool_chunk_parser(raw_tool_calls: Sequence[FieldsView]) -> list[ToolCallChunk]:
    """Read the tool calls of one OpenAI-style stream delta. What a delta does not carry is None."""
    chunks: list[ToolCallChunk] = []
    for raw in raw_tool_calls:
        function = _function_of(raw) or {}
        chunks.append(
            tool_call_chunk(
                name=function.get("name"),
                args=_as_text(function.get("arguments")),
                id=raw.get("id"),
                index=raw.get("index"),
            )
        )
    return chunks


def read_tool_calls(
    chunks: Iterable[ToolCallChunk], *, partial: bool = False
) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """Read calls off chunks that hold all arguments of a call each, or, with ``partial``, all that has come.

    Returns the calls that could be read and those that could not, each list in the order of ``chunks``.
    """
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for chunk in chunks:
        name, text, id = chunk.get("name"), chunk.get("args"), chunk.get("id")
        try:
            call = tool_call(name=name or "", args=parse_tool_arguments(text, partial=partial), id=id)
        except InvalidInput as error:
            invalid.append(invalid_tool_call(name=name, args=text, id=id, error=str(error)))
        else:
            if "extras" in chunk:
                call["extras"] = chunk["extras"]
            calls.append(call)
    return calls, invalid


def tool_call_chunks_of(calls: Iterable[ToolCall], invalid: Iterable[InvalidToolCall]) -> list[ToolCallChunk]:
    """Write calls down as chunks, whole: the inverse of `read_tool_calls`, but for their order among one another."""
    chunks: list[ToolCallChunk] = []
    for call in (*calls, *invalid):
        chunk = tool_call_chunk(name=call["name"], args=_as_text(call["args"]), id=call["id"], index=call.get("index"))
        if "extras" in call:
            chunk["extras"] = call["extras"]
        chunks.append(chunk)
    return chunks


def _function_of(raw: FieldsView) -> FieldsView | None:
    """What an OpenAI-style call names under ``function``; None for calls of another kind."""
    function = raw.get("function")
    return cast(FieldsView, function) if isinstance(function, Mapping) else None


def _as_text(arguments: object) -> str | None:
    """Arguments as JSON text; the text itself when that is what the server sent."""
    if arguments is None or isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False, default=str)
