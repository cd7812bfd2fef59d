"""Keys that end, kept for the whole process: fetched by one call, awaited by the others, renewed before their end.

What fetches a key is a cloud's own library, which blocks, or a function of the user's. So a fetch belongs to no call: a
library runs in its own thread, and callers that need the key wait for its outcome on their own loops. A call that is
cancelled leaves the fetch to the others. A key without an end is shared by nobody: who knows whom it was made for.

A key is renewed behind the back of the calls in the last five minutes before its end, and waited for in the last one. So
a call that has a valid key never waits: botocore has 15 and 10 minutes for it, google-auth 3:45.
"""

import contextlib
import copy
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import anyio
from anyio.lowlevel import current_token

from hocket._runtime import clock
from hocket._runtime.detached import call_soon, spawn
from hocket._runtime.fork import after_fork
from hocket._runtime.own_thread import start_thread
from hocket.errors import AuthenticationError

__all__ = ["FOR_GOOD", "FOR_NOW", "FoundKey", "KeptKey", "get_key", "reject_key"]

T = TypeVar("T")

RENEW_AHEAD = 300.0
"""Seconds before the end of a key in which it is renewed."""

WAIT_AHEAD = 60.0
"""Seconds before its end in which calls wait for the new one."""

PAUSE = 30.0
"""Seconds between a renewal and the next, where it failed or brought a key that ends as soon."""

PATIENCE = 60.0
"""Seconds that a fetch may take, before its calls fail and the next one begins again."""

FRESH = 60.0
"""Seconds in which a key that replaced a rejected one is not replaced again."""

MOST = 1000
"""Keys that are kept; the oldest leave first."""

FOR_GOOD = float("inf")
"""The end of a key that has none."""

FOR_NOW = 0.0
"""The end of a key of which nothing is known: each call asks for one of its own."""

_log = logging.getLogger("hocket.clouds")


@dataclass(frozen=True, slots=True)
class FoundKey(Generic[T]):
    """A key, and when it ends, in seconds since 1970."""

    value: T
    expires_at: float


@dataclass(slots=True)
class _Entry:
    """One key, or its absence."""

    fetch: object  # of the first call; kept, since the name may be the id of what it asks
    held: FoundKey[Any] | None = None
    flight: "Future[FoundKey[Any]] | None" = None
    began_at: float = 0.0  # the flight
    rests_until: float = 0.0  # after a fetch, which may have failed, or brought the same key
    rejected_at: float = -FRESH  # when the key before this one was rejected


_lock = threading.Lock()
_entries: dict[Hashable, _Entry] = {}


class KeptKey(Generic[T]):
    """A key that ends, kept for the whole process: for a provider of one's own, in its ``_authenticate``.

    Args:
        name: what is the same for equal keys, such as the service and the account.
        fetch: returns the key, and when it ends, in seconds since 1970.
    """

    def __init__(self, name: Hashable, fetch: Callable[[], Awaitable[tuple[T, float]]]) -> None:
        self._name = (KeptKey, name)
        self._fetch = fetch

    async def get(self) -> T:
        """Return the key. Raises as `get_key`."""

        async def fetch() -> FoundKey[T]:
            return FoundKey(*await self._fetch())

        return await get_key(self._name, fetch)

    def reject(self, is_rejected: Callable[[T], bool]) -> bool:
        """Forget a key that the server no longer takes, and return whether another may be better: `reject_key`."""
        return reject_key(self._name, is_rejected)


async def get_key(name: Hashable, fetch: Callable[[], FoundKey[T] | Awaitable[FoundKey[T]]]) -> T:
    """Return a key, from the cache or from what fetches it.

    Args:
        name: what is the same for equal keys, such as the cloud, the profile and the file.
        fetch: returns the key; a sync function is called in a thread, which nothing ends before its time.

    Raises:
        AuthenticationError: the fetch took more than a minute.
        Exception: whatever ``fetch`` raises, while no older key holds.
    """
    now = clock.current().now()
    with _lock:
        entry = _entries.setdefault(name, _Entry(fetch))
        held, flight, begins = entry.held, entry.flight, False
        left = _measure_rest(held)
        if held is not None and (left > RENEW_AHEAD or (left > 0 and now < entry.rests_until)):
            return cast(T, held.value)
        is_shared = held is None or held.expires_at != FOR_NOW
        if flight is None or now - entry.began_at >= PATIENCE or not is_shared:
            flight, begins = Future[FoundKey[Any]](), True
            if is_shared:
                entry.flight, entry.began_at = flight, now
            for oldest in list(_entries)[:-MOST]:
                del _entries[oldest]
        patience = PATIENCE if begins else entry.began_at + PATIENCE - now
    if begins:
        _begin(entry, flight, fetch)
    if held is not None and left > WAIT_AHEAD:
        return cast(T, held.value)
    try:
        found = await _wait(entry, flight, patience)
    except Exception:
        if held is not None and _measure_rest(held) > 0:  # its log line is written
            return cast(T, held.value)
        raise
    if begins or found.expires_at != FOR_NOW:
        return cast(T, found.value)
    return await get_key(name, fetch)  # that one was for another call, of another tenant perhaps


