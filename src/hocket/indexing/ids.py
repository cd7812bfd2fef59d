"""Ids of documents that have none, and a small set of ids.

An id says where a text comes from and what it says, not where it stands: a paragraph that moves within its source keeps its
id. Of equal paragraphs in one source the first one, the second one and so on have ids of their own.
"""

import functools
import hashlib
import json
from array import array

__all__ = ["IdSet", "make_id"]

_FIRST_SIZE = 1_024
_MASK = 0xFFFF_FFFF_FFFF_FFFF


def make_id(source: object, text: str, occurrence: int = 0) -> str:
    """Return the id of a text, a UUID: some stores take nothing else.

    Args:
        source: where it comes from, something that JSON can say.
        text: what it says.
        occurrence: how many equal texts of this source come before it.
    """
    start = _start_once if isinstance(source, str) else _start
    digest = start(source, occurrence).copy()
    digest.update(text.encode("utf-8", "surrogatepass"))
    name = digest.hexdigest()
    return f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}"


def _start(source: object, occurrence: int) -> hashlib.blake2b:
    """Return a hash of what stands before the text."""
    return hashlib.blake2b(f"{json.dumps(source)} {occurrence}\n".encode(), digest_size=16)


_start_once = functools.lru_cache(maxsize=64)(_start)  # documents of one source come one after another


class IdSet:
    """A set of ids that takes at most 24 bytes for each, where Python's own takes 150: a source may have millions.

    It holds hashes of 64 bits. Among ten million ids, the odds that two have the same one are three to a million.
    """

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * _FIRST_SIZE))
        self._count = 0

    def add(self, id: str) -> bool:
        """Add an id; return whether it is new."""
        number = hash(id) & _MASK or 1  # 0 is an empty place
        place = self._find(number)
        if self._slots[place]:
            return False
        self._slots[place] = number
        self._count += 1
        if 3 * self._count > 2 * len(self._slots):
            self._grow()
        return True

    def __contains__(self, id: str) -> bool:
        return bool(self._slots[self._find(hash(id) & _MASK or 1)])

    def __len__(self) -> int:
        return self._count

    def _find(self, number: int) -> int:
        """Return the place of a number, or the empty one where it belongs."""
        slots, last = self._slots, len(self._slots) - 1
        place = number & last
        while (found := slots[place]) and found != number:
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        former, self._slots = self._slots, array("Q", bytes(16 * len(self._slots)))
        for number in former:
            if number:
                self._slots[self._find(number)] = number
