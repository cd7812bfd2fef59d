"""A store in an SQLite file, for the processes of one machine."""

import sqlite3
from collections.abc import Sequence

from hocket._databases.sqlite import LazyDatabase, snapshot, transaction
from hocket._databases.store import PURGE_EVERY, AppendRows, Operation, StateStore
from hocket._databases.store_sql import (
    HAS_LEASE,
    KEEP_LOG,
    MOST_PURGED,
    OLD_LOGS,
    READING,
    SCHEMA,
    STATEMENTS,
    set_result,
    write_parameters,
)
from hocket._databases.urls import check_path
from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket.errors import StoreError, StoreUnavailable

__all__ = ["SQLiteStateStore"]

_SCHEMA = SCHEMA.format(bytes="BLOB")
_PURGE = (
    f"DELETE FROM hocket_log_row WHERE log IN ({OLD_LOGS})",
    f"DELETE FROM hocket_log WHERE log IN ({OLD_LOGS})",
    "DELETE FROM hocket_value WHERE ends_at <= :now",
    "DELETE FROM hocket_lease WHERE ends_at <= :now",
)
_PATIENCE = 5.0  # seconds to wait for other writers
_ADD_ROW = "INSERT OR IGNORE INTO hocket_log_row (log, place, data) VALUES (?, ?, ?)"
_COUNT = "SELECT coalesce(max(place), 0) FROM hocket_log_row WHERE log = :log"


class SQLiteStateStore(StateStore):
    """Keeps everything in tables of a file, made if absent. The time is this machine's."""

    def __init__(self, path: str) -> None:
        self._database = LazyDatabase(check_path(path, "path"), "a store", _PATIENCE, is_durable=False)
        self._purged_at = 0.0

    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        """Do operations, in a thread."""
        try:
            await mode.call_sync(self._do_all, operations)
        except StoreError as error:
            if getattr(error.__cause__, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                raise
            raise StoreUnavailable(*error.args) from error.__cause__

    def _do_all(self, operations: Sequence[Operation]) -> None:
        now = clock.current().time()
        is_reading = all(isinstance(operation, READING) for operation in operations)
        with (
            self._database.open(_SCHEMA, StoreError) as connection,
            (snapshot if is_reading else transaction)(connection),
        ):
            if not is_reading and now >= self._purged_at + PURGE_EVERY:
                _, logs, *_ = (connection.execute(statement, {"now": now}).rowcount for statement in _PURGE)
                self._purged_at = 0.0 if logs == MOST_PURGED else now  # there may be more
            for operation in operations:
                parameters = {**write_parameters(operation), "now": now}
                if isinstance(operation, AppendRows):
                    _append(connection, operation, parameters)
                else:
                    cursor = connection.execute(STATEMENTS[type(operation)], parameters)
                    set_result(operation, cursor.rowcount, cursor.fetchall())


def _append(connection: sqlite3.Connection, operation: AppendRows, parameters: dict[str, object]) -> None:
    (has_lease,) = connection.execute(f"SELECT {HAS_LEASE}", parameters).fetchone()
    operation.is_done = bool(has_lease)
    if not has_lease:
        return
    (count,) = connection.execute(_COUNT, parameters).fetchone()
    at = count if operation.at is None else operation.at
    operation.is_done = at <= count
    if at > count:
        return
    connection.executemany(_ADD_ROW, ((operation.log, at + n, row) for n, row in enumerate(operation.rows, 1)))
    if operation.ttl is not None:
        connection.execute(KEEP_LOG, parameters)
