"""https: whom is trusted, and what it costs."""

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from hocket.errors import ConnectionFailed, ConnectTimeout, InvalidInput
from hocket.http.clients import ClientSettings
from hocket.http.exchange import open_stream, send
from hocket.http.request import HTTPRequest
from hocket.http.tls import tls_context
from hocket.testing import assert_no_blocking
from hocket.timeouts import connect_limit


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """An authority that nobody knows."""
    return trustme.CA()


@pytest.fixture(scope="module")
def bundle(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with its certificate."""
    path = tmp_path_factory.mktemp("tls") / "authorities.pem"
    authority.cert_pem.write_to_path(path)
    return path


def context_for(authority: trustme.CA, name: str) -> ssl.SSLContext:
    """Make the context of a server with a certificate for that name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.fixture
def context(authority: trustme.CA) -> ssl.SSLContext:
    """The context of a server on this machine."""
    return context_for(authority, "127.0.0.1")


async def test_authority_from_a_bundle(serve: Any, context: ssl.SSLContext, bundle: Path) -> None:
    """``verify`` names a file; the connection is kept as any other, and streams stream."""
    server = serve.answering(serve.CHUNKED + serve.chunk(b"hello") + serve.chunk(b""), tls=context)
    settings = ClientSettings(verify=str(bundle))

    for _ in range(3):
        stream = await open_stream(server.request(), settings)
        assert await anext(stream) == b"hello"
        await stream.aclose()

    assert (len(server.requests), server.accepted) == (3, 1)


async def test_authority_from_the_environment(
    serve: Any, context: ssl.SSLContext, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``SSL_CERT_FILE`` names it, as for every program that uses OpenSSL."""
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    server = serve.answering(serve.reply(), tls=context)

    assert (await send(server.request(), ClientSettings())).content == b"ok"


async def test_unknown_authority(serve: Any, context: ssl.SSLContext) -> None:
    """The connection fails before anything is sent; to try again does not help, and the error says what does."""
    server = serve.answering(serve.reply(), tls=context)

    with pytest.raises(ConnectionFailed, match=r"no valid certificate: .*`verify`") as caught:
        await send(server.request(), ClientSettings())

    assert not caught.value.retryable
    assert not server.requests
    await server.until(lambda it: it.open == 0)


async def test_certificate_of_another_host(serve: Any, authority: trustme.CA, bundle: Path) -> None:
    """A known authority is not enough."""
    server = serve.answering(serve.reply(), tls=context_for(authority, "127.0.0.2"))

    with pytest.raises(ConnectionFailed, match="no valid certificate"):
        await send(server.request(), ClientSettings(verify=str(bundle)))


async def test_verification_switched_off(serve: Any, context: ssl.SSLContext) -> None:
    """``verify=False`` trusts anybody."""
    server = serve.answering(serve.reply(), tls=context)

    assert (await send(server.request(), ClientSettings(verify=False))).content == b"ok"


@pytest.mark.parametrize("text", [None, "no certificate"])
async def test_bundle_that_is_none(serve: Any, tmp_path: Path, context: ssl.SSLContext, text: str | None) -> None:
    """No file, or not one of certificates: the error names the path."""
    path = tmp_path / "bundle.pem"
    if text is not None:
        path.write_text(text)
    server = serve.answering(serve.reply(), tls=context)

    with pytest.raises(InvalidInput, match=r"bundle\.pem"):
        await send(server.request(), ClientSettings(verify=str(path)))


async def test_server_that_does_not_speak_tls(serve: Any) -> None:
    """A plain server asked for https."""
    server = serve(lambda peer: peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"))

    with pytest.raises(ConnectionFailed) as caught:
        await send(HTTPRequest("GET", f"https://127.0.0.1:{server.port}/", {}), ClientSettings())

    assert caught.value.retryable


async def test_handshake_that_never_ends(serve: Any) -> None:
    """The limit on connecting holds for TLS too, and the connection is closed."""
    server = serve(lambda peer: peer.wait_closed())

    connect_limit.set(0.3)
    with pytest.raises(ConnectTimeout):
        await send(HTTPRequest("GET", f"https://127.0.0.1:{server.port}/", {}), ClientSettings())

    await server.until(lambda it: it.open == 0)


async def test_context_is_made_once_and_beside_the_loop() -> None:
    """To read the authorities takes as long as many calls: the loop goes on, and nobody does it again."""
    async with assert_no_blocking(limit=0.5):
        first = await tls_context(True)

    assert await tls_context(True) is first
    assert await tls_context(False) is not first
