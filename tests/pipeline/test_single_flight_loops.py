"""Requests in flight and their loops: each loop has its own, takes them along when it ends, and can always leave them."""

import threading
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import PrivateAttr

from hocket._pipeline import single_flight
from hocket.caches import InMemoryCache
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessageChunk
from hocket.outputs import ChatGenerationChunk


class Endless(BaseChatModel):
    """Says one thing, and then nothing for ever; or, in step, the same for ever."""

    in_step: bool = False

    _calls: int = PrivateAttr(default=0)
    _ends: list[str] = PrivateAttr(default_factory=list)

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        self._calls += 1
        try:
            yield ChatGenerationChunk(message=AIMessageChunk("x"))
            while self.in_step:
                await anyio.lowlevel.checkpoint()
                yield ChatGenerationChunk(message=AIMessageChunk("x"))
            await anyio.sleep_forever()
        finally:
            self._ends.append("cancelled")

    @property
    def _llm_type(self) -> str:
        return "endless"


def test_two_loops_are_two_flights() -> None:
    """A task belongs to its loop; the same model and cache serve both."""
    model = Endless(cache=InMemoryCache())
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
    assert (model._calls, model._ends) == (2, ["cancelled", "cancelled"])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_ends_takes_its_flights_along(backend: str) -> None:
    """Nothing stays on the board, and the hook is cancelled."""
    model = Endless(cache=InMemoryCache())

    async def main() -> None:
        async with model.astream("hi") as stream:
            await anext(stream)
            raise KeyError

    with pytest.raises(KeyError):
        anyio.run(main, backend=backend)
    assert model._ends == ["cancelled"]
    assert not single_flight._requests


async def test_a_timeout_ends_a_passenger_of_a_flight_in_step_with_it() -> None:
    """A request that never pauses can be left like any other."""
    model = Endless(in_step=True, cache=InMemoryCache())
    with anyio.move_on_after(0.02) as scope:
        await model.ainvoke("hi")
    assert scope.cancelled_caught
    assert model._ends == ["cancelled"]
