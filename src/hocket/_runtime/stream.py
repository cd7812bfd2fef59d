"""Streams as objects, over one producer.

A producer is a coroutine function that hands items to a sink until it returns. It runs in a detached task, and holds
there all cancel scopes, task groups and connections; the consumer holds none. So a consumer that leaves early (break,
garbage collection, a cancelled pull, ``aclose`` from another task) cannot close them in the wrong task, as async
generators do (PEP 533, PEP 789). The producer runs ahead of the consumer by `BOUND` items, or as many as it is given.

In the blocking mode the consumer itself drives the producer: the sink suspends it at each item, and the next pull
resumes it. This needs no thread and no loop.
"""

import collections
import contextvars
import functools
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

import anyio
from anyio.lowlevel import current_token

from hocket._runtime.cancellation import refuse, wait_event, wait_shielded
from hocket._runtime.clock import Alarm
from hocket._runtime.closing import AsyncClosing, Closing
from hocket._runtime.detached import Detached, call_soon, spawn
from hocket._runtime.portal import is_here, run_in_portal
from hocket._runtime.sinks import Sink
from hocket.errors import InvalidInput

__all__ = ["Left", "Producer", "Sink", "Stream", "SyncStream", "finish_streams"]

T = TypeVar("T")

BOUND = 64


Producer = Callable[[Sink[T]], Coroutine[Any, Any, None]]


class _Channel(Generic[T]):
    """The state that producer and consumer share. It outlives the `Stream`, and is told when that is lost."""

    __slots__ = (
        "bound",
        "buffer",
        "closed",
        "done",
        "empty",
        "error",
        "full",
        "left",
        "over",
        "produce",
        "task",
        "trace",
    )

    def __init__(self, produce: Producer[T], bound: int) -> None:
        self.produce: Producer[T] | None = produce
        self.bound = bound
        self.buffer: collections.deque[T] = collections.deque()
        self.closed = self.left = self.over = False
        self.error: BaseException | None = None
        self.trace: TracebackType | None = None
        self.task: Detached | None = None
        self.full: anyio.Event | None = None
        self.empty: anyio.Event | None = None

    def put(self, item: T) -> Awaitable[None] | None:
        if self.left:
            return refuse()
        self.buffer.append(item)
        if self.empty is not None:
            self.empty.set()
            self.empty = None
        return self._wait_for_room() if len(self.buffer) >= self.bound else None

    async def _wait_for_room(self) -> None:
        self.full = self.full or anyio.Event()  # one for all: a batch puts from many tasks
        await self.full.wait()

    def start(self) -> None:
        self.done = anyio.Event()
        self.task = spawn(self._run)
        if not self.over:
            _running[self.task] = self.done

    async def _run(self) -> None:
        assert self.produce is not None
        produce, self.produce = self.produce, None
        try:
            if not self.left:
                await produce(self)
        except anyio.get_cancelled_exc_class() as error:
            if not self.left:  # the loop is ending, or the producer was cancelled from within
                self._keep(error)
            raise
        except BaseException as error:  # raised where the consumer is, not in a task that nobody awaits
            self._keep(error)
        finally:
            self.over = True
            if self.task is not None:  # with eager tasks it may end while it starts
                _running.pop(self.task, None)
            self.done.set()
            if self.empty is not None:
                self.empty.set()

    def _keep(self, error: BaseException) -> None:
        # Where equal calls share a request they share its exception, too: what others add to the traceback is not ours.
        self.error, self.trace = error, error.__traceback__

    async def next(self) -> T:
        """Wait for an item. Only called when the buffer is empty.

        Raises:
            InvalidInput: the stream was begun on another event loop.
        """
        if self.task is None and not self.over:
            self.start()
        if self.task is not None and self.task.token.native_token is not current_token().native_token:
            raise InvalidInput("the stream was begun on another event loop; read it there, or begin a new one here")
        while not self.buffer:
            if self.over:
                if self.error is not None:
                    error, self.error = self.error, None
                    if isinstance(error, StopAsyncIteration):  # a reader would take it for the end (PEP 479)
                        raise RuntimeError(f"what produces the stream raised {error!r}") from error
                    raise error.with_traceback(self.trace)
                raise StopAsyncIteration
            self.empty = self.empty or anyio.Event()
            try:
                await wait_event(self.empty)
            except BaseException:
                await self.stop(closed=False)
                raise
        self.make_room()  # with room for one item, that item is always taken here
        return self.buffer.popleft()

    async def wait(self, seconds: float | None) -> bool:
        """Wait until `next` would not have to, for so many seconds at most; whether that happened."""
        if self.buffer or self.over:
            return True
        if self.task is None:
            self.start()
        self.empty = self.empty or anyio.Event()
        with Alarm() as alarm:
            alarm.set(seconds)
            await wait_event(self.empty)
            return True
        return False

    def make_room(self) -> None:
        """Let the producer go on, if an item that is about to be taken leaves it enough room for it to be worth it."""
        if self.full is not None and len(self.buffer) <= self.bound // 2 + 1:
            self.full.set()
            self.full = None

    def leave(self, *, closed: bool = True) -> None:
        """Cancel the producer, without waiting for its end. Must run in the loop's own thread."""
        if self.task is not None and not self.over and not self.left:
            self.left, self.closed = True, closed
            self.task.cancel()

    async def stop(self, *, closed: bool) -> None:
        """Cancel the producer and wait for its end."""
        if self.task is None:
            self.over, self.produce = True, None
            return
        self.leave(closed=closed)
        self.buffer.clear()
        await wait_shielded(self.done)
        self.error = None if closed else self.error


