"""What the ASGI applications of hocket have in common: they are served by any server of that kind, and need no framework.

A call of a model costs money, and may take minutes: so a client that goes away takes its call with it.

A page on the web may have the browser of somebody on this machine, or in its network, send requests. Two things keep it
out. It may send JSON to another origin only after a question that these applications do not answer, so a body has to be
JSON by its type. And it may call a name of its own that means 127.0.0.1, so that the browser takes the application for
the page's own server: so an application on this machine answers to this machine's names alone.
"""

import contextlib
import ipaddress
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TypeAlias
from urllib.parse import urlsplit

import anyio

from hocket._secrets import redact
from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView

__all__ = [
    "ASGIApp",
    "Header",
    "Receive",
    "Send",
    "cancel_when_gone",
    "confirm_lifespan",
    "discard_body",
    "explain_body_type",
    "explain_foreign_name",
    "find_name",
    "is_loopback",
    "is_reached_here",
    "path_of",
    "read_hosts",
    "receive_body",
    "send_reply",
]

Receive: TypeAlias = Callable[[], Awaitable[FieldsView]]
"""Waits for the next event of a connection (ASGI)."""

Send: TypeAlias = Callable[[Fields], Awaitable[None]]
"""Sends an event of a connection (ASGI)."""

ASGIApp: TypeAlias = Callable[[FieldsView, Receive, Send], Coroutine[object, object, None]]
"""What ASGI calls an application: it is given a scope, and what receives and sends the events of it."""

Header: TypeAlias = tuple[bytes, bytes]


async def confirm_lifespan(
    receive: Receive,
    send: Send,
    finish: Callable[[], Awaitable[object]] | None = None,
    begin: Callable[[], Awaitable[object]] | None = None,
) -> None:
    """Say yes to the server's start and to its end; ``begin`` is done at the start, and ``finish`` before the end.

    Where ``begin`` fails the server is told so, and does not start.
    """
    while True:
        kind = (await receive())["type"]
        if kind == "lifespan.startup" and begin is not None:
            try:
                await begin()
            except Exception as error:  # of whatever kind
                return await send({"type": f"{kind}.failed", "message": redact(f"{type(error).__name__}: {error}")})
        if kind == "lifespan.shutdown" and finish is not None:
            await finish()
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


def path_of(scope: FieldsView) -> str:
    """Return the path below the place where the application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def is_loopback(host: str) -> bool:
    """Say whether a name or an address is this machine's own, and reached from nowhere else."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_reached_here(scope: FieldsView) -> bool:
    """Say whether a request came to an address of this machine alone."""
    address: tuple[str, int | None] | None = scope.get("server")
    return address is not None and is_loopback(address[0])


def read_hosts(hosts: Iterable[str] | None) -> frozenset[str] | None:
    """Return the names that an application may be called by, beside those of this machine; None: nobody said.

    Raises:
        InvalidInput: one is no name, such as ``"models.example.org"``.
    """
    names = None if hosts is None else frozenset([hosts] if isinstance(hosts, str) else hosts)
    for name in names or ():
        if not isinstance(name, str) or not name or find_name(f"//{name}") != name:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(
                f"hosts has {name!r}; it has names of hosts in small letters, without a scheme and a port"
            )
    return names


def explain_foreign_name(scope: FieldsView, hosts: frozenset[str] | None, option: str = "hosts=") -> str | None:
    """Return why a request is not answered, which names a foreign host in ``Host`` or ``Origin``; None: it is answered.

    Where nobody named hosts, an application that is not reached at this machine's own address is called by any name.
    ``option`` is the argument by which hosts are named.
    """
    if hosts is None and not is_reached_here(scope):
        return None
    called = [f"//{value.decode('latin-1')}" for name, value in scope["headers"] if name == b"host"]
    called += [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
    if called and all(is_loopback(name) or name in (hosts or ()) for name in map(find_name, called)):
        return None
    known = ", ".join(("127.0.0.1, ::1, localhost", *sorted(hosts or ())))
    return f"only requests to and from {known} are answered; who serves this names others with {option}"


def find_name(url: str) -> str:
    """Return the name of the host of a URL or an origin, without its port; "": there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # half of an IPv6 address
        return ""


def explain_body_type(headers: Iterable[Header]) -> str | None:
    """Return why the body of a request is not read, by what its headers say of it; None: it is."""
    said = dict(headers)
    if said.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        return "the body is JSON: send it with  Content-Type: application/json"
    if said.get(b"content-encoding", b"identity") != b"identity":
        return "a body that is compressed is not read"
    return None


async def receive_body(receive: Receive, most: int) -> bytes | None:
    """Return the body, or somewhat more than ``most`` bytes of it; None: the client has gone."""
    body = bytearray()
    is_whole = False
    while not is_whole and len(body) <= most:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        body += event.get("body", b"")
        is_whole = not event.get("more_body", False)
    return bytes(body)


async def discard_body(receive: Receive, most: int) -> None:
    """Take the rest of a body, or somewhat more than ``most`` bytes: while it sends, a client reads no reply."""
    while most >= 0:
        event = await receive()
        if not event.get("more_body", False):  # nor has a disconnect
            return
        most -= len(event.get("body", b""))


async def cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Wait until the client has gone, and cancel ``scope`` then."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def send_reply(send: Send, status: int, body: bytes, headers: Iterable[Header] = ()) -> None:
    """Send a reply whole, with its length."""
    counted = [*headers, (b"content-length", b"%d" % len(body))]
    with contextlib.suppress(OSError):  # how some servers say that the client has gone
        await send({"type": "http.response.start", "status": status, "headers": counted})
        await send({"type": "http.response.body", "body": body})
