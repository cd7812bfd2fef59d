"""Requests through an httpx client: one that the caller injects, or hocket's own where a proxy stands in the way.

httpx and its fork httpx2 are told apart by where the client's class comes from, and their exceptions looked up there:
neither is imported for the other's sake.
"""

import logging
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, cast

import anyio

from hocket._secrets import redact, redact_url
from hocket.errors import ConnectionFailed, ConnectTimeout, InvalidInput, InvalidReply, LLMError, RequestTimeout
from hocket.http.address import parse_url
from hocket.http.public_addresses import resolve_public
from hocket.http.request import HTTPRequest
from hocket.http.secrets import find_secrets
from hocket.http.tls import get_tls_context
from hocket.timeouts import connect_limit

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["HTTPXReply", "InjectedClient", "ProxiedClient"]

PACKAGES = ("httpx", "httpx2")

LOGGERS = (
    *PACKAGES,
    *(
        f"{core}.{part}"
        for core in ("httpcore", "httpcore2")
        for part in ("connection", "http11", "http2", "proxy", "socks")
    ),
)
"""What httpx and its fork log to. They know how to hide an ``authorization`` header only."""

MOST_LEFT = 1_000
"""Pieces that httpx may still hold when a reply is given up."""


class InjectedClient:
    """Sends requests through a client that the caller made, and will close.

    Its own time-outs apply, unless they are httpx's default, whose five seconds between two reads no model keeps to.

    Args:
        client: an ``httpx.AsyncClient`` or ``httpx2.AsyncClient``.
        proxy: URL of the proxy that the client was made with, if that is known.

    Raises:
        InvalidInput: it is something else, or is closed.
    """

    def __init__(self, client: object, proxy: str | None = None) -> None:
        self._package = _find_package(client)
        self._client = cast("httpx.AsyncClient", client)  # or httpx2's, which is the same for us
        self._proxy = proxy
        if self._client.is_closed:
            raise InvalidInput("the injected HTTP client is closed; keep it open for as long as its model is used")
        self._timeout = self._client.timeout
        if self._timeout == self._package.Timeout(5.0):
            self._timeout = self._package.Timeout(None, connect=connect_limit.get())

    async def open(self, request: HTTPRequest, on_close: Callable[[], Awaitable[None]] | None = None) -> "HTTPXReply":
        """Send a request and return its reply as soon as the head of it is there. Redirects are replies like any other.

        Args:
            request: sent once.
            on_close: awaited when the reply is over.

        Raises:
            LLMError: as `hocket.http.pool.Pool.open`.
            RequestTimeout: a time-out of the client's own.
        """
        with _translate_errors(self._package, self._proxy):
            built = self._client.build_request(
                request.method,
                request.url,
                headers=dict(request.headers),
                content=request.content or None,
                timeout=self._timeout,
            )
            with _redact_logs(lambda: self._secrets(request)):
                response = await self._client.send(built, stream=True, follow_redirects=False)
        return HTTPXReply(response, self._package, on_close)

    def _secrets(self, request: HTTPRequest) -> list[str]:
        return find_secrets([request.headers, self._client.headers], [request.url], self._proxy)


class HTTPXReply:
    """A reply that is still being read, see `hocket.http.clients.OpenReply`."""

    is_worth_draining: ClassVar[bool] = True

    def __init__(
        self, response: "httpx.Response", package: Any, on_close: Callable[[], Awaitable[None]] | None
    ) -> None:
        self.status: int = response.status_code
        self.headers: dict[str, str] = dict(response.headers.items())  # `dict` alone looks each up, in a list
        self._response = response
        self._package = package
        self._on_close = on_close
        self._over = False
        self._pieces: AsyncIterator[bytes]
        if response.is_stream_consumed:  # an event hook, a mock: they have read and decompressed it already
            self.headers.pop("content-encoding", None)
            self._pieces = _yield_once(response.content)
        else:
            self._pieces = response.aiter_raw()

    async def receive(self) -> bytes:
        """Return the next piece of the body as it came; nothing: it has ended, or was given up."""
        if not self._over:
            with _translate_errors(self._package):
                async for piece in self._pieces:
                    if piece:
                        return piece
        return b""

    async def aclose(self) -> None:
        """Give up the rest. Safe to call twice."""
        if self._over:
            return
        self._over = True
        with anyio.CancelScope(shield=True):
            try:
                await self._response.aclose()
                # The generators that httpx reads through hang on one another, and none closes the next: left as they
                # are, trio warns of each. Asked for more, on a closed connection, they fail and are gone.
                with suppress(Exception):
                    for _ in range(MOST_LEFT):
                        await anext(self._pieces)
            finally:
                if self._on_close is not None:
                    await self._on_close()


async def _yield_once(content: bytes) -> AsyncGenerator[bytes, None]:
    yield content


