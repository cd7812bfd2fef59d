"""What a tool returned, or how it failed, as the message that answers its call. Pure functions."""

import contextlib
import dataclasses
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from hocket.errors import ToolException
from hocket.errors.hints import LONGEST_NAME, excerpt, near_name_hint, shorten
from hocket.messages import ToolMessage
from hocket.messages.base import Content
from hocket.messages.content import Fields
from hocket.tools.arguments import JSON_SCHEMA

__all__ = [
    "ERROR_KIND",
    "add_note",
    "cut_content",
    "cut_result",
    "explain_validation_error",
    "make_error_message",
    "make_result_message",
]

ERROR_KIND = "tool_error"
"""Under this key of ``response_metadata`` a failed call's message says how it failed: ``unknown_tool``,
``invalid_arguments``, ``retry``, ``timeout``, ``cancelled``, ``stopped`` or ``failed``; or ``blocked`` or
``untrusted_influence``, where it was not made (see `hocket.agents.SafetyManager` and `InfluencePolicy`)."""

_BLOCKS = frozenset(
    {
        *("text", "image_url", "image", "json", "search_result", "custom_tool_call_output", "document", "file"),
        *("audio", "video", "text-plain"),
    }
)
_SHOWN = 200  # characters of a value that a model gave


def make_result_message(content: object, artifact: object, call_id: str, name: str) -> ToolMessage:
    """Return the message of a call that went well: text and blocks as they are, bytes as a text, others as JSON.

    Raises:
        ToolException: it is, or holds, a generator or another iterator.
    """
    if isinstance(content, ToolMessage):
        return content
    return ToolMessage(_make_content(content), artifact=artifact, tool_call_id=call_id, name=name)


def make_error_message(content: object, call_id: str | None, name: str | None, kind: str) -> ToolMessage:
    """Return the message of a call that failed."""
    return ToolMessage(
        _make_content(content),
        tool_call_id=call_id or "",
        name=name,
        status="error",
        response_metadata={ERROR_KIND: kind},
    )


def cut_result(message: ToolMessage, limit: int) -> ToolMessage:
    """Return a result of at most ``limit`` characters of text, with a note of what is left out; the artifact stays."""
    content, missing = cut_content(message.content, limit)
    return add_note(message, _note_cut(missing), content=content) if missing else message


def add_note(message: ToolMessage, note: str, *, content: Content | None = None, **metadata: object) -> ToolMessage:
    """Return a result with a note behind it, perhaps behind other content, and with further metadata."""
    said = message.content if content is None else content
    noted = said + note if isinstance(said, str) else [*said, {"type": "text", "text": note}]
    facts = {**message.response_metadata, **metadata}
    return message.model_copy(update={"content": noted, "response_metadata": facts})


def cut_content(content: Content, limit: int) -> tuple[Content, int]:
    """Return content with at most ``limit`` characters of text, and how many characters are left out.

    Of content blocks, those behind the limit are left out if they are text; pictures and the like stay.
    """
    if isinstance(content, str):
        return content[:limit], max(0, len(content) - limit)
    room, missing = limit, 0
    kept: list[str | Fields] = []
    for block in content:
        text = block if isinstance(block, str) else block.get("text")
        if not isinstance(text, str):
            kept.append(block)
            continue
        short = text[:room]
        room -= len(short)
        missing += len(text) - len(short)
        if short or not text:
            kept.append(short if isinstance(block, str) else {**block, "text": short})
    return kept, missing


def _note_cut(missing: int) -> str:
    return f"\n[The result was too long: {missing} more characters are left out. Ask for less, or for the next part.]"


def explain_validation_error(error: ValidationError, known: Collection[str], hidden: Collection[str] = ()) -> str:
    """Say in plain words what is wrong with arguments; values of ``hidden`` ones are not shown."""
    lines: list[str] = []
    for one in error.errors(include_url=False, include_context=False):
        path = ".".join(str(step) for step in one["loc"]) or "the arguments"
        if one["type"] == JSON_SCHEMA:
            lines.append(one["msg"])
        elif one["type"] in ("missing", "missing_argument"):
            lines.append(f"{path}: is required")
        elif one["type"] == "extra_forbidden" and len(one["loc"]) == 1:
            lines.append(f"{path[:LONGEST_NAME]}: there is no such argument; {near_name_hint(path, known)}")
        elif one["loc"] and one["loc"][0] in hidden:
            lines.append(f"{path}: {one['msg']}")
        else:
            lines.append(f"{path}: {one['msg']}; given was {excerpt(one['input'], _SHOWN)}")
    return shorten("\n".join(lines))


def _make_content(value: object) -> str | list[Any]:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return _read_bytes(value)
    content = value
    if isinstance(content, Sequence):
        items: list[Any] = [*content]
        if all(map(_is_block, items)):
            return items
    try:
        text = json.dumps(value, ensure_ascii=False, default=_to_jsonable)
        if "NaN" in text or "Infinity" in text:  # for which JSON has no word
            text = json.dumps(json.loads(text, parse_constant=str), ensure_ascii=False)
        return text
    except (TypeError, ValueError):  # an object of a foreign class, or one that holds itself
        return str(value)


def _read_bytes(data: bytes | bytearray) -> str:
    """Return the text that bytes are, or else what they seem to be."""
    from hocket.messages.formats.blocks import guess_mime_type  # loaded with the first list of blocks

    kind = guess_mime_type(b64encode(data[:12]).decode())
    if kind is None:
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode()
    return f"<{len(data)} bytes{f' of {kind}' if kind else ''}>"


def _to_jsonable(value: object) -> object:
    """Return an object's data, of a class that is made of data."""
    if isinstance(value, bytes | bytearray):
        return _read_bytes(value)
    if isinstance(value, Iterator | AsyncIterator):
        kind = type(cast(object, value)).__name__
        raise ToolException(f"it returned a {kind}, of which nothing is read: let the tool return a list, or a text")
    if hasattr(value, "model_dump") or dataclasses.is_dataclass(value):
        return to_jsonable_python(value)
    raise TypeError(type(value).__name__)


def _is_block(item: object) -> bool:
    return isinstance(item, str) or (isinstance(item, dict) and cast("dict[str, object]", item).get("type") in _BLOCKS)
