"""Ledgers of each kind, on real stores, which are empty at first and cleaned up."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from hocket.ledger import JSONLLedger, Ledger, PostgresLedger, SQLiteLedger, set_ledger
from tests.chat_history.conftest import postgres_url

__all__ = ["postgres_url"]


@pytest.fixture(params=["sqlite", "jsonl", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger that keeps its entries."""
    spool = str(tmp_path / "spool.jsonl")
    if request.param == "postgres":
        import psycopg

        url, table = request.getfixturevalue("postgres_url"), f"hocket_test_{uuid4().hex}"
        made = PostgresLedger(url, table=table, spool=spool)
        yield made
        made.flush()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'DROP TABLE IF EXISTS "{table}"')
    else:
        made = {"sqlite": SQLiteLedger, "jsonl": JSONLLedger}[request.param](
            tmp_path / f"usage.{request.param}", spool=spool
        )
        yield made
        made.flush()


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[JSONLLedger]:
    """A ledger in a file."""
    made = JSONLLedger(tmp_path / "usage.jsonl", spool=str(tmp_path / "spool.jsonl"))
    yield made
    made.flush()


@pytest.fixture(autouse=True)
def _no_shared_ledger() -> Iterator[None]:
    yield
    set_ledger(None)
