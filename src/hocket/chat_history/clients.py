"""Clients of servers, one for each URL, which all histories and threads of a process share.

They are the libraries' sync clients, since those belong to no event loop; see `docs/decisions/008-history-stores.md`.
"""

import os
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["client_of"]

_clients: dict[tuple[Callable[[str], Any], str], Any] = {}
_lock = threading.Lock()
_inherited: list[object] = []


def client_of(make: Callable[[str], Any], url: str) -> Any:
    """Return the process's client for ``url``, which ``make(url)`` makes and nothing closes: its idle connections can be."""
    with _lock:
        client = _clients.get((make, url))
        if client is None:
            client = _clients[make, url] = make(url)
        return client


def _after_fork() -> None:
    """Leave the parent's connections alone, and alive: to close them here would close them there."""
    global _clients, _lock
    _inherited.append(_clients)
    _clients, _lock = {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