def _measure_rest(held: FoundKey[Any] | None) -> float:
    """Return the seconds for which a key still holds; 0 or less: it does not."""
    return 0.0 if held is None else held.expires_at - clock.current().time()


def reject_key(name: Hashable, is_rejected: Callable[[Any], bool]) -> bool:
    """Forget a key that the cloud no longer takes, and return whether another attempt may get a better one.

    A key that replaced such a one a minute ago is not replaced again: then it is not the key that is at fault.

    Args:
        name: as for `get_key`.
        is_rejected: whether the request was made with this key.
    """
    now = clock.current().now()
    with _lock:
        entry = _entries.get(name)
        if entry is None:
            return False
        if entry.held is None or not is_rejected(entry.held.value):
            return True  # another call has seen it before
        if now - entry.rejected_at < FRESH:
            return False
        entry.held, entry.rejected_at = None, now
        return True


def _begin(
    entry: _Entry, flight: "Future[FoundKey[T]]", fetch: Callable[[], FoundKey[T] | Awaitable[FoundKey[T]]]
) -> None:
    """Start a fetch, whose outcome the flight gets."""

    async def await_it() -> None:
        try:
            found = await cast("Awaitable[FoundKey[T]]", fetch())
        except Exception as error:
            _end(entry, flight, None, error)
        except BaseException:
            late = "the event loop on which a key was fetched has ended"
            _end(entry, flight, None, AuthenticationError(late, retryable=True))
            raise
        else:
            _end(entry, flight, found, None)

    def do_it() -> None:
        try:
            found = cast("FoundKey[T]", fetch())
        except BaseException as error:  # raised where it is awaited
            _end(entry, flight, None, error)
        else:
            _end(entry, flight, found, None)

    if inspect.iscoroutinefunction(fetch):
        spawn(await_it)
    else:
        start_thread("hocket key", do_it)


def _end(entry: _Entry, flight: "Future[FoundKey[T]]", found: FoundKey[T] | None, error: BaseException | None) -> None:
    """Keep what a fetch has found, and tell its waiting callers. A result after they gave up is kept, too."""
    with _lock:
        still = _measure_rest(entry.held) if error is not None and entry.flight is flight else 0.0
        if entry.flight is flight:
            entry.flight = None
        if found is not None:
            entry.held = found
        entry.rests_until = clock.current().now() + PAUSE
    if still > 0:
        _log.warning("a key could not be renewed; the old one is valid for %d s more: %s", still, error)
    with contextlib.suppress(InvalidStateError):  # nobody waits any more
        if error is None:
            flight.set_result(cast("FoundKey[T]", found))
        else:
            flight.set_exception(error)


async def _wait(entry: _Entry, flight: "Future[FoundKey[T]]", seconds: float) -> FoundKey[T]:
    is_over = anyio.Event()
    token = current_token()
    flight.add_done_callback(lambda _: call_soon(token, is_over.set))
    with clock.Alarm() as alarm:
        alarm.set(seconds)
        await is_over.wait()
    if not flight.done():
        late = f"what fetches the key has not answered for {PATIENCE:g} s; the next call asks again"
        _end(entry, flight, None, AuthenticationError(late))
    if (error := flight.exception()) is not None:
        raise _copy(error).with_traceback(error.__traceback__) from error.__cause__
    return flight.result()


def _copy(error: BaseException) -> BaseException:
    """Return an error of its own for a call: what one adds to it, or takes out of it, is nothing to the others."""
    try:
        return copy.copy(error)
    except Exception:  # of its class
        return AuthenticationError(f"{type(error).__name__}: {error}")


@after_fork
def _start_anew() -> None:
    """Forget the fetches of the parent, whose threads are not here."""
    global _lock
    _lock = threading.Lock()
    for entry in _entries.values():
        entry.flight = None
