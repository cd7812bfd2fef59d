"""OpenAI's API in front of any models: `openai_app`, an ASGI application, and where each request goes."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import SecretStr

from hocket._asgi import (
    ASGIApp,
    Header,
    Receive,
    Send,
    confirm_lifespan,
    explain_foreign_name,
    path_of,
    read_hosts,
    send_reply,
)
from hocket._runtime.clock import new_run_id
from hocket.agents.agent import Agent
from hocket.errors import InvalidInput
from hocket.messages.content import FieldsView
from hocket.runnables import (
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableSequence,
    RunnableWithMessageHistory,
)
from hocket.runnables.base import RunnableWrapper
from hocket.serving.event_body import PING_SECONDS, check_ping
from hocket.serving.gateway.chat_exchange import ChatExchange, ChatLimits, Model, refuse_model
from hocket.serving.gateway.keys import ClientKeys
from hocket.serving.gateway.metrics import METRICS_TYPE, GatewayMetrics
from hocket.serving.message_parts import encode_json
from hocket.serving.refusals import Refusal

__all__ = ["openai_app"]

_JSON: Header = (b"content-type", b"application/json")
_ID_LENGTH = 100  # characters of a request's name that a client may choose


def openai_app(
    models: Mapping[str, Model],
    *,
    keys: str | SecretStr | Iterable[str | SecretStr] | None = None,
    max_concurrency: int | None = None,
    max_body: int = 10_000_000,
    ping: float | None = PING_SECONDS,
    metrics: bool = False,
    hosts: Iterable[str] | None = None,
    upstream_errors: bool = False,
) -> ASGIApp:
    """Return an ASGI application that serves models to OpenAI's clients: ``uvicorn module:app``, or mounted in another one.

    It answers ``POST /v1/chat/completions`` (whole, or in pieces), ``GET /v1/models`` and ``GET /v1/models/NAME``,
    ``GET /healthz``, which needs no key, and with ``metrics`` ``GET /metrics``. Messages, tools, schemas, options and usage
    are those of chat completions; an option that the format does not know goes to the model, which takes or refuses it.

    Every failure has OpenAI's form, so that its clients raise what they raise for it there: 400, 401, 404, 408, 413, 415,
    429 with ``Retry-After``, and 5xx for what is not the client's fault. A stream that breaks off ends in an error event,
    without a finish reason. A client that leaves has its call cancelled, and its stream closed. No reply names a key.

    Args:
        models: by the names that clients call them: models, and what is made of one (``bind``, ``with_retry``,
            ``with_fallbacks``, a chain that ends in one). No agents: see `react_app`.
        keys: of the clients; None: everybody is let in.
        max_concurrency: calls under way at once; one more is refused with 429. (``max_in_flight`` of a model lets it wait.)
        max_body: bytes of a request.
        ping: seconds of silence after which a stream sends a comment; None: never.
        metrics: whether to serve numbers for Prometheus.
        hosts: names that requests may be sent to (``Host``), and come from (``Origin``), beside those of this machine; None:
            without ``keys``, requests that reach an address of this machine alone (127.0.0.1, ::1) name this machine, and
            else any name is taken.
        upstream_errors: whether clients are told what the model's server said of a failure, addresses within included, too.
            Else they are told in hocket's words, and the logger "hocket.serving" has the rest.

    Raises:
        InvalidInput: an option is not of its kind, there is no model, one is an agent or ends in one, or a key will not do.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> from hocket.serving import openai_app
        >>> app = openai_app({"assistant": ScriptedChatModel(script=["Hello."])}, keys="a-long-key")
    """
    if not isinstance(models, Mapping) or not models:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"models is {models!r}; it is a mapping with a name for each model, and one at least")
    for name, model in models.items():
        if not isinstance(name, str) or not name or not isinstance(model, Runnable):  # pyright: ignore[reportUnnecessaryIsInstance]  # as above
            raise InvalidInput(f"models[{name!r}] is {type(model).__name__}; it is a model, by a name that is a text")
        if _ends_in_agent(model):
            raise InvalidInput(
                f"models[{name!r}] ends in an agent, whose result is not an answer of a model: each request would run its "
                "tools and fail. Serve it with hocket.agents.react_app, or as a route with sse(agent.astream(...))"
            )
    for option, value in (("max_concurrency", max_concurrency), ("max_body", max_body)):
        if value is not None and (type(value) is not int or value < 1):
            raise InvalidInput(f"{option} is {value!r}; it is a whole number above 0")
    check_ping(ping)
    known_keys = None if keys is None else ClientKeys(keys)
    limits = ChatLimits(max_concurrency, max_body, ping, upstream_errors)
    return _Gateway(dict(models), known_keys, read_hosts(hosts), limits, metrics)


@dataclass(frozen=True)
class _Gateway:
    """The application; of a request nothing is kept on it but counts."""

    models: Mapping[str, Model]
    keys: ClientKeys | None
    hosts: frozenset[str] | None
    limits: ChatLimits
    shows_metrics: bool
    metrics: GatewayMetrics = field(default_factory=GatewayMetrics)
    started: int = field(default_factory=lambda: int(time.time()))

    async def __call__(self, scope: FieldsView, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await confirm_lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})  # before it is accepted: refused
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: FieldsView, receive: Receive, send: Send) -> None:
        """Answer one request, whatever it is."""
        id = _read_id(scope["headers"]) or f"req_{new_run_id().hex}".encode()
        own = (b"x-request-id", id)
        path = path_of(scope)
        try:
            if (self.keys is None or self.hosts) and (reason := explain_foreign_name(scope, self.hosts)):
                raise Refusal(status=403, message=reason)  # a page on the web, which has no key
            if path == "/v1/chat/completions":
                self._check_key(scope)
                _check_method(scope, "POST")
                exchange = ChatExchange(self.models, self.limits, self.metrics, own)
                await exchange.run(scope["headers"], receive, send)
            else:
                kind, body = self._read(path, scope)
                await send_reply(send, 200, body, [kind, own])
        except Refusal as refusal:
            await send_reply(send, refusal.status, refusal.body(), [*refusal.all_headers(), own])

    def _check_key(self, scope: FieldsView) -> None:
        """Let in who may.

        Raises:
            Refusal: 401.
        """
        if self.keys is not None:
            self.keys.check(scope["headers"])

    def _read(self, path: str, scope: FieldsView) -> tuple[Header, bytes]:
        """Return what is at a path, and its type.

        Raises:
            Refusal: 401, 404, 405.
        """
        if path == "/healthz":
            return _JSON, b'{"status":"ok"}'
        self._check_key(scope)
        found = self._find(path)
        _check_method(scope, "GET")
        return found

    def _find(self, path: str) -> tuple[Header, bytes]:
        if path == "/metrics" and self.shows_metrics:
            return (b"content-type", METRICS_TYPE), self.metrics.write()
        if path == "/v1/models":
            return _JSON, encode_json({"object": "list", "data": [*map(self._describe, self.models)]})
        if path.startswith("/v1/models/"):
            name = path.removeprefix("/v1/models/")
            if name in self.models:
                return _JSON, encode_json(self._describe(name))
            raise refuse_model(name, self.models)
        served = "/v1/chat/completions, /v1/models and /healthz"
        raise Refusal(status=404, message=f"there is nothing at this path; {served} are served")

    def _describe(self, name: str) -> dict[str, object]:
        return {"id": name, "object": "model", "created": self.started, "owned_by": "hocket"}


def _ends_in_agent(value: object) -> bool:
    """Say whether what a runnable returns is an agent's result, or may be: that of its last step, or of one it chooses."""
    match value:
        case RunnableSequence():
            return _ends_in_agent(vars(value)["last"])
        case RunnableWrapper() | RunnableBranch() | RouterRunnable() | RunnableWithMessageHistory():
            return any(map(_ends_in_agent, vars(value).values()))
        case Mapping():
            return any(map(_ends_in_agent, cast("Mapping[object, object]", value).values()))
        case list() | tuple():
            return any(map(_ends_in_agent, cast("Sequence[object]", value)))
        case _:
            return isinstance(value, Agent)


def _check_method(scope: FieldsView, method: str) -> None:
    """Refuse any other method than the one that is served, with 405."""
    if scope["method"] != method and (scope["method"], method) != ("HEAD", "GET"):
        message = f"{scope['method']} is not served here; use {method}"
        raise Refusal(status=405, message=message, headers=[(b"allow", method.encode())])


def _read_id(headers: Iterable[Header]) -> bytes | None:
    """Return the name that a client gives a request, if it is short and plain: it goes into logs."""
    id = next((value for name, value in headers if name == b"x-request-id"), b"")
    return (
        id
        if 0 < len(id) <= _ID_LENGTH and id.isascii() and id.replace(b"-", b"").replace(b"_", b"").isalnum()
        else None
    )
