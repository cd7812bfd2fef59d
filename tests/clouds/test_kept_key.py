"""A key that a provider of somebody's own keeps: fetched once, replaced when it is refused."""

import time
from uuid import uuid4

import anyio

from hocket.clouds import KeptKey


async def test_a_kept_key_is_fetched_once() -> None:
    """By whoever asks at once, through objects of one name; a refused one is replaced, and once a minute at most."""
    fetched: list[int] = []

    async def fetch() -> tuple[int, float]:
        fetched.append(len(fetched))
        return fetched[-1], time.time() + 3600

    name = uuid4()
    keys = [KeptKey(name, fetch) for _ in range(5)]
    async with anyio.create_task_group() as group:
        for key in keys:
            group.start_soon(key.get)
    assert fetched == [0]
    assert keys[0].reject(lambda key: key == 0)
    assert await keys[1].get() == 1
    assert not keys[2].reject(lambda key: key == 1)
