"""The two passes of a row that a provider's batch answers: its request is taken out of the chain, and later its answer is
put in the place of the server.

In both the whole chain runs, as for any row: up to the request, which leaves the chain as no `Exception`, so that no retry
and no fallback answers it; and, with the answer, from its beginning to its end, so that decoders, parsers, handlers, ledgers
and errors are those of every call. The first pass is silent.

A chain may make several calls for a row, side by side or one after another, and an earlier one may have had its answer from
a cache that has forgotten it since. So a reply goes to the request that was submitted, known by its digest, wherever another
call could come first. Where none could, the request need not be the same to the letter: prompts may say what day it is.
"""

import contextlib
import zlib
from collections.abc import Generator, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, cast

from hocket._metering.batch_row import BatchPlace, batch_place
from hocket._pipeline.accounts import make_reservers
from hocket._pipeline.cache import choose_cache
from hocket._pipeline.call import Call, Next
from hocket._pipeline.compose import compose_attempts
from hocket._pipeline.row_wire import RowWire, row_wire
from hocket.callbacks.run_listeners import is_silent
from hocket.errors import LLMError, Unsupported
from hocket.http.clients import ClientSettings, Transport
from hocket.http.interception import add_layer, remove_layer
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.remote.chat_model import RemoteChatModel
from hocket.runnables import Runnable

__all__ = [
    "GivingWire",
    "RequestTaken",
    "RowRefused",
    "RowUnanswered",
    "TakingWire",
    "give_replies",
    "run_row",
    "take_request",
]


class RequestTaken(BaseException):
    """The request of a row, on its way out of the chain.

    Attributes:
        model: which would have sent it.
        name: of the model at its provider.
        request: but for its key.
        digest: of the request.
        call: that makes it, for budgets.
    """

    def __init__(self, model: RemoteChatModel, name: str, request: HTTPRequest, call: Call) -> None:
        super().__init__(f"the request of a row for {name}")
        self.call = call
        self.model = model
        self.name = name
        self.request = request
        self.digest: int = _find_digest(request)


class RowUnanswered(BaseException):
    """The batch has no answer that counts, and the chain would go on to ask another model, or again."""


class RowRefused(BaseException):
    """The row cannot be answered by its batch. No step of the chain may take this for a failure that it answers.

    Attributes:
        error: which the row ends with.
    """

    def __init__(self, error: Unsupported) -> None:
        super().__init__(f"{error}")
        self.error = error


class TakingWire(RowWire):
    """Takes the request of a row."""

    async def meet(self, call: Call, send: Next) -> object:
        """Raise the request of the call."""
        model: RemoteChatModel = call.request.model
        request = _write(call)
        name = call.request.params.get("model") or call.request.served_model or ""
        raise RequestTaken(model, str(name), request, call)


class GivingWire(RowWire):
    """Gives a row the reply that its batch has for it.

    Args:
        reply: the reply.
        digest: of the request that was submitted.
        place: of the row.
        is_live: whether its further requests are sent; else a row has one.
        is_last: whether an error that passes is the row's; else the row is asked again.

    Attributes:
        is_passed_by: whether the chain made other calls, and none was given the reply.
    """

    def __init__(self, reply: HTTPReply, digest: int, place: BatchPlace, *, is_live: bool, is_last: bool) -> None:
        self.is_passed_by: bool = False
        self._failure: LLMError | None = None  # what the reply stands for, where that is an error
        self._reply = reply
        self._digest = digest
        self._place = place
        self._is_live = is_live
        self._is_last = is_last
        self._is_given = False

    async def meet(self, call: Call, send: Next) -> object:
        """Return what the model makes of the reply; what waits for its turn, or tries again, is for calls that are sent."""
        if self._is_given or not self._is_for(call):
            return await self._go_on(call, send)
        self._is_given, self.is_passed_by = True, False
        if call.limits.retry is not None:
            call.limits.retry = None
        reply, place = _reply.set(self._reply), batch_place.set(self._place)
        model: RemoteChatModel = call.request.model
        try:
            return await compose_attempts(None, None, make_reservers(model.budget, model.ledger))(call)
        except LLMError as error:
            self._failure = error
            raise
        finally:
            batch_place.reset(place)
            _reply.reset(reply)

    def leaves_open(self, error: Exception | None = None) -> bool:
        """Whether the row is to be asked again; ``error``: what its chain ended with, if it did."""
        failure = self._failure
        return failure is not None and failure.retryable and not self._is_last and error in (None, failure)

    def _is_for(self, call: Call) -> bool:
        """Whether the reply answers a call."""
        model: RemoteChatModel = call.request.model
        is_first = not self._is_live and choose_cache(model.cache) is None
        return is_first or _find_digest(_write(call)) == self._digest

    async def _go_on(self, call: Call, send: Next) -> object:
        self.is_passed_by = not self._is_given
        if self._is_live:
            live = row_wire.set(None)
            try:
                return await send(call)
            finally:
                row_wire.reset(live)
        if self.leaves_open():
            raise RowUnanswered
        raise RowRefused(
            Unsupported(
                "a row of a batch makes one request, and this one makes another than was submitted, as an agent does, a "
                'fallback, or a prompt that has changed: retry_via="live" sends the others at once, via="live" all of them'
            )
        ) from self._failure


