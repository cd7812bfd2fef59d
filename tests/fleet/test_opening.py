"""What is made from an address: the same addresses everywhere, and nothing is opened before it is used."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.budgets import Budget
from hocket.caches import PostgresCache, RedisCache, SQLiteCache
from hocket.chat_history import open_history
from hocket.errors import InvalidInput
from hocket.ledger import JSONLLedger, PostgresLedger, SQLiteLedger
from hocket.rate_limiters import RateLimiter

REDIS, POSTGRES = "redis://127.0.0.1:1/0", "postgresql://127.0.0.1:1/nothing"  # nobody listens there
BY_ADDRESS: dict[str, Callable[[str], object]] = {
    "history": lambda address: open_history(address, session_id="s"),
    "limiter": lambda address: RateLimiter(10, store=address),
    "budget": lambda address: Budget("1", store=address),
}


@pytest.mark.parametrize("address", ["sqlite:///{}", REDIS, POSTGRES])
@pytest.mark.parametrize("make", BY_ADDRESS.values(), ids=BY_ADDRESS)
def test_an_address_opens_nothing(make: Callable[[str], object], address: str, tmp_path: Path) -> None:
    make(address.format(tmp_path / "there" / "all.db"))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("make", BY_ADDRESS.values(), ids=BY_ADDRESS)
def test_an_address_of_no_store_is_refused_at_once(make: Callable[[str], object]) -> None:
    with pytest.raises(InvalidInput, match="mysql"):
        make("mysql://localhost/db")


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: SQLiteCache(folder / "there" / "cache.db"),
        lambda folder: SQLiteLedger(folder / "there" / "usage.db"),
        lambda folder: JSONLLedger(folder / "there" / "usage.jsonl"),
        lambda _: RedisCache(REDIS),
        lambda _: PostgresCache(POSTGRES),
        lambda _: PostgresLedger(POSTGRES),
    ],
    ids=["SQLiteCache", "SQLiteLedger", "JSONLLedger", "RedisCache", "PostgresCache", "PostgresLedger"],
)
def test_a_cache_or_a_ledger_opens_nothing(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "make", [lambda: SQLiteCache("c.db"), lambda: RedisCache(REDIS), lambda: PostgresCache(POSTGRES)]
)
def test_a_claim_has_thirty_seconds(make: Callable[[], SQLiteCache | RedisCache | PostgresCache]) -> None:
    assert make().lease == 30
