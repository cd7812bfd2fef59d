"""Python values that JSON has no word for, each with the plain data that stands for it.

The table is closed: it names immutable or plain builtin types, whose making has no side effect, so that nodes of type
``value`` may be read from anywhere. A payload may hold further nodes (the items of a set, the pairs of a dict); the
callers dump and load it like any other data.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from uuid import UUID

from hocket.errors import InvalidInput

__all__ = ["decode", "encode", "is_exact"]


class _Codec(NamedTuple):
    type: type
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def _hashable(value: Any) -> Any:
    # A tuple is written as a list, like everywhere in JSON; a list that was a key or an item of a set was a tuple.
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value


def _stable(items: Any) -> list[Any]:
    # The order of a set of strings changes from process to process; equal sets shall give equal text.
    return sorted(items, key=repr)


_EXPONENT = 100_000  # of a Decimal, at most: as a whole number 1e9999999 takes a minute, and 1e99999999 forever


def _decimal(value: Decimal | str) -> Decimal:
    made = Decimal(value)
    if made.is_finite() and abs(made.adjusted()) > _EXPONENT:
        raise InvalidInput(f"it holds a Decimal with an exponent beyond {_EXPONENT:,}: write it as a string")
    return made


_CODECS: dict[str, _Codec] = {
    "bytes": _Codec(bytes, lambda v: b64encode(v).decode(), lambda v: b64decode(v, validate=True)),
    "uuid": _Codec(UUID, str, UUID),
    "datetime": _Codec(datetime, datetime.isoformat, datetime.fromisoformat),  # before date, its base class
    "date": _Codec(date, date.isoformat, date.fromisoformat),
    "time": _Codec(time, time.isoformat, time.fromisoformat),
    "timedelta": _Codec(timedelta, lambda v: [v.days, v.seconds, v.microseconds], lambda v: timedelta(*v)),
    "decimal": _Codec(Decimal, lambda v: str(_decimal(v)), _decimal),
    "path": _Codec(PurePath, str, Path),
    "set": _Codec(set, _stable, lambda v: {_hashable(item) for item in v}),
    "frozenset": _Codec(frozenset, _stable, lambda v: frozenset(_hashable(item) for item in v)),
    # Only for dicts with keys that are not strings: JSON would turn them into strings, and 1 and "1" into one key.
    "dict": _Codec(dict, lambda v: [[key, item] for key, item in v.items()], lambda v: {_hashable(k): i for k, i in v}),
    # Only for those that are not `is_exact`.
    "int": _Codec(int, hex, lambda v: int(v, 16)),
    "float": _Codec(float, str, float),
    "str": _Codec(
        str,
        lambda v: b64encode(v.encode("utf-8", "surrogatepass")).decode(),
        lambda v: b64decode(v, validate=True).decode("utf-8", "surrogatepass"),
    ),
}


_BITS = 14_000  # of the largest whole number that is written in digits: Python reads no more than 4,300 of these


def is_exact(value: str | float) -> bool:
    """Whether JSON text, and any store of text, has a word for this string or number.

    JSON knows no infinity and no NaN, and Python reads no number of thousands of digits. UTF-8 has no lone surrogates,
    and PostgreSQL's text no NUL.
    """
    if not isinstance(value, str):
        return isfinite(value) if isinstance(value, float) else value.bit_length() <= _BITS
    if "\0" in value:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def encode(value: Any) -> tuple[str, Any] | None:
    """The name and the payload that stand for a value, or None if its type is not in the table."""
    for name, codec in _CODECS.items():
        if isinstance(value, codec.type):
            return name, codec.encode(value)
    return None


def decode(name: str, payload: Any) -> Any:
    """The value that :func:`encode` gave this name and payload for.

    Raises whatever the table or a constructor raises if the name is unknown or the payload damaged.
    """
    return _CODECS[name].decode(payload)
