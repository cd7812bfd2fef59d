"""Messages as data: LangChain's dictionaries, and the records that hocket stores.

A record is LangChain's ``{"type": …, "data": {…}}`` with a version in front, ``{"v": 1, "type": "ai", "data": {…}}``.
Each carries its own version, since a file that is only appended to holds lines of several. Its ``data`` are the fields
that say something, in the order of their declaration, so equal messages give equal bytes; LangChain can read it. What
JSON has no word for is written and escaped as `hocket.load` does it, and what could not be read back is refused before
anything is written: a store that took a message gives it back. The artifact of a tool's result is the exception: it is no
part of the conversation, and one that cannot be written is left out, with a warning in the log, so that no result is lost.

Reading builds messages and documents, and nothing else, of classes that are registered in this process. Every record that
any version has written is read by all later ones; a change of the format takes the next number and keeps the reader of
this one.
"""

import functools
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from hocket.errors import InvalidInput, LoadError
from hocket.load.dump import dump_storable
from hocket.load.loading import Loader
from hocket.load.nodes import SerializedConstructor
from hocket.load.serializable import StorableData, find_class
from hocket.messages.base import BaseMessage, BaseMessageChunk
from hocket.messages.content import Fields, FieldsView
from hocket.messages.roles import OWN_CLASSES, RemoveMessage, ToolMessage

__all__ = [
    "RECORD_VERSION",
    "dump_message",
    "dumps_message",
    "load_message",
    "loads_message",
    "message_to_dict",
    "messages_from_dict",
    "messages_to_dict",
]

RECORD_VERSION: Final = 1
"""The version of the records that this hocket writes."""

_STORED: Final[frozenset[type[BaseMessage]]] = frozenset({*OWN_CLASSES, RemoveMessage})

_CLASSES: Final[Mapping[str, type[BaseMessage]]] = {cast(str, cls.model_fields["type"].default): cls for cls in _STORED}

_NO_DEFAULT: Final = object()

_KEYS: Final = frozenset({"v", "type", "class", "data"})

_KINDS: Final = (BaseMessage, StorableData)

_loader: Final = Loader(allowed=_KINDS)

_log: Final = logging.getLogger("hocket.messages")


def dump_message(message: BaseMessage) -> Fields:
    """Return ``message`` as a record: ``{"v": 1, "type": …, "data": {…}}``, JSON's own types all the way down.

    Everything comes back from `load_message`: bytes, dates and times, sets, NaN, and messages and documents inside of an
    artifact too. Tuples come back as lists and members of an enum as their values. The record of a class that is not
    hocket's own names it under ``class``; the program that loads it must have defined that class. The artifact of a
    tool's result that cannot be written is left out, and the log says why, once for each reason.

    Raises:
        InvalidInput: another field holds an object that could not be rebuilt, or a secret, or is nested more than 128 deep.
            The text names the field.
    """
    cls = message.__class__
    record: Fields = {"v": RECORD_VERSION, "type": message.type}
    if cls not in _STORED:
        record["class"] = _class_id(message)
        fields: Fields = cast(SerializedConstructor, message.to_json())["kwargs"]
    else:
        values, fields = message.__dict__, {}
        for name, default in _find_defaults(cls).items():
            value = values[name]
            if value is not None if default is None else value != default:
                fields[name] = value
        if message.__pydantic_extra__:
            fields.update(message.__pydantic_extra__)
    data: Fields = {}
    for name, value in fields.items():
        try:
            data[name] = dump_storable(value, _KINDS)
        except InvalidInput as error:
            if name != "artifact" or not isinstance(message, ToolMessage):
                kind = message.type
                raise InvalidInput(f"a message of type {kind!r} cannot be stored for its {name!r}: {error}") from None
            _warn_once(str(error))
    record["data"] = data
    return record


@functools.lru_cache(maxsize=1000)  # reasons name a type at most
def _warn_once(reason: str) -> None:
    _log.warning("the artifact of a tool's result is not stored: %s", reason)


@functools.cache
def _find_defaults(cls: type[BaseMessage]) -> FieldsView:
    """Return the fields of one of hocket's own classes, in the order of a record, with the values that it leaves out."""
    return {
        name: _NO_DEFAULT if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
        for name, field in cls.model_fields.items()
    }


def _class_id(message: BaseMessage) -> list[str]:
    cls = type(message)
    id = cls.lc_id()
    if cls in (BaseMessage, BaseMessageChunk) or find_class(id) is not cls or not cls.is_lc_serializable():
        raise InvalidInput(
            f"a message of class {'.'.join(id)} cannot be stored: no class is registered under that name"
        )
    return id


