"""What every object that talks to a provider's server has: an address, a key, a client, and two ways to ask.

A mix-in for pydantic classes, chat models, text models and embeddings alike. It holds configuration only; the connections
are the event loop's (see `hocket.http.clients`), shared by all whose settings are equal. So a service may be made anew
for every request, copied, pickled, and used from several loops.
"""

import functools
import inspect
import traceback
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_serializer, field_validator, model_validator

from hocket._runtime.runtime import ASYNC
from hocket._secrets import MASK, Secret, redact, redact_url, unwrap_secret, wrap_secrets
from hocket.errors import (
    AuthenticationError,
    ConnectionFailed,
    DroppedStateWarning,
    HocketError,
    InvalidReply,
    LLMError,
    StreamTruncated,
)
from hocket.http.address import split_user
from hocket.http.clients import ClientSettings, close_client
from hocket.http.exchange import HTTPStream, open_stream, send
from hocket.http.failures import classify_error
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.http.secrets import Guard, find_secrets, redact_headers
from hocket.remote.stream_decoder import StreamDecoder

__all__ = ["Headers", "Key", "RemoteService"]

T = TypeVar("T")

Key = SecretStr | str | Callable[[], str | Awaitable[str]]
"""A key, or a sync or async function that returns one; it is asked for each attempt, so that keys may expire."""

