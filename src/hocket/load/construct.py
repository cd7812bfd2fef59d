"""Building a pydantic instance from fields that are known to be valid.

``model_construct`` is slower than validating, and copying through ``model_copy`` four times slower than this. Used only
where values come from instances that were validated, or are made here; property tests hold the outcome to validation's.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel

__all__ = [
    "allocate",
    "construct",
    "get_fields",
    "set_extra",
    "set_fields",
    "set_fields_set",
    "set_private",
    "set_state",
]

T = TypeVar("T", bound=BaseModel)

# Setting pydantic's slots through their descriptors is a third cheaper than through object.__setattr__.
# What is built for every chunk of every stream uses them as they are; everything else goes through `fill`.
set_fields_set: Callable[[object, set[str]], None] = BaseModel.__dict__["__pydantic_fields_set__"].__set__
"""Sets which fields of an instance were given."""

set_extra: Callable[[object, dict[str, Any] | None], None] = BaseModel.__dict__["__pydantic_extra__"].__set__
"""Sets the dict of an instance's extra fields, of which pydantic makes nothing."""

set_private: Callable[[object, dict[str, Any] | None], None] = BaseModel.__dict__["__pydantic_private__"].__set__
"""Sets the dict of an instance's private attributes."""

allocate: Any = object.__new__
"""Return an instance of a class, all to be set: past pydantic's metaclass, which makes ``cls.__new__`` slow to find."""

get_fields: Callable[[object], dict[str, Any]] = BaseModel.__dict__["__dict__"].__get__
"""Return the fields that an instance has now, past a ``__dict__`` of its class's own."""

set_fields: Callable[[object, dict[str, Any]], None] = BaseModel.__dict__["__dict__"].__set__
"""Put others in the place of all fields of an instance, in one step: no thread sees half of them."""


def set_state(
    instance: BaseModel,
    fields: dict[str, Any],
    given: set[str],
    extra: dict[str, Any] | None = None,
    private: dict[str, Any] | None = None,
) -> None:
    """Give ``instance``, fresh from ``__new__``, its fields; ``given`` are those that count as set."""
    set_fields(instance, fields)
    set_fields_set(instance, given)
    set_extra(instance, extra)
    set_private(instance, private)


def construct(cls: type[T], **fields: Any) -> T:
    """Return an instance of ``cls``, a class without extras or private attributes, from all of its fields."""
    made = cls.__new__(cls)
    set_fields(made, fields)
    set_fields_set(made, set(fields))
    set_extra(made, None)
    set_private(made, None)
    return made
