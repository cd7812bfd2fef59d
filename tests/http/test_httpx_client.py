"""Clients that are injected, httpx's and httpx2's, and hocket's own where a proxy stands in the way."""

import asyncio
import socket
import ssl
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
import trio
import trustme

from hocket.errors import ConnectionFailed, ConnectTimeout, InvalidInput, InvalidReply, RequestTimeout
from hocket.http.clients import ClientSettings, close_client
from hocket.http.exchange import open_stream, send
from hocket.http.httpx_client import HTTPXReply
from hocket.http.request import HTTPRequest
from hocket.timeouts import connect_limit
from tests.kit import assert_linear

SECRET = "sk-abcdefgh12345678"

both = pytest.mark.parametrize("package", [httpx, httpx2], ids=["httpx", "httpx2"])


class Subclass(httpx.AsyncClient):
    """As SDKs make them."""


@both
async def test_injected_client_sends_and_stays_open(serve: Any, settings: ClientSettings, package: Any) -> None:
    """It is used as it is, with its own headers and connections, whole and as a stream, and never closed."""
    server = serve.answering(serve.reply(b"hello", "X-Two: 1", "x-two: 2"))

    async with package.AsyncClient(headers={"x-mine": "1"}) as client:
        for _ in range(2):
            answer = await send(server.request(authorization="Bearer k"), settings, client=client)
            stream = await open_stream(server.request(), settings, client=client)
            assert [piece async for piece in stream] == [b"hello"]
            await stream.aclose()
        assert not client.is_closed

    assert (answer.status, answer.content, answer.headers["x-two"]) == (200, b"hello", "1, 2")
    assert (len(server.requests), server.accepted) == (4, 1)
    received = server.requests[0]
    assert (received.target, received.body) == ("/v1/chat?x=1", b'"hi"')
    assert received.headers["x-mine"] == "1"
    assert received.headers["user-agent"].startswith("hocket/")
    assert received.headers["accept-encoding"] == "identity"


async def test_subclass_is_a_client_too(serve: Any, settings: ClientSettings) -> None:
    """Its class may come from anywhere."""
    server = serve.answering(serve.reply())
    async with Subclass() as client:
        assert (await send(server.request(), settings, client=client)).content == b"ok"


@pytest.mark.parametrize("client", [httpx.Client(), object()], ids=["sync", "other"])
async def test_what_is_no_client(settings: ClientSettings, client: Any) -> None:
    """It is refused by name."""
    with pytest.raises(InvalidInput, match=type(client).__name__):
        await send(HTTPRequest("GET", "http://127.0.0.1:9/", {}), settings, client=client)


@both
async def test_closed_client(settings: ClientSettings, package: Any) -> None:
    """The message says what to do."""
    client = package.AsyncClient()
    await client.aclose()
    with pytest.raises(InvalidInput, match="keep it open"):
        await send(HTTPRequest("GET", "http://127.0.0.1:9/", {}), settings, client=client)


@both
def test_the_head_of_a_reply_is_read_in_linear_time(package: Any) -> None:
    """However many headers a server sends."""

    def read(count: int) -> None:
        response = package.Response(200, headers=[(f"x-{number}", "v") for number in range(count)], content=b"{}")
        assert len(HTTPXReply(response, package, None).headers) == count + 1

    assert_linear(read, 4_000)


@both
async def test_redirects_are_not_followed(serve: Any, settings: ClientSettings, package: Any) -> None:
    """Even where the client would: a key must not go where a server points."""
    server = serve.answering(serve.reply(b"", "location: /elsewhere", status="302 Found"))
    async with package.AsyncClient(follow_redirects=True) as client:
        assert (await send(server.request(), settings, client=client)).status == 302
    assert len(server.requests) == 1


@both
async def test_default_time_outs_do_not_apply(settings: ClientSettings, package: Any) -> None:
    """Five seconds between two reads are httpx's default, not somebody's decision; what was decided stays."""
    connect_limit.set(6.0)
    seen = []

    def answer(request: Any) -> Any:
        seen.append(request.extensions["timeout"])
        return package.Response(200)

    for given in ({}, {"timeout": 9.0}):
        async with package.AsyncClient(transport=package.MockTransport(answer), **given) as client:
            await send(HTTPRequest("GET", "http://host/", {}), settings, client=client)

    nothing = {"read": None, "write": None, "pool": None}
    assert seen == [{"connect": 6.0, **nothing}, dict.fromkeys(["connect", *nothing], 9.0)]


