"""Sends the requests of one service: puts its key in, keeps its secrets out of what comes back, and reads that.

It is made for a call out of a service's fields, and knows no models. Whatever a server says ends in one of hocket's
errors: what reads a reply need not foresee each odd shape.
"""

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

from hocket._runtime.mode import ASYNC
from hocket._secrets import Secret, redact, remember_secret, unwrap_secret
from hocket.errors import AuthenticationError, ConnectionFailed, HocketError, InvalidReply, LLMError, StreamTruncated
from hocket.http.address import parse_url
from hocket.http.clients import ClientSettings
from hocket.http.exchange import HTTPStream, open_stream, send
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.http.secrets import Guard, find_secrets
from hocket.remote.endpoint import Headers
from hocket.remote.hooks import blame_signature, check_returned
from hocket.remote.stream_decoder import StreamDecoder

__all__ = ["Sender"]

T = TypeVar("T")
P = ParamSpec("P")

LARGE = 2**18  # bytes of a reply that take milliseconds to read, in a thread therefore: the loop has others to serve


@dataclass(slots=True)
class Sender:
    """What sends a service's requests.

    Attributes:
        provider: the name of the provider, for errors.
        key_header: the header that the key goes in.
        start_command: what starts the server, for the error where none answers; None: nothing is known.
        model: the name of the model, for errors.
        headers: the service's.
        client: what sends instead of hocket's own client; None: nothing does.
        settings: of the client.
        max_bytes: of a reply; None: no limit.
        authenticate: returns the headers that authenticate the request, given the request without them; what nobody may
            see is a `Secret` there.
        locate: returns the request with the URL that it goes to.
        read_failure: returns the error that a reply stands for whose status is not one of success, given what it must
            not repeat.
    """

    provider: str
    key_header: str
    start_command: str | None
    model: str | None
    headers: Headers | None
    client: Any
    settings: ClientSettings
    max_bytes: int | None
    read_failure: Callable[[HTTPReply, Sequence[str]], LLMError]
    authenticate: Callable[[HTTPRequest], Awaitable[Mapping[str, str]]]
    locate: Callable[[HTTPRequest], Awaitable[HTTPRequest]]

    async def send(self, request: HTTPRequest, read: Callable[[HTTPReply], T]) -> T:
        """Send a request and return what ``read`` makes of its reply.

        Raises:
            LLMError: the connection failed, or the reply says that the request did, or ``read`` does.
        """
        signed = await self._sign(request)
        with self._guard(signed):
            reply = await send(signed, self.settings, client=self.client, max_bytes=self.max_bytes)
            if (headers := self._redact_headers(signed, reply.headers)) is not reply.headers:
                reply = replace(reply, headers=headers)
            if not 200 <= reply.status < 300:
                raise self._fail(signed, reply)
            try:
                return read(reply) if len(reply.content) < LARGE else await ASYNC.call_sync(read, reply)
            except HocketError:
                raise
            except Exception as error:
                blame_signature(read, error)
                raise _unreadable(error) from error

    async def receive(
        self,
        request: HTTPRequest,
        make_decoder: Callable[[Mapping[str, str]], StreamDecoder[T]],
        read: Callable[[HTTPReply], Iterable[T]],
    ) -> AsyncGenerator[T, None]:
        """Send a request and yield what its reply says as it comes.

        Args:
            request: the request, but for its key.
            make_decoder: returns what reads the reply, given its headers.
            read: reads it where the server answers with one JSON document in spite of what was asked.

        Raises:
            LLMError: the connection failed, or the reply says that the request did.
            StreamTruncated: the reply ended before its terminal event, or its connection broke before its end.
        """
        signed = await self._sign(request)
        stream: HTTPStream | None = None
        with self._guard(signed):
            try:
                stream = await open_stream(signed, self.settings, client=self.client, max_bytes=self.max_bytes)
                headers = self._redact_headers(signed, stream.headers)
                if not 200 <= stream.status < 300:
                    raise self._fail(signed, HTTPReply(stream.status, headers, await stream.read()))
                if headers.get("content-type", "").partition(";")[0].strip() == "application/json":
                    for item in _read_all(read, HTTPReply(stream.status, headers, await stream.read())):
                        yield item
                    return
                decoder, broken = make_decoder(headers), None
                while not decoder.done:
                    try:
                        pieces = _read_all(
                            decoder.feed, await anext(stream)
                        )  # no name for the bytes: tracebacks show locals
                    except (StopAsyncIteration, ConnectionFailed) as end:
                        broken = end if isinstance(end, ConnectionFailed) else None
                        break
                    for item in pieces:
                        yield item
                for item in _read_end(decoder, broken):
                    yield item
            finally:
                if stream is not None:
                    await stream.aclose()

    def complete(self, request: HTTPRequest) -> HTTPRequest:
        """Return the request with the service's headers under its own; none of them authenticates it yet."""
        usual = {name: unwrap_secret(value) for name, value in (self.headers or {}).items()}
        return replace(request, headers={**usual, **request.headers})

    async def _sign(self, request: HTTPRequest) -> HTTPRequest:
        """Return the request with all its headers: those of the call and the service over those that authenticate it."""
        bare = self.complete(await self.locate(request))
        hook = self.authenticate
        waiting: Any = check_returned(hook, hook(bare), Awaitable, "an awaitable: define it with async def")  # type: ignore[type-abstract]  # mypy: of a class
        given: Mapping[str, str] = check_returned(hook, await waiting, Mapping, "a mapping of headers")  # type: ignore[type-abstract]  # as above
        headers = {**given, **bare.headers}
        for value in headers.values():
            if isinstance(value, Secret):
                remember_secret(value)
        return replace(bare, headers=headers)

    def _fail(self, signed: HTTPRequest, reply: HTTPReply) -> LLMError:
        """Return the error that a reply stands for."""
        try:
            error = check_returned(self.read_failure, self.read_failure(reply, self._secrets(signed)), LLMError)
        except HocketError:
            raise
        except Exception as unforeseen:
            blame_signature(self.read_failure, unforeseen)
            raise _unreadable(unforeseen) from unforeseen
        is_anonymous = self.key_header not in signed.headers and not any(
            isinstance(value, Secret) for value in signed.headers.values()
        )
        if is_anonymous and isinstance(error, AuthenticationError):
            error.message += (
                f"; no key was sent to {parse_url(signed.url).origin}: give api_key=..., for that of the environment goes "
                "to known hosts only"
            )
            error.args = (error.message,)
        return error

    def _guard(self, signed: HTTPRequest) -> Guard:
        """Return what lets no secret of a request out with an error, and puts provider and model into it."""
        way_out = f"is its server running? `{self.start_command}` starts it" if self.start_command else ""
        return Guard(functools.partial(self._secrets, signed), self.provider, self.model, way_out)

    def _secrets(self, signed: HTTPRequest) -> list[str]:
        of_client: Mapping[str, str] = getattr(self.client, "headers", None) or {}
        return find_secrets([signed.headers, of_client], [signed.url], self.settings.proxy)

    def _redact_headers(self, signed: HTTPRequest, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Return a reply's headers, which may be kept with the answer, without secrets that the server repeats.

        To find out all secrets takes as long as the rest of a call, so it is done where there may be some to find.
        """
        text = " ".join(headers.values())
        for value in signed.headers.values():
            if isinstance(value, Secret) and (value.rpartition(" ")[2] in text or value.startswith("Basic ")):
                break
        else:
            if self.settings.proxy is None and self.client is None and "?" not in signed.url:
                return headers
        return redact(headers, self._secrets(signed))


def _read_all(read: Callable[P, Iterable[T]], *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
    """Yield what reading gives. What it raises, if it is no error of hocket's, says that the reply is not readable."""
    try:
        yield from read(*args, **kwargs)
    except HocketError:
        raise
    except Exception as error:
        raise _unreadable(error) from error


def _read_end(decoder: StreamDecoder[T], broken: ConnectionFailed | None) -> Iterator[T]:
    """Yield what is left to say at the end of a stream.

    Args:
        decoder: what has read the stream.
        broken: how its connection broke; None: the body has ended, or need not be read further.
    """
    try:
        rest = list(_read_all(decoder.close))
        if broken is not None and not decoder.ended:
            raise StreamTruncated("the stream is not whole: its connection broke; what came is in `partial`")
    except StreamTruncated as error:
        error.retryable = True
        raise error from broken
    yield from rest


def _unreadable(error: Exception) -> InvalidReply:
    return InvalidReply(f"the reply is not what its format says: {type(error).__name__}: {error}")
