"""A store in Redis: a trip is one run of a script."""

import hashlib
from collections.abc import Awaitable, Sequence
from typing import Any

from hocket._databases.redis import NoScriptError, RedisClient, redis_server
from hocket._databases.server import maybe_await
from hocket._databases.store import (
    AppendRows,
    ClaimLease,
    GetOwner,
    GetValue,
    Lease,
    Operation,
    PutValue,
    ReadRows,
    ReleaseLease,
    RenewLease,
    StateStore,
)
from hocket._runtime.data_files import read_data_file
from hocket._runtime.mode import Mode
from hocket._secrets import redact_url
from hocket.errors import StoreError, StoreUnavailable

__all__ = ["RedisStateStore"]

_SCRIPT = read_data_file("hocket._databases", "store.lua")
_DIGEST = hashlib.sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()


class RedisStateStore(StateStore):
    """Keeps everything under ``hocket:log:``, ``hocket:value:`` and ``hocket:lease:``. The time is Redis's."""

    def __init__(self, url: str) -> None:
        self._server = redis_server(f"a store at {redact_url(url)!r}", url, StoreError, StoreUnavailable)

    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        """Do operations, in a thread."""
        if mode.is_async:
            await self._server.acall(_do_all, operations)
        else:
            self._server.call(_do_all, operations)


async def _do_all(client: RedisClient, operations: Sequence[Operation]) -> None:
    arguments = [one for operation in operations for one in _write(operation)]
    running: Awaitable[Any] | Any
    try:
        running = client.evalsha(_DIGEST, 0, *arguments)
        results = await maybe_await(running)
    except NoScriptError:
        running = client.eval(_SCRIPT, 0, *arguments)
        results = await maybe_await(running)
    for operation, result in zip(operations, results, strict=True):
        match operation:
            case ReadRows():
                operation.rows = result
            case GetValue():
                operation.value = result
            case GetOwner():
                operation.owner = None if result is None else result.decode()
            case AppendRows() | PutValue() | ClaimLease() | RenewLease():
                operation.is_done = result == 1
            case ReleaseLease():
                pass


def _write(operation: Operation) -> Sequence[str | bytes | int]:
    """Return an operation as the script reads it."""
    match operation:
        case AppendRows(log, rows, ttl, at, lease):
            place = "" if at is None else at
            return (
                "append",
                f"hocket:log:{log}",
                "" if ttl is None else _milliseconds(ttl),
                place,
                *_name(lease),
                len(rows),
                *rows,
            )
        case ReadRows(log, after, most):
            return "read", f"hocket:log:{log}", after, most
        case GetValue(key):
            return "get", f"hocket:value:{key}"
        case GetOwner(key):
            return "get", f"hocket:lease:{key}"
        case PutValue(key, value, ttl, lease):
            return "put", f"hocket:value:{key}", value, _milliseconds(ttl), *_name(lease)
        case ClaimLease(lease, seconds):
            return "claim", *_name(lease), _milliseconds(seconds)
        case RenewLease(lease, seconds):
            return "renew", *_name(lease), _milliseconds(seconds)
        case ReleaseLease(lease):
            return "release", *_name(lease)


def _name(lease: Lease | None) -> tuple[str, str]:
    return ("", "") if lease is None else (f"hocket:lease:{lease.key}", lease.owner)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
