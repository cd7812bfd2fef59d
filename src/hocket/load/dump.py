"""Objects to JSON, such that reading it back gives what was written, and only that.

What a reader takes for a node is decided here: a dict with the key ``"lc"`` is one, so a user's dict with that key is
wrapped (``{"__lc_escaped__": {...}}``) at every level where it occurs, and unwrapped on loading. Text that came from a
model or a web page can therefore never turn into a constructor on its way through a store.
"""

import json
from enum import Enum
from typing import Any

from hocket.errors import InvalidInput
from hocket.load.nodes import BaseSerialized
from hocket.load.serializable import SECRET_TYPES, SecretReference, Serializable, to_json_not_implemented
from hocket.load.values import encode, is_exact

__all__ = ["dump_storable", "dumpd", "dumps"]

ESCAPE_KEY = "__lc_escaped__"
"""The only key of a dict that wraps a user's dict."""

MAX_DEPTH = 128
"""How many containers or objects may be nested. Reading takes a few stack frames for each, of Python's 1,000."""

_PLAIN = frozenset({bool, type(None)})
_SIMPLE = frozenset({str, int, float})
_SECRETS = (SecretReference, *SECRET_TYPES)
_Kinds = tuple[type[Serializable], ...] | None


def dumpd(obj: object) -> Any:
    """Turn an object into data that ``json.dumps`` accepts and :func:`~hocket.load.load` reads back.

    - A serialisable :class:`~hocket.load.Serializable` becomes a ``constructor`` node.
    - JSON's own types stay; a tuple becomes a list and an enum member its value, which a typed field turns back.
    - bytes, UUID, dates and times, timedelta, Decimal, paths, sets, and dicts with keys other than strings become
      ``value`` nodes and come back as they were (a time zone as its offset). So do infinite floats and NaN, whole numbers
      of thousands of digits, and strings that not every store can hold: those with a lone surrogate or a NUL.
    - A pydantic secret becomes a reference to the variable ``SECRET``, or in a field to the field's own variable.
    - Anything else, other pydantic models too, becomes a ``not_implemented`` node with the name of its type.

    Raises:
        InvalidInput: the object is nested more than 128 deep, or contains itself; or a Decimal has an absurd exponent.
    """
    return _dump(obj, 0, None)


def dump_storable(obj: object, kinds: tuple[type[Serializable], ...]) -> Any:
    """Turn an object into data as :func:`dumpd` does, or refuse it if it could not be rebuilt from objects of ``kinds``.

    Raises:
        InvalidInput: there is an object of another kind in it, or a secret, or it is nested more than 128 deep.
    """
    return _dump(obj, 0, kinds)


def dumps(obj: object, *, pretty: bool = False, **kwargs: Any) -> str:
    """Turn an object into JSON text, as :func:`dumpd` does.

    Args:
        obj: what to write.
        pretty: indent by two spaces, or by the ``indent`` given.
        **kwargs: further arguments of ``json.dumps``.

    Raises:
        InvalidInput: ``default`` was given, or the object is nested too deep.

    Examples:
        >>> from hocket import HumanMessage, dumps, loads
        >>> loads(dumps(HumanMessage("Hi")))
        HumanMessage(content='Hi'...)
    """
    if "default" in kwargs:
        raise InvalidInput("dumps() takes no default=: it decides itself how each type is written. Leave it out.")
    if pretty:
        kwargs.setdefault("indent", 2)
    return json.dumps(dumpd(obj), **kwargs)


def _dump(obj: Any, depth: int, kinds: _Kinds) -> object:
    cls = obj.__class__
    if cls in _PLAIN or (cls in _SIMPLE and is_exact(obj)):
        return obj
    if depth >= MAX_DEPTH:
        raise InvalidInput(f"the object is nested more than {MAX_DEPTH} deep, or contains itself: flatten it first")
    # Dicts come first, for most nodes are dicts. A second name leaves the type of the first as it is; a cast is a call.
    node: object = obj
    if isinstance(node, dict) and (dumped := _dump_dict(node, depth, kinds)) is not None:  # pyright: ignore[reportUnknownArgumentType]
        return dumped
    if isinstance(obj, list | tuple):
        return [_dump(item, depth + 1, kinds) for item in obj]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(obj, Serializable):
        return _dump_object(obj, depth, kinds)
    if isinstance(node, _SECRETS):
        return _dump_secret(obj, kinds)
    if isinstance(obj, Enum):
        return _dump(obj.value, depth + 1, kinds)
    if isinstance(obj, str | int | float) and is_exact(obj):
        return obj
    if (encoded := encode(obj)) is not None:
        name, payload = encoded
        return {"lc": 1, "type": "value", "id": [name], "value": _dump(payload, depth + 1, kinds)}
    if kinds is not None:
        raise _make_refusal(obj)
    return to_json_not_implemented(obj)


def _dump_dict(obj: dict[object, Any], depth: int, kinds: _Kinds) -> dict[str, object] | None:
    """Return ``obj`` as a JSON object, or None if it is none: for its keys, or as a reference to a secret."""
    if obj.__class__ is SecretReference:
        return None
    dumped: dict[str, object] = {}
    for key, value in obj.items():
        if not isinstance(key, str) or not is_exact(key):
            return None
        # Most values are plain texts, and a call is dear.
        is_plain = value.__class__ is str and value.isascii() and "\0" not in value
        dumped[key if key.__class__ is str else str(key)] = value if is_plain else _dump(value, depth + 1, kinds)
    return {ESCAPE_KEY: dumped} if "lc" in dumped or dumped.keys() == {ESCAPE_KEY} else dumped


def _dump_object(obj: Serializable, depth: int, kinds: _Kinds) -> BaseSerialized:
    if kinds is not None and not (isinstance(obj, kinds) and obj.is_lc_serializable()):
        raise _make_refusal(obj)
    # The kwargs are found by their place in the node, not by their look: one called "lc" needs no wrapping.
    node = obj.to_json()
    if node["type"] == "constructor":
        node["kwargs"] = {key: _dump(value, depth + 1, kinds) for key, value in node["kwargs"].items()}
    return node


def _dump_secret(obj: object, kinds: _Kinds) -> dict[str, object]:
    if kinds is not None:
        raise InvalidInput("it holds a secret, which is never written out: leave it out")
    return dict(obj if isinstance(obj, SecretReference) else SecretReference("SECRET"))


def _make_refusal(obj: object) -> InvalidInput:
    cls = type(obj)
    name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    return InvalidInput(
        f"it holds an object of type {name}, which could not be rebuilt: "
        "put data in its place, what its model_dump() returns for one"
    )
