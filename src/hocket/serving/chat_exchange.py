"""One request for an answer, from its first byte to its last.

A call costs money, and may take minutes. So while it goes on somebody listens whether the client is still there; when it
has gone, or does not take what it is sent, the call is cancelled, and a stream is closed. A failure before the first piece
of an answer is told by a status; then the status has been sent, and all that is left is an event of the stream.
"""

import contextlib
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias, cast

import anyio

from hocket._asgi import (
    Header,
    Receive,
    Send,
    cancel_when_gone,
    discard_body,
    explain_body_type,
    receive_body,
    send_reply,
)
from hocket._pipeline.answer import CACHE_HIT
from hocket._runtime.clock import Alarm
from hocket._runtime.detached import spawn
from hocket._runtime.mode import ASYNC
from hocket.errors.hints import LONGEST_NAME, near_name_hint, shorten
from hocket.language_models.base import LanguageModelInput
from hocket.language_models.chat_models import BaseChatModel
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.content import FieldsView
from hocket.runnables import Runnable, RunnableConfig
from hocket.serving.event_body import SSE_HEADERS, EventBody, log_failure
from hocket.serving.metrics import GatewayMetrics
from hocket.serving.openai_reply import CompletionWriter, check_answer, write_completion
from hocket.serving.openai_request import ChatRequest, read_chat_request
from hocket.serving.refusals import Refusal, explain_failure

__all__ = ["ChatExchange", "ChatLimits", "Model", "refuse_model"]

Model: TypeAlias = Runnable[LanguageModelInput, AIMessage] | Runnable[LanguageModelInput, str]
"""A chat model, a text model, or a runnable that is made of one."""

LEFT = 499
"""The status of a request whose client did not wait, which nobody gets to see but who counts (nginx's)."""

_PATIENCE = 60.0  # seconds that a client may take for its request, and then for each piece of the answer
_LARGE = 100_000  # bytes; a body from there on is read in a thread, since that takes long
_DISCARDED = 4  # times the limit: so much of a body that is too large is taken, so that its client reads the reply
_JSON: Header = (b"content-type", b"application/json")
_EVENTS: list[Header] = [(name.encode(), value.encode()) for name, value in SSE_HEADERS.items()]


class ChatLimits(NamedTuple):
    """What a gateway allows; see `openai_app`."""

    max_concurrency: int | None
    max_body: int
    ping: float | None
    upstream_errors: bool


class _Call(NamedTuple):
    """What is asked of which model."""

    request: ChatRequest
    model: Model
    config: RunnableConfig


