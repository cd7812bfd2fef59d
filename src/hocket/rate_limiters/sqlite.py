"""A limit in an SQLite file, for the processes of one machine.

The arithmetic is that in memory, over a row and a log, of which no more is read than leaves the window. Time is the
machine's date, since processes share no other; where that is set back, it goes on from where it was.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import fields
from uuid import uuid4

from hocket._databases.sqlite import LazyDatabase, is_foreign, transaction
from hocket._databases.urls import check_path
from hocket._runtime import clock
from hocket.errors import InvalidInput, StoreError
from hocket.rate_limiters.limits import RateLimits
from hocket.rate_limiters.schedule import Entry, Schedule
from hocket.rate_limiters.store import LEASE, Exchange, ExchangeReply, Figures, memory_span, read_figures, run_exchange

__all__ = ["SQLiteStore"]

FORMAT = 2
"""Of the state; a file of a higher one is of a newer hocket."""

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS hocket_limit (name TEXT PRIMARY KEY, format INTEGER, state TEXT) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS hocket_limit_log (
        name TEXT, seq INTEGER, at REAL, input INTEGER, output INTEGER, PRIMARY KEY (name, seq)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS hocket_limit_member (
        name TEXT, member TEXT, until REAL, in_flight INTEGER, PRIMARY KEY (name, member)) WITHOUT ROWID;
"""

_FIGURES = [one.name for one in fields(Schedule) if one.name != "log"]


