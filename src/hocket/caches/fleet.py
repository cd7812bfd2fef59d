"""Caches that processes share: what they have in common, whatever store they are on.

A store that is down, or slower than 250 ms three times in a row, counts as empty: no call fails for it, and it is left
alone for a while (`hocket._databases.circuit`). One time-out says little, least of all where eight processes begin at once:
were each that waits to give up at the first, all would ask the model. Reads and writes are judged apart, since a store that
is full, locked or a replica still reads, and each read would have the writes tried again.

Of equal calls of several processes one asks, and the others wait for its answer. Who may ask holds a *claim*, which is a
lease: if its holder dies, it runs out, and somebody else takes it. A store that was given up may still read what it was
sent, and keep a claim that nobody knows of; such claims are released as soon as the store answers again.
"""

import collections
import contextlib
import hashlib
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from hocket._databases.circuit import FAILURES, Circuit
from hocket._runtime.clock import new_run_id
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket.caches.base import RETURN_VAL_TYPE, BaseCache, Claim
from hocket.caches.values import dump_candidates, load_candidates
from hocket.errors import InvalidInput, StoreError, StoreUnavailable
from hocket.outputs import Generation

__all__ = ["PATIENCE", "AnswerStore", "SharedCache", "check_seconds"]

T = TypeVar("T")
P = ParamSpec("P")

PATIENCE = 0.25
"""Seconds that a call waits for a store, each time."""

_MOST_DOUBTFUL = 1_000

_log = logging.getLogger("hocket.caches")


class AnswerStore(ABC):
    """A store of answers and claims. Times are its own, in seconds from now. Each operation raises `StoreError` if it fails.

    An operation is written once, as a coroutine: in the blocking mode it never suspends. One that was late is done again,
    so that twice is the same as once.
    """

    @property
    @abstractmethod
    def is_portable(self) -> bool:
        """Whether it was made from an address, which means the same to another process."""

    @abstractmethod
    async def read(self, mode: Mode, key: bytes) -> bytes | None:
        """Return the value under ``key``, unless it is too old."""

    @abstractmethod
    async def write(self, mode: Mode, key: bytes, value: bytes, ttl: float | None) -> None:
        """Store a value, and end the claim on ``key``."""

    @abstractmethod
    async def clear(self, mode: Mode) -> None:
        """Delete all values and claims."""

    @abstractmethod
    async def claim(self, mode: Mode, key: bytes, owner: str, lease: float) -> bool:
        """Give ``owner`` the claim on ``key``, unless it is another's; whether it is given."""

    @abstractmethod
    async def renew(self, mode: Mode, key: bytes, owner: str, lease: float) -> bool:
        """Have a claim last ``lease`` seconds from now; whether it still was the owner's."""

    @abstractmethod
    async def release(self, mode: Mode, key: bytes, owner: str) -> None:
        """End a claim, if it is the owner's."""

    @abstractmethod
    def close(self) -> None:
        """Close idle connections; the next operation opens others."""


