"""The time, as a seam; a limit on it that can be moved while it runs; and ids that sort by it.

Everything in hocket that waits for time to pass (a rate limiter, a delay, a retry) asks this module and not ``time`` or
the event loop, so that a test can put a virtual clock underneath and never sleep for real. ``hocket.testing`` ships
that clock; nothing else replaces it.

A stream moves its limit with every chunk. trio keeps the deadlines of its scopes in a heap, where that costs little. On
asyncio every move would drop one timer and make another, so there the timer stays where it is: an alarm wakes when its
time may have come, and goes back to sleep if that was put off meanwhile. Under a clock that is not the loop's own it
sleeps by that clock, in a task.

The ids of runs are made of the time, too: version 7 UUIDs (RFC 9562 §5.7), so that they sort by it. Each is built from
one ``getrandbits`` of a generator of our own: five times cheaper than ``uuid4``, not disturbed by a user's
``random.seed``, and reseeded after a fork, so that parent and child never give out the same id.

`Turns` are those of other tasks, in a loop that may go round without a wait. A limit on time takes effect, and another
task goes on, only when the event loop has its turn. To give it one with every round would cost a quick loop as much as
its work; a look at the time costs a tenth of a microsecond.
"""

import math
import random
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import UUID, SafeUUID

import anyio
import anyio.lowlevel
from anyio.lowlevel import current_token

from hocket._runtime.detached import spawn
from hocket._runtime.fork import after_fork

__all__ = ["Alarm", "Clock", "RealClock", "Turns", "current", "new_run_id", "spawn_later", "use", "uuid_text"]


class Clock(Protocol):
    """What passes for time. ``now`` is in seconds from an arbitrary start and never goes back; ``time`` is the date."""

    def now(self) -> float:
        """Return the time in seconds."""
        ...

    def time(self) -> float:
        """Return the time in seconds since 1970, as it is told outside of this process."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait without holding up the event loop."""
        ...

    def block(self, seconds: float) -> None:
        """Wait in this thread."""
        ...


class RealClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Return the monotonic time."""
        return time.monotonic()

    def time(self) -> float:
        """Return the machine's wall-clock time."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait in the event loop."""
        await anyio.sleep(seconds)

    def block(self, seconds: float) -> None:
        """Wait in this thread."""
        time.sleep(seconds)


_current: Clock = RealClock()


def current() -> Clock:
    """Return the clock in use."""
    return _current


def use(clock: Clock) -> Clock:
    """Put ``clock`` in use for the whole process and return the one it replaces."""
    global _current
    before, _current = _current, clock
    return before


class Alarm:
    """Cuts off what runs inside it when its time has come; under an event loop.

    That cancellation ends where the alarm does, so that the code behind its ``with`` runs only if it rang. What has ended
    nevertheless, with a result or an error of its own, or is cancelled from outside at the same time, goes its own way.
    """

    __slots__ = ("_at", "_forget", "_later", "_scope", "_wakes_at")

    def __init__(self) -> None:
        self._at = self._wakes_at = math.inf
        self._scope = anyio.CancelScope()
        self._forget: Callable[[], object] | None = None
        self._later: Callable[[float, Callable[[], object]], Callable[[], object]] | None = None

    def set(self, seconds: float | None) -> None:
        """Ring in so many seconds from now; None: not at all, until it is set again."""
        if self._later is None:
            self._scope.deadline = math.inf if seconds is None else anyio.current_time() + seconds
        elif seconds is None:
            self._at = math.inf
        else:
            self._at = current().now() + seconds
            if self._at < self._wakes_at:
                self._rest()
                self._wake_in(seconds)

    def _wake_in(self, seconds: float) -> None:
        assert self._later is not None
        self._wakes_at = self._at
        self._forget = self._later(seconds, self._wake)

    def _wake(self) -> None:
        self._wakes_at, self._forget = math.inf, None
        delay = self._at - current().now()
        if delay <= 0:
            self._scope.cancel()
        elif delay < math.inf:
            self._wake_in(delay)

    def _rest(self) -> None:
        forget, self._forget, self._wakes_at = self._forget, None, math.inf
        if forget is not None:
            forget()

    def __enter__(self) -> Self:
        if not isinstance(current(), RealClock):
            self._later = _by_the_clock
        elif hasattr(loop := current_token().native_token, "call_later"):  # asyncio's
            self._later = _by_timer(loop)
        self._scope.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._at = math.inf
        self._rest()
        return self._scope.__exit__(kind, error, trace)


def _by_timer(loop: Any) -> Callable[[float, Callable[[], object]], Callable[[], object]]:
    return lambda seconds, call: loop.call_later(seconds, call).cancel


def _by_the_clock(seconds: float, call: Callable[[], object]) -> Callable[[], object]:
    """Call ``call`` when so many seconds have passed by the clock in use, and return what prevents it."""

    async def wait() -> None:
        await current().sleep(seconds)
        call()

    return spawn(wait).cancel


def spawn_later(seconds: float, main: Callable[[], Coroutine[object, object, None]]) -> Callable[[], object]:
    """Start ``main`` in the running loop when so many seconds have passed, and return what prevents or ends it.

    On asyncio nothing is started before, and it is ended by ``task.cancel()``: it must have nothing to clean up that waits.
    """
    loop: Any = current_token().native_token
    if not isinstance(current(), RealClock) or not hasattr(loop, "call_later"):

        async def wait() -> None:
            await current().sleep(seconds)
            await main()

        return spawn(wait).cancel
    cancel: Callable[[], object]

    def begin() -> None:
        nonlocal cancel
        cancel = loop.create_task(main()).cancel

    cancel = loop.call_later(seconds, begin).cancel
    return lambda: cancel()


_random = random.Random()
after_fork(_random.seed)

_VERSION_AND_VARIANT = 0x7 << 76 | 0x2 << 62
_RANDOM_BITS = (1 << 76) - 1 & ~(0xF << 76) & ~(0x3 << 62)
_new = UUID.__new__
# A UUID refuses plain assignment, and its constructor costs a microsecond of checks.
_set_int = UUID.__dict__["int"].__set__
_set_safe = UUID.__dict__["is_safe"].__set__
_unknown = SafeUUID.unknown


def uuid_text(id: UUID) -> str:
    """Return ``str(id)``, at two thirds of its price: the id of every answer has it."""
    text = id.int.to_bytes(16, "big").hex("-", 6)  # counted from the end: the first and the last dash are there
    return f"{text[:13]}-{text[13:17]}-{text[17:]}"


def new_run_id() -> UUID:
    """Return a new version 7 UUID: 48 bits of milliseconds, 74 random bits. So the ids of runs sort by their starts.

    For a run whose id has to be known before it starts, as the config's ``run_id``.
    """
    made = _new(UUID)
    milliseconds = time.time_ns() // 1_000_000
    _set_int(made, milliseconds << 80 | _VERSION_AND_VARIANT | _random.getrandbits(76) & _RANDOM_BITS)
    _set_safe(made, _unknown)
    return made


_TURN = 0.01
"""Seconds until the others have their turn."""


class Turns:
    """The turns of one loop, which begins now."""

    __slots__ = ("_ends_at",)

    def __init__(self) -> None:
        self._ends_at = time.monotonic() + _TURN

    async def share(self) -> None:
        """Let the others have a turn, if theirs has come. Only on an event loop."""
        if time.monotonic() >= self._ends_at:
            await anyio.lowlevel.checkpoint()
            self._ends_at = time.monotonic() + _TURN
