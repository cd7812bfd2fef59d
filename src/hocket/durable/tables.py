"""What durable runs keep beside their engine's records: what they are told, and how they stand.

Two tables in the engine's own database, made if absent, over SQLAlchemy, which the engine brings along. A signal stays until
the run has recorded that it was taken; a decision stays for good, so that of two people who decide one call the second is
told.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from hocket.agents.approval import Rerun
from hocket.durable.standing import Signal, Standing, Waiting

__all__ = ["RUN_TABLE", "RunTables"]

RUN_TABLE = "hocket_run"
"""The table that every database of durable runs has."""

_metadata = sa.MetaData()
_standings = sa.Table(
    RUN_TABLE,
    _metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("waiting", sa.Text, nullable=False),
    sa.Column("orders", sa.Text, nullable=False),
)
_signals = sa.Table(
    "hocket_signal",
    _metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("run", sa.Text, nullable=False, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("call", sa.Text),
    sa.UniqueConstraint("run", "call", name="hocket_signal_call"),
    sqlite_autoincrement=True,  # no id comes again: a run knows by them what it has taken
)


class RunTables:
    """The tables of one database. Its methods block."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._insert: Any = (postgresql if engine.dialect.name == "postgresql" else sqlite).insert
        self._is_made = False

    def make(self) -> None:
        """Make the tables where they are absent."""
        if self._is_made:
            return
        with self._engine.begin() as connection:
            is_server = self._engine.dialect.name == "postgresql"
            take_lock = "SELECT pg_advisory_xact_lock(hashtextextended('hocket create runs', 0))"
            connection.execute(sa.text(take_lock if is_server else "BEGIN IMMEDIATE"))  # else two would fail
            _metadata.create_all(connection)
        self._is_made = True

    def begin(self, id: str) -> Standing:
        """Count the beginning of an execution, and return how the run stands."""
        new = self._insert(_standings).values(id=id, attempts=1, waiting="[]", orders="{}")
        again = {"attempts": _standings.c.attempts + 1, "waiting": "[]"}
        with self._engine.begin() as connection:
            connection.execute(new.on_conflict_do_update(index_elements=["id"], set_=again))
            return self._read(connection, [id])[id]

    def set_waiting(self, id: str, waiting: Sequence[Waiting]) -> None:
        """Write what a run waits for."""
        with self._engine.begin() as connection:
            changed = {"waiting": json.dumps(list(waiting))}
            connection.execute(sa.update(_standings).where(_standings.c.id == id).values(changed))

    def set_orders(self, id: str, rerun: Rerun, version: str | None) -> None:
        """Write how a run that has ended is to go on."""
        orders = json.dumps({"rerun": rerun, "version": version})
        new = self._insert(_standings).values(id=id, attempts=0, waiting="[]", orders=orders)
        with self._engine.begin() as connection:
            connection.execute(new.on_conflict_do_update(index_elements=["id"], set_={"orders": orders}))

    def read(self, ids: Collection[str]) -> Mapping[str, Standing]:
        """Return how runs stand, by their ids."""
        with self._engine.connect() as connection:
            return self._read(connection, ids)

    def _read(self, connection: sa.Connection, ids: Collection[str]) -> dict[str, Standing]:
        rows = connection.execute(sa.select(_standings).where(_standings.c.id.in_(ids))).all()
        return {row.id: Standing(row.attempts, json.loads(row.waiting), **json.loads(row.orders)) for row in rows}

    def add_signals(self, run: str, signals: Iterable[tuple[str, str, str | None]]) -> bool:
        """Add signals, each a name, a value, and the call that it decides; False: one is decided, and none was added."""
        rows = [{"run": run, "name": name, "value": value, "call": call} for name, value, call in signals]
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.insert(_signals), rows)
        except IntegrityError:
            return False
        return True

    def find_signals(self, runs: Collection[str]) -> Sequence[Signal]:
        """Return the signals of runs, in the order in which they were sent."""
        columns = (_signals.c.id, _signals.c.run, _signals.c.name, _signals.c.value, _signals.c.call)
        asked = sa.select(*columns).where(_signals.c.run.in_(runs)).order_by(_signals.c.id)
        with self._engine.connect() as connection:
            return [Signal(*row) for row in connection.execute(asked)]

    def drop(self, run: str) -> None:
        """Drop all that stands of a run, and what it was told."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(_signals).where(_signals.c.run == run))
            connection.execute(sa.delete(_standings).where(_standings.c.id == run))

    def drop_signal(self, id: int) -> None:
        """Drop a signal that its run has recorded."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(_signals).where(_signals.c.id == id))
