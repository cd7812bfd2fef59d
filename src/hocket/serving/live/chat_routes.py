"""The server side of a chat page: `chat_app`, an ASGI application over `LiveAnswers`.

A page asks, and may go; it comes back and follows; it stops what runs. That is all that the transports of Vercel's and
AG-UI's clients need of a server, and neither says who asks: that the service finds out, and the names of answers belong to
their users.

A page on the web may have the browser of a user send requests. It is kept out as `hocket._asgi` says, and by its origin.
"""

import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from pydantic_core import to_json

from hocket._asgi import (
    ASGIApp,
    Header,
    Receive,
    Send,
    confirm_lifespan,
    explain_foreign_name,
    is_reached_here,
    path_of,
    send_reply,
)
from hocket._secrets import redact
from hocket.errors import InvalidInput
from hocket.messages.content import FieldsView
from hocket.serving.event_body import EventBody, log_failure
from hocket.serving.exchange import receive_json, run_for_client, send_events
from hocket.serving.live.answers import LiveAnswers
from hocket.serving.origins import Origins, origin_of
from hocket.serving.page_writer import check_id
from hocket.serving.pages.chat_input import ChatInput, make_key, read_chat
from hocket.serving.refusals import Refusal, explain_failure

__all__ = ["Answer", "FindUser", "MayDecide", "chat_app"]

Answer: TypeAlias = Callable[[ChatInput], AsyncIterable[object] | Awaitable[AsyncIterable[object]]]
"""Returns the stream that answers a page."""

FindUser: TypeAlias = Callable[[FieldsView], str | Awaitable[str | None] | None]
"""Returns who asks, from the scope of a request (ASGI); None: nobody who is known."""

MayDecide: TypeAlias = Callable[[ChatInput], bool | Awaitable[bool]]
"""Says whether who asks, `ChatInput.user`, may make the ``decisions`` that the page sends."""

_PROTOCOLS = ("vercel", "ag-ui")
_JSON: Header = (b"content-type", b"application/json")
_EXPOSED = b"retry-after, x-should-retry, x-vercel-ai-ui-message-stream"


def chat_app(
    answer: Answer,
    *,
    live: LiveAnswers | None = None,
    user: FindUser | None = None,
    may_decide: MayDecide | None = None,
    protocols: Collection[str] = _PROTOCOLS,
    system: bool = False,
    cors: Collection[str] = (),
    max_body: int = 10_000_000,
) -> ASGIApp:
    """Return an ASGI application behind chat pages: of Vercel's ``useChat``, and of clients of AG-UI.

    - ``POST /``: ask. The reply has the events of the answer, which goes on if the page leaves. 409 while another one of the
      same chat is running.
    - ``GET /ID/stream``: follow. With ``Last-Event-ID`` the rest, also of an answer that has ended; without, one that is
      running, from its beginning; else 204.
    - ``POST /ID/stop``: stop. ``{"stopped": true}``, when it has ended; false: there was nothing to stop.

    A failure before the first event is a status, with ``{"error": {"message", "type", "code", ...}}`` in words for anybody;
    later it is an event of the page's protocol. A `PermissionError` that ``answer`` raises is 403, with its own words; so is
    an `InvalidInput` of ``hocket.errors`` 400, that it raises before it returns a stream.

    Args:
        answer: returns the stream that answers a `ChatInput`, as ``agent.astream(chat.input, history=...)``.
        live: runs the answers; None: in this process.
        user: returns the user, from the headers of a request; None: 401. Answers belong to their users: no one follows or
            stops those of another. Without ``user`` the names of chats are secrets, for services with one user.
        may_decide: says whether a user may decide the calls that wait in a chat; False: 403, and ``answer`` is not asked.
            None: the user of the chat may, so that the customer approves the customer's own refund.
        protocols: that are answered.
        system: whether messages of the system count that a page sends.
        cors: origins of pages that may ask, such as ``"https://app.example"``. Without, those of the application's own: that
            is one whose host is in ``Host``. Behind a proxy on the same machine name the one that browsers see.
        max_body: bytes of a request.

    Raises:
        InvalidInput: an argument is not of its kind.

    Examples:
        >>> from hocket import FakeListChatModel
        >>> from hocket.serving import chat_app
        >>> model = FakeListChatModel(responses=["Hello."])
        >>> app = chat_app(lambda chat: model.astream([chat.input]))
    """
    if (
        isinstance(protocols, str)
        or not isinstance(protocols, Collection)  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        or not protocols
        or not {*protocols} <= {*_PROTOCOLS}
    ):
        raise InvalidInput(f"protocols is {protocols!r}; it has one or both of {', '.join(_PROTOCOLS)}")
    if type(max_body) is not int or max_body < 1:
        raise InvalidInput(f"max_body is {max_body!r}; it is a whole number above 0")
    origins = Origins(cors, _EXPOSED, with_cookies=True)
    if origins.takes_any:
        raise InvalidInput('cors has "*", and any page could ask with the cookies of its reader; name the origins')
    for name, value in (("answer", answer), ("user", user), ("may_decide", may_decide)):
        if not callable(value) and (name == "answer" or value is not None):
            raise InvalidInput(f"{name} is of type {type(value).__name__}; it is a function, see chat_app")
    if not isinstance(live, LiveAnswers | None):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"live is of type {type(live).__name__}; it is LiveAnswers(...)")
    return _ChatApp(answer, live or LiveAnswers(), user, may_decide, frozenset(protocols), system, origins, max_body)