_running: dict[Detached, anyio.Event] = {}  # the tasks of streams that are not over, and what tells their end


async def finish_streams(seconds: float = 5.0) -> bool:
    """Wait until every stream that this event loop has begun is over, for so many seconds at most; whether they all are.

    For the end of a service: what a cancelled stream does last, as to store the half of an answer, takes a moment, and some
    servers end the process at once (uvicorn with ``timeout_graceful_shutdown`` sends itself the signal again).
    """
    loop = current_token().native_token
    with anyio.move_on_after(seconds):
        for done in [done for task, done in [*_running.items()] if task.token.native_token is loop]:
            await done.wait()
        return True
    return False


class Stream(AsyncClosing, Generic[T]):
    """An async iterator that can be left at any point, from any task, with everything behind it closed.

    Starts at the first pull. Leaving it: ``async with``, `aclose`, or just dropping it; a cancelled pull ends it too.
    An error of the producer is raised by the pull that reaches it.

    Args:
        produce: the producer.
        bound: how many items it may be ahead of the consumer: fewer where each may be large.
    """

    def __init__(self, produce: Producer[T], *, bound: int = BOUND) -> None:
        self._channel: _Channel[T] = _Channel(produce, bound)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        channel = self._channel
        if not channel.buffer:
            return await channel.next()
        if channel.full is not None:
            channel.make_room()
        return channel.buffer.popleft()

    if not TYPE_CHECKING:  # whose checkers say it before it happens

        def __await__(self) -> NoReturn:
            raise TypeError(
                "a stream is not awaited: write `async for chunk in model.astream(...)`, without `await`; "
                "for the whole answer, `await model.ainvoke(...)`"
            )

    @property
    def has_next(self) -> bool:
        """Whether an item has come, and is there to be taken at once."""
        return bool(self._channel.buffer)

    @property
    def was_left(self) -> bool:
        """Whether it was closed before its end: then it ends without an error, and what came is not all."""
        channel = self._channel
        return channel.left or (channel.over and channel.task is None)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for the next item, or the end, without taking it. To cancel this does not end the stream, as a pull would.

        Args:
            seconds: how long at most; None: as long as it takes.

        Returns:
            whether it has come.
        """
        return await self._channel.wait(seconds)

    async def aclose(self) -> None:
        """Leave the stream: cancel what produces it and wait until that has ended. Safe to call twice, from any task."""
        await self._channel.stop(closed=True)

    def __del__(self) -> None:
        if call_soon is None:  # pyright: ignore[reportUnnecessaryComparison]  # without a GIL the process's end takes names away
            return
        channel = self._channel
        if channel.task is not None and not channel.over:
            call_soon(channel.task.token, channel.leave)


class Left(BaseException):
    """Thrown into a producer whose consumer has left."""


class _Stepped(Generic[T]):
    """A producer in the blocking mode: each pull of the consumer runs it as far as the next item.

    It has a copy of the context of the first pull, as the task of a `Stream` has: what it sets is not to be seen by the
    consumer in between, who may pull from another context the next time.
    """

    _item: T

    def __init__(self, produce: Producer[T]) -> None:
        self.closed = False
        self._context = contextvars.copy_context()
        self._coroutine = produce(self)
        run: Callable[..., Any] = self._context.run
        self._go_on = functools.partial(run, self._coroutine.send, None)

    def put(self, item: T) -> Awaitable[None]:
        self._item = item
        return self

    def __await__(self) -> Generator[None, None, None]:
        """Suspend the producer until the next pull."""
        try:
            yield
        except GeneratorExit:  # collected together with the stream, and before it: the order is the collector's
            self.closed = True
            raise

    def next(self) -> T:
        try:
            self._go_on()
        except StopIteration:
            raise StopIteration from None
        return self._item

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        try:
            self._context.run(self._coroutine.throw, Left())
        except (Left, Exception):  # what goes wrong in the clean-up concerns nobody any more, as in `Stream`
            pass
        finally:
            self._coroutine.close()


class _Remote(Generic[T]):
    """A `Stream` that lives on hocket's kept loop; pulls fetch all that has arrived."""

    def __init__(self, produce: Producer[T]) -> None:
        self._stream: Stream[T] = Stream(produce)
        self._ready: collections.deque[T] = collections.deque()

    def next(self) -> T:
        if not self._ready:
            self._ready = run_in_portal(self._pull)
            if not self._ready:
                raise StopIteration
        return self._ready.popleft()

    async def _pull(self) -> collections.deque[T]:
        async for item in self._stream:
            channel = self._stream._channel  # pyright: ignore[reportPrivateUsage]  # this is the stream's own sync face
            items = collections.deque([item, *channel.buffer])
            channel.buffer.clear()
            channel.make_room()
            return items
        return collections.deque()

    def close(self) -> None:
        run_in_portal(self._stream.aclose)


