"""What every object that talks to a provider's server has: an address, a key, a client, and two ways to ask.

A mix-in for pydantic classes, chat models, text models and embeddings alike. It holds configuration only; the connections
are the event loop's (see `hocket.http.clients`), shared by all whose settings are equal. So a service may be made anew
for every request, copied, pickled, and used from several loops.
"""

import inspect
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

from pydantic import BaseModel, Field, SecretStr, field_validator

from hocket._runtime.runtime import ASYNC
from hocket.errors import AuthenticationError, ConnectionFailed, DroppedStateWarning, LLMError, StreamTruncated
from hocket.http.clients import ClientSettings, close_client
from hocket.http.exchange import HTTPStream, open_stream, send
from hocket.http.failures import failure
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.http.secrets import MASK, is_sensitive, scrubbed, shown_headers
from hocket.timeouts import connect_limit

__all__ = ["HTTPService", "Headers", "Key", "StreamDecoder"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Key = SecretStr | str | Callable[[], str | Awaitable[str]]
"""A key, or a sync or async function that returns one; it is asked for each attempt, so that keys may expire."""

Headers = dict[str, str | SecretStr]

LARGE = 2**18  # bytes of a reply that take milliseconds to read, in a thread therefore: the loop has others to serve


class StreamDecoder(Protocol[T_co]):
    """Reads one streamed reply, piece by piece. It knows no sockets, so that a test may cut a reply at every byte."""

    @property
    def done(self) -> bool:
        """Whether the stream's last event has come, so that nothing more need be read."""
        ...

    def feed(self, data: bytes) -> Iterable[T_co]:
        """Return the chunks that these bytes complete.

        Raises:
            LLMError: the stream says that the request has failed, or is not what its format says.
        """
        ...

    def close(self) -> Iterable[T_co]:
        """Return what is left, the body having ended.

        Raises:
            StreamTruncated: the terminal event has not come.
        """
        ...


class HTTPService(BaseModel):
    """A server's address and how to talk to it.

    Args:
        base_url: where the server's API begins; paths are appended to it.
        api_key: a text, or a sync or async function without arguments that returns one, asked for each attempt.
        default_headers: for each request, over the provider's own. Those that hold a secret, by their name, are kept as
            one.
        http_client: an `httpx.AsyncClient` (or httpx2's) to send with, which stays the caller's to close. It belongs to
            the loop it is used on first, so sync verbs, which run on a loop of hocket's, cannot share it with async ones.
        max_connections: open at once, per event loop, over all services with equal settings; further requests queue.
        proxy: URL of an HTTP proxy; default: what the environment says (``HTTPS_PROXY``, ``NO_PROXY`` …).
        verify: False: certificates are not checked; a text: the path of a bundle of authorities to trust.
        max_reply_bytes: a reply that is longer is an `InvalidReply`; None: no limit.
    """

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

    @field_validator("base_url")
    @classmethod
    def _without_slash(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError(f"base_url is {url!r}; it must begin with http:// or https://")
        return url.rstrip("/")

    @field_validator("api_key", "proxy")
    @classmethod
    def _as_secret(cls, given: Any) -> Any:
        return SecretStr(given) if isinstance(given, str) else given

    @field_validator("default_headers")
    @classmethod
    def _with_secrets(cls, headers: Headers | None) -> Headers | None:
        if headers is None:
            return None
        return {
            name.lower(): SecretStr(value) if isinstance(value, str) and is_sensitive(name) else value
            for name, value in headers.items()
        }

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
        signed, secrets = await self._signed(request)
        try:
            reply = await send(signed, self._client_settings(), client=self.http_client, max_bytes=self.max_reply_bytes)
            if not 200 <= reply.status < 300:
                raise failure(reply.status, reply.headers, reply.content, secrets=secrets)
            return read(reply) if len(reply.content) < LARGE else await ASYNC.sync(read, reply)
        except LLMError as error:
            self._complete(error, secrets)
            raise

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
            StreamTruncated: the reply ended before its terminal event.
        """
        signed, secrets = await self._signed(request)
        stream: HTTPStream | None = None
        try:
            stream = await open_stream(
                signed, self._client_settings(), client=self.http_client, max_bytes=self.max_reply_bytes
            )
            if not 200 <= stream.status < 300:
                raise failure(stream.status, stream.headers, await stream.read(), secrets=secrets)
            if stream.headers.get("content-type", "").startswith("application/json"):
                for item in read(HTTPReply(stream.status, stream.headers, await stream.read())):
                    yield item
                return
            decoder, broken = decoder_of(stream.headers), None
            while not decoder.done:
                try:
                    data = await anext(stream)
                except (StopAsyncIteration, ConnectionFailed) as end:
                    broken = end if isinstance(end, ConnectionFailed) else None
                    break
                for item in decoder.feed(data):
                    yield item
            try:
                rest = decoder.close()
            except StreamTruncated as error:
                error.retryable = True
                raise error from broken
            for item in rest:
                yield item
        except LLMError as error:
            self._complete(error, secrets)
            raise
        finally:
            if stream is not None:
                await stream.aclose()

    def _complete(self, error: LLMError, secrets: Iterable[str]) -> None:
        """Put provider and model into an error, and take every secret out of it, whatever the server repeated."""
        error.provider = error.provider or self._provider
        error.model = error.model or self._served_model
        error.message = scrubbed(error.message, secrets)
        error.args = (error.message,)

    async def _signed(self, request: HTTPRequest) -> tuple[HTTPRequest, list[str]]:
        """Return the request with all its headers, and the secrets in it. The call's own come over the default ones."""
        key = await self._current_key()
        headers = dict(self._auth_headers(key)) if key else {}
        for name, value in (self.default_headers or {}).items():
            headers[name] = value.get_secret_value() if isinstance(value, SecretStr) else value
        headers |= request.headers
        secrets = [value for name, value in headers.items() if is_sensitive(name)]
        return replace(request, headers=headers), [key, *secrets] if key else secrets

    async def _current_key(self) -> str | None:
        key = self.api_key
        if not callable(key):
            return key.get_secret_value() if isinstance(key, SecretStr) else key
        given: Any = key() if inspect.iscoroutinefunction(key) else await ASYNC.sync(key)
        if inspect.isawaitable(given):
            given = await given
        if isinstance(given, SecretStr):
            given = given.get_secret_value()
        if not isinstance(given, str) or not given:
            raise AuthenticationError(
                f"the function given as api_key returned {type(given).__name__} instead of a key",
                provider=self._provider,
                model=self._served_model,
            )
        return given

    def _shown(self, request: HTTPRequest) -> HTTPRequest:
        """Return a request as it would be sent, every secret masked."""
        known = [self.api_key.get_secret_value()] if isinstance(self.api_key, SecretStr) else []
        headers = dict(self._auth_headers(MASK)) if self.api_key else {}
        for name, value in (self.default_headers or {}).items():
            headers[name] = MASK if isinstance(value, SecretStr) else value
        headers |= request.headers
        return HTTPRequest(
            request.method, scrubbed(request.url, known), shown_headers(scrubbed(headers, known)), request.content
        )

    def _client_settings(self) -> ClientSettings:
        return ClientSettings(
            connect_timeout=connect_limit.get(),
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
