"""Equal calls in flight share one request.

A flight is a detached task, so that it survives the caller that started it; it counts its passengers, and is cancelled
when the last one leaves. It keeps its chunks: a passenger who boards late, or is slow, misses none, and holds up nobody.
Flights belong to an event loop; equal calls on two loops are two flights.
"""

from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

import anyio
from anyio.lowlevel import EventLoopToken, current_token

from hocket._runtime.detached import spawn
from hocket._runtime.runtime import END_GRACE
from hocket.pipeline.call import Call, Notice

__all__ = ["Flight", "board"]

Key = tuple[object, int, str, str]

_flights: dict[Key, "Flight"] = {}


class Flight:
    """One request, for every equal call that comes while it lasts. It is the sink of its own chunks."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.closed = False
        self.claimed = False  # whether a passenger has taken the result that is to be billed
        self._items: list[Any] = []
        self._news = anyio.Event()
        self._over = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._trace: TracebackType | None = None
        self._passengers = 0
        self._scope = anyio.CancelScope()

    def put(self, item: Any) -> None:
        """Keep a chunk, or a notice. Never waits: a flight runs at nobody's pace."""
        self._items.append(item)
        self._tell()

    def take_off(self, main: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Start the request."""

        async def fly() -> None:
            try:
                with self._scope:
                    self._result = await main()
            except anyio.get_cancelled_exc_class() as error:
                self._error, self._trace = error, error.__traceback__
                raise  # the loop is ending
            except BaseException as error:
                self._error, self._trace = error, error.__traceback__
            finally:
                self._over = True
                if _flights.get(self.key) is self:
                    del _flights[self.key]
                self._tell()

        spawn(fly)

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def join(self, call: Call) -> tuple[Any, bool]:
        """Wait for the result, handing the chunks on to ``call`` as they come; return it, and whether there were any."""
        self._passengers += 1
        taken = 0
        has_chunks = False
        try:
            while True:
                while taken < len(self._items):
                    item = self._items[taken]
                    taken += 1
                    if item.__class__ is Notice:
                        await call.tell(item.name, *item.args)
                    elif call.sink is not None:
                        has_chunks = True
                        waiting = call.deliver(item)
                        if waiting is not None:
                            await waiting
                if self._over:
                    break
                await self._news.wait()
        finally:
            self._passengers -= 1
            if not self._passengers and not self._over:
                await self._abandon(call)
        if self._error is not None:
            # Everybody raises the same exception: its traceback must not grow with each of them.
            raise self._error.with_traceback(self._trace)
        return self._result, has_chunks

    async def _abandon(self, last: Call) -> None:
        """Cancel the request, since nobody is left, and wait for its end."""
        if _flights.get(self.key) is self:
            del _flights[self.key]
        self.closed = last.closed
        self._scope.cancel()
        with anyio.move_on_after(END_GRACE, shield=True):
            while not self._over:
                await self._news.wait()


def board(cache: object, key: tuple[str, str]) -> tuple[Flight, bool]:
    """Return the flight for this cache and key on the running loop, and whether it is new and must take off."""
    token: EventLoopToken = current_token()
    full_key = (token.native_token, id(cache), *key)
    flight = _flights.get(full_key)
    if flight is not None:
        return flight, False
    flight = _flights[full_key] = Flight(full_key)
    return flight, True