Headers = dict[str, str | SecretStr]

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""What reading raises where a reply is not what its format says: a provider need not foresee each odd shape."""

LARGE = 2**18  # bytes of a reply that take milliseconds to read, in a thread therefore: the loop has others to serve


class RemoteService(BaseModel):
    """A server's address and how to talk to it.

    No secret of it is in its `repr`, in what is dumped of it, or in an error of its requests. A pickle has them all, for
    it is to work in another process: keep it as you keep the key.

    Args:
        base_url: where the server's API begins; paths are appended to it. A user and password in it become a header,
            ``authorization``, over that of the key.
        api_key: a text, or a sync or async function without arguments that returns one, asked for each attempt.
        default_headers: for each request, over the provider's own. Those that hold a secret, by their name, are kept as
            one, as is what is given as a `SecretStr`.
        http_client: an `httpx.AsyncClient` (or httpx2's) to send with, which stays the caller's to close. It belongs to
            the loop it is used on first, so sync verbs, which run on a loop of hocket's, cannot share it with async ones.
        max_connections: open at once, per event loop, over all services with equal settings; further requests queue.
        proxy: URL of an HTTP proxy; default: what the environment says (``HTTPS_PROXY``, ``NO_PROXY`` …).
        verify: False: certificates are not checked; a text: the path of a bundle of authorities to trust.
        max_reply_bytes: a reply that is longer is an `InvalidReply`; None: no limit.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    base_url: str = ""
    api_key: Key | None = Field(default=None, repr=False)
    default_headers: Headers | None = Field(default=None, repr=False)
    http_client: Any = Field(default=None, exclude=True, repr=False)
    max_connections: int = Field(default=1000, ge=1)
    proxy: SecretStr | str | None = Field(default=None, repr=False)
    verify: bool | str = True
    max_reply_bytes: int | None = Field(default=64 * 2**20, ge=1)

    _unkeyed: ClassVar[frozenset[str]] = frozenset(
        {"api_key", "http_client", "max_connections", "proxy", "verify", "max_reply_bytes"}
    )
    """Fields that do not change an answer, and so are in no cache key."""

    _local_fields: ClassVar[frozenset[str]] = frozenset({"proxy", "verify"})
    """Fields that say whom to trust on the way to the server: no dump has them, and none may bring them."""

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            """Settle what was left out first; not in a validator, out of which an `InvalidInput` comes as another error."""
            try:
                super().__init__(**self._settled(values))
            except Exception as error:
                traceback.clear_frames(error.__traceback__)  # many a logger shows the locals of frames
                values.clear()
                del self  # half made, it cannot be shown
                raise

    @classmethod
    def _settled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, with those that were left out and are to be found elsewhere, in the environment for one."""
        return values

    @model_validator(mode="before")
    @classmethod
    def _take_user(cls, values: Any) -> Any:
        """Take user and password out of the URL, which is shown, into a header, which is not."""
        url = cast("dict[str, Any]", values).get("base_url") if isinstance(values, dict) else None
        if not isinstance(url, str) or "@" not in url:
            return values
        bare, authorization = split_user(url)
        headers = values.get("default_headers") or {}
        if authorization is None or not isinstance(headers, Mapping):
            return values
        return {**values, "base_url": bare, "default_headers": {"authorization": SecretStr(authorization), **headers}}

    @field_validator("base_url")
    @classmethod
    def _without_slash(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError(f"base_url is {redact_url(url)!r}; it must begin with http:// or https://")
        if "?" in url or "#" in url:
            raise ValueError("base_url has a query or a fragment, behind which no path can be put")
        return url.rstrip("/")

    @field_validator("api_key", "proxy")
    @classmethod
    def _as_secret(cls, given: Any) -> Any:
        return SecretStr(given) if isinstance(given, str) else given

    @field_serializer("api_key", when_used="json-unless-none")
    def _mask_key(self, key: Any) -> str:
        return MASK  # a function has no JSON

    @field_validator("default_headers")
    @classmethod
    def _with_secrets(cls, headers: Headers | None) -> Headers | None:
        return None if headers is None else wrap_secrets({name.lower(): value for name, value in headers.items()})

    @field_validator("http_client")
    @classmethod
    def _check_client(cls, client: Any) -> Any:
        if client is not None and not inspect.iscoroutinefunction(getattr(client, "send", None)):
            raise ValueError(f"http_client is a {type(client).__name__}; it must be an httpx.AsyncClient")
        return client

    # -- opening and closing

    async def aclose(self) -> None:
        """Close the running loop's connections of these settings, once no request uses them. Later calls open new ones."""
        if self.http_client is None:
            await close_client(self._client_settings())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # -- what a provider may say

    @property
    def _provider(self) -> str:
        """The provider's name, for errors."""
        return type(self).__name__

    @property
    def _served_model(self) -> str | None:
        """The name of the model that is asked, for errors."""
        return cast("str | None", getattr(self, "model", None))

    def _auth_headers(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry a key."""
        return {"authorization": f"Bearer {key}"}

    # -- asking

    async def _send(self, request: HTTPRequest, read: Callable[[HTTPReply], T]) -> T:
        """Send a request and return what ``read`` makes of its reply.

        Raises:
            LLMError: the connection failed, or the reply says that the request did, or ``read`` does.
        """
        signed = await self._signed(request)
        with self._guard(signed):
            reply = await send(signed, self._client_settings(), client=self.http_client, max_bytes=self.max_reply_bytes)
            reply = replace(reply, headers=self._redact_headers(signed, reply.headers))
            if not 200 <= reply.status < 300:
                raise self._failure(signed, reply)
            try:
                return read(reply) if len(reply.content) < LARGE else await ASYNC.call_sync(read, reply)
            except UNREADABLE as error:
                if isinstance(error, HocketError):
                    raise
                raise _unreadable(error) from error

    async def _receive(
        self,
        request: HTTPRequest,
        decoder_of: Callable[[Mapping[str, str]], StreamDecoder[T]],
        read: Callable[[HTTPReply], Iterable[T]],
    ) -> AsyncGenerator[T, None]:
        """Send a request and yield what its reply says as it comes.

        Args:
            request: the request, but for its key.
            decoder_of: returns what reads the reply, given its headers.
            read: reads it where the server answers with one JSON document in spite of what was asked.

        Raises:
            LLMError: the connection failed, or the reply says that the request did.
            StreamTruncated: the reply ended before its terminal event, or its connection broke before its end.
        """
        signed = await self._signed(request)
        stream: HTTPStream | None = None
        with self._guard(signed):
            try:
                stream = await open_stream(
                    signed, self._client_settings(), client=self.http_client, max_bytes=self.max_reply_bytes
                )
                headers = self._redact_headers(signed, stream.headers)
                if not 200 <= stream.status < 300:
                    raise self._failure(signed, HTTPReply(stream.status, headers, await stream.read()))
                if headers.get("content-type", "").startswith("application/json"):
                    for item in read(HTTPReply(stream.status, headers, await stream.read())):
                        yield item
                    return
                decoder, broken = decoder_of(headers), None
                while not decoder.done:
                    try:
                        pieces = decoder.feed(await anext(stream))  # no name for the bytes: tracebacks may show locals
                    except (StopAsyncIteration, ConnectionFailed) as end:
                        broken = end if isinstance(end, ConnectionFailed) else None
                        break
                    for item in pieces:
                        yield item
                try:
                    rest = decoder.close()
                    if broken is not None and not decoder.ended:
                        raise StreamTruncated(
                            "the stream is not whole: its connection broke; what came is in `partial`"
                        )
                except StreamTruncated as error:
                    error.retryable = True
                    raise error from broken
                for item in rest:
                    yield item
            except UNREADABLE as error:
                if isinstance(error, HocketError):
                    raise
                raise _unreadable(error) from error
            finally:
                if stream is not None:
                    await stream.aclose()

    def _failure(self, signed: HTTPRequest, reply: HTTPReply) -> LLMError:
        return classify_error(reply.status, reply.headers, reply.content, secrets=self._secrets(signed))

    def _guard(self, signed: HTTPRequest) -> Guard:
        """Return what lets no secret of a request out with an error, and puts provider and model into it."""
        return Guard(functools.partial(self._secrets, signed), self._provider, self._served_model)

    def _secrets(self, signed: HTTPRequest) -> list[str]:
        client = getattr(self.http_client, "headers", None)
        return find_secrets([signed.headers, client or {}], [signed.url], self._client_settings().proxy)

    def _redact_headers(self, signed: HTTPRequest, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Return a reply's headers, which may be kept with the answer, without secrets that the server repeats.

        To find out all secrets takes as long as the rest of a call, so it is done where there may be some to find.
        """
        said = " ".join(headers.values())
        for value in signed.headers.values():
            if isinstance(value, Secret) and (value.rpartition(" ")[2] in said or value.startswith("Basic ")):
                break
        else:
            if self.proxy is None and self.http_client is None and "?" not in signed.url:
                return headers
        return cast("dict[str, str]", redact(headers, self._secrets(signed)))

    async def _signed(self, request: HTTPRequest) -> HTTPRequest:
        """Return the request with all its headers. The call's own come over the default ones."""
        headers = await self._key_headers()
        headers |= {name: unwrap_secret(value) for name, value in (self.default_headers or {}).items()}
        return replace(request, headers={**headers, **request.headers})

    async def _key_headers(self) -> dict[str, str]:
        key = self.api_key
        if key is None:
            return {}
        given: Any = key
        if callable(key):
            given = key() if inspect.iscoroutinefunction(key) else await ASYNC.call_sync(key)
            if inspect.isawaitable(given):
                given = await given
        if isinstance(given, SecretStr):
            given = given.get_secret_value()
        if isinstance(given, str) and (given or not callable(key)):
            return {name: Secret(value) for name, value in self._auth_headers(given).items()} if given else {}
        kind = type(given).__name__
        del given  # this frame is in the traceback
        raise AuthenticationError(
            f"the function given as api_key returned {kind} instead of a key",
            provider=self._provider,
            model=self._served_model,
        )

    def _shown(self, request: HTTPRequest) -> HTTPRequest:
        """Return a request as it would be sent, every secret masked."""
        known = [self.api_key.get_secret_value()] if isinstance(self.api_key, SecretStr) else []
        headers: Headers = dict(self._auth_headers(MASK)) if self.api_key else {}
        headers |= {**(self.default_headers or {}), **request.headers}
        url = redact_url(request.url)
        return HTTPRequest(request.method, redact(url, known), redact(redact_headers(headers), known), request.content)

    def _client_settings(self) -> ClientSettings:
        return ClientSettings(
            max_connections=self.max_connections,
            proxy=self.proxy.get_secret_value() if isinstance(self.proxy, SecretStr) else self.proxy,
            verify=self.verify,
        )

    # -- copies and pickles

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if state["__dict__"].get("http_client") is None:
            return state
        warnings.warn(
            f"pickling {type(self).__name__} leaves its http_client behind; set it again where it is loaded",
            DroppedStateWarning,
            stacklevel=2,
        )
        return {**state, "__dict__": {**state["__dict__"], "http_client": None}}

    def __deepcopy__(self, memo: Any = None) -> Self:
        memo = {} if memo is None else memo
        memo[id(self.http_client)] = self.http_client
        return super().__deepcopy__(memo)


def _unreadable(error: Exception) -> InvalidReply:
    return InvalidReply(f"the reply is not what its format says: {type(error).__name__}: {error}")
