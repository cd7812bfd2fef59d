"""The tables and statements of a store in SQL, in the words that SQLite and PostgreSQL share.

Parameters are written ``:name``; ``:now`` is the time, in seconds since 1970.
"""

from collections.abc import Mapping
from dataclasses import fields

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
)

__all__ = ["KEEP_LOG", "MOST_PURGED", "OLD_LOGS", "READING", "SCHEMA", "STATEMENTS", "set_result", "write_parameters"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS hocket_log (log TEXT PRIMARY KEY, ends_at DOUBLE PRECISION NOT NULL);
CREATE TABLE IF NOT EXISTS hocket_log_row (
    log TEXT NOT NULL, place BIGINT NOT NULL, data {bytes} NOT NULL, PRIMARY KEY (log, place)
);
CREATE TABLE IF NOT EXISTS hocket_value (key TEXT PRIMARY KEY, data {bytes} NOT NULL, ends_at DOUBLE PRECISION NOT NULL);
CREATE TABLE IF NOT EXISTS hocket_lease (key TEXT PRIMARY KEY, owner TEXT NOT NULL, ends_at DOUBLE PRECISION NOT NULL);
CREATE INDEX IF NOT EXISTS hocket_log_ends_at ON hocket_log (ends_at);
CREATE INDEX IF NOT EXISTS hocket_value_ends_at ON hocket_value (ends_at);
CREATE INDEX IF NOT EXISTS hocket_lease_ends_at ON hocket_lease (ends_at);
"""

HAS_LEASE = """
(:lease = '' OR EXISTS (SELECT 1 FROM hocket_lease WHERE key = :lease AND owner = :owner AND ends_at > :now))
"""

KEEP_LOG = """
INSERT INTO hocket_log (log, ends_at) VALUES (:log, :now + :ttl) ON CONFLICT (log) DO UPDATE SET ends_at = excluded.ends_at
"""

STATEMENTS: Mapping[type, str] = {
    ReadRows: "SELECT data FROM hocket_log_row WHERE log = :log AND place > :after ORDER BY place LIMIT :most",
    GetValue: "SELECT data FROM hocket_value WHERE key = :key AND ends_at > :now",
    GetOwner: "SELECT owner FROM hocket_lease WHERE key = :key AND ends_at > :now",
    PutValue: f"""
        INSERT INTO hocket_value (key, data, ends_at) SELECT :key, :value, :now + :ttl WHERE {HAS_LEASE}
        ON CONFLICT (key) DO UPDATE SET data = excluded.data, ends_at = excluded.ends_at
    """,
    ClaimLease: """
        INSERT INTO hocket_lease (key, owner, ends_at) VALUES (:lease, :owner, :now + :seconds)
        ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, ends_at = excluded.ends_at
        WHERE hocket_lease.ends_at <= :now OR hocket_lease.owner = excluded.owner
    """,
    RenewLease: """
        UPDATE hocket_lease SET ends_at = :now + :seconds WHERE key = :lease AND owner = :owner AND ends_at > :now
    """,
    ReleaseLease: "DELETE FROM hocket_lease WHERE key = :lease AND owner = :owner",
}
"""Of all operations but `AppendRows`, which the two do in their own ways."""

READING = (ReadRows, GetValue, GetOwner)

MOST_PURGED = 20
"""Logs that are deleted in one trip: each may have thousands of rows, and writers wait."""

OLD_LOGS = f"SELECT log FROM hocket_log WHERE ends_at <= :now ORDER BY ends_at, log LIMIT {MOST_PURGED}"


def write_parameters(operation: Operation) -> dict[str, object]:
    """Return the parameters of an operation's statement, but for the time: its fields, and of its lease key and owner."""
    lease: Lease | None = getattr(operation, "lease", None)
    key, owner = lease or ("", "")
    return {**{one.name: getattr(operation, one.name) for one in fields(operation)}, "lease": key, "owner": owner}


def set_result(operation: Operation, count: int, rows: list[tuple[object, ...]]) -> None:
    """Give an operation its result: how many rows its statement changed, or those that it found."""
    match operation:
        case ReadRows():
            operation.rows = [bytes(data) for (data,) in rows]  # type: ignore[call-overload]
        case GetValue():
            operation.value = bytes(rows[0][0]) if rows else None  # type: ignore[call-overload]
        case GetOwner():
            operation.owner = str(rows[0][0]) if rows else None
        case PutValue() | ClaimLease() | RenewLease():
            operation.is_done = count > 0
        case AppendRows() | ReleaseLease():
            pass