async def run_row(model: Runnable[Any, object], row: object, wire: "TakingWire | GivingWire") -> object:
    """Run a chain for a row, and return what it gives.

    Raises:
        RequestTaken: it made its request.
        RowUnanswered: its reply is none that counts.
        Exception: what the chain raises; Unsupported: it makes other requests than was submitted.
    """
    token = row_wire.set(wire)
    try:
        return await model.ainvoke(row)
    except (BaseExceptionGroup, RowRefused) as errors:
        if (signal := _find_signal(errors)) is None:
            raise
        raise (signal.error if isinstance(signal, RowRefused) else signal) from signal.__cause__
    except Exception as error:
        if isinstance(wire, GivingWire) and wire.leaves_open(error):
            raise RowUnanswered from error
        raise
    finally:
        row_wire.reset(token)


async def take_request(model: Runnable[Any, object], row: object) -> RequestTaken | None:
    """Run a chain up to the request of its model, and return that; handlers hear nothing of it.

    None: it makes no request, as where a cache has the answer.

    Raises:
        Exception: what the chain raises before its request.
    """
    silence = is_silent.set(True)
    try:
        await run_row(model, row, TakingWire())
    except RequestTaken as taken:
        return taken
    finally:
        is_silent.reset(silence)
    return None


def _find_signal(error: BaseException) -> RequestTaken | RowRefused | RowUnanswered | None:
    """Return what left the chain, maybe through a task group, as that of a parallel step."""
    if isinstance(error, RequestTaken | RowRefused | RowUnanswered):
        return error
    inner = cast("BaseExceptionGroup[BaseException]", error).exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for one in inner if (found := _find_signal(one)) is not None), None)


def _write(call: Call) -> HTTPRequest:
    model: RemoteChatModel = call.request.model
    return model._write_call(call)  # pyright: ignore[reportPrivateUsage]  # written where calls are


def _find_digest(request: HTTPRequest) -> int:
    return zlib.crc32(request.content, zlib.crc32(request.url.encode()))


# -- a reply in the place of a server

_reply: ContextVar[HTTPReply | None] = ContextVar("hocket_row_reply", default=None)
"""For the model whose call is being answered."""


@contextlib.contextmanager
def give_replies() -> Generator[None]:
    """Let rows have their replies in the place of a server."""
    layer = _ReplyLayer()
    add_layer(layer)
    try:
        yield
    finally:
        remove_layer(layer)


class _ReplyLayer:
    answers_all = False

    def wrap(self, transport: Transport, settings: ClientSettings, client: object) -> Transport:
        reply = _reply.get()
        return transport if reply is None else _ReplyTransport(reply)


class _ReplyTransport:
    def __init__(self, reply: HTTPReply) -> None:
        self._reply = reply

    async def open(self, request: HTTPRequest) -> "_OpenReply":
        return _OpenReply(self._reply)


class _OpenReply:
    is_worth_draining: ClassVar[bool] = False

    def __init__(self, reply: HTTPReply) -> None:
        self.status: int = reply.status
        self.headers: Mapping[str, str] = reply.headers
        self._content = reply.content

    async def receive(self) -> bytes:
        content, self._content = self._content, b""
        return content

    async def aclose(self) -> None:
        self._content = b""
