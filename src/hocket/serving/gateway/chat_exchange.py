"""One request for an answer, from its first byte to its last.

A call costs money, and may take minutes. So while it goes on somebody listens whether the client is still there; when it
has gone, or does not take what it is sent, the call is cancelled, and a stream is closed. A failure before the first piece
of an answer is told by a status; then the status has been sent, and all that is left is an event of the stream.
"""

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias, cast

from hocket._asgi import (
    Header,
    Receive,
    Send,
    send_reply,
)
from hocket._pipeline.answer import CACHE_HIT
from hocket._runtime.mode import ASYNC
from hocket.errors.hints import LONGEST_NAME, near_name_hint, shorten
from hocket.language_models.base import LanguageModelInput
from hocket.language_models.chat_models import BaseChatModel
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.content import FieldsView
from hocket.runnables import Runnable, RunnableConfig
from hocket.serving.event_body import EventBody, log_failure
from hocket.serving.exchange import receive_json, run_for_client, send_events
from hocket.serving.gateway.chat_reply import CompletionWriter, check_answer, write_completion
from hocket.serving.gateway.chat_request import ChatRequest, read_chat_request
from hocket.serving.gateway.metrics import GatewayMetrics
from hocket.serving.refusals import Refusal, explain_failure

__all__ = ["ChatExchange", "ChatLimits", "Model", "refuse_model"]

Model: TypeAlias = Runnable[LanguageModelInput, AIMessage] | Runnable[LanguageModelInput, str]
"""A chat model, a text model, or a runnable that is made of one."""

LEFT = 499
"""The status of a request whose client did not wait, which nobody gets to see but who counts (nginx's)."""

_LARGE = 100_000  # bytes; a body from there on is read in a thread, since that takes long
_JSON: Header = (b"content-type", b"application/json")


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
        body = await receive_json(headers, receive, self._limits.max_body)
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
        await run_for_client(receive, partial(answer, call, send))

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
            await send_events(send, body, [self._request_id], self._confirm)
        finally:
            await body.aclose()
            self._count_usage(request.model, writer.usage, writer.facts)
            if writer.has_failed:
                self._metrics.count_broken(request.model)

    def _confirm(self) -> None:
        self._status = 200

    def _tell(self, error: Exception) -> Refusal:
        """Return what a client is told of a failure; what it is not told is logged."""
        refusal = explain_failure(error, in_full=self._limits.upstream_errors)
        if refusal.status >= 500 or refusal.message == refusal.words:
            log_failure(error)
        return refusal

    def _count_usage(self, model: str, usage: UsageMetadata | None, facts: FieldsView) -> None:
        if usage and not facts.get(CACHE_HIT):  # what came out of a cache was counted when it went in
            self._metrics.count_tokens(model, usage["input_tokens"], usage["output_tokens"])


def refuse_model(name: str, known: Iterable[str]) -> Refusal:
    """Return what is told of a model that is not served."""
    message = f"there is no model {shorten(name, LONGEST_NAME)!r} here; {near_name_hint(name, known)}"
    return Refusal(status=404, message=message, code="model_not_found", param="model")
