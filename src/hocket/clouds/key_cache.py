"""Keys that end, kept for the whole process: fetched by one call, awaited by the others, renewed before their end.

What fetches a key is a cloud's own library, which blocks, or a function of the user's. So a fetch belongs to no call: a
library runs in a thread of its own, and whoever needs the key waits for its outcome on a loop of its own. A call that is
cancelled leaves the fetch to the others.

A key is renewed behind the back of the calls in the last five minutes before its end, and waited for in the last one. So
a call that has a valid key never waits: botocore has 15 and 10 minutes for it, google-auth 3:45.
"""

import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import anyio
from anyio.lowlevel import current_token

from hocket._runtime import clock
from hocket._runtime.detached import call_soon, spawn
from hocket._runtime.fork import after_fork
from hocket.errors import AuthenticationError

__all__ = ["FOR_GOOD", "FOR_NOW", "Found", "get_key", "reject_key"]

T = TypeVar("T")

RENEW_AHEAD = 300.0
"""Seconds before the end of a key in which it is renewed."""

WAIT_AHEAD = 60.0
"""Seconds before its end in which calls wait for the new one."""

PAUSE = 30.0
"""Seconds between a renewal that failed and the next, while the old key holds."""

PATIENCE = 60.0
"""Seconds that a fetch may take, before its calls fail and the next one begins anew."""

FRESH = 60.0
"""Seconds in which a key that replaced a rejected one is not replaced again."""

MOST = 1000
"""Keys that are kept; the oldest leave first."""

FOR_GOOD = float("inf")
"""The end of a key that has none."""

FOR_NOW = 0.0
"""The end of a key of which nothing is known: it is not kept."""

_log = logging.getLogger("hocket.clouds")


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A key, and when it ends, in seconds since 1970."""

    value: T
    expires_at: float


@dataclass(slots=True)
class _Entry:
    """One key, or its absence."""

    held: Found[Any] | None = None
    flight: "Future[Found[Any]] | None" = None
    began_at: float = 0.0  # the flight
    rests_until: float = 0.0  # after a renewal that failed
    rejected_at: float = -FRESH  # when the key before this one was rejected


_lock = threading.Lock()
_entries: dict[Hashable, _Entry] = {}


async def get_key(name: Hashable, fetch: Callable[[], Found[T] | Awaitable[Found[T]]]) -> T:
    """Return a key, from the cache or from what fetches it.

    Args:
        name: what is the same for equal keys, such as the cloud, the profile and the file.
        fetch: returns the key; a sync function is called in a thread, which nothing ends before its time.

    Raises:
        AuthenticationError: the fetch took more than a minute.
        Exception: whatever ``fetch`` raises, while no older key holds.
    """
    now = clock.current().time()
    with _lock:
        entry = _entries.setdefault(name, _Entry())
        held, flight, begins = entry.held, entry.flight, False
        left = held.expires_at - now if held is not None else 0.0
        if held is not None and (left > RENEW_AHEAD or (left > 0 and now < entry.rests_until)):
            return cast(T, held.value)
        if flight is None or now - entry.began_at > PATIENCE:
            flight = entry.flight = Future()
            entry.began_at, begins = now, True
            for oldest in list(_entries)[:-MOST]:
                del _entries[oldest]
    if begins:
        _begin(entry, flight, fetch)
    if held is not None and left > WAIT_AHEAD:
        return cast(T, held.value)
    try:
        return cast(T, (await _wait(flight)).value)
    except Exception:
        if held is not None and left > 0:  # its log line is written
            return cast(T, held.value)
        raise


def reject_key(name: Hashable, is_rejected: Callable[[Any], bool]) -> bool:
    """Forget a key that the cloud no longer takes, and return whether another attempt may get a better one.

    A key that replaced such a one a minute ago is not replaced again: then it is not the key that is at fault.

    Args:
        name: as for `get_key`.
        is_rejected: whether the request was made with this key.
    """
    now = clock.current().time()
    with _lock:
        entry = _entries.get(name)
        if entry is None:
            return False
        if entry.held is None or not is_rejected(entry.held.value):
            return True  # another call has seen it before
        if now - entry.rejected_at < FRESH:
            return False
        entry.held, entry.rejected_at, entry.rests_until = None, now, 0.0
        return True


def _begin(entry: _Entry, flight: "Future[Found[T]]", fetch: Callable[[], Found[T] | Awaitable[Found[T]]]) -> None:
    """Start a fetch, whose outcome the flight gets."""

    async def await_it() -> None:
        try:
            found = await cast("Awaitable[Found[T]]", fetch())
        except Exception as error:
            _end(entry, flight, None, error)
        except BaseException:
            _end(entry, flight, None, AuthenticationError("the event loop on which a key was fetched has ended"))
            raise
        else:
            _end(entry, flight, found, None)

    def do_it() -> None:
        try:
            found = cast("Found[T]", fetch())
        except BaseException as error:  # raised where it is awaited
            _end(entry, flight, None, error)
        else:
            _end(entry, flight, found, None)

    if inspect.iscoroutinefunction(fetch):
        spawn(await_it)
    else:
        threading.Thread(target=do_it, name="hocket key", daemon=True).start()


def _end(entry: _Entry, flight: "Future[Found[T]]", found: Found[T] | None, error: BaseException | None) -> None:
    """Keep what a fetch has found, and tell those who wait for it."""
    now = clock.current().time()
    with _lock:
        if entry.flight is flight:
            entry.flight = None
        if found is not None and found.expires_at > now:
            entry.held, entry.rests_until = found, 0.0
        still = entry.held.expires_at - now if error is not None and entry.held is not None else 0.0
        if still > 0:
            entry.rests_until = now + PAUSE
    if error is None:
        flight.set_result(cast("Found[T]", found))
        return
    if still > 0:
        _log.warning("a key could not be renewed; the old one holds for %d s more: %s", still, error)
    flight.set_exception(error)


async def _wait(flight: "Future[Found[T]]") -> Found[T]:
    is_over = anyio.Event()
    token = current_token()
    flight.add_done_callback(lambda _: call_soon(token, is_over.set))
    with anyio.move_on_after(PATIENCE):
        await is_over.wait()
    if not flight.done():
        raise AuthenticationError(f"what fetches the key has not answered for {PATIENCE:g} s; the next call asks again")
    return flight.result()


@after_fork
def _start_anew() -> None:
    """Forget the fetches of the parent, whose threads are not here."""
    global _lock
    _lock = threading.Lock()
    for entry in _entries.values():
        entry.flight = None
