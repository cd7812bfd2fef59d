"""A store in Redis: a trip is one run of a script."""

from collections.abc import Sequence

from hocket._databases.redis import RedisClient, redis_server, run_script
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


class RedisStateStore(StateStore):
    """Keeps everything under ``hocket:log:``, ``hocket:value:`` and ``hocket:lease:``. The time is Redis's."""

    def __init__(self, url: str) -> None:
        self._server = redis_server(f"a store at {redact_url(url)!r}", url, StoreError, StoreUnavailable)

    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        """Do operations, in a thread."""
        await self._server.run(mode, _do_all, operations)


async def _do_all(client: RedisClient, operations: Sequence[Operation]) -> None:
    arguments = [one for operation in operations for one in _write(operation)]
    results = await run_script(client, _SCRIPT, (), arguments)
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
