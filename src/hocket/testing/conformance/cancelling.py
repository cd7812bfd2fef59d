"""Writers that are cancelled sooner or later."""

import random
from collections.abc import Awaitable, Callable

import anyio

__all__ = ["cancel_sooner_or_later"]

AT_ONCE = 8


async def cancel_sooner_or_later(write: Callable[[int], Awaitable[object]], count: int) -> set[int]:
    """Have ``count`` writers write, a few at once, and cancel them; return the numbers of those that got through.

    The first two are not cancelled. The others are, each after a time of its own: at first about as long as the second
    one took, on a machine as busy as it is, and then sooner and sooner.
    """
    chance, done, took = random.Random(0), set[int](), 0.0
    for number in range(2):  # the first one may have to connect
        began = anyio.current_time()
        await write(number)
        took = anyio.current_time() - began
        done.add(number)

    async def write_in(seconds: float, number: int) -> None:
        with anyio.move_on_after(seconds):
            await write(number)
            done.add(number)

    for batch, first in enumerate(range(2, count, AT_ONCE), 1):
        async with anyio.create_task_group() as group:
            for number in range(first, min(first + AT_ONCE, count)):
                group.start_soon(write_in, took * chance.expovariate(batch), number)
    return done