class ChatExchange:
    """One request for an answer.

    Args:
        models: by name.
        limits: what is allowed.
        metrics: told of the request.
        request_id: the header that names it.
    """

    def __init__(
        self, models: Mapping[str, Model], limits: ChatLimits, metrics: GatewayMetrics, request_id: Header
    ) -> None:
        self._models = models
        self._limits = limits
        self._metrics = metrics
        self._request_id = request_id
        self._status = LEFT  # until all has been sent: some servers report the client gone as soon as it has

    async def run(self, headers: Iterable[Header], receive: Receive, send: Send) -> None:
        """Read the request, have it answered, and send the answer; nothing, if the client leaves.

        Raises:
            Refusal: of all that is to be told by a status.
        """
        body = await self._read_body(headers, receive)
        if body is None:
            return
        request = await ASYNC.call_sync(read_chat_request, body) if len(body) > _LARGE else read_chat_request(body)
        call = self._find_model(request)
        started = time.monotonic()
        self._metrics.in_progress += 1
        try:
            await self._answer(call, receive, send)
        except Refusal as refusal:
            self._status = refusal.status
            raise
        finally:
            self._metrics.in_progress -= 1
            self._metrics.count(request.model, self._status, time.monotonic() - started)

    async def _read_body(self, headers: Iterable[Header], receive: Receive) -> bytes | None:
        """Return the body of the request; None: the client has gone.

        Raises:
            Refusal: 408, 413, 415.
        """
        if (reason := explain_body_type(headers)) is not None:
            raise Refusal(status=415, message=reason)
        most = self._limits.max_body
        with Alarm() as alarm:
            alarm.set(_PATIENCE)
            body = await receive_body(receive, most)
            if body is not None and len(body) > most:
                await discard_body(receive, most * _DISCARDED)
                raise Refusal(status=413, message=f"the body is larger than {most:,} bytes")
            return body
        raise Refusal(status=408, message=f"the body has not come within {_PATIENCE:.0f} seconds")

    def _find_model(self, request: ChatRequest) -> _Call:
        """Return the model that is asked for, with its tools.

        Raises:
            Refusal: there is none of this name, or it takes no tools.
        """
        model = self._models.get(request.model)
        if model is None:
            raise refuse_model(request.model, self._models)
        if request.tools:
            try:
                model = cast(BaseChatModel, model).bind_tools(**request.tools)
            except (NotImplementedError, AttributeError):
                message = f"the model {request.model!r} cannot be given tools"
                raise Refusal(status=400, message=message, param="tools") from None
            except Exception as error:
                raise self._tell(error) from None
        metadata: dict[str, object] = {"request_id": self._request_id[1].decode()}
        if request.metadata:
            metadata["request_metadata"] = request.metadata
        return _Call(request, model, {"metadata": metadata})

    async def _answer(self, call: _Call, receive: Receive, send: Send) -> None:
        """Answer, unless the client goes away.

        Raises:
            Refusal: there is no answer.
        """
        most = self._limits.max_concurrency
        if most is not None and self._metrics.in_progress > most:
            message = f"{most} requests are under way, and no more are taken at once"
            raise Refusal(status=429, message=message, code="rate_limit_exceeded", retry_after=1)
        answer = self._send_stream if call.request.stream else self._send_whole
        with anyio.CancelScope() as scope:
            listener = spawn(partial(_listen, receive, scope))  # half the price of a task group, of which this is all
            try:
                await answer(call, send)
            finally:
                listener.cancel()

    async def _send_whole(self, call: _Call, send: Send) -> None:
        request = call.request
        try:
            said = check_answer(await call.model.ainvoke(request.messages, call.config, **request.options))
            body = write_completion(said, request.model)
        except Exception as error:  # of whatever kind: a server has to answer
            raise self._tell(error) from None
        if isinstance(said, AIMessage):
            self._count_usage(request.model, said.usage_metadata, said.response_metadata)
        self._status = 200
        await send_reply(send, 200, body, [_JSON, self._request_id])

    async def _send_stream(self, call: _Call, send: Send) -> None:
        request = call.request
        writer = CompletionWriter(
            request.model, include_usage=request.include_usage, upstream_errors=self._limits.upstream_errors
        )
        try:
            stream = call.model.astream(request.messages, call.config, **request.options)
            body: EventBody[AIMessage | str] = EventBody(stream, writer, self._limits.ping)
            await body.start()
        except Exception as error:  # as above
            raise self._tell(error) from None
        try:
            with contextlib.suppress(OSError), Alarm() as alarm:  # as in `send_reply`
                alarm.set(_PATIENCE)
                headers = [*_EVENTS, self._request_id]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                async for piece in body:
                    alarm.set(_PATIENCE)
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    alarm.set(None)
                self._status = 200
                alarm.set(_PATIENCE)
                await send({"type": "http.response.body", "body": b""})
        finally:
            await body.aclose()
            self._count_usage(request.model, writer.usage, writer.facts)
            if writer.has_failed:
                self._metrics.count_broken(request.model)

    def _tell(self, error: Exception) -> Refusal:
        """Return what a client is told of a failure; what it is not told is logged."""
        refusal = explain_failure(error, in_full=self._limits.upstream_errors)
        if refusal.status >= 500 or refusal.message == refusal.words:
            log_failure(error)
        return refusal

    def _count_usage(self, model: str, usage: UsageMetadata | None, facts: FieldsView) -> None:
        if usage and not facts.get(CACHE_HIT):  # what came out of a cache was counted when it went in
            self._metrics.count_tokens(model, usage["input_tokens"], usage["output_tokens"])


async def _listen(receive: Receive, scope: anyio.CancelScope) -> None:
    try:
        await cancel_when_gone(receive, scope)
    except Exception:  # of a server that says by an error that the client has gone
        scope.cancel()


def refuse_model(name: str, known: Iterable[str]) -> Refusal:
    """Return what is told of a model that is not served."""
    message = f"there is no model {shorten(name, LONGEST_NAME)!r} here; {near_name_hint(name, known)}"
    return Refusal(status=404, message=message, code="model_not_found", param="model")
