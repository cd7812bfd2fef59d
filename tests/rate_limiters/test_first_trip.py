"""The first exchange of a process with a store, whose client has to be imported first."""

import time
from pathlib import Path

import pytest

from hocket._runtime.mode import ASYNC
from hocket.rate_limiters.limits import RateLimits, Tokens
from hocket.rate_limiters.opening import LaterStore
from hocket.rate_limiters.shared_line import PATIENCE, SharedLine
from hocket.rate_limiters.sqlite import SQLiteStore
from hocket.rate_limiters.store import Store


@pytest.mark.asyncio
async def test_the_import_of_a_client_does_not_count_as_a_stores_silence(tmp_path: Path) -> None:
    """However long it takes, the first call waits for the shared limit, and goes by no share of this process's own.

    The time is real: a thread imports, for which a virtual clock would not wait.
    """

    def import_slowly() -> Store:
        time.sleep(PATIENCE * 1.1)
        return SQLiteStore(str(tmp_path / "limits.db"), "x")

    line = SharedLine(LaterStore(import_slowly), "limiter", RateLimits(requests=60), "raise")
    asking = await line.reserve(ASYNC, Tokens(1, 1))
    assert asking.turn is not None and asking.turn.store is line.store
    assert await line.do(ASYNC, lambda store: store.read()) is not None
