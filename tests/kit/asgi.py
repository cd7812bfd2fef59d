"""A server's side of one request, for ASGI applications: what a client sends, when it leaves, and what it is sent."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

__all__ = ["RawClient", "body"]

App = Callable[[Any, Any, Any], Awaitable[None]]


class RawClient:
    """The server's side of one request: the events that it gives, and those that it gets.

    Args:
        events: that the application receives first.
        path, scope: of the request.

    Attributes:
        left: to be set when the client goes away.
        got: what the application has sent.
        taken: is called with what is sent, before it counts as taken: it may wait, or raise.
    """

    def __init__(self, *events: dict[str, Any], path: str = "/react", **scope: Any) -> None:
        headers = [(b"content-type", b"application/json")]
        self.scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path, "headers": headers, **scope}
        self.events = [*events]
        self.left = anyio.Event()
        self.got: list[dict[str, Any]] = []
        self.taken: Callable[[dict[str, Any]], Awaitable[None]] | None = None

    async def receive(self) -> dict[str, Any]:
        await checkpoint()
        if self.events:
            return self.events.pop(0)
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: dict[str, Any]) -> None:
        await checkpoint()
        self.got.append(event)
        if self.taken is not None:
            await self.taken(event)

    @property
    def status(self) -> int:
        """The status of the reply."""
        return int(self.got[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the reply."""
        return {name.decode(): value.decode() for name, value in self.got[0]["headers"]}

    @property
    def body(self) -> bytes:
        """The body of the reply, as far as it has come."""
        return b"".join(event.get("body", b"") for event in self.got[1:])

    async def ask(self, app: App) -> None:
        await app(self.scope, self.receive, self.send)


def body(data: bytes, *, is_last: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": not is_last}
