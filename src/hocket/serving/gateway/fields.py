"""The fields of a request that a stranger has sent, each read as what it has to be, or refused by its name."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar, cast

from pydantic_core import from_json

from hocket.errors.hints import excerpt
from hocket.messages.content import KNOWN_BLOCK_TYPES, Fields, FieldsView
from hocket.serving.refusals import Refusal

__all__ = [
    "check_part",
    "check_parts",
    "find_field",
    "find_stop",
    "is_list_of",
    "read_object",
    "read_tools",
    "refuse_field",
    "require_field",
]

T = TypeVar("T")

_TEXTS = (
    *("type", "id", "name", "text", "tool_use_id", "call_id", "thinking", "signature", "data"),
    *("arguments", "encrypted_content", "title", "context"),
)
"""Fields of parts that are texts, wherever they stand. What is given to a call (``input``) may be anything."""
_INSIDE = ("content", "source", "output", "annotations")
"""Fields of parts that may hold parts: a list, or, but for the results of tools, one."""
_HAVE_LISTS = frozenset({"tool_result", "message"})
_OURS = KNOWN_BLOCK_TYPES - {"text", "reasoning", "image", "audio", "video", "file"}
"""Types of parts that no API has, and of which hocket believes that it has made them."""


def read_object(body: bytes) -> Fields:
    """Return the fields of a body that say something: null is as good as nothing.

    Raises:
        Refusal: it is no JSON, or no object.
    """
    try:
        data: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal(status=400, message=f"the body is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise Refusal(status=400, message=f"the body is {excerpt(data)}; it is a JSON object")
    return {name: value for name, value in cast(Fields, data).items() if value is not None}


def refuse_field(name: str, value: object, expected: str) -> Refusal:
    """Return what is told of a field that is not what it has to be."""
    return Refusal(status=400, message=f"{name} is {excerpt(value)}; it is {expected}", param=name)


def check_parts(parts: Iterable[object], place: str) -> None:
    """Refuse what is no part of a content; see `check_part`."""
    for at, part in enumerate(parts):
        check_part(part, f"{place}[{at}]")


def check_part(part: object, place: str) -> None:
    """Refuse a part that is none, or says by a number or a list what is a text; parts inside it are looked at, too.

    Raises:
        Refusal: it names the place.
    """
    refuse = partial(refuse_field, place, part)
    fields: Mapping[str, object] = cast("Mapping[str, object]", part if isinstance(part, dict) else {})
    if "type" not in fields:
        raise refuse("an object with a type")
    for name in _TEXTS:
        value = fields.get(name)
        if not isinstance(value, str | None) or (value is None and name == "type"):
            raise refuse_field(f"{place}.{name}", value, "a text")
    if not isinstance(fields.get("extras") or {}, dict) or fields["type"] in _OURS:
        raise refuse("a part as the API has it")
    for name in _INSIDE:
        inner = fields.get(name)
        if isinstance(inner, list):
            check_parts(cast("list[object]", inner), f"{place}.{name}")
        elif isinstance(inner, dict) and fields["type"] not in _HAVE_LISTS:
            check_part(cast(Fields, inner), f"{place}.{name}")
        elif not isinstance(inner, str | None):
            raise refuse_field(f"{place}.{name}", fields[name], "a text, or a list of parts")


def find_field(fields: FieldsView, name: str, kind: type[T], expected: str) -> T | None:
    """Return a field that has to be of one kind; None: it is not there."""
    value: object = fields.get(name)
    if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        raise refuse_field(name, value, expected)
    return value


def require_field(fields: FieldsView, name: str, kind: type[T], expected: str) -> T:
    """Return a field that has to be there, and to say something."""
    value = find_field(fields, name, kind, expected)
    if not value:
        raise (
            refuse_field(name, value, f"{expected}, and not empty")
            if name in fields
            else Refusal(status=400, message=f"{name} is missing; it is {expected}", param=name)
        )
    return value


def find_stop(fields: FieldsView, name: str = "stop") -> list[str] | None:
    """Return the texts that end an answer, one as a list of one; None: there are none."""
    value: object = fields.get(name)
    texts = [value] if isinstance(value, str) else value
    if texts is not None and not is_list_of(str, texts):
        raise refuse_field(name, value, "a text, or a list of texts")
    return cast("list[str] | None", texts)


def read_tools(
    fields: FieldsView, kind: str, read: Callable[[Fields], Fields | None]
) -> tuple[list[Fields], list[Refusal]]:
    """Return the functions among the tools of a request, and what is told of each tool of another kind.

    Args:
        fields: of the request.
        kind: the type of a function's tool.
        read: returns a function as ``bind_tools`` takes it; None: it is none.

    Raises:
        Refusal: one is no tool.
    """
    tools: list[Fields] = []
    others: list[Refusal] = []
    for at, tool in enumerate(cast("list[object]", find_field(fields, "tools", list, "a list of tools") or [])):
        refuse = partial(refuse_field, f"tools[{at}]", tool)
        given: Fields = cast(Fields, tool) if isinstance(tool, dict) else {}
        type_: object = given.get("type", kind)
        if isinstance(type_, str) and type_ != kind:
            others.append(refuse("a function: no other kind of tool is served"))
        elif type_ == kind and (function := read(given)) is not None:
            tools.append(function)
        else:
            raise refuse("a function, with its name")
    return tools, others


def is_list_of(kind: type, value: object) -> bool:
    """Whether a value is a list, and all that is in it of one kind."""
    return isinstance(value, list) and all(isinstance(one, kind) for one in cast("list[object]", value))