@dataclass(frozen=True)
class _ChatApp:
    answer: Answer
    live: LiveAnswers
    user: FindUser | None
    may_decide: MayDecide | None
    protocols: frozenset[str]
    system: bool
    origins: Origins
    max_body: int

    async def __call__(self, scope: FieldsView, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await confirm_lifespan(receive, send, self.live.aclose)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})  # before it is accepted: refused
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: FieldsView, receive: Receive, send: Send) -> None:
        headers: list[Header] = []
        try:
            headers = self._check_origin(scope)
            if scope["method"] == "OPTIONS" and headers:
                return await send_reply(send, 204, b"", headers)
            await self._answer(scope, receive, send, headers)
        except Refusal as refusal:
            body = refusal.body_for_page() if refusal.words else refusal.body()
            await send_reply(send, refusal.status, body, [*refusal.all_headers(), *headers])

    def _check_origin(self, scope: FieldsView) -> list[Header]:
        """Return the headers that let a page of another origin read the reply.

        Raises:
            Refusal: 403: the page is none that may ask.
        """
        origin = origin_of(scope)
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        is_listed = self.origins.has(origin)
        reason = explain_foreign_name(scope, self.origins.names, "cors=") if is_reached_here(scope) else None
        if reason is None and origin and not is_listed and not (host and origin.partition("://")[2] == host.lower()):
            reason = f"pages of {origin:.100} may not ask here; who serves this names them with cors="
        if reason is not None:
            raise Refusal(status=403, message=reason)
        return self.origins.write_headers(scope, origin) if is_listed else []

    async def _answer(self, scope: FieldsView, receive: Receive, send: Send, headers: list[Header]) -> None:
        """Answer a request.

        Raises:
            Refusal: of all that is to be told by a status.
        """
        path = path_of(scope)
        id, _, verb = path.removeprefix("/").rpartition("/")
        if path in ("", "/"):
            verb, method = "ask", "POST"
        elif id and verb in ("stream", "stop"):
            method = "GET" if verb == "stream" else "POST"
        else:
            raise Refusal(status=404, message="there is nothing at this path; /, /ID/stream and /ID/stop are served")
        if scope["method"] != method:
            message = f"{scope['method']} is not served here; use {method}"
            raise Refusal(status=405, message=message, headers=[(b"allow", method.encode())])
        try:
            user = await self._find_user(scope)
            if verb == "ask":
                await self._ask(user, scope, receive, send, headers)
            elif verb == "stream":
                await self._follow(make_key(user, check_id("id", id)), scope, receive, send, headers)
            else:
                stopped = await self.live.stop(make_key(user, check_id("id", id)))
                await send_reply(send, 200, to_json({"stopped": stopped}), [_JSON, *headers])
        except Refusal:
            raise
        except Exception as error:  # of whatever kind: a server has to answer
            if isinstance(error, PermissionError) and error.errno is None:  # the service's own, and not of a file
                raise Refusal(status=403, message=f"{error}", code="forbidden") from None
            refusal = explain_failure(error)
            if refusal.status >= 500:
                log_failure(error)
            raise refusal from None

    async def _find_user(self, scope: FieldsView) -> str:
        if self.user is None:
            return ""
        found = self.user(scope)
        name = await found if inspect.isawaitable(found) else found
        if not name:
            raise Refusal(status=401, message="who asks is not known here", code="unauthenticated")
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # the service's own mistake: 500
            raise TypeError(f"user= returned a value of type {type(name).__name__}; it is a text, or None")
        return check_id("user", name)

    async def _ask(self, user: str, scope: FieldsView, receive: Receive, send: Send, headers: list[Header]) -> None:
        data = await receive_json(scope["headers"], receive, self.max_body)
        if data is None:
            return
        try:
            chat = replace(read_chat(data, system=self.system), user=user)
        except InvalidInput as error:
            raise Refusal(status=400, message=f"{error}", code="invalid_body") from None
        if chat.protocol not in self.protocols:
            raise Refusal(status=400, message=f"{chat.protocol} is not spoken here, but {', '.join(self.protocols)}")

        async def tell() -> None:
            if chat.decisions and self.may_decide is not None:
                may = self.may_decide(chat)
                if not (await may if inspect.isawaitable(may) else may):
                    raise PermissionError("this waits for another person's decision")
            try:
                found = self.answer(chat)
                stream = found if isinstance(found, AsyncIterable) else await found
            except InvalidInput as error:  # of the stream's own, which a model or a tool has raised, less is told
                raise Refusal(status=400, message=redact(str(error))) from None
            body = await self.live.start(chat.key, stream, protocol=chat.protocol, run_id=chat.run_id, thread=chat.id)
            await _send(send, body, headers)

        await run_for_client(receive, tell)

    async def _follow(self, key: str, scope: FieldsView, receive: Receive, send: Send, headers: list[Header]) -> None:
        after = dict(scope["headers"]).get(b"last-event-id", b"").decode("latin-1")
        is_there = bool(after) or await self.live.is_running(key)
        body = await self.live.follow(key, after) if is_there else None
        if body is None:
            return await send_reply(send, 204, b"", headers)
        await run_for_client(receive, partial(_send, send, body, headers))


async def _send(send: Send, body: EventBody[bytes], headers: list[Header]) -> None:
    try:
        await send_events(send, body, headers)
    finally:
        await body.aclose()
