"""One request for an answer, whatever face it came to.

A stream that breaks off has begun with a status: all that is left is an event of the stream.

An option that the model refuses is refused before anything is sent. So where it may be left out the model is asked once
more, without it, and the reply names it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar, cast
from urllib.parse import quote

from hocket._asgi import Header, Send
from hocket._pipeline.answer import CACHE_HIT
from hocket.errors import InvalidHook, UnknownOption, Unsupported
from hocket.errors.hints import LONGEST_NAME
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.option_policy import dropped_options
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.content import FieldsView
from hocket.remote.relay import Relay
from hocket.serving.event_body import EventBody
from hocket.serving.exchange import send_events
from hocket.serving.gateway.exchange import GatewayExchange, GatewayService
from hocket.serving.gateway.face import AnswerRequest, Face, ReplyWriter, Said, check_answer, drop_foreign
from hocket.serving.gateway.options import AMBIGUOUS
from hocket.serving.gateway.pass_through import PASSED, RelayWriter, is_of_format
from hocket.serving.gateway.served_models import AskedModel
from hocket.serving.refusals import Refusal

__all__ = ["DROPPED", "ModelExchange"]

T = TypeVar("T")

DROPPED = b"x-hocket-dropped"
"""The header that names the options that were left out."""

_LONGEST_HEADER = 2_000


class ModelExchange(GatewayExchange[AnswerRequest]):
    """One request for an answer.

    Args:
        face: whose format it has.
        service, facts, headers: see `GatewayExchange`.
    """

    def __init__(self, face: Face, service: GatewayService, facts: dict[str, object], headers: list[Header]) -> None:
        super().__init__(service, facts, headers)
        self._face = face
        self._dropped: set[str] = set()
        self._left_out: set[str] = set()  # by the models themselves, options of their operator's as well
        self._has_passed = False

    def _read(self, body: bytes) -> AnswerRequest:
        return self._face.read(body)

    async def _answer(self, request: AnswerRequest, send: Send) -> None:
        if request.metadata:
            self._facts["request_metadata"] = request.metadata
        model, request = self._models.find(request.model), self._add_betas(request)
        self._dropped |= drop_foreign(request, may_drop=self._limits.drops_options)
        refused = self._models.refused[request.model]
        if request.options.keys() & AMBIGUOUS and not is_of_format(model, self._face.name):
            refused = refused | AMBIGUOUS
        request = self._leave_out(request, request.spare & refused)
        self._asked_options = request.options.keys() | request.tools.keys()
        token = dropped_options.set(self._left_out)
        try:
            await (self._send_stream if request.stream else self._send_whole)(model, request, send)
        finally:
            dropped_options.reset(token)

    async def _send_whole(self, model: AskedModel, request: AnswerRequest, send: Send) -> None:
        async def ask(asked: AskedModel, request: AnswerRequest, relay: Relay | None) -> tuple[Said, bytes]:
            said = check_answer(await asked.ainvoke(request.input, self._config(request), **request.options))
            return said, b"" if relay is None else relay.take()

        said, passed = await self._ask(ask, model, request)
        body = passed or self._face.write(said, request)
        if isinstance(said, AIMessage):
            self._count(request.model, said.usage_metadata, said.response_metadata)
        await self._send_json(send, body, self._describe_way())

    async def _send_stream(self, model: AskedModel, request: AnswerRequest, send: Send) -> None:
        async def ask(
            asked: AskedModel, request: AnswerRequest, relay: Relay | None
        ) -> tuple[EventBody[Said], ReplyWriter]:
            writer = self._face.make_writer(request, self._limits.upstream_errors)
            writer = writer if relay is None else RelayWriter(relay, writer)
            stream = asked.astream(request.input, self._config(request), **request.options)
            body: EventBody[Said] = EventBody(stream, writer, self._limits.ping)
            await body.start(self._name_request(request, 200))
            return body, writer

        body, writer = await self._ask(ask, model, request)
        try:
            await send_events(send, body, [*self._describe_way(), *self._headers], self._confirm)
        finally:
            await body.aclose()
            self._count(request.model, writer.usage, writer.facts)
            if writer.has_failed:
                self._metrics.count_broken(request.model)

    def _confirm(self) -> None:
        self._status = 200

    def _count(self, model: str, usage: UsageMetadata | None, facts: FieldsView) -> None:
        if not facts.get(CACHE_HIT):  # what came out of a cache was counted when it went in
            self._count_usage(model, usage)

    # -- options

    async def _ask(
        self,
        ask: Callable[[AskedModel, AnswerRequest, Relay | None], Awaitable[T]],
        model: AskedModel,
        request: AnswerRequest,
    ) -> T:
        """Return what ``ask`` does: as the request came, or with as many of its options as the model takes.

        Raises:
            Exception: what the model raises; an option is refused that may not be left out.
        """
        while True:
            relay = self._open_relay(model, request)
            token = None if relay is None else relay.use()
            try:
                self._has_passed = relay is not None
                if relay is None:
                    return await ask(_offer_tools(model, request), request, None)
                tools = {"tools": request.tools["tools"]} if request.tools else {}  # for counting tokens
                return await ask(model, replace(request, options={**request.options, **tools}), relay)
            except (Unsupported, UnknownOption) as error:
                refused = frozenset(error.options) & (request.options.keys() | request.tools.keys() - {"tools"})
                if not refused or not (self._limits.drops_options or refused <= request.spare):
                    raise
            finally:
                if token is not None:
                    Relay.end(token)
            self._models.refused[request.model] |= refused & request.spare  # other names a client has made up
            request = self._leave_out(request, refused)

    def _open_relay(self, model: AskedModel, request: AnswerRequest) -> Relay | None:
        """Return the request as it came, if it may go on so; None: it is translated."""
        if self._dropped or self._watch is not None or not (self._face.name and request.may_pass):
            return None
        return self._models.pass_through.open(model, self._face.name, request)

    def _add_betas(self, request: AnswerRequest) -> AnswerRequest:
        """Return a request with the betas that a client of Anthropic's names in a header, for models that have any."""
        told = b",".join(value for name, value in self._asked if name == b"anthropic-beta").decode("latin-1")
        betas = [name.strip() for name in told.split(",") if name.strip()]
        if self._face.name != "messages" or not betas:
            return request
        return replace(request, options={**request.options, "betas": betas}, spare=request.spare | {"betas"})

    def _leave_out(self, request: AnswerRequest, refused: frozenset[str]) -> AnswerRequest:
        """Return a request without options, which the reply will name."""
        if not refused:
            return request
        self._dropped |= refused
        options = {name: value for name, value in request.options.items() if name not in refused}
        tools = {name: value for name, value in request.tools.items() if name not in refused}
        return replace(request, options=options, tools=tools)

    def _describe_way(self) -> list[Header]:
        """Return the headers that tell what was left out, or that nothing was."""
        if self._has_passed:
            return [PASSED]
        # Clients make names up: one with a line break would be a header of its own, or a reply.
        dropped = sorted(self._dropped | self._left_out & self._asked_options)
        names = ", ".join(quote(name[:LONGEST_NAME], safe="[]") for name in dropped)
        return [(DROPPED, names[:_LONGEST_HEADER].encode())] if names else []

    def _explain(self, error: Exception, request: AnswerRequest | None) -> Refusal:
        if request is None or not isinstance(error, Unsupported | UnknownOption) or not error.options:
            return super()._explain(error, request)
        options = sorted(frozenset(error.options) & (request.options.keys() | request.tools.keys()))
        if not options:  # nor may a client leave them out: the operator has given them
            return super()._explain(InvalidHook(f"the model {request.model!r} is given an option: {error}"), request)
        # In words for somebody who writes requests, and not programs with hocket.
        message = f"the model {request.model!r} takes no {', '.join(options)}; leave it out of the request"
        return Refusal(status=400, message=message, param=options[0], code="unsupported")


def _offer_tools(model: AskedModel, request: AnswerRequest) -> AskedModel:
    """Return the model with the tools of a request.

    Raises:
        Refusal: it takes none.
    """
    if not request.tools:
        return model
    try:
        return cast(AskedModel, cast(BaseChatModel, model).bind_tools(**request.tools))
    except (NotImplementedError, AttributeError):
        message = f"the model {request.model!r} cannot be given tools"
        raise Refusal(status=400, message=message, param="tools") from None
