"""Clients of servers, one for each URL, which all stores and threads of a process share.

They are the libraries' sync clients, since those belong to no event loop; see `docs/decisions/008-history-stores.md`.
"""

import threading
from collections.abc import Callable
from typing import TypeVar, cast

from hocket._runtime.fork import after_fork, leave_to_parent

__all__ = ["shared_client"]

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


@after_fork
def _start_anew() -> None:
    """Leave the parent's connections alone, and alive: to close them here would close them there."""
    global _clients, _lock
    leave_to_parent(_clients)
    _clients, _lock = {}, threading.Lock()
