"""Equal calls in flight share one request.

The request runs in a detached task, so that it survives the call that started it; it counts its subscribers, and is
cancelled when the last one leaves. It keeps its chunks: a subscriber that comes late, or is slow, misses none, and holds
up nobody. Shared requests belong to an event loop; equal calls on two loops are two requests.
"""

from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any

import anyio
from anyio.lowlevel import EventLoopToken, current_token

from hocket._pipeline.call import Call
from hocket._pipeline.runs import RelayedEvent
from hocket._runtime.cancellation import refuse, wait_event, wait_shielded
from hocket._runtime.detached import Detached, spawn

__all__ = ["SharedRequest", "get_or_create", "is_inside"]

Key = tuple[object, int, str, str]

_requests: dict[Key, "SharedRequest"] = {}
_outer: ContextVar[tuple["SharedRequest", ...]] = ContextVar("hocket_outer_requests", default=())
"""Those that this code runs inside of."""


class SharedRequest:
    """One request, for every equal call that comes while it lasts. It is the sink of its own chunks.

    Args:
        key: by which equal calls find it; None: they do not.

    Attributes:
        closed: whether the last call has left on its own account.
        over: set when the request has ended.
    """

    def __init__(self, key: Key | None = None) -> None:
        self.key: Key | None = key
        self.closed: bool = False
        self.over: anyio.Event = anyio.Event()
        self._call: Call | None = None
        self._payer: Call | None = None
        self._items: list[Any] = []
        self._news = anyio.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._trace: TracebackType | None = None
        self._subscribers = 0
        self._is_abandoned = False
        self._task: Detached | None = None

    def put(self, item: Any) -> Awaitable[None] | None:
        """Keep a chunk, or an event. Never waits: the request runs at the pace of none of its subscribers."""
        if self._is_abandoned:
            return refuse()
        self._items.append(item)
        self._wake_subscribers()
        return None

    def start(self, call: Call, send: Callable[[Call], Coroutine[Any, Any, Any]]) -> None:
        """Start the request: ``send`` of ``call``."""
        self._call = call

        async def run() -> None:
            _outer.set((*_outer.get(), self))  # the task has a context of its own
            try:
                if not self._is_abandoned:
                    self._result = await send(call)
            except anyio.get_cancelled_exc_class() as error:
                self._error, self._trace = error, error.__traceback__
                raise
            except BaseException as error:
                self._error, self._trace = error, error.__traceback__
            finally:
                self.over.set()
                self._forget()
                self._wake_subscribers()

        self._task = spawn(run)

    def _wake_subscribers(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    def _forget(self) -> None:
        """Take no further subscribers."""
        if self.key is not None and _requests.get(self.key) is self:
            del _requests[self.key]

    async def join(self, call: Call) -> tuple[Any, bool]:
        """Wait for the result, handing the chunks on to ``call`` as they come.

        Returns:
            the result, and whether there were any chunks.

        Raises:
            BaseException: what the request raised, the same error for every subscriber.
        """
        self._subscribers += 1
        if self._call is not None:
            self._call.limits.extend(call.limits.ends_at)  # to the latest deadline of the calls that wait for it
        taken = 0
        has_chunks = False
        try:
            while True:
                while taken < len(self._items):
                    item = self._items[taken]
                    taken += 1
                    if item.__class__ is RelayedEvent:
                        await call.runs.emit(item.name, *item.args, **item.details)
                    else:
                        has_chunks = True
                        chunk = call.answer.copy_shared_chunk(item, partial(self.has_bill, call))
                        waiting = call.delivery.deliver(chunk)
                        if waiting is not None:
                            await waiting
                if self.over.is_set():
                    break
                await wait_event(self._news)
        except BaseException:
            if not (self._subscribers == 1 and self.has_bill(call)):
                call.runs.waive_usage()  # the others get the rest, and the whole bill
            raise
        finally:
            self._subscribers -= 1
            if not self._subscribers and not self.over.is_set():
                await self._abandon(call)
        if self._error is not None:
            if not self.has_bill(call):
                call.runs.waive_usage()
            # All subscribers raise the same exception: its traceback must not grow with each of them.
            raise self._error.with_traceback(self._trace)
        return self._result, has_chunks

    def has_bill(self, call: Call) -> bool:
        """Whether it is ``call`` that reports the usage: the first that asks."""
        if self._payer is None:
            self._payer = call
        return self._payer is call

    async def _abandon(self, last: Call) -> None:
        """Cancel the request, since no subscriber is left, and wait for its end."""
        self.cancel(last)
        await wait_shielded(self.over)

    def cancel(self, last: Call) -> None:
        """Cancel the request, unless it has ended: ``last`` is the call that wanted it."""
        if self.over.is_set():
            return
        self._forget()
        self.closed = last.delivery.closed
        self._is_abandoned = True
        if self._task is not None:
            self._task.cancel()


def get_or_create(cache: object, key: tuple[str, str]) -> tuple[SharedRequest, bool]:
    """Return the request for this cache and key on the running loop, and whether it is new and must be started."""
    full_key = _complete(cache, key)
    request = _requests.get(full_key)
    if request is not None:
        return request, False
    request = _requests[full_key] = SharedRequest(full_key)
    return request, True


def is_inside(cache: object, key: tuple[str, str]) -> bool:
    """Whether this code runs inside of the request for this cache and key: a model that asks itself its own question."""
    outer = _outer.get()
    return bool(outer) and _requests.get(_complete(cache, key)) in outer


def _complete(cache: object, key: tuple[str, str]) -> Key:
    token: EventLoopToken = current_token()
    return (token.native_token, id(cache), *key)