class SyncStream(Closing, Generic[T]):
    """An iterator over a producer: the sync face of `Stream`, with the same rules.

    Args:
        produce: the producer.
        stepped: whether it runs in the blocking mode, in the thread that pulls; else it runs on hocket's kept loop.
    """

    def __init__(self, produce: Producer[T], *, stepped: bool) -> None:
        self._source: _Stepped[T] | _Remote[T] | None = None
        self._make = functools.partial(_Stepped[T] if stepped else _Remote[T], produce)
        self._over = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        if self._over:
            raise StopIteration
        if self._source is None:
            self._source = self._make()
        try:
            return self._source.next()
        except Exception:
            self._over = True
            raise
        except BaseException:  # Ctrl-C, which may strike where nobody has been told to stop yet
            self.close()
            raise

    def close(self) -> None:
        """Leave the stream: what produces it is ended before this returns. Safe to call twice."""
        if not self._over:
            self._over = True
            if self._source is not None:
                self._source.close()

    def __del__(self) -> None:
        if _Stepped is None:  # pyright: ignore[reportUnnecessaryComparison]  # as in `Stream`
            return
        # A remote one is left to the `Stream` inside, which waits for nobody: who collects garbage may hold any lock.
        if isinstance(self._source, _Stepped) and not self._over:
            if is_here():  # and an async handler has to be told here, for which this thread would wait
                threading.Thread(target=self.close, daemon=True).start()
            else:
                self.close()