class _SQLiteLog:
    """The log of a limit, in a table."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._execute = connection.execute
        self._name = name

    def oldest_first(self) -> Iterator[Entry]:
        sql = "SELECT seq, at, input, output FROM hocket_limit_log WHERE name = ? ORDER BY seq"
        return map(Entry._make, self._execute(sql, (self._name,)))

    def find(self, seq: int) -> Entry | None:
        sql = "SELECT seq, at, input, output FROM hocket_limit_log WHERE name = ? AND seq = ?"
        row = self._execute(sql, (self._name, seq)).fetchone()
        return None if row is None else Entry._make(row)

    def put(self, entry: Entry) -> None:
        self._execute("INSERT OR REPLACE INTO hocket_limit_log VALUES (?, ?, ?, ?, ?)", (self._name, *entry))

    def remove(self, seq: int) -> None:
        self._execute("DELETE FROM hocket_limit_log WHERE name = ? AND seq = ?", (self._name, seq))

    def drop(self, seq: int) -> None:
        self._execute("DELETE FROM hocket_limit_log WHERE name = ? AND seq <= ?", (self._name, seq))


class _Row:
    """The state of a limit in a transaction: what is done to it is written at the end."""

    def __init__(
        self, connection: sqlite3.Connection, schedule: Schedule, now: float, offset: float, is_new: bool
    ) -> None:
        self.execute = connection.execute
        self.schedule = schedule
        self.now = now
        self.offset = offset  # of this time from the machine's
        self.is_new = is_new


class SQLiteStore:
    """A limit in an SQLite file.

    Args:
        path: of the file, made if absent.
        name: of the limit.
        time: the date in seconds; default: the machine's.
    """

    is_shared = True

    def __init__(self, path: str, name: str, time: Callable[[], float] | None = None) -> None:
        self._path = check_path(path, "the path in store")
        self._database = LazyDatabase(self._path, "limits", 2.0, is_durable=False)
        self._name = name
        self._time = time or clock.RealClock().time
        self._id = uuid4().hex

    @property
    def _member(self) -> str:
        """This process; a forked child is another one."""
        return f"{self._id} {os.getpid()}"

    def configure(self, limits: RateLimits) -> RateLimits | None:
        """Have ``limits`` hold from now on; return those that held so far."""
        with self._open(limits) as row:
            assert row is not None
            before = row.schedule.limits
            row.schedule.configure(limits)
            return None if row.is_new else before

    def exchange(self, exchange: Exchange) -> ExchangeReply | None:
        """Settle and serve."""
        with self._open() as row:
            if row is None:
                return None
            schedule, others, processes = row.schedule, 0, 0
            if exchange.reports:
                others, processes = self._count_others(row)
            most = schedule.limits.max_in_flight
            grants = run_exchange(
                schedule, exchange, row.now, most - others - exchange.in_flight if most else float("inf")
            )
            if exchange.reports:
                in_flight = exchange.in_flight + sum(grant.seq > 0 for grant in grants)
                values = self._name, self._member, row.now + LEASE, in_flight
                row.execute("INSERT OR REPLACE INTO hocket_limit_member VALUES (?, ?, ?, ?)", values)
            return ExchangeReply(grants, processes)

    def learn(self, found: tuple[float, float, float, float], pause: float, *, probes: bool = False) -> None:
        """Take the limits that a server told."""
        with self._open() as row:
            if row is not None:
                row.schedule.learn(found)
                row.schedule.pause(row.now, pause, probes=probes)

    def slow_down(self, pause: float) -> None:
        """Go slower, and let nobody go for ``pause`` seconds."""
        with self._open() as row:
            if row is not None:
                row.schedule.pause(row.now, pause)
                row.schedule.cut_back(row.now)

    def read(self) -> Figures | None:
        """Return how the limit stands."""
        with self._open() as row:
            if row is None:
                return None
            sql = "SELECT count(*), coalesce(sum(in_flight), 0) FROM hocket_limit_member WHERE name = ? AND until > ?"
            processes, in_flight = row.execute(sql, (self._name, row.now)).fetchone()
            return read_figures(row.schedule, row.now, max(processes, 1), in_flight)

    def _count_others(self, row: _Row) -> tuple[int, int]:
        """Return the requests under way in other processes, and how many processes there are, this one included."""
        row.execute("DELETE FROM hocket_limit_member WHERE name = ? AND until <= ?", (self._name, row.now))
        sql = "SELECT coalesce(sum(in_flight), 0), count(*) FROM hocket_limit_member WHERE name = ? AND member <> ?"
        in_flight, others = row.execute(sql, (self._name, self._member)).fetchone()
        return in_flight, others + 1

    @contextmanager
    def _open(self, limits: RateLimits | None = None) -> Generator[_Row | None]:
        """Have the state alone; None: there is none, or none that is fresh, and no ``limits`` to make it of."""
        if os.path.isdir(self._path):
            raise InvalidInput(f"{self._path} is a directory; store=... needs the path of a file")
        try:
            with self._database.open(_SCHEMA, StoreError) as connection, transaction(connection):
                row = self._read(connection, limits)
                yield row
                if row is not None:
                    self._write(row)
        except StoreError as error:
            if is_foreign(error.__cause__):  # no failure that passes, which a share of the limit would bridge
                raise InvalidInput(str(error)) from error
            raise

    def _read(self, connection: sqlite3.Connection, limits: RateLimits | None) -> _Row | None:
        found = connection.execute("SELECT format, state FROM hocket_limit WHERE name = ?", (self._name,)).fetchone()
        if found is not None and found[0] > FORMAT:
            raise InvalidInput(
                f"{self._path}: the limit {self._name!r} is of format {found[0]}, and this hocket knows {FORMAT}: use a "
                "newer hocket, or another file"
            )
        now, offset, log = self._time(), 0.0, _SQLiteLog(connection, self._name)
        if found is not None:
            seen, offset, figures = json.loads(found[1])
            if now + offset < seen:  # the clock was set back
                offset = seen - now
            figures["limits"] = RateLimits(*figures["limits"])
            schedule = Schedule(**figures, log=log)
            if now + offset - seen <= memory_span(schedule.limits.window):
                return _Row(connection, schedule, now + offset, offset, False)
            connection.execute("DELETE FROM hocket_limit_log WHERE name = ?", (self._name,))
        return None if limits is None else _Row(connection, Schedule(limits, log=log), now, 0.0, True)

    def _write(self, row: _Row) -> None:
        figures = {name: getattr(row.schedule, name) for name in _FIGURES}
        state = json.dumps((row.now, row.offset, figures))
        row.execute("INSERT OR REPLACE INTO hocket_limit VALUES (?, ?, ?)", (self._name, FORMAT, state))
