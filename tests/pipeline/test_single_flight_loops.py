"""Requests in flight and their loops: each loop has its own, takes them along when it ends, and can always leave them."""

import threading
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket._pipeline import single_flight
from hocket.caches import InMemoryCache
from tests.kit import HookCall, cancel_when, hook_model


def endless_model(*, in_step: bool = False) -> tuple[Any, list[str]]:
    """Make a model that says one thing, and then nothing for ever (or, in step, the same for ever); and how it ends."""
    ends: list[str] = []

    async def say(call: HookCall) -> AsyncIterator[str]:
        try:
            yield "x"
            while in_step:
                await anyio.lowlevel.checkpoint()
                yield "x"
            await anyio.sleep_forever()
        finally:
            ends.append("cancelled")

    return hook_model(say, "astream", cache=InMemoryCache()), ends


def test_two_loops_are_two_flights() -> None:
    """A task belongs to its loop; the same model and cache serve both."""
    model, ends = endless_model()
    together = threading.Barrier(2)

    def loop(backend: str) -> None:
        async def main() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(model.ainvoke, "hi")
                for _ in range(20):
                    await anyio.lowlevel.checkpoint()
                together.wait(30)
                group.cancel_scope.cancel()

        anyio.run(main, backend=backend)

    threads = [threading.Thread(target=loop, args=(backend,)) for backend in ("asyncio", "trio")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(model.requests), ends) == (2, ["cancelled", "cancelled"])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_ends_takes_its_flights_along(backend: str) -> None:
    """Nothing stays on the board, and the hook is cancelled."""
    model, ends = endless_model()

    async def main() -> None:
        async with model.astream("hi") as stream:
            await anext(stream)
            raise KeyError

    with pytest.raises(KeyError):
        anyio.run(main, backend=backend)
    assert ends == ["cancelled"]
    assert not single_flight._requests


async def test_a_timeout_ends_a_passenger_of_a_flight_in_step_with_it() -> None:
    """A request that never pauses can be left like any other."""
    model, ends = endless_model(in_step=True)
    assert await cancel_when(lambda: model.requests, model.ainvoke, "hi")
    assert ends == ["cancelled"]
