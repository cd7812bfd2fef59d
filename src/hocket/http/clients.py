"""One client for each event loop and set of settings, closed with its loop.

Connections belong to the loop that opened them, so a model holds none, and every loop has a client of its own, whatever
the number of models. Who closes it? A weak reference to the loop does not help: on asyncio the client's transports hold
the loop, so that neither is ever collected. But every loop ends by closing the async generators that were begun on it
(PEP 525: asyncio's ``shutdown_asyncgens``, trio's run). So a generator is begun on the loop, kept, and does nothing but
wait to be closed: its ``finally`` closes the clients and forgets the loop.

A loop that is closed without that (``loop.close()`` alone) is forgotten, and its connections are closed, when the next
loop asks for a client.
"""

import contextlib
import os
import sys
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from anyio.lowlevel import current_token

from hocket._runtime.fork import after_fork, leave_to_parent
from hocket.http.request import HTTPRequest

__all__ = ["Client", "ClientSettings", "OpenReply", "Transport", "close_client", "get_client"]


@dataclass(frozen=True)
class ClientSettings:
    """The settings of a client; equal ones share it. The limit on connecting is the call's (`hocket.timeouts`).

    Attributes:
        max_connections: open at once, on one event loop; further requests queue.
        proxy: URL of a proxy; None: what the environment says, as for httpx (``HTTPS_PROXY``, ``NO_PROXY`` …).
        verify: False: certificates are not checked; a text: the path of a bundle of authorities to trust.
        is_public_only: whether hosts whose addresses only this machine or a private network has are refused.
    """

    max_connections: int = 200
    proxy: str | None = field(default=None, repr=False)
    verify: bool | str = True
    is_public_only: bool = False


class OpenReply(Protocol):
    """A reply, its body still to be read.

    Attributes:
        is_worth_draining: whether there is a connection that can be used again when the rest is read.
    """

    is_worth_draining: ClassVar[bool]

    @property
    def status(self) -> int:
        """Its code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        ...

    async def receive(self) -> bytes:
        """Return the next piece of the body as it came; nothing: it has ended."""
        ...

    async def aclose(self) -> None:
        """Give up the rest. Safe to call twice."""
        ...


class Transport(Protocol):
    """What sends requests."""

    async def open(self, request: HTTPRequest) -> OpenReply:
        """Send a request and return its reply as soon as the head of it is there."""
        ...


class Client(Transport, Protocol):
    """What sends requests and can be closed."""

    async def retire(self) -> None:
        """Close it when its last request has ended."""
        ...

    async def aclose(self) -> None:
        """Close it now, whatever is under way."""
        ...

    def abandon(self) -> None:
        """Free what can be freed where the loop has been closed, whatever is under way."""
        ...


class _Loop:
    """The clients of one event loop."""

    __slots__ = ("clients", "keeper", "retired")

    def __init__(self) -> None:
        self.clients: dict[ClientSettings, Client] = {}
        self.retired: weakref.WeakSet[Client] = weakref.WeakSet()  # those that still have requests
        self.keeper: AsyncGenerator[None, None] | None = None

    def all_clients(self) -> list[Client]:
        return [*self.clients.values(), *self.retired]


_loops: dict[object, _Loop] = {}


def get_client(settings: ClientSettings) -> Client:
    """Return the running loop's client."""
    native = current_token().native_token
    loop = _loops.get(native) or _register_loop(native)
    client = loop.clients.get(settings)
    if client is None:
        client = loop.clients[settings] = _create_client(settings)
    return client


async def close_client(settings: ClientSettings) -> None:
    """Retire the running loop's client: closed at once if it is idle, else when its last request ends.

    A later request opens a new one.
    """
    loop = _loops.get(current_token().native_token)
    if loop is not None and settings in loop.clients:
        client = loop.clients.pop(settings)
        loop.retired.add(client)
        await client.retire()


def _register_loop(native: object) -> _Loop:
    """Make room for a loop's clients and have the loop close them at its end."""
    for other in list(_loops):
        is_closed: Callable[[], bool] | None = getattr(other, "is_closed", None)  # asyncio's
        if is_closed is not None and is_closed():  # it did not end properly
            forgotten = _loops.pop(other, None)
            for client in forgotten.all_clients() if forgotten is not None else ():
                client.abandon()
    loop = _loops[native] = _Loop()
    loop.keeper = _close_at_end(native, loop)
    with contextlib.suppress(StopIteration):
        loop.keeper.__anext__().send(None)  # begun by hand: it does not wait
    return loop


async def _close_at_end(native: object, loop: _Loop) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        _loops.pop(native, None)
        for client in loop.all_clients():
            await client.aclose()


def _create_client(settings: ClientSettings) -> Client:
    if settings.proxy is not None or _has_proxy_in_environment():
        from hocket.http.httpx_client import ProxiedClient

        return ProxiedClient(settings.proxy, settings.max_connections, settings.verify, settings.is_public_only)
    from hocket.http.pool import Pool

    return Pool(settings.max_connections, settings.verify, settings.is_public_only)


def _has_proxy_in_environment() -> bool:
    if sys.platform in ("darwin", "win32"):  # whose system settings may name one, too
        from urllib.request import getproxies

        names = {f"{scheme}_proxy" for scheme in getproxies()}
    else:
        names = {name.lower() for name, value in os.environ.items() if value}
    return not names.isdisjoint({"http_proxy", "https_proxy", "all_proxy"})


@after_fork
def _start_anew() -> None:
    """Leave the parent's connections alone, and alive: to close them here would close them there."""
    global _loops
    leave_to_parent(_loops)
    _loops = {}
