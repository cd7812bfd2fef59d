"""A key that a provider of somebody's own keeps: fetched once, replaced when it is refused."""

import time
from uuid import uuid4

import anyio
import pytest

from hocket.clouds import KeptKey


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_kept_key_is_fetched_once(is_async: bool) -> None:
    """By whoever asks at once, through objects of one name; a refused one is replaced, and once a minute at most."""
    fetched: list[int] = []

    def fetch() -> tuple[int, float]:
        fetched.append(len(fetched))
        return fetched[-1], time.time() + 3600

    async def fetch_async() -> tuple[int, float]:
        return fetch()

    name = uuid4()
    keys = [KeptKey(name, fetch_async) if is_async else KeptKey(name, fetch) for _ in range(5)]
    async with anyio.create_task_group() as group:
        for key in keys:
            group.start_soon(key.get)
    assert fetched == [0]
    assert not keys[0].reject(lambda key: key == 7) or await keys[0].get() == 0
    assert keys[0].reject(lambda key: key == 0)
    assert await keys[1].get() == 1
    assert not keys[2].reject(lambda key: key == 1)