def load_message(record: Any) -> BaseMessage:
    """Return the message that ``record`` stands for.

    Args:
        record: what `dump_message` of this version or an earlier one returned; or LangChain's form of a message,
            ``{"type": …, "data": {…}}`` as of `message_to_dict`; or the form of `hocket.load.dumpd` and of LangChain's
            ``dumpd``, ``{"lc": 1, "type": "constructor", "id": […], "kwargs": {…}}``.

    Raises:
        LoadError: it is none of these, or of a later version, or damaged, or names a type of message or a class that is
            not registered. The text leaves out the values.
    """
    return _load(record, has_nodes=True)


def _load(record: Any, *, has_nodes: bool) -> BaseMessage:
    """As `load_message`; without ``has_nodes`` the values of a record stand for themselves, and are taken as they are."""
    if not isinstance(record, dict):
        raise LoadError(f"cannot read {type(record).__name__} as a message: it takes a mapping with 'type' and 'data'")
    given: Fields = record  # pyright: ignore[reportUnknownVariableType]  # a cast is a call
    if "lc" in given:
        message = _loader.load(given)
        if not isinstance(message, BaseMessage) or type(message) in (BaseMessage, BaseMessageChunk):
            raise LoadError(f"the data stands for {type(message).__name__}, not for a message of a known type")
        return message
    kind, data, version = given.get("type"), given.get("data"), given.get("v")
    if not isinstance(kind, str) or not isinstance(data, dict) or not _KEYS.issuperset(given):
        raise LoadError(
            "a stored message has the keys 'type' (a string) and 'data' (a mapping), and 'v' if hocket wrote it; "
            f"these keys came: {[*given]}"
        )
    fields: Fields = data  # pyright: ignore[reportUnknownVariableType]  # as above
    if version is None:  # LangChain's: it escapes nothing, so nothing in it is more than it seems
        return _loader.build(_class_of(kind, None), [kind], fields)
    if version != RECORD_VERSION:
        raise LoadError(
            f"the message was stored in version {version!r} of the format, and this hocket reads up to version "
            f"{RECORD_VERSION}: upgrade hocket"
        )
    cls = _class_of(kind, given.get("class"))
    if has_nodes:
        fields = {name: _loader.load(value) for name, value in fields.items()}
    return _loader.build(cls, [kind], fields)


def _class_of(kind: str, id: Any) -> type[BaseMessage]:
    if id is not None:
        named = find_class(id) if isinstance(id, list) and all(isinstance(part, str) for part in id) else None  # pyright: ignore
        if named is None or not issubclass(named, BaseMessage) or named.model_fields["type"].default != kind:
            raise LoadError(f"no class of messages of type {kind!r} is registered as {id!r}: import its module first")
        return named
    cls = _CLASSES.get(kind)
    if cls is None:
        raise LoadError(f"unknown type of message {kind!r}: it is one of {', '.join(sorted(_CLASSES))}")
    return cls


def dumps_message(message: BaseMessage) -> str:
    """Return ``message`` as the JSON text of its record, on one line. Errors as of `dump_message`."""
    record = dump_message(message)
    try:
        return to_json(record).decode()
    except PydanticSerializationError:  # nested deeper than it goes, not deeper than a record may be
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def loads_message(text: str | bytes) -> BaseMessage:
    """Return the message that a JSON text stands for, in any of the forms of `load_message`.

    Raises:
        LoadError: the text is not JSON, or as of `load_message`.
    """
    try:
        record = from_json(text)
    except ValueError:
        try:
            record = json.loads(text)  # knows deeper nesting and UTF-16, and has the clearer word on what is wrong
        except (ValueError, RecursionError) as error:
            raise LoadError(f"a stored message is not JSON: {error}") from None
        return load_message(record)
    has_nodes = b"lc" in text if isinstance(text, bytes) else "lc" in text  # as in every key of a node or an escape
    return _load(record, has_nodes=has_nodes)


def message_to_dict(message: BaseMessage) -> Fields:
    """Return ``message`` as LangChain writes it, ``{"type": …, "data": {…}}``: all fields, values as they are.

    To store messages `dump_message` is better: versioned, compact, and JSON whatever they hold.
    """
    return {"type": message.type, "data": message.model_dump(warnings=False)}


def messages_to_dict(messages: Sequence[BaseMessage]) -> list[Fields]:
    """Return each message as `message_to_dict` does."""
    return [message_to_dict(message) for message in messages]


def messages_from_dict(messages: Iterable[FieldsView]) -> list[BaseMessage]:
    """Return the messages that dictionaries stand for, in any of the forms of `load_message`.

    Raises:
        LoadError: as of `load_message`; the text tells which of them it is.
    """
    made: list[BaseMessage] = []
    for at, message in enumerate(messages):
        try:
            made.append(_load(message, has_nodes=True))
        except LoadError as error:
            raise LoadError(f"message {at} of the list: {error}") from error.__cause__
    return made