@both
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("ConnectTimeout", ConnectTimeout),
        ("ReadTimeout", RequestTimeout),
        ("WriteTimeout", RequestTimeout),
        ("PoolTimeout", RequestTimeout),
        ("ConnectError", ConnectionFailed),
        ("ReadError", ConnectionFailed),
        ("ProxyError", ConnectionFailed),
        ("RemoteProtocolError", InvalidReply),
    ],
)
async def test_errors_of_the_client(settings: ClientSettings, package: Any, name: str, error: type[Exception]) -> None:
    """They are raised as hocket's own, with httpx's as the cause."""
    original = getattr(package, name)("illegal header line")

    def fail(request: Any) -> Any:
        raise original

    async with package.AsyncClient(transport=package.MockTransport(fail)) as client:
        with pytest.raises(error) as caught:
            await send(HTTPRequest("GET", f"http://host/?key={SECRET}", {}), settings, client=client)

    assert type(caught.value) is error
    assert caught.value.__cause__ is original
    assert caught.value.retryable is (error is not InvalidReply)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@both
async def test_request_that_httpx_cannot_send(settings: ClientSettings, package: Any) -> None:
    """It is refused, and the key is in no text."""
    async with package.AsyncClient() as client:
        for url, value in ((f"ftp://host/?key={SECRET}", "x"), ("http://127.0.0.1:9/", f"{SECRET}\r\ny: z")):
            with pytest.raises((InvalidInput, ConnectionFailed)) as caught:
                await send(HTTPRequest("GET", url, {"x": value}), settings, client=client)
            assert SECRET not in "".join(traceback.format_exception(caught.value))


@both
@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"])
async def test_reply_that_is_cut(serve: Any, settings: ClientSettings, package: Any, data: bytes) -> None:
    """It is a failed connection, as with hocket's own client."""
    server = serve.closing(data)
    async with package.AsyncClient() as client:
        with pytest.raises(ConnectionFailed) as caught:
            await send(server.request(), settings, client=client)
    assert caught.value.retryable
    assert len(server.requests) == 1


@both
async def test_stream_that_is_left(serve: Any, settings: ClientSettings, package: Any) -> None:
    """Its connection is closed; the client is not."""
    server = serve.waiting(serve.CHUNKED + serve.chunk(b"hello"))

    async def leave() -> None:
        with anyio.CancelScope() as scope:
            stream = await open_stream(server.request(), settings, client=client)
            try:
                await anext(stream)
                scope.cancel()
                await anext(stream)
            finally:
                await stream.aclose()

    async with package.AsyncClient(limits=package.Limits(max_connections=1)) as client:
        for _ in range(3):
            await leave()
        await server.until(lambda it: len(it.closed_at) == 3)
        assert not client.is_closed


@both
async def test_limit_and_packing_apply(serve: Any, settings: ClientSettings, package: Any) -> None:
    """A reply through an injected client is read as any other."""
    server = serve.answering(serve.reply(b"x" * 100), serve.reply(b"x", "content-encoding: br"))
    async with package.AsyncClient() as client:
        with pytest.raises(InvalidReply, match="99 bytes"):
            await send(server.request(), settings, client=client, max_bytes=99)
        await send(server.request(), settings, client=client)
        with pytest.raises(InvalidReply, match="'br'"):
            await send(server.request(), settings, client=client)


