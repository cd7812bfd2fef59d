"""The APIs of OpenAI and Anthropic in front of any models: `openai_app`, and where each request goes."""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from pydantic import SecretStr

from hocket._asgi import (
    ASGIApp,
    Header,
    Receive,
    Send,
    confirm_lifespan,
    explain_foreign_name,
    find_name,
    path_of,
    read_hosts,
    send_reply,
)
from hocket._runtime.clock import new_run_id
from hocket.errors import InvalidInput
from hocket.messages.content import FieldsView
from hocket.serving.console.routes import Console
from hocket.serving.durable_agents import DurableWork
from hocket.serving.event_body import PING_SECONDS, check_ping
from hocket.serving.gateway.exchange import GatewayLimits, GatewayService
from hocket.serving.gateway.faces import PATHS, open_exchange, write_refusal
from hocket.serving.gateway.keys import ClientKeys, Keys
from hocket.serving.gateway.metrics import METRICS_TYPE, GatewayMetrics
from hocket.serving.gateway.served_models import Model, ServedModels
from hocket.serving.message_parts import encode_json
from hocket.serving.origins import Origins, origin_of
from hocket.serving.refusals import Refusal

__all__ = ["openai_app"]

_JSON: Header = (b"content-type", b"application/json")
_EXPOSED = b"x-request-id, x-hocket-dropped, retry-after, x-should-retry"
_ID_LENGTH = 100  # characters of a request's name that a client may choose


def openai_app(
    models: Mapping[str, Model],
    *,
    keys: Keys | None = None,
    max_concurrency: int | None = None,
    max_body: int = 10_000_000,
    ping: float | None = PING_SECONDS,
    metrics: bool | str | SecretStr = False,
    hosts: Iterable[str] | None = None,
    upstream_errors: bool = False,
    unsupported: Literal["raise", "drop"] = "raise",
    cors: Collection[str] = (),
    page: bool = False,
) -> ASGIApp:
    """Return an ASGI application that serves models to OpenAI's and Anthropic's clients: ``uvicorn module:app``, or mounted.

    It answers ``POST`` at ``/v1/chat/completions``, ``/v1/completions``, ``/v1/responses`` and ``/v1/messages``, whole or in
    pieces, whichever provider a model is of; at ``/v1/messages/count_tokens`` and ``/v1/embeddings``; ``GET /v1/models`` and
    ``/v1/models/NAME``; ``GET /healthz``, which needs no key, and with ``metrics`` ``GET /metrics``. Nothing is kept from
    one request to the next. Where a client speaks the format of the model's server, and hocket has nothing to add, the
    request goes on and the reply comes back as they are (``x-hocket-path: pass``).

    Every failure has the form of its format, so that clients raise what they raise for it there: 400, 401, 404, 408, 413,
    415, 429 with ``Retry-After``, and 5xx for what is not the client's fault, with ``x-should-retry: false`` where another
    try would do harm. A stream that breaks off ends in an error event, without a finish reason. A client that leaves has
    its call cancelled, and its stream closed. No reply names a key.

    An option at the API's own default, which a model refuses, is left out; ``x-hocket-dropped`` names it.

    Each request to a durable agent is a run. A client that leaves does not end it: it goes on, in this process or another.
    The application works on such runs from the start of the server to its end, in its lifespan, unless the program does
    already (``async with runs``); mounted in another application it has no lifespan, and that one has to.

    Args:
        models: by the names that clients call them: models, and what is made of one (``bind``, ``with_retry``,
            ``with_fallbacks``, a chain that ends in one), agents, which answer with the text of all their steps, what
            ``runs.durable(agent)`` returns, and embedding models.
        keys: of the clients; None: everybody is let in. A mapping has the key, or the keys, of each tenant by its name,
            which the metadata of its runs have as "tenant": for ``Budget(by="tenant")``, limits, ledgers and handlers.
        max_concurrency: calls under way at once; one more is refused with 429. (``max_in_flight`` of a model lets it wait.)
        max_body: bytes of a request.
        ping: seconds of silence after which a stream sends a comment; None: never.
        metrics: whether to serve numbers for Prometheus; a text: to who has this key, which opens nothing else. Where keys
            are those of tenants it has to be one: the numbers are those of all.
        hosts: names that requests may be sent to (``Host``), and come from (``Origin``), beside those of this machine; None:
            without ``keys``, requests that reach an address of this machine alone (127.0.0.1, ::1) name this machine, and
            else any name is taken.
        upstream_errors: whether clients get the error messages of the model's server, which may contain addresses.
            Else they get hocket's messages, and the logger "hocket.serving" has the rest.
        unsupported: what becomes of an option that a model cannot take: "raise": 400, in words for an HTTP client;
            "drop": it is left out, and ``x-hocket-dropped`` names it.
        cors: origins of pages that may ask from a browser, such as ``"https://app.example"``; ``"*"``, with keys only: all.
        page: whether there is a page for people at ``/page/``: models and agents asked side by side, the last runs, and
            usage. Agents that wait for a person are on it, and nowhere else.

    Raises:
        InvalidInput: an option is not of its kind, there is no model, or a key will not do; an agent may wait for a person
            (without ``page``), needs a context or injected arguments, or is at the end of a chain; a budget in
            US dollars is over a model whose price is not known, within a chain or an agent, too.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> from hocket.serving import openai_app
        >>> app = openai_app({"assistant": ScriptedChatModel(script=["Hello."])}, keys="a-long-key")
    """
    served = ServedModels(models, page=page)
    for option, value in (("max_concurrency", max_concurrency), ("max_body", max_body)):
        if value is not None and (type(value) is not int or value < 1):
            raise InvalidInput(f"{option} is {value!r}; it is a whole number above 0")
    check_ping(ping)
    if unsupported not in ("raise", "drop"):
        raise InvalidInput(f"unsupported is {unsupported!r}; it is 'raise' or 'drop'")
    origins = Origins(cors, _EXPOSED, with_cookies=False)
    if origins.takes_any and keys is None:
        raise InvalidInput('cors has "*" and there are no keys: any page could ask at your cost; give keys, or origins')
    known_keys = None if keys is None else ClientKeys(keys)
    metrics_keys = _read_metrics_keys(metrics, known_keys, is_named=isinstance(keys, Mapping))
    limits = GatewayLimits(max_concurrency, max_body, ping, upstream_errors, unsupported == "drop")
    console = None
    if page:
        find_tenant = None if known_keys is None else known_keys.check
        console = Console(models, find_tenant, max_body=max_body, in_full=upstream_errors or keys is None)
    service = GatewayService(served, limits, GatewayMetrics(), None if console is None else console.watch)
    work = DurableWork(models.values())
    return _Gateway(service, known_keys, read_hosts(hosts), origins, metrics is not False, metrics_keys, console, work)


