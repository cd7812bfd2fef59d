"""What each request of a serving application goes through: its body read, its client listened to, its events sent."""

import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import TypeVar

import anyio

from hocket._asgi import Header, Receive, Send, cancel_when_gone, discard_body, explain_body_type, receive_body
from hocket._runtime.clock import Alarm, spawn_later
from hocket.serving.event_body import EventBody
from hocket.serving.refusals import Refusal

__all__ = ["finish_requests", "receive_json", "run_for_client", "send_events"]

T = TypeVar("T")

_PATIENCE = 60.0  # seconds that a client may take for its request, and then for each piece of the answer
_UNWATCHED = 0.05  # seconds for which nobody listens whether the client has left
_DISCARDED = 4  # times the limit: so much of a body that is too large is taken, so that its client reads the reply


_waiting: dict[int, anyio.CancelScope] = {}
"""The requests that nothing has been sent of yet, by their tasks."""

_stopped: set[anyio.CancelScope] = set()
"""Those of them that were ended."""

_breaks: set[Callable[[Exception], Coroutine[object, object, None]]] = set()
"""What breaks off the replies that come in pieces, and have begun."""


async def finish_requests(seconds: float) -> None:
    """Give the requests under way so long to end, and then end them: each client is told, as its API tells failures."""
    await anyio.sleep(seconds)
    _stopped.update(_waiting.values())
    for scope in _stopped:
        scope.cancel()
    async with anyio.create_task_group() as breaking:
        for break_off in _breaks:
            breaking.start_soon(break_off, _make_refusal())


def _make_refusal() -> Refusal:
    words = "this service stops or restarts; ask again"
    return Refusal(status=503, message=words, words=words, code="shutting_down", retry_after=1)


async def receive_json(headers: Iterable[Header], receive: Receive, most: int) -> bytes | None:
    """Return the body of a request, of ``most`` bytes; None: the client has gone.

    Raises:
        Refusal: 408, 413, 415.
    """
    if (reason := explain_body_type(headers)) is not None:
        raise Refusal(status=415, message=reason)
    with Alarm() as alarm:
        alarm.set(_PATIENCE)
        body = await receive_body(receive, most)
        if body is not None and len(body) > most:
            await discard_body(receive, most * _DISCARDED)
            raise Refusal(status=413, message=f"the body is larger than {most:,} bytes")
        return body
    raise Refusal(status=408, message=f"the body has not come within {_PATIENCE:.0f} seconds")


async def run_for_client(receive: Receive, work: Callable[[], Awaitable[None]]) -> None:
    """Do something until the client goes away.

    Most answers that are there at once cost less than to listen does: that begins when 50 ms have passed.

    Raises:
        Refusal: 503: the service is stopped.
    """
    task = anyio.get_current_task().id
    with anyio.CancelScope() as scope:
        _waiting[task] = scope
        end_watch = spawn_later(_UNWATCHED, partial(_listen, receive, scope))
        try:
            await work()
        finally:
            end_watch()
            _waiting.pop(task, None)
    if scope in _stopped:
        _stopped.discard(scope)
        raise _make_refusal()


async def _listen(receive: Receive, scope: anyio.CancelScope) -> None:
    try:
        await cancel_when_gone(receive, scope)
    except Exception:  # of a server that says by an error that the client has gone
        scope.cancel()


async def send_events(
    send: Send, body: EventBody[T], headers: Iterable[Header], confirm: Callable[[], object] | None = None
) -> None:
    """Send a reply as its events come, and call ``confirm`` when the client has taken all of them.

    That is before the end is sent: some servers report the client gone as soon as it has that.
    """
    _waiting.pop(anyio.get_current_task().id, None)
    _breaks.add(body.break_off)
    try:
        await _send_events(send, body, headers, confirm)
    finally:
        _breaks.discard(body.break_off)


async def _send_events(
    send: Send, body: EventBody[T], headers: Iterable[Header], confirm: Callable[[], object] | None
) -> None:
    own = [(name.encode(), value.encode()) for name, value in body.headers.items()]
    with contextlib.suppress(OSError), Alarm() as alarm:  # how some servers say that the client has gone
        alarm.set(_PATIENCE)
        await send({"type": "http.response.start", "status": 200, "headers": [*own, *headers]})
        alarm.set(None)  # the limit is the client's: the first piece may be long in coming
        async for piece in body:
            alarm.set(_PATIENCE)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            alarm.set(None)
        if confirm is not None:
            confirm()
        alarm.set(_PATIENCE)
        await send({"type": "http.response.body", "body": b""})
