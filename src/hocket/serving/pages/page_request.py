"""What a page asks, as it is read from a body, and the readers of its fields. What is read comes from strangers."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeVar, cast

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.serving.page_writer import check_id

__all__ = ["Decisions", "PageRequest", "list_objects", "make_media_block", "take_field", "take_id", "take_object"]

T = TypeVar("T")

Decisions = dict[str, str | Fields]
"""What a person has decided about calls that wait, by their ids, as `Resume` takes it."""

_NAMES: Mapping[type, str] = {str: "a text", list: "a list", dict: "an object", bool: "true or false"}
_MEDIA = ("image", "audio", "video")


class PageRequest(NamedTuple):
    """The fields of a `ChatInput` that a protocol knows of."""

    id: str
    run_id: str
    messages: list[BaseMessage]
    decisions: Decisions
    trigger: str
    extra: Fields


def take_field(fields: FieldsView, name: str, kind: type[T], place: str = "") -> T | None:
    """Return a field that has to be of one kind; None: it is not there.

    Raises:
        InvalidInput: it is of another kind; it names the place.
    """
    value: object = fields.get(name)
    if value is not None and not isinstance(value, kind):
        raise InvalidInput(f"{place}{name} is {excerpt(value)}; it is {_NAMES[kind]}")
    return value


def take_id(fields: FieldsView, name: str, place: str = "") -> str:
    """Return an id that has to be there.

    Raises:
        InvalidInput: it is not, or is not one line of at most 200 printable characters.
    """
    if fields.get(name) is None:
        raise InvalidInput(f"{place}{name} is missing; it is one line of at most 200 printable characters")
    return check_id(f"{place}{name}", fields[name])


def take_object(fields: FieldsView, name: str, place: str = "") -> Fields:
    """Return a field that has to be an object; where it is not there, an empty one.

    Raises:
        InvalidInput: it is none.
    """
    return cast("Fields | None", take_field(fields, name, dict, place)) or {}


def list_objects(fields: FieldsView, name: str, place: str = "") -> Iterator[tuple[str, Fields]]:
    """Yield the objects of a list, each behind the text that begins the names of its fields.

    Raises:
        InvalidInput: it is no list of objects.
    """
    for at, one in enumerate(cast("list[object]", take_field(fields, name, list, place) or ())):
        if not isinstance(one, dict):
            raise InvalidInput(f"{place}{name}[{at}] is {excerpt(one)}; it is an object")
        yield f"{place}{name}[{at}].", cast(Fields, one)


def make_media_block(url: str, mime_type: str | None, place: str, **beside: str) -> Fields:
    """Return the content block of a file, by its type.

    Raises:
        InvalidInput: the URL is none of the web's, and has no data: nobody else may say what this service reads.
    """
    kind = (mime_type or "").partition("/")[0]
    block: Fields = {"type": kind if kind in _MEDIA else "file", **beside}
    head, comma, data = url.partition(",")
    if head.startswith("data:") and comma and head.endswith(";base64"):
        return {**block, "base64": data, "mime_type": mime_type or head[5:-7] or "application/octet-stream"}
    if not url.startswith(("https://", "http://")):
        raise InvalidInput(f"{place} is {excerpt(url)}; it is a URL that begins with https:// or data:TYPE;base64,")
    return {**block, "url": url, **({"mime_type": mime_type} if mime_type else {})}