def _read_metrics_keys(
    metrics: bool | str | SecretStr, keys: ClientKeys | None, *, is_named: bool
) -> ClientKeys | None:
    """Return what opens /metrics; None: it is open.

    Raises:
        InvalidInput: it is no key, or would show tenants what others do.
    """
    if metrics is True and is_named:
        raise InvalidInput(
            'metrics=True shows the numbers of all tenants to each of them; give metrics="...", a key that opens /metrics '
            "alone"
        )
    if isinstance(metrics, bool):
        return keys
    if not isinstance(metrics, str | SecretStr):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"metrics is {metrics!r}; it is True, False, or the key that opens /metrics")
    own = ClientKeys(metrics, "metrics")
    if keys is not None and own.shares(keys):
        raise InvalidInput("metrics is the key of a client, too; a key that opens /metrics opens nothing else")
    return own


@dataclass(frozen=True)
class _Gateway:
    """The application; of a request nothing is kept on it but counts."""

    service: GatewayService
    keys: ClientKeys | None
    hosts: frozenset[str] | None
    origins: Origins
    shows_metrics: bool
    metrics_keys: ClientKeys | None
    console: Console | None
    work: DurableWork
    started: int = field(default_factory=lambda: int(time.time()))

    async def __call__(self, scope: FieldsView, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await confirm_lifespan(receive, send, self._finish, self.work.begin)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})  # before it is accepted: refused
        else:
            await self._serve(scope, receive, send)

    async def _finish(self) -> None:
        if self.console is not None:
            await self.console.aclose()
        await self.work.finish()

    async def _serve(self, scope: FieldsView, receive: Receive, send: Send) -> None:
        """Answer one request, whatever it is."""
        id = _read_id(scope["headers"]) or f"req_{new_run_id().hex}"
        path = path_of(scope)
        headers: list[Header] = [(b"x-request-id", id.encode())]
        try:
            headers += self._check_origin(scope)
            if scope["method"] == "OPTIONS" and len(headers) > 1:
                return await send_reply(send, 204, b"", headers)
            if self.console is not None and self.console.handles(path):
                await self.console.serve(scope, receive, send)
            elif path not in PATHS:
                kind, body = self._read(path, scope)
                await send_reply(send, 200, body, [kind, *headers])
            else:
                facts: dict[str, object] = {"request_id": id}
                if (tenant := _check_key(self.keys, scope)) is not None:
                    facts["tenant"] = tenant
                _check_method(scope, "POST")
                exchange = open_exchange(path, self.service, facts, headers)
                await exchange.run(scope["headers"], receive, send)
        except Refusal as refusal:
            body = write_refusal(refusal, path, scope["headers"], id)
            await send_reply(send, refusal.status, body, [*refusal.all_headers(), *headers])

    def _check_origin(self, scope: FieldsView) -> list[Header]:
        """Return the headers that let a page of another origin read the reply.

        Raises:
            Refusal: 403: it is a page that may not ask.
        """
        origin = origin_of(scope)
        may_ask = self.origins.has(origin)
        if self.keys is None or self.hosts:
            hosts = self.hosts
            if may_ask:
                hosts = (hosts or frozenset()) | {find_name(origin)}
            if reason := explain_foreign_name(scope, hosts):
                raise Refusal(status=403, message=reason)  # a page on the web, which has no key
        return self.origins.write_headers(scope, origin) if may_ask else []

    def _read(self, path: str, scope: FieldsView) -> tuple[Header, bytes]:
        """Return what is at a path, and its type.

        Raises:
            Refusal: 401, 404, 405.
        """
        if path == "/healthz":
            return _JSON, b'{"status":"ok"}'
        _check_key(self.metrics_keys if path == "/metrics" else self.keys, scope)
        found = self._find(path)
        _check_method(scope, "GET")
        return found

    def _find(self, path: str) -> tuple[Header, bytes]:
        if path == "/metrics" and self.shows_metrics:
            return (b"content-type", METRICS_TYPE), self.service.metrics.write()
        if path == "/v1/models":
            names = self.service.models.names
            pages = {"has_more": False, "first_id": names[0], "last_id": names[-1]}
            return _JSON, encode_json({"object": "list", "data": [*map(self._describe, names)], **pages})
        if path.startswith("/v1/models/"):
            name = path.removeprefix("/v1/models/")
            if name in self.service.models.names:
                return _JSON, encode_json(self._describe(name))
            raise self.service.models.refuse(name)
        served = f"{', '.join(PATHS)}, /v1/models and /healthz"
        raise Refusal(status=404, message=f"there is nothing at this path; {served} are served")

    def _describe(self, name: str) -> dict[str, object]:
        """Return a model as both OpenAI's and Anthropic's clients read one."""
        told = {"id": name, "object": "model", "created": self.started, "owned_by": "hocket"}
        created = datetime.fromtimestamp(self.started, UTC).isoformat().replace("+00:00", "Z")
        return {**told, "type": "model", "display_name": name, "created_at": created}


def _check_key(keys: ClientKeys | None, scope: FieldsView) -> str | None:
    """Let in who may, and return whose the key is; None: nobody said.

    Raises:
        Refusal: 401.
    """
    return None if keys is None else keys.check(scope["headers"])


def _check_method(scope: FieldsView, method: str) -> None:
    """Refuse any other method than the one that is served, with 405."""
    if scope["method"] != method and (scope["method"], method) != ("HEAD", "GET"):
        message = f"{scope['method']} is not served here; use {method}"
        raise Refusal(status=405, message=message, headers=[(b"allow", method.encode())])


def _read_id(headers: Iterable[Header]) -> str | None:
    """Return the name that a client gives a request, if it is short and plain: it goes into logs."""
    id = next((value for name, value in headers if name == b"x-request-id"), b"").decode("latin-1")
    is_plain = id.isascii() and id.replace("-", "").replace("_", "").isalnum()
    return id if 0 < len(id) <= _ID_LENGTH and is_plain else None
