"""A cache in the memory of one process."""

import threading
from collections import OrderedDict

from hocket._runtime import clock
from hocket.caches.base import RETURN_VAL_TYPE, BaseCache
from hocket.errors import InvalidInput
from hocket.outputs import Generation
from hocket.outputs.copies import copy_of

__all__ = ["InMemoryCache"]

_Entry = tuple[list[Generation], float]
"""Candidates, and when they were stored."""


class InMemoryCache(BaseCache):
    """Keeps answers in this process; those looked up longest ago go first.

    Safe to use from many threads and event loops. What it stores and what it returns are copies: editing an answer
    changes no later one.

    Args:
        maxsize: how many keys are kept; None: all.
        ttl: seconds for which an answer counts; None: for ever.

    Raises:
        InvalidInput: ``maxsize`` or ``ttl`` is not above 0.

    Examples:
        >>> from hocket import FakeListChatModel, InMemoryCache
        >>> model = FakeListChatModel(responses=["One.", "Two."], cache=InMemoryCache())
        >>> [model.invoke("Count").text for _ in range(2)]
        ['One.', 'One.']
    """

    def __init__(self, *, maxsize: int | None = None, ttl: float | None = None) -> None:
        if maxsize is not None and maxsize <= 0:
            raise InvalidInput(f"maxsize is {maxsize}; it must be above 0, or None for no limit")
        if ttl is not None and ttl <= 0:
            raise InvalidInput(f"ttl is {ttl} seconds; it must be above 0, or None for no limit")
        self.maxsize = maxsize
        self.ttl = ttl
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()

    def __len__(self) -> int:
        with self._lock:  # between an entry and the one that makes room for it there is one too many
            return len(self._entries)

    def lookup(self, prompt: str, llm_string: str) -> list[Generation] | None:
        """Return copies of the candidates under this key, or None."""
        key = (prompt, llm_string)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if self._is_stale(entry):
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
        return [copy_of(candidate) for candidate in entry[0]]

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store copies of the candidates under this key; the key looked up longest ago makes room."""
        entry = ([copy_of(candidate) for candidate in return_val], clock.current().now())
        with self._lock:
            self._drop_stale()
            self._entries[prompt, llm_string] = entry
            self._entries.move_to_end((prompt, llm_string))
            if self.maxsize is not None and len(self._entries) > self.maxsize:
                self._entries.popitem(last=False)

    def clear(self, **kwargs: object) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

    def _is_stale(self, entry: _Entry) -> bool:
        return self.ttl is not None and clock.current().now() - entry[1] >= self.ttl

    def _drop_stale(self) -> None:
        """Forget the entries that nobody asked for until they were too old; they would stay for ever."""
        while self._entries and self._is_stale(next(iter(self._entries.values()))):
            self._entries.popitem(last=False)

    async def alookup(self, prompt: str, llm_string: str) -> list[Generation] | None:
        """Return copies of the candidates under this key, or None. Never waits."""
        return self.lookup(prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store copies of the candidates under this key. Never waits."""
        self.update(prompt, llm_string, return_val)

    async def aclear(self, **kwargs: object) -> None:
        """Forget everything. Never waits."""
        self.clear(**kwargs)
