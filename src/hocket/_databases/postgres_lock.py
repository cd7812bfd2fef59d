"""A lock in PostgreSQL: an advisory one, which ends with the connection that took it.

All locks of a process on one URL are on one connection, which is opened for them: as many runs as there are tasks would
need as many connections. So tasks of one process must be kept apart by other means: the connection has what it has.

PostgreSQL gives a lock to the statement that waits for it, but a waiting statement blocks its connection. So this lock
does not wait: it tries again and again. A second lock, the gate, keeps the order fair: only the task that has the gate may
try for the lock, so a task that takes the lock many times in a row does not shut out the others.
"""

from contextlib import AsyncExitStack

from hocket._databases.postgres import (
    AsyncConnection,
    Connection,
    ConnectionPool,
    PostgresClient,
    PostgresError,
    execute,
    hold_connection,
)

__all__ = ["AdvisoryLock"]

LEASE = 30.0
INTERVAL = 1.0

_ATTEMPT = """
    WITH gate AS MATERIALIZED (SELECT %s OR pg_try_advisory_lock(hashtextextended('hocket next ' || %s, 0)) AS has_gate)
    SELECT has_gate, has_gate AND pg_try_advisory_lock(hashtextextended('hocket exclusive ' || %s, 0)) FROM gate
"""
NEXT, EXCLUSIVE = "next", "exclusive"
_RELEASE = "SELECT pg_advisory_unlock(hashtextextended('hocket ' || %s, 0))"


class AdvisoryLock:
    """One hold of a lock.

    Args:
        name: of what it is on.
    """

    def __init__(self, name: str) -> None:
        self.lease: float | None = LEASE
        self.interval = INTERVAL
        self._name = name
        self._connection: Connection | AsyncConnection | None = None
        self._giving_back = AsyncExitStack()
        self._may_have: set[str] = set()  # after an attempt whose end nobody saw: all

    async def attempt(self, client: PostgresClient) -> bool:
        """Take it, unless somebody else has it or is next; whether it was taken."""
        connection = await self._connect(client)
        had_gate, self._may_have = self._may_have == {NEXT}, {NEXT, EXCLUSIVE}
        ((has_gate, has_lock),) = await execute(connection, _ATTEMPT, had_gate, self._name, self._name)
        if has_lock:
            await self._unlock(connection, NEXT)
        self._may_have = {EXCLUSIVE} if has_lock else {NEXT} if has_gate else set()
        if not self._may_have:
            await self._disconnect()
        return bool(has_lock)

    async def renew(self, client: PostgresClient) -> bool:
        """Ask whether the connection that has it still is there."""
        if self._connection is None:
            return False
        try:
            await execute(self._connection, "SELECT 1")
        except PostgresError:
            return False
        return True

    async def release(self, client: PostgresClient) -> None:
        """Give it back, or give up the attempts."""
        connection = self._connection
        if connection is None:
            return
        try:
            # One that was left behind has ended by then: a connection does one thing after the other.
            for kind in self._may_have:
                await self._unlock(connection, kind)
        finally:
            await self._disconnect()

    async def _unlock(self, connection: Connection | AsyncConnection, kind: str) -> None:
        await execute(connection, _RELEASE, f"{kind} {self._name}")

    async def _connect(self, client: PostgresClient) -> Connection | AsyncConnection:
        if isinstance(client, ConnectionPool):
            connection: Connection | AsyncConnection = client.lock_session(self)
            if self._connection is None:
                self._giving_back.callback(client.leave_session, self)
        elif self._connection is not None:
            return self._connection
        else:
            connection = await self._giving_back.enter_async_context(hold_connection(client))
        if connection is not self._connection:
            self._connection, self._may_have = connection, set()
        return connection

    async def _disconnect(self) -> None:
        self._connection = None
        await self._giving_back.aclose()