def test_one_package_is_not_imported_for_the_other() -> None:
    """Who uses the fork does not pay for httpx."""
    script = """
import sys, asyncio, httpx2
from hocket.http.clients import ClientSettings
from hocket.http.exchange import send
from hocket.http.request import HTTPRequest

async def main():
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200))
    async with httpx2.AsyncClient(transport=transport) as client:
        await send(HTTPRequest("GET", "http://host/", {}), ClientSettings(), client=client)

asyncio.run(main())
sys.exit("httpx" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=50)


# -- proxies


def proxy_of(serve: Any, target: Any = None) -> Any:
    """Start a proxy: it answers itself what it is asked in the open, and connects to ``target`` where it is told to."""

    def script(peer: Any) -> None:
        while (request := peer.read()) is not None:
            if request.method != "CONNECT":
                peer.send(serve.reply(b"by proxy"))
                continue
            peer.send(b"HTTP/1.1 200 Connected\r\n\r\n")
            with socket.create_connection(("127.0.0.1", target.port)) as beyond:

                def copy_back(beyond: Any = beyond) -> None:
                    with suppress(OSError):  # one side has gone
                        while data := beyond.recv(65536):
                            peer.send(data)

                threading.Thread(target=copy_back, daemon=True).start()
                while data := peer.sock.recv(65536):
                    beyond.sendall(data)
            return

    return serve(script)


async def test_proxy_from_the_settings(serve: Any) -> None:
    """http goes through it in the open, its credentials to it alone; whole, and as a stream."""
    proxy = proxy_of(serve)
    settings = ClientSettings(proxy=f"http://me:secret@127.0.0.1:{proxy.port}")
    request = HTTPRequest("GET", "http://model.invalid/v1", {"authorization": "Bearer k"})

    assert (await send(request, settings)).content == b"by proxy"
    stream = await open_stream(request, settings)
    assert await anext(stream) == b"by proxy"
    await stream.aclose()

    assert proxy.requests[0].target == "http://model.invalid/v1"
    assert proxy.requests[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
    assert proxy.accepted == 1
    await close_client(settings)
    await proxy.until(lambda it: it.open == 0)


async def test_https_through_a_proxy(serve: Any, tmp_path: Path) -> None:
    """It is tunnelled: the proxy sees neither the request nor the key, and the bundle of authorities holds."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authorities.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("model.test").configure_cert(context)
    server = serve.answering(serve.reply(b"beyond"), tls=context)
    proxy = proxy_of(serve, server)
    settings = ClientSettings(proxy=f"http://127.0.0.1:{proxy.port}", verify=str(tmp_path / "authorities.pem"))

    answer = await send(HTTPRequest("GET", "https://model.test/v1", {"authorization": "Bearer k"}), settings)

    assert answer.content == b"beyond"
    (seen,) = proxy.requests
    assert (seen.method, seen.target) == ("CONNECT", "model.test:443")
    assert "Bearer" not in str(seen.headers)
    assert server.requests[0].headers["authorization"] == "Bearer k"
    await close_client(settings)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "all_proxy"])
async def test_proxy_from_the_environment(serve: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As for httpx; ``NO_PROXY`` names who is asked directly."""
    proxy, server = proxy_of(serve), serve.answering(serve.reply(b"directly"))
    settings = ClientSettings(max_connections=proxy.port)  # a client of the test's own
    monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    assert (await send(HTTPRequest("GET", "http://model.invalid/", {}), settings)).content == b"by proxy"
    assert (await send(server.request(), settings)).content == b"directly"

    assert (len(proxy.requests), len(server.requests)) == (1, 1)


async def test_proxy_that_is_not_there(serve: Any) -> None:
    """The failure does not show its password."""
    proxy = proxy_of(serve)
    proxy.stop()
    settings = ClientSettings(proxy=f"http://me:{SECRET}@127.0.0.1:{proxy.port}")

    with pytest.raises(ConnectionFailed) as caught:
        await send(HTTPRequest("GET", "http://model.invalid/", {}), settings)

    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "proxy", [f"ftp://me:{SECRET}@proxy", f"http://me:{SECRET}@proxy:port", f"socks5://me:{SECRET}@proxy"]
)
async def test_proxy_that_is_no_proxy(proxy: str) -> None:
    """Nor does the refusal of one that cannot be used."""
    with pytest.raises(InvalidInput, match="proxy") as caught:
        await send(HTTPRequest("GET", "http://model.invalid/", {}), ClientSettings(proxy=proxy))

    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_proxied_clients_end_with_their_loops(serve: Any, backend: str) -> None:
    """As hocket's other clients do."""
    proxy = proxy_of(serve)
    settings = ClientSettings(proxy=f"http://127.0.0.1:{proxy.port}")

    async def main() -> None:
        await send(HTTPRequest("GET", "http://model.invalid/", {}), settings)

    for _ in range(5):
        asyncio.run(main()) if backend == "asyncio" else trio.run(main)

    assert (len(proxy.requests), proxy.accepted) == (5, 5)
    asyncio.run(proxy.until(lambda it: it.open == 0))


async def test_proxied_client_closed_while_busy(serve: Any) -> None:
    """Its last request ends first."""
    proxy = proxy_of(serve)
    settings = ClientSettings(proxy=f"http://127.0.0.1:{proxy.port}", max_connections=4)

    stream = await open_stream(HTTPRequest("GET", "http://model.invalid/", {}), settings)
    await close_client(settings)
    assert await stream.read() == b"by proxy"
    await stream.aclose()

    await proxy.until(lambda it: it.open == 0)


async def test_a_proxy_that_fails_is_named(serve: Any) -> None:
    """Without its password: whoever reads the error looks at the proxy, and not at the model's server."""
    settings = ClientSettings(proxy="http://me:hunter2@127.0.0.1:1")
    with pytest.raises(ConnectionFailed, match=r"through the proxy http://127\.0\.0\.1:1 failed") as failure:
        await send(HTTPRequest("POST", "http://model.invalid/v1", {}, b"{}"), settings)
    assert "hunter2" not in str(failure.value)
