"""The signature of a class whose validator is built late: what `inspect.signature`, and so Shift-Tab in Jupyter, shows.

pydantic sets it when it builds the validator, which hocket puts off until the first instance. Until then a class would
show the signature of one of its bases. It is shown as a caller reads it: what is required first, then what the class names
in ``_first_fields``, then the fields of the class, then those of its bases; and types without what only the validator wants
to know. (With pydantic before 2.12, which does not tell when it has built a class, only until then.)
"""

import operator
import types
from collections.abc import Callable, Sequence
from inspect import Signature
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

__all__ = ["keep_readable", "order_fields", "put_off_signature"]


class _LateSignature:
    """A class attribute that builds the validator when it is looked at; pydantic then puts the signature in its place."""

    def __get__(self, instance: object, owner: type[BaseModel]) -> Signature:
        if instance is None and owner.model_rebuild(raise_errors=False):
            return _make_readable(owner.__signature__, owner)
        raise AttributeError("__signature__")  # inspect goes on with `__init__`


class _ReadableSignature:
    """A class attribute: pydantic's signature, made readable."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __get__(self, instance: object, owner: type[BaseModel]) -> Signature:
        return _make_readable(self._original.__get__(instance, owner), owner)


_LATE_SIGNATURE = _LateSignature()  # shared by all classes: it holds nothing


def put_off_signature(cls: type[BaseModel]) -> None:
    """Have a class whose validator is not built yet show its own signature."""
    if not cls.__pydantic_complete__:
        cls.__signature__ = _LATE_SIGNATURE  # type: ignore[assignment]  # pydantic replaces it


def keep_readable(cls: type[BaseModel]) -> None:
    """Have a class whose validator has just been built show its signature as a caller reads it."""
    original = vars(cls)["__signature__"]
    if not isinstance(original, _ReadableSignature):
        cls.__signature__ = _ReadableSignature(original)  # type: ignore[assignment]  # it gives one


def order_fields(cls: type[BaseModel]) -> list[str]:
    """Return the names of the fields: what is required, what most people give, those of the class, those of its bases."""
    bases = [vars(base).get("__pydantic_fields__", {}) for base in cls.__mro__]
    first: Sequence[str] = getattr(cls, "_first_fields", ())

    def rank(name: str) -> tuple[bool, int, int]:
        home = max(place for place, base in enumerate(bases) if name in base)
        return not cls.__pydantic_fields__[name].is_required(), first.index(name) if name in first else len(first), home

    return sorted(cls.__pydantic_fields__, key=rank)


def _make_readable(signature: Signature, owner: type[BaseModel]) -> Signature:
    fields = owner.__pydantic_fields__
    places = {fields[name].alias or name: place for place, name in enumerate(order_fields(owner))}
    kept = [one.replace(annotation=_strip_metadata(one.annotation)) for one in signature.parameters.values()]
    kept.sort(key=lambda one: (one.kind, places.get(one.name, len(places))))
    return signature.replace(parameters=kept)


def _strip_metadata(annotation: Any) -> Any:
    """Return a type without what `Annotated` adds to it, at any depth."""
    origin, given = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _strip_metadata(given[0])
    if origin is None or origin is Callable:
        return annotation
    bare = [_strip_metadata(one) for one in given]
    try:
        if origin in (Union, types.UnionType):
            joined = bare[0]
            for one in bare[1:]:
                joined = joined | one
            return joined
        return annotation if all(map(operator.is_, bare, given)) else origin[tuple(bare)]
    except TypeError:  # of what is no type yet
        return annotation
