"""Objects to JSON, such that reading it back gives what was written, and only that.

What a reader takes for a node is decided here: a dict with the key ``"lc"`` is one, so a user's dict with that key is
wrapped (``{"__lc_escaped__": {...}}``) at every level where it occurs, and unwrapped on loading. Text that came from a
model or a web page can therefore never turn into a constructor on its way through a store.
"""

import json
from enum import Enum
from typing import Any

from hocket.errors import InvalidInput
from hocket.load.serializable import SECRET_TYPES, SecretReference, Serializable, to_json_not_implemented
from hocket.load.values import encode

__all__ = ["dumpd", "dumps"]

ESCAPE_KEY = "__lc_escaped__"
"""The only key of a dict that wraps a user's dict."""

MAX_DEPTH = 128
"""How many containers or objects may be nested. Reading takes a few stack frames for each, of Python's 1,000."""

_PLAIN = frozenset({str, int, float, bool, type(None)})


def dumpd(obj: Any) -> Any:
    """Turn an object into data that ``json.dumps`` accepts and :func:`~hocket.load.load` reads back.

    - A serialisable :class:`~hocket.load.Serializable` becomes a ``constructor`` node.
    - JSON's own types stay; a tuple becomes a list and an enum member its value, which a typed field turns back.
    - bytes, UUID, dates and times, timedelta, Decimal, paths, sets, and dicts with keys other than strings become
      ``value`` nodes and come back as they were (a time zone as its offset).
    - A pydantic secret becomes a reference to the variable ``SECRET``, or in a field to the field's own variable.
    - Anything else, other pydantic models too, becomes a ``not_implemented`` node with the name of its type.

    Raises:
        InvalidInput: the object is nested more than 128 deep, or contains itself.
    """
    return _dump(obj, 0)


def dumps(obj: Any, *, pretty: bool = False, **kwargs: Any) -> str:
    """Turn an object into JSON text, as :func:`dumpd` does.

    Args:
        obj: what to write.
        pretty: indent by two spaces, or by the ``indent`` given.
        **kwargs: further arguments of ``json.dumps``.

    Raises:
        InvalidInput: ``default`` was given, or the object is nested too deep.
    """
    if "default" in kwargs:
        raise InvalidInput("dumps() takes no default=: it decides itself how each type is written. Leave it out.")
    if pretty:
        kwargs.setdefault("indent", 2)
    return json.dumps(dumpd(obj), **kwargs)


def _dump(obj: Any, depth: int) -> Any:
    if type(obj) in _PLAIN:
        return obj
    if depth >= MAX_DEPTH:
        raise InvalidInput(f"the object is nested more than {MAX_DEPTH} deep, or contains itself: flatten it first")
    if isinstance(obj, Serializable):
        return _dump_object(obj, depth)
    if isinstance(obj, SecretReference):
        return dict(obj)
    if isinstance(obj, dict) and all(isinstance(key, str) for key in obj):
        dumped = {str(key): _dump(value, depth + 1) for key, value in obj.items()}
        return {ESCAPE_KEY: dumped} if "lc" in dumped or dumped.keys() == {ESCAPE_KEY} else dumped
    if isinstance(obj, list | tuple):
        return [_dump(item, depth + 1) for item in obj]
    if isinstance(obj, Enum):
        return _dump(obj.value, depth + 1)
    if isinstance(obj, str | int | float):
        return obj
    if isinstance(obj, SECRET_TYPES):
        return dict(SecretReference("SECRET"))
    if (encoded := encode(obj)) is not None:
        name, payload = encoded
        return {"lc": 1, "type": "value", "id": [name], "value": _dump(payload, depth + 1)}
    return to_json_not_implemented(obj)


def _dump_object(obj: Serializable, depth: int) -> dict[str, Any]:
    # The kwargs are found by their place in the node, not by their look: one called "lc" needs no wrapping.
    node = obj.to_json()
    if "kwargs" in node:
        node["kwargs"] = {key: _dump(value, depth + 1) for key, value in node["kwargs"].items()}
    return node
