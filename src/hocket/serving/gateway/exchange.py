"""One request to a model, from its first byte to its last, whatever is asked of the model: `GatewayExchange`.

A call costs money, and may take minutes. So while it goes on somebody listens whether the client is still there; when it
has gone, or does not take what it is sent, the call is cancelled. A failure before the first piece of an answer is told by
a status.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from hocket._asgi import Header, Receive, Send, send_reply
from hocket._runtime.mode import ASYNC
from hocket.callbacks import BaseCallbackHandler
from hocket.messages import UsageMetadata
from hocket.messages.content import FieldsView
from hocket.runnables import RunnableConfig
from hocket.serving.event_body import log_failure
from hocket.serving.exchange import receive_json, run_for_client
from hocket.serving.gateway.metrics import GatewayMetrics
from hocket.serving.gateway.served_models import ServedModels
from hocket.serving.refusals import Refusal, explain_failure

__all__ = ["GatewayExchange", "GatewayLimits", "GatewayService", "Watch"]

_LEFT = 499
"""The status of a request whose client did not wait, which nobody gets to see but who counts (nginx's)."""

_LARGE = 100_000  # bytes; a body from there on is read in a thread, since that takes long
_JSON: Header = (b"content-type", b"application/json")


class GatewayLimits(NamedTuple):
    """What a gateway allows; see `openai_app`."""

    max_concurrency: int | None
    max_body: int
    ping: float | None
    upstream_errors: bool
    drops_options: bool


class Watch(Protocol):
    """Returns a handler for the run of a request: what is asked, by its name, and the facts of the request."""

    def __call__(self, served: str, facts: FieldsView) -> BaseCallbackHandler: ...


class GatewayService(NamedTuple):
    """What all requests share: the models by name, what is allowed, what counts, and who watches."""

    models: ServedModels
    limits: GatewayLimits
    metrics: GatewayMetrics
    watch: Watch | None = None


class _Named(Protocol):
    """What is asked of a model by its name."""

    @property
    def model(self) -> str: ...


Request = TypeVar("Request", bound=_Named)


class GatewayExchange(ABC, Generic[Request]):
    """One request. A subclass says how it is read, and answers it.

    Args:
        service: what all requests share.
        facts: of the request, for handlers and logs: its id, and whose it is.
        headers: of the reply, whatever it is.
    """

    def __init__(self, service: GatewayService, facts: dict[str, object], headers: list[Header]) -> None:
        self._models, self._limits, self._metrics, self._watch = service
        self._facts = facts
        self._headers = headers
        self._asked: Iterable[Header] = ()  # the headers of the request
        self._status = _LEFT  # until all has been sent: some servers report the client gone as soon as it has

    @abstractmethod
    def _read(self, body: bytes) -> Request:
        """Return what a body asks for.

        Raises:
            Refusal: it is no such request; it names the field.
        """

    @abstractmethod
    async def _answer(self, request: Request, send: Send) -> None:
        """Answer, and send that.

        Raises:
            Exception: there is no answer, and nothing was sent.
        """

    async def run(self, headers: Iterable[Header], receive: Receive, send: Send) -> None:
        """Read the request, have it answered, and send the answer; nothing, if the client leaves.

        Raises:
            Refusal: of all that is to be told by a status.
        """
        self._asked = headers
        body = await receive_json(headers, receive, self._limits.max_body)
        if body is None:
            return
        with self._explain_failures():
            request = await ASYNC.call_sync(self._read, body) if len(body) > _LARGE else self._read(body)
        self._models.check(request.model)
        started = time.monotonic()
        self._metrics.in_progress += 1
        try:
            most = self._limits.max_concurrency
            if most is not None and self._metrics.in_progress > most:
                message = f"{most} requests are under way, and no more are taken at once"
                raise Refusal(status=429, message=message, code="rate_limit_exceeded", retry_after=1)
            with self._explain_failures(request):
                await run_for_client(receive, partial(self._answer, request, send))
        except Refusal as refusal:
            self._status = refusal.status
            raise
        finally:
            self._metrics.in_progress -= 1
            self._metrics.count(request.model, self._status, time.monotonic() - started)

    @contextmanager
    def _explain_failures(self, request: Request | None = None) -> Generator[None]:
        try:
            yield
        except Refusal:
            raise
        except Exception as error:  # of whatever kind: a server has to answer
            raise self._explain(error, request) from None

    def _explain(self, error: Exception, request: Request | None) -> Refusal:
        """Return what a client is told of a failure; what it is not told is logged. No request: it could not be read."""
        refusal = explain_failure(error, in_full=self._limits.upstream_errors)
        if refusal.status >= 500 or refusal.message == refusal.words:
            log_failure(error, self._name_request(request, refusal.status))
        return refusal

    def _name_request(self, request: Request | None, status: int) -> dict[str, object]:
        """Return which request it is, for the log: what its client can tell the operator, and whose it is."""
        model = None if request is None else request.model
        facts: dict[str, object] = {**self._facts, "model": model, "status": status}
        return {name: facts[name] for name in ("request_id", "tenant", "model", "status") if facts.get(name)}

    def _config(self, request: Request) -> RunnableConfig:
        """Return the config of the run."""
        if self._watch is None:
            return {"metadata": self._facts}
        return {"metadata": self._facts, "callbacks": [self._watch(request.model, self._facts)]}

    async def _send_json(self, send: Send, body: bytes, headers: Iterable[Header] = ()) -> None:
        self._status = 200
        await send_reply(send, 200, body, [_JSON, *headers, *self._headers])

    def _count_usage(self, model: str, usage: UsageMetadata | None) -> None:
        if usage:
            self._metrics.count_tokens(model, usage["input_tokens"], usage["output_tokens"])
