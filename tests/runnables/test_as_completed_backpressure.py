"""Many workers put into one stream."""

from hocket import FakeChatModel


async def test_workers_that_never_wait_do_not_lose_each_other() -> None:
    """A hundred workers of a hook that never suspends all find room in the stream's buffer in the end."""
    stream = FakeChatModel().abatch_as_completed(("hi" for _ in range(1000)), {"max_concurrency": 100})

    indexes = [index async for index, _ in stream]

    assert sorted(indexes) == list(range(1000))
