"""Equal calls in flight share one request.

A flight is a detached task, so that it survives the caller that started it; it counts its passengers, and is cancelled
when the last one leaves. It keeps its chunks: a passenger who boards late, or is slow, misses none, and holds up nobody.
Flights belong to an event loop; equal calls on two loops are two flights.
"""

from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any

import anyio
from anyio.lowlevel import EventLoopToken, current_token

from hocket._pipeline.call import Call, Notice
from hocket._runtime.cancellation import refuse, wait_for, wait_shielded
from hocket._runtime.detached import Detached, spawn

__all__ = ["Flight", "board"]

Key = tuple[object, int, str, str]

_flights: dict[Key, "Flight"] = {}


class Flight:
    """One request, for every equal call that comes while it lasts. It is the sink of its own chunks."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self._call: Call | None = None
        self.closed = False
        self._payer: Call | None = None
        self._items: list[Any] = []
        self._news = anyio.Event()
        self._over = anyio.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._trace: TracebackType | None = None
        self._passengers = 0
        self._abandoned = False
        self._task: Detached | None = None

    def put(self, item: Any) -> Awaitable[None] | None:
        """Keep a chunk, or a notice. Never waits: a flight runs at nobody's pace."""
        if self._abandoned:
            return refuse()
        self._items.append(item)
        self._tell()
        return None

    def take_off(self, call: Call, main: Callable[[Call], Coroutine[Any, Any, Any]]) -> None:
        """Start the request, which is ``main``'s of ``call``."""
        self._call = call

        async def fly() -> None:
            try:
                if not self._abandoned:
                    self._result = await main(call)
            except anyio.get_cancelled_exc_class() as error:
                self._error, self._trace = error, error.__traceback__
                raise
            except BaseException as error:
                self._error, self._trace = error, error.__traceback__
            finally:
                self._over.set()
                if _flights.get(self.key) is self:
                    del _flights[self.key]
                self._tell()

        self._task = spawn(fly)

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def join(self, call: Call) -> tuple[Any, bool]:
        """Wait for the result, handing the chunks on to ``call`` as they come; return it, and whether there were any."""
        self._passengers += 1
        self._put_off(call.ends_at)
        taken = 0
        has_chunks = False
        try:
            while True:
                while taken < len(self._items):
                    item = self._items[taken]
                    taken += 1
                    if item.__class__ is Notice:
                        await call.tell(item.name, *item.args, **item.details)
                    else:
                        has_chunks = True
                        waiting = call.deliver(call.shared(item, self.bills))
                        if waiting is not None:
                            await waiting
                if self._over.is_set():
                    break
                await wait_for(self._news)
        except BaseException:
            call.pays = self._passengers == 1 and self.bills(call)  # those who stay get the rest, and the whole bill
            raise
        finally:
            self._passengers -= 1
            if not self._passengers and not self._over.is_set():
                await self._abandon(call)
        if self._error is not None:
            call.pays = self.bills(call)
            # Everybody raises the same exception: its traceback must not grow with each of them.
            raise self._error.with_traceback(self._trace)
        return self._result, has_chunks

    def _put_off(self, ends_at: float | None) -> None:
        """Let the request, whose pauses end with its call's time, have as much of it as the last of its passengers."""
        if self._call is not None and self._call.ends_at is not None:
            self._call.ends_at = None if ends_at is None else max(self._call.ends_at, ends_at)

    def bills(self, call: Call) -> bool:
        """Whether it is ``call`` that pays: the first to get to the end."""
        if self._payer is None:
            self._payer = call
        return self._payer is call

    async def _abandon(self, last: Call) -> None:
        """Cancel the request, since nobody is left, and wait for its end."""
        if _flights.get(self.key) is self:
            del _flights[self.key]
        self.closed = last.closed
        self._abandoned = True
        if self._task is not None:
            self._task.cancel()
        await wait_shielded(self._over)


def board(cache: object, key: tuple[str, str]) -> tuple[Flight, bool]:
    """Return the flight for this cache and key on the running loop, and whether it is new and must take off."""
    token: EventLoopToken = current_token()
    full_key = (token.native_token, id(cache), *key)
    flight = _flights.get(full_key)
    if flight is not None:
        return flight, False
    flight = _flights[full_key] = Flight(full_key)
    return flight, True
