"""An agent over HTTP.

``POST /react {"query": "..."}`` is answered with ``{"response": "..."}``. Everything else is refused in one line of plain
text. A run costs money, and may take minutes: so a client that goes away takes its run with it.
"""

import json
import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar, cast, get_args

import anyio
from pydantic_core import to_jsonable_python

from hocket._asgi import (
    ASGIApp,
    Receive,
    Send,
    cancel_when_gone,
    confirm_lifespan,
    explain_body_type,
    explain_foreign_name,
    path_of,
    read_hosts,
    receive_body,
    send_reply,
)
from hocket._runtime.clock import Alarm
from hocket._secrets import redact
from hocket.agents.agent import Agent
from hocket.errors import InvalidInput
from hocket.errors.hints import make_line, shorten
from hocket.messages.content import Fields, FieldsView

__all__ = ["ASGIApp", "Language", "Receive", "Send", "react_app"]

Output = TypeVar("Output")

Language = Literal["zh", "en"]
"""The languages that errors are told in: Chinese and English."""

_TEXTS: Mapping[Language, Mapping[int, str]] = {
    "zh": {
        400: "无效的请求格式",
        403: "不接受来自这个主机名的请求",
        404: "没有这个地址",
        405: "仅支持POST请求",
        415: "请求必须是JSON（Content-Type: application/json）",
        500: "处理请求时出错",
        504: "处理请求超时",
    },
    "en": {
        400: "invalid request format",
        403: "requests to or from this host name are not answered",
        404: "there is nothing at this address",
        405: "only POST requests are served",
        415: "the body is JSON: send it with  Content-Type: application/json",
        500: "the request failed",
        504: "the request took too long",
    },
}

_log = logging.getLogger("hocket.agents")


def react_app(
    agent: Agent[Output],
    *,
    path: str = "/react",
    language: Language = "zh",
    timeout: float | None = None,
    max_body: int = 1_000_000,
    hosts: Iterable[str] | None = None,
) -> ASGIApp:
    """Return an ASGI application that serves an agent: ``uvicorn module:app``, for example.

    Each request is a conversation of its own. The answer is JSON: ``{"response": ...}``, with the agent's output, a text or,
    for a typed answer, its fields. A failure is plain text:

    - 400: the body is no JSON object with a text under "query" that is not empty, or is too large;
    - 403: the request names a host that it may not, see ``hosts``;
    - 415: the body is no JSON by its ``Content-Type``, or compressed;
    - 404, 405: another path, or another method than POST (the header Allow says so);
    - 500: the run failed, of which nothing is said, or ended without an answer. What happened is logged, as "hocket.agents";
    - 504: ``timeout`` has passed.

    A client that goes away cancels its run. A server that stops cancels the requests itself.

    Args:
        agent: runs once for each request; any number at once.
        path: where it is served, below the ``root_path`` of the server.
        language: of the texts of failures. "zh" says what services of this interface are known to say; or "en".
        timeout: seconds for a request, from its first byte to its answer; None: no limit but those of the agent.
        max_body: bytes of a request.
        hosts: names that requests may be sent to (``Host``), and come from (``Origin``), beside those of this machine; None:
            requests that reach an address of this machine alone (127.0.0.1, ::1) name this machine, and else any name is
            taken.

    Raises:
        InvalidInput: the agent may pause, for which no request can wait; or an option is not of its kind.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> from hocket.agents import create_agent, react_app
        >>> app = react_app(create_agent(ScriptedChatModel(script=["Hello."])), timeout=120)
    """
    if not isinstance(agent, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"agent is {type(agent).__name__}; it is what create_agent returns")
    if agent.may_pause:
        raise InvalidInput(
            "an agent whose calls may wait for a person cannot be served: make it without interrupt_on or such a policy"
        )
    if not isinstance(path, str) or not path.startswith("/"):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"path is {path!r}; it is a text that begins with /")
    if language not in get_args(Language):
        raise InvalidInput(f"language is {language!r}; it is one of {', '.join(get_args(Language))}")
    if timeout is not None:
        _check_above_0("timeout", timeout, (int, float))
    _check_above_0("max_body", max_body, (int,))
    return _ReactApp(agent, path, read_hosts(hosts), _TEXTS[language], timeout, max_body)


def _check_above_0(name: str, value: float, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value < math.inf:
        raise InvalidInput(f"{name} is {value!r}; it is a number above 0")


class _Reply(NamedTuple):
    """What is sent to the client: a status, a body, and its type."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class _ReactApp(Generic[Output]):
    """The application; nothing of a request is kept on it."""

    agent: Agent[Output]
    path: str
    hosts: frozenset[str] | None
    texts: Mapping[int, str]
    timeout: float | None
    max_body: int

    async def __call__(self, scope: FieldsView, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await confirm_lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})  # before it is accepted: refused
        elif (reply := await self._answer_in_time(scope, receive)) is not None:
            await _send_reply(reply, send)

    async def _answer_in_time(self, scope: FieldsView, receive: Receive) -> _Reply | None:
        """Return what the client gets; None: it has gone."""
        with Alarm() as alarm:
            alarm.set(self.timeout)
            return await self._answer(scope, receive)
        return self._refuse(504)

    async def _answer(self, scope: FieldsView, receive: Receive) -> _Reply | None:
        if explain_foreign_name(scope, self.hosts) is not None:
            return self._refuse(403)
        if path_of(scope) != self.path:
            return self._refuse(404)
        if scope["method"] != "POST":
            return self._refuse(405)
        if explain_body_type(scope["headers"]) is not None:
            return self._refuse(415)
        body = await receive_body(receive, self.max_body)
        if body is None:
            return None
        query = _read_query(body) if len(body) <= self.max_body else None
        if query is None:
            return self._refuse(400)
        reply = None
        async with anyio.create_task_group() as group:
            group.start_soon(cancel_when_gone, receive, group.cancel_scope)
            reply = await self._run_agent(query)
            group.cancel_scope.cancel()
        return reply

    async def _run_agent(self, query: str) -> _Reply:
        try:
            result = await self.agent.ainvoke(query)
            if result.output is None:
                return self._refuse(500, f"the run ended without an answer ({result.stop})")
            response = {"response": to_jsonable_python(result.output, inf_nan_mode="null")}
        except Exception as error:  # of whatever kind: a server has to answer
            _log.error(
                "a run for %s failed: %s", self.path, shorten(make_line(redact(f"{type(error).__name__}: {error}")))
            )
            return self._refuse(500)
        # A lone surrogate, which a model may make of half an escape, is no UTF-8.
        body = json.dumps(response, ensure_ascii=False).encode(errors="replace")
        return _Reply(200, body, "application/json")

    def _refuse(self, status: int, text: str = "") -> _Reply:
        return _Reply(status, (text or self.texts[status]).encode(errors="replace"))


def _read_query(body: bytes) -> str | None:
    """Return what is asked; None: it cannot be read."""
    try:
        fields: object = json.loads(body)
        query = cast(Fields, fields)["query"] if isinstance(fields, dict) else None
        if isinstance(query, str) and query.strip():
            query.encode()
            return query
    except (ValueError, KeyError, RecursionError):  # no JSON; no query; JSON that is nested too deep
        pass
    return None


async def _send_reply(reply: _Reply, send: Send) -> None:
    headers = [(b"content-type", reply.content_type.encode())]
    if reply.status == 405:
        headers.append((b"allow", b"POST"))
    await send_reply(send, reply.status, reply.body, headers)
