"""What the ASGI applications of hocket have in common: they are served by any server of that kind, and need no framework.

A call of a model costs money, and may take minutes: so a client that goes away takes its call with it.
"""

import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TypeAlias

import anyio

from hocket.messages.content import Fields, FieldsView

__all__ = [
    "ASGIApp",
    "Header",
    "Receive",
    "Send",
    "cancel_when_gone",
    "confirm_lifespan",
    "discard_body",
    "path_of",
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


async def confirm_lifespan(receive: Receive, send: Send) -> None:
    """Say yes to the server's start and to its end: there is nothing to do for either."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


def path_of(scope: FieldsView) -> str:
    """Return the path below the place where the application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


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
    """Take the rest of a body, or somewhat more than ``most`` bytes: who is still sending does not read a reply."""
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