class ProxiedClient:
    """A client of hocket's own for where a proxy applies, made when it is first needed.

    Args:
        proxy: its URL; None: what the environment says.
        max_connections: as for `hocket.http.pool.Pool`, as are the others.
    """

    def __init__(
        self, proxy: str | None, max_connections: int, verify: bool | str, is_public_only: bool = False
    ) -> None:
        self._is_public_only = is_public_only
        self._proxy = proxy
        self._max_connections = max_connections
        self._verify = verify
        self._client: httpx.AsyncClient | None = None
        self._requests = 0
        self._retired = False

    async def open(self, request: HTTPRequest) -> HTTPXReply:
        """Send a request, see `InjectedClient.open`."""
        self._requests += 1
        try:
            if self._is_public_only:
                origin = parse_url(request.url).origin
                with suppress(socket.gaierror):  # the proxy may know a name that is not known here
                    await resolve_public(origin.host, origin.port)
            tls = await get_tls_context(self._verify)
            if self._client is None:
                self._client = self._create_client(tls)
            return await InjectedClient(self._client, self._proxy).open(request, self._leave)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._leave()
            raise

    async def retire(self) -> None:
        """Close it when its last request has ended."""
        self._retired = True
        if not self._requests:
            await self.aclose()

    async def aclose(self) -> None:
        """Close it now, whatever is under way."""
        client, self._client = self._client, None
        if client is not None:
            with anyio.CancelScope(shield=True):
                await client.aclose()

    def abandon(self) -> None:
        """Let go of it: without its loop it cannot be closed."""
        self._client = None

    async def _leave(self) -> None:
        self._requests -= 1
        if self._retired and not self._requests:
            await self.aclose()

    def _create_client(self, tls: "ssl.SSLContext") -> "httpx.AsyncClient":
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        import httpx

        try:
            return httpx.AsyncClient(
                verify=tls,
                proxy=self._proxy,
                trust_env=self._proxy is None,
                limits=httpx.Limits(max_connections=self._max_connections, keepalive_expiry=30.0),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # one model's are not another's
            )
        except (httpx.InvalidURL, ValueError, ImportError):
            pass  # its text, and so its traceback, may show a password
        raise InvalidInput(
            "the proxy, in the settings or the environment, cannot be used: give an http:// or https:// URL, or a "
            "socks5:// one with `pip install socksio`"
        )


def _find_package(client: object) -> Any:
    """Return the package that an async client's class comes from, httpx or httpx2.

    Raises:
        InvalidInput: neither.
    """
    for ancestor in type(client).__mro__:
        package = ancestor.__module__.partition(".")[0]
        if ancestor.__name__ == "AsyncClient" and package in PACKAGES:
            return sys.modules[package]
    raise InvalidInput(
        f"the injected HTTP client is a {type(client).__name__}; it must be an httpx.AsyncClient or httpx2.AsyncClient"
    )


_secrets: ContextVar[Callable[[], list[str]] | None] = ContextVar("hocket_secrets", default=None)


class _Scrubbing(logging.Filter):
    """Takes the secrets of the request under way out of what is logged: URLs, and headers in which a server repeats them."""

    def filter(self, record: logging.LogRecord) -> bool:
        secrets = _secrets.get()
        if secrets is not None:
            record.msg, record.args = redact(record.getMessage(), secrets()), None
        return True


_scrubbing = _Scrubbing()
for _name in LOGGERS:
    logging.getLogger(_name).addFilter(_scrubbing)


@contextmanager
def _redact_logs(secrets: Callable[[], list[str]]) -> Generator[None]:
    """Have what is logged meanwhile show no secret. Not to be held across a yield."""
    token = _secrets.set(secrets)
    try:
        yield
    finally:
        _secrets.reset(token)


@contextmanager
def _translate_errors(package: Any, proxy: str | None = None) -> Generator[None]:
    """Raise an httpx error as hocket's. It names the proxy, on the way to which it happened."""
    way = "" if proxy is None else f" through the proxy {redact_url(proxy)}"
    translated: LLMError | None = None
    try:
        yield
    except package.ConnectTimeout as error:
        translated, cause = ConnectTimeout(f"no connection{way} in time", retryable=True), error
    except package.TimeoutException as error:
        text = f"the HTTP client's own limit was passed: {type(error).__name__}"
        translated, cause = RequestTimeout(text, retryable=True), error
    except (package.UnsupportedProtocol, package.LocalProtocolError, package.InvalidURL):
        cause = None  # its text, and so its traceback, may show a key
    except package.RemoteProtocolError as error:
        cut = "closed connection" in str(error) or "disconnected" in str(error)
        translated = ConnectionFailed(str(error), retryable=True) if cut else InvalidReply(str(error)[:200])
        cause = error
    except package.TransportError as error:
        translated, cause = ConnectionFailed(f"the connection{way} failed: {error}", retryable=True), error
    else:
        return
    if translated is not None:
        raise translated from cause
    raise InvalidInput("the request cannot be sent: its URL, or a header (a key, perhaps), is not what HTTP allows")
