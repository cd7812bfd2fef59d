"""Clients of servers, one for each URL, which all stores and threads of a process share.

They are the libraries' sync clients, since those belong to no event loop; see `docs/decisions/008-history-stores.md`.
"""

import threading
import weakref
from collections.abc import Callable
from typing import TypeVar, cast

import anyio
from anyio.lowlevel import current_token

from hocket._runtime.fork import after_fork, leave_to_parent

__all__ = ["connection_limiter", "shared_client"]

Client = TypeVar("Client")

_clients: dict[tuple[Callable[[str], object], str], object] = {}
_lock = threading.Lock()


def shared_client(connect: Callable[[str], Client], url: str) -> Client:
    """Return the process's client for ``url``.

    Args:
        connect: makes it at the first call; a function of a module, which stands for the kind of client.
        url: of the server. Each spelling of it has a client of its own, which stays open; its idle connections can be
            closed.
    """
    with _lock:
        if (connect, url) not in _clients:
            _clients[connect, url] = connect(url)
        return cast(Client, _clients[connect, url])


_limiters: weakref.WeakKeyDictionary[object, dict[str, anyio.CapacityLimiter]] = weakref.WeakKeyDictionary()


def connection_limiter(url: str, max_connections: int) -> anyio.CapacityLimiter:
    """Return what keeps the tasks of the running loop from using more connections to ``url`` than there are.

    Tasks wait in the loop, which costs next to nothing. Were they sent to worker threads to wait there for a connection,
    each would hold a thread, with a stack and an allocator's arena of its own: 200 streams that end at once, 200 threads.
    """
    limiters = _limiters.setdefault(current_token().native_token, {})
    if url not in limiters:
        limiters[url] = anyio.CapacityLimiter(max_connections)
    return limiters[url]


@after_fork
def _start_anew() -> None:
    """Leave the parent's connections alone, and alive: to close them here would close them there."""
    global _clients, _lock
    leave_to_parent(_clients)
    _clients, _lock = {}, threading.Lock()
