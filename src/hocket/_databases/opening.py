"""Stores by their address."""

from collections.abc import Callable, Sequence

from hocket._databases.drivers import may_open_here
from hocket._databases.store import MemoryStateStore, Operation, StateStore
from hocket._databases.urls import parse_shared_address
from hocket._runtime.mode import Mode

__all__ = ["open_state_store"]


def open_state_store(address: str | None, what: str) -> StateStore:
    """Return a store. Nothing is opened before it is used.

    Args:
        address: ``redis://…``, ``postgresql://…`` or ``sqlite:///path``; None: in the memory of this process.
        what: whose it is, for the text of an error: "live answers".

    Raises:
        InvalidInput: the address is of another kind.
        MissingDependency: a package is missing.
    """
    if address is None:
        return MemoryStateStore()
    kind, place = parse_shared_address(address, what)

    def open_place() -> StateStore:
        if kind == "redis":
            from hocket._databases.redis_store import RedisStateStore

            return RedisStateStore(place)
        if kind == "postgres":
            from hocket._databases.postgres_store import PostgresStateStore

            return PostgresStateStore(place)
        from hocket._databases.sqlite_store import SQLiteStateStore

        return SQLiteStateStore(place)

    return open_place() if may_open_here(kind) else _LaterStateStore(open_place)


class _LaterStateStore(StateStore):
    """A store that is opened at its first use, in a thread: what it needs takes a moment to import."""

    def __init__(self, open_place: Callable[[], StateStore]) -> None:
        self._open = open_place
        self._store: StateStore | None = None

    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        if self._store is None:
            self._store = await mode.call_sync(self._open)
        await self._store.do(mode, operations)