class SharedCache(BaseCache):
    """A cache over a store.

    Args:
        store: the store.
        owner: the cache, as errors and log show it, without secrets.
        ttl: seconds for which an answer counts; None: for ever.
        lease: see `BaseCache`.
        patience: seconds that a task waits for the store; None: the store sees to that.
    """

    is_shared = True

    def __init__(
        self, store: AnswerStore, owner: str, ttl: float | None, lease: float | None, patience: float | None = None
    ) -> None:
        self.ttl: float | None = check_seconds("ttl", ttl)
        self.lease: float | None = check_seconds("lease", lease)
        self._store = store
        self._owner = owner
        self._reading = Circuit(owner, patience, _log, "it counts as empty, and models are asked")
        self._writing = Circuit(owner, patience, _log, "answers are not stored, and equal calls ask each for itself")
        self._doubtful = collections.deque[_StoredClaim](maxlen=_MOST_DOUBTFUL)

    def __repr__(self) -> str:
        return self._owner

    @property
    def is_portable(self) -> bool:
        """Whether a model that is pickled takes the cache along: it was made from an address."""
        return self._store.is_portable

    def lookup(self, prompt: str, llm_string: str) -> list[Generation] | None:
        """Return the candidates under this key, or None.

        Raises:
            StoreError: the store failed, or is left alone since it did. A model asks on.
        """
        return drive(self._look_up(BLOCKING, prompt, llm_string))

    async def alookup(self, prompt: str, llm_string: str) -> list[Generation] | None:
        """Return the candidates under this key, or None. See `lookup`."""
        return await self._look_up(ASYNC, prompt, llm_string)

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store candidates under this key, which ends the claim on it.

        Raises:
            InvalidInput: they hold something that could not be read back.
            StoreError: as of `lookup`.
        """
        drive(self._update(BLOCKING, prompt, llm_string, return_val))

    async def aupdate(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store candidates under this key. See `update`."""
        await self._update(ASYNC, prompt, llm_string, return_val)

    def clear(self, **kwargs: object) -> None:
        """Forget everything, for all processes.

        Raises:
            StoreError: the store failed.
        """
        drive(self._store.clear(BLOCKING))

    async def aclear(self, **kwargs: object) -> None:
        """Forget everything, for all processes. See `clear`."""
        await self._store.clear(ASYNC)

    def claim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
        """Claim the answer under this key, or return None: another caller, in this process or elsewhere, is asking for it.

        Raises:
            StoreError: as of `lookup`.
        """
        return drive(self._claim(BLOCKING, prompt, llm_string, lease))

    async def aclaim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
        """Claim the answer under this key. See `claim`."""
        return await self._claim(ASYNC, prompt, llm_string, lease)

    def close(self) -> None:
        """Close idle connections; the next use opens others. What a user has opened stays open."""
        self._store.close()

    # -- inside

    async def _look_up(self, mode: Mode, prompt: str, llm_string: str) -> list[Generation] | None:
        value = await _run(self._reading, self._store.read, mode, _make_key(prompt, llm_string))
        return None if value is None else load_candidates(value)

    async def _update(self, mode: Mode, prompt: str, llm_string: str, candidates: RETURN_VAL_TYPE) -> None:
        value = dump_candidates(candidates)
        await _run(self._writing, self._store.write, mode, _make_key(prompt, llm_string), value, self.ttl)
        await self._release_a_doubtful(mode)

    async def _claim(self, mode: Mode, prompt: str, llm_string: str, lease: float) -> Claim | None:
        claim = _StoredClaim(self._writing, self._store, _make_key(prompt, llm_string), new_run_id().hex, lease)
        try:
            is_granted = await claim.take(mode)
        except StoreUnavailable:
            self._doubtful.append(claim)
            raise
        await self._release_a_doubtful(mode)
        return claim if is_granted else None

    async def _release_a_doubtful(self, mode: Mode) -> None:
        """Release a claim that the store may have granted to a caller that was gone; one at a time, for one call's sake."""
        with contextlib.suppress(IndexError, StoreError):
            await self._doubtful.popleft().give_up(mode)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_doubtful": collections.deque(maxlen=_MOST_DOUBTFUL)}


class _StoredClaim(Claim):
    """A claim in a store."""

    def __init__(self, circuit: Circuit, store: AnswerStore, key: bytes, owner: str, lease: float) -> None:
        self._circuit = circuit
        self._store = store
        self._key = key
        self._owner = owner
        self._lease = lease

    async def take(self, mode: Mode) -> bool:
        """Have the store grant it; whether it does."""
        return await _run(self._circuit, self._store.claim, mode, self._key, self._owner, self._lease)

    async def give_up(self, mode: Mode) -> None:
        """Have it end, if it stands."""
        await _run(self._circuit, self._store.release, mode, self._key, self._owner)

    def renew(self) -> bool:
        return drive(self._renew(BLOCKING))

    async def arenew(self) -> bool:
        return await self._renew(ASYNC)

    def release(self) -> None:
        drive(self.give_up(BLOCKING))

    async def arelease(self) -> None:
        await self.give_up(ASYNC)

    async def _renew(self, mode: Mode) -> bool:
        return await _run(self._circuit, self._store.renew, mode, self._key, self._owner, self._lease)


async def _run(
    circuit: Circuit,
    operation: Callable[Concatenate[Mode, P], Awaitable[T]],
    mode: Mode,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Have a store do something; once more while it is late, until it counts as down."""
    for _ in range(FAILURES - 1):
        try:
            return await circuit.run(mode, partial(operation, mode, *args, **kwargs))
        except StoreUnavailable:
            if circuit.is_open:
                raise
    return await circuit.run(mode, partial(operation, mode, *args, **kwargs))


def _make_key(prompt: str, llm_string: str) -> bytes:
    """Return 16 bytes for both halves of a key, whatever they are. The length tells ``("ab", "c")`` from ``("a", "bc")``."""
    text = f"{len(prompt)}:{prompt}{llm_string}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def check_seconds(name: str, seconds: float | None) -> float | None:
    """Return ``seconds``.

    Args:
        name: of the argument, for the text of an error.
        seconds: a time; None: there is no limit.

    Raises:
        InvalidInput: it is not above 0, or no number.
    """
    if seconds is not None and not 0 < seconds < math.inf:
        raise InvalidInput(f"{name} is {seconds} seconds; it must be above 0, or None")
    return seconds
