"""Filters over many documents that are numbered from 0 and never change.

For each key that a filter asks for there is a column: what each document has under it, as the number of one of the values
that there are. A condition on one key is then asked once for each value, and not for each document; those on several keys
are put together as bits are. A column is read when it is first needed, and follows the documents as they become more.
"""

import threading
from array import array
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from hocket.vectorstores.filters import (
    All,
    Compare,
    Condition,
    Exists,
    Kind,
    Negation,
    Some,
    compile_condition,
    find_kind,
)

__all__ = ["MISSING", "Columns", "ReadValues", "join_masks"]

MISSING: Final = object()
"""What a document has under a key that it does not have."""

ReadValues: TypeAlias = Callable[[str, int], Iterable[object]]
"""Reads what documents have under a key, from the one with this number on."""

_MOST = 32
"""Columns that are kept; keys may come from anybody."""

_OPPOSITE = bytes([1, 0])


class Columns:
    """The columns of some documents. Any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._columns: dict[str, _Column] = {}

    def find(self, condition: Condition, count: int, read: ReadValues) -> bytes:
        """Return a byte for each of the first ``count`` documents: 1 for one that meets the condition, else 0."""
        with self._lock:
            keys = _list_keys(condition)
            for key in keys:
                column = self._columns.pop(key, None) or _Column(key)
                column.follow(count, read)
                self._columns[key] = column  # the last one that was used
            found = self._find(condition, keys, count)
            for key in list(self._columns)[:-_MOST]:
                del self._columns[key]
            return found

    def _find(self, condition: Condition, keys: set[str], count: int) -> bytes:
        if not keys:
            return bytes([compile_condition(condition)({})]) * count
        if len(keys) == 1:
            return self._columns[next(iter(keys))].find(condition, count)
        match condition:
            case All(parts) | Some(parts):
                of_keys: dict[frozenset[str], list[Condition]] = {}
                for part in parts:
                    of_keys.setdefault(frozenset(_list_keys(part)), []).append(part)
                apart = [
                    [type(condition)(tuple(group))] if len(names) == 1 else group for names, group in of_keys.items()
                ]
                masks = [self._find(one, _list_keys(one), count) for group in apart for one in group]
                return join_masks(masks, is_all=isinstance(condition, All))
            case Negation(part):
                return self._find(part, keys, count).translate(_OPPOSITE.ljust(256))
            case Compare() | Exists():
                raise AssertionError("it has one key")


class _Column:
    """What documents have under a key.

    Args:
        key: of their metadata.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._values: list[dict[str, object]] = [{}, {key: []}]  # one that is missing, and any list or object
        self._numbers: dict[tuple[Kind, object], int] = {}
        self._of_documents: bytearray | array[int] = bytearray()

    def follow(self, count: int, read: ReadValues) -> None:
        """Bring it up to date."""
        if len(self._of_documents) < count:
            found = [self._number(value) for value in read(self._key, len(self._of_documents))]
            if isinstance(self._of_documents, bytearray) and len(self._values) > 256:
                self._of_documents = array("L", list(self._of_documents))
            self._of_documents.extend(found)

    def _number(self, value: object) -> int:
        if value is MISSING:
            return 0
        kind = find_kind(value)
        if kind == "other":
            return 1
        number = self._numbers.setdefault((kind, value), len(self._values))
        if number == len(self._values):
            self._values.append({self._key: value})
        return number

    def find(self, condition: Condition, count: int) -> bytes:
        """Return a byte for each of the first documents."""
        match condition:
            case Compare(_, "$eq", value):
                met = bytearray(len(self._values))
                if number := self._numbers.get((find_kind(value), value)):
                    met[number] = 1
            case _:
                met = bytearray(map(compile_condition(condition), self._values))
        if isinstance(self._of_documents, bytearray):
            return bytes(self._of_documents[:count].translate(met.ljust(256)))
        return bytes(map(met.__getitem__, self._of_documents[:count]))


def join_masks(masks: Iterable[bytes], *, is_all: bool = True) -> bytes:
    """Return a mask that has 1 where all of some masks of one length have it, or any of them."""
    first, *others = masks
    joined = int.from_bytes(first, "little")
    for one in others:
        bits = int.from_bytes(one, "little")
        joined = joined & bits if is_all else joined | bits
    return joined.to_bytes(len(first), "little")


def _list_keys(condition: Condition) -> set[str]:
    match condition:
        case Compare(key) | Exists(key):
            return {key}
        case All(parts) | Some(parts):
            return set[str]().union(*map(_list_keys, parts))
        case Negation(part):
            return _list_keys(part)
