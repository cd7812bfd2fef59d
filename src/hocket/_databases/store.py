"""What processes share of a feature's state, over one seam: logs, values and leases, in memory, SQLite, Redis, PostgreSQL.

A feature says what it wants as operations, and a store does any number of them in one trip, all or none, in their order.
So a process can gather what many of its tasks want, and a new backend is one file that knows no feature. Times are the
store's own. What is conditional names a lease: it is done only while its owner has that, so that a process which was put
aside for longer writes nothing over the work of its successor.
"""

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from hocket._runtime import clock
from hocket._runtime.mode import Mode

__all__ = [
    "AppendRows",
    "ClaimLease",
    "GetOwner",
    "GetValue",
    "Lease",
    "MemoryStateStore",
    "Operation",
    "PutValue",
    "ReadRows",
    "ReleaseLease",
    "RenewLease",
    "StateStore",
]


class Lease(NamedTuple):
    """A lease, and whose it should be."""

    key: str
    owner: str


@dataclass(slots=True)
class AppendRows:
    """Add rows to a log, behind all that anybody has seen. A log keeps its rows until all of it goes.

    Attributes:
        log: its name. rows: none: the log is only kept for longer.
        ttl: seconds for which the log is kept from now on; None: as before, where it is known how many rows there are.
        at: how many rows there are before these: those that are there already are not added again, so that a caller who
            lost the answer can ask again; where fewer are there, the log was lost, and nothing is done. None: behind the
            last one.
        lease: without which nothing is done; None: none is needed.
        is_done: whether it was done.
    """

    log: str
    rows: Sequence[bytes]
    ttl: float | None
    at: int | None = None
    lease: Lease | None = None
    is_done: bool = False


@dataclass(slots=True)
class ReadRows:
    """Read the ``most`` rows of a log that follow on the first ``after``: ``rows``."""

    log: str
    after: int = 0
    most: int = 1_000
    rows: Sequence[bytes] = ()


@dataclass(slots=True)
class GetValue:
    """Read a value: ``value``; None: there is none."""

    key: str
    value: bytes | None = None


@dataclass(slots=True)
class PutValue:
    """Write a value, for ``ttl`` seconds. ``is_done``: whether the lease, if one is named, let it be."""

    key: str
    value: bytes
    ttl: float
    lease: Lease | None = None
    is_done: bool = False


@dataclass(slots=True)
class ClaimLease:
    """Take a lease for some seconds, where nobody else has it. ``is_done``: whether it is the owner's now."""

    lease: Lease
    seconds: float
    is_done: bool = False


@dataclass(slots=True)
class RenewLease:
    """Keep a lease for some seconds from now on. ``is_done``: whether the owner had it still."""

    lease: Lease
    seconds: float
    is_done: bool = False


@dataclass(slots=True)
class ReleaseLease:
    """Give a lease back, if the owner has it."""

    lease: Lease


@dataclass(slots=True)
class GetOwner:
    """Read who has a lease: ``owner``; None: nobody."""

    key: str
    owner: str | None = None


Operation: TypeAlias = AppendRows | ReadRows | GetValue | PutValue | ClaimLease | RenewLease | ReleaseLease | GetOwner


class StateStore(ABC):
    """Where logs, values and leases are kept."""

    @abstractmethod
    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        """Do operations in their order, all or none, in one trip; each has its result then.

        Raises:
            StoreUnavailable: the store cannot be reached; whether it was done is not known.
            StoreError: it refuses.
        """


PURGE_EVERY = 60.0
"""Seconds between two looks of a process for what has outlived its time, where the store does not look itself."""


class MemoryStateStore(StateStore):
    """Keeps everything in this process."""

    def __init__(self) -> None:
        self._logs: dict[str, tuple[list[bytes], float]] = {}  # with the time at which each goes
        self._values: dict[str, tuple[bytes, float]] = {}
        self._leases: dict[str, tuple[str, float]] = {}
        self._changing = threading.Lock()
        self._purged_at = -math.inf

    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        """Do operations. Nothing is waited for."""
        with self._changing:
            now = clock.current().now()  # who sets the machine's clock ends no lease
            self._purge(now)
            for operation in operations:
                self._do(operation, now)

    def _do(self, operation: Operation, now: float) -> None:
        match operation:
            case AppendRows(log, rows, ttl, at, lease):
                there, ends_at = self._logs.get(log, ([], now))
                operation.is_done = self._has(lease, now) and len(there) >= (at or 0)
                if operation.is_done:
                    there += rows if at is None else rows[len(there) - at :]
                    self._logs[log] = there, ends_at if ttl is None else now + ttl
            case ReadRows(log, after, most):
                operation.rows = self._logs[log][0][after : after + most] if log in self._logs else ()
            case GetValue(key):
                value, ends_at = self._values.get(key, (None, 0.0))
                operation.value = value if ends_at > now else None
            case PutValue(key, value, ttl, lease):
                operation.is_done = self._has(lease, now)
                if operation.is_done:
                    self._values[key] = value, now + ttl
            case ClaimLease(lease, seconds) | RenewLease(lease, seconds):
                free = (None,) if isinstance(operation, ClaimLease) else ()
                operation.is_done = self._find_owner(lease.key, now) in (lease.owner, *free)
                if operation.is_done:
                    self._leases[lease.key] = lease.owner, now + seconds
            case ReleaseLease(lease):
                if self._has(lease, now):
                    del self._leases[lease.key]
            case GetOwner(key):
                operation.owner = self._find_owner(key, now)

    def _has(self, lease: Lease | None, now: float) -> bool:
        return lease is None or self._find_owner(lease.key, now) == lease.owner

    def _find_owner(self, key: str, now: float) -> str | None:
        owner, ends_at = self._leases.get(key, (None, 0.0))
        return owner if ends_at > now else None

    def _purge(self, now: float) -> None:
        if now < self._purged_at + PURGE_EVERY:
            return
        self._purged_at = now
        for kept in (self._logs, self._values, self._leases):
            for name in [name for name, (_, ends_at) in kept.items() if ends_at <= now]:
                del kept[name]
