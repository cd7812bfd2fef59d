"""Messages and chunks, to LangChain's and back.

Both libraries give a message the same class name and the same fields, and hold its extras beside them. So a message is
not validated again, which would be most of what it costs: its fields are copied into an instance of the other class. The
calls of a chunk are no fields of their own, but what its pieces of calls say so far: each library reads them itself.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar, cast

import langchain_core.messages as lc
from pydantic import BaseModel

from hocket import messages as own
from hocket.errors import InvalidInput
from hocket.load.serializable import allocate, get_fields, set_state
from hocket.messages.base import copy_containers
from hocket.messages.content import Fields, FieldsView
from hocket.messages.pieces import check_depth

__all__ = ["message_from_langchain", "message_to_langchain"]

_NAMES = (
    *("HumanMessage", "HumanMessageChunk", "AIMessage", "AIMessageChunk", "SystemMessage", "SystemMessageChunk"),
    *("ToolMessage", "ToolMessageChunk", "ChatMessage", "ChatMessageChunk", "RemoveMessage"),
    *("FunctionMessage", "FunctionMessageChunk"),
)
_CALLS = frozenset({"tool_calls", "invalid_tool_calls"})

T = TypeVar("T", bound=BaseModel)


class _Way(NamedTuple, Generic[T]):
    """From the messages of one class to their class in the other library.

    ``defaults`` are those of the fields that an instance may do without; ``containers`` make what is fresh in each.
    """

    target: type[T]
    defaults: Mapping[str, object]
    containers: Mapping[str, type[dict[str, object] | list[object]]]

    def fill(self, held: FieldsView) -> Fields:
        """Return all fields of the target: those ``held``, copied, and its own defaults."""
        fields = dict(self.defaults)
        for name, make in self.containers.items():
            value = held.get(name)
            fields[name] = copy_containers(value) if value else make()
        if not held:
            return fields
        for name in fields:
            if name in held and name not in self.containers and name != "type":
                value = held[name]
                fields[name] = copy_containers(value) if isinstance(value, list | dict) else value
        return fields


def _make_way(target: type[T]) -> _Way[T]:
    fields = target.__pydantic_fields__
    containers = {name: field.default_factory for name, field in fields.items() if field.default_factory}
    defaults = {name: None if field.is_required() else field.default for name, field in fields.items()}
    return _Way(target, defaults, cast("Mapping[str, type[dict[str, object] | list[object]]]", containers))


def message_to_langchain(message: own.BaseMessage) -> lc.BaseMessage:
    """Return ``message`` as LangChain's of the same name; nothing in it is shared but foreign objects (an artifact)."""
    content, held = message.content, get_fields(message)  # in this order: to read a lazy sum of chunks makes it whole
    way = _find_way_there(type(message))
    made: lc.BaseMessage = allocate(way.target)
    if "additional_kwargs" not in held:  # it was made from one string (see `hocket.messages.base`)
        given = {"content"} if held["id"] is None else {"content", "id"}
        set_state(made, {**way.fill({}), "content": content, "id": held["id"]}, given, {})
        return made
    if held.get("tool_call_chunks"):
        held = {name: value for name, value in held.items() if name not in _CALLS}
    _set_fields(made, way, message, held)
    if isinstance(made, lc.AIMessageChunk) and made.tool_call_chunks:
        made.init_tool_calls()  # type: ignore[operator]  # a validator, which pydantic hides
    return made


def message_from_langchain(message: lc.BaseMessage) -> own.BaseMessage:
    """Return LangChain's ``message`` as hocket's of the same name; nothing in it is shared, as above.

    Raises:
        InvalidInput: it holds data nested more than 128 deep.
    """
    held = vars(message)
    if held["content"].__class__ is not str or held["additional_kwargs"] or held.get("tool_calls"):
        check_depth((held["content"], held["additional_kwargs"], held.get("tool_calls")))
    way = _find_way_back(type(message))
    made: own.BaseMessage = allocate(way.target)
    _set_fields(made, way, message, held)
    if isinstance(message, lc.AIMessageChunk) and message.tool_call_chunks:
        fields = get_fields(made)
        for name in _CALLS:  # hocket reads them off the pieces when it is asked for them
            del fields[name]
    return made


def _set_fields(made: T, way: _Way[T], message: BaseModel, held: FieldsView) -> None:
    """Give ``made`` the fields ``held`` by ``message``; those that its class does not know become extras."""
    extra = dict(message.__pydantic_extra__ or {})
    extra.update((name, held[name]) for name in held if name not in way.defaults)
    set_state(made, way.fill(held), set(message.__pydantic_fields_set__), copy_containers(extra))


_there = {getattr(own, name): getattr(lc, name) for name in _NAMES}
_back = {theirs: ours for ours, theirs in _there.items()}


@lru_cache(maxsize=256)
def _find_way_there(cls: type[own.BaseMessage]) -> _Way[lc.BaseMessage]:
    return _make_way(_find_nearest(cls, _there))


@lru_cache(maxsize=256)
def _find_way_back(cls: type[lc.BaseMessage]) -> _Way[own.BaseMessage]:
    return _make_way(_find_nearest(cls, _back))


def _find_nearest(cls: type, table: Mapping[type, type[T]]) -> type[T]:
    """Return what ``table`` has for ``cls`` or the nearest of its bases: a message of a user's class is its base's."""
    for base in cls.__mro__:
        if base in table:
            return table[base]
    raise InvalidInput(
        f"a message of {cls.__module__}.{cls.__qualname__} has no form in the other library: make its class one of "
        "HumanMessage, AIMessage, SystemMessage, ToolMessage or ChatMessage"
    )
