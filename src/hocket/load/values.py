"""Python values that JSON has no word for, each with the plain data that stands for it.

The table is closed: it names immutable or plain builtin types, whose making has no side effect, so that nodes of type
``value`` may be read from anywhere. A payload may hold further nodes (the items of a set, the pairs of a dict); the
callers dump and load it like any other data.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path, PurePath
from typing import Any, NamedTuple, cast
from uuid import UUID

from hocket.errors import InvalidInput

__all__ = ["decode", "encode", "is_exact"]


class _Codec(NamedTuple):
    """How one type is written and read. The payload may be damaged: ``decode`` then raises whatever it raises."""

    kind: type[object]
    encode: Callable[[Any], object]
    decode: Callable[[Any], object]


def _make_hashable(value: object) -> Hashable:
    # A tuple is written as a list, like everywhere in JSON; a list that was a key or an item of a set was a tuple.
    if isinstance(value, list):
        return tuple(_make_hashable(item) for item in cast("list[object]", value))
    return value


def _sort(items: Iterable[object]) -> list[object]:
    # The order of a set of strings changes from process to process; equal sets must give equal text.
    return sorted(items, key=repr)


_EXPONENT = 100_000  # of a Decimal, at most: as a whole number 1e9999999 takes a minute, and 1e99999999 forever


def _read_decimal(value: Decimal | str) -> Decimal:
    number = Decimal(value)
    if number.is_finite() and abs(number.adjusted()) > _EXPONENT:
        raise InvalidInput(f"it holds a Decimal with an exponent beyond {_EXPONENT:,}: write it as a string")
    return number


def _encode_bytes(value: bytes) -> str:
    return b64encode(value).decode()


def _decode_bytes(payload: str) -> bytes:
    return b64decode(payload, validate=True)


def _encode_timedelta(value: timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _decode_timedelta(payload: Iterable[int]) -> timedelta:
    return timedelta(*payload)


def _encode_decimal(value: Decimal) -> str:
    return str(_read_decimal(value))


def _decode_set(payload: Iterable[object]) -> set[Hashable]:
    return {_make_hashable(item) for item in payload}


def _decode_frozenset(payload: Iterable[object]) -> frozenset[Hashable]:
    return frozenset(_decode_set(payload))


def _encode_dict(value: Mapping[object, object]) -> list[list[object]]:
    return [[key, item] for key, item in value.items()]


def _decode_dict(payload: Iterable[tuple[object, object]]) -> dict[Hashable, object]:
    return {_make_hashable(key): item for key, item in payload}


def _decode_int(payload: str) -> int:
    return int(payload, 16)


def _encode_str(value: str) -> str:
    return _encode_bytes(value.encode("utf-8", "surrogatepass"))


def _decode_str(payload: str) -> str:
    return _decode_bytes(payload).decode("utf-8", "surrogatepass")


_CODECS: Mapping[str, _Codec] = {
    "bytes": _Codec(bytes, _encode_bytes, _decode_bytes),
    "uuid": _Codec(UUID, str, UUID),
    "datetime": _Codec(datetime, datetime.isoformat, datetime.fromisoformat),  # before date, its base class
    "date": _Codec(date, date.isoformat, date.fromisoformat),
    "time": _Codec(time, time.isoformat, time.fromisoformat),
    "timedelta": _Codec(timedelta, _encode_timedelta, _decode_timedelta),
    "decimal": _Codec(Decimal, _encode_decimal, _read_decimal),
    "path": _Codec(PurePath, str, Path),
    "set": _Codec(set, _sort, _decode_set),
    "frozenset": _Codec(frozenset, _sort, _decode_frozenset),
    # Only for dicts with keys that are not strings: JSON would turn them into strings, and 1 and "1" into one key.
    "dict": _Codec(dict, _encode_dict, _decode_dict),
    # Only for those that are not `is_exact`.
    "int": _Codec(int, hex, _decode_int),
    "float": _Codec(float, str, float),
    "str": _Codec(str, _encode_str, _decode_str),
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


def encode(value: object) -> tuple[str, object] | None:
    """Return the name and the payload that stand for a value, or None if its type is not in the table."""
    for name, codec in _CODECS.items():
        if isinstance(value, codec.kind):
            return name, codec.encode(value)
    return None


def decode(name: str, payload: object) -> object:
    """Return the value that :func:`encode` gave this name and payload for.

    Raises:
        Exception: of any kind; the name is unknown, or the payload damaged.
    """
    return _CODECS[name].decode(payload)
