"""https: whom is trusted, and what it costs."""

import hashlib
import ssl
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import trustme

from hocket.errors import ConnectionFailed, ConnectTimeout, InvalidInput
from hocket.http import tls
from hocket.http.clients import ClientSettings
from hocket.http.exchange import open_stream, send
from hocket.http.pool import PIECE
from hocket.http.request import HTTPRequest, json_request
from hocket.http.tls import get_tls_context
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


async def test_context_is_made_once_and_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read the authorities takes as long as many calls: the loop goes on, and nobody does it again."""
    create, threads = ssl.create_default_context, list[int]()

    def note(**authorities: Any) -> ssl.SSLContext:
        threads.append(threading.get_ident())
        return create(**authorities)

    monkeypatch.setattr(ssl, "create_default_context", note)
    monkeypatch.setattr(tls, "_contexts", {})
    first = await get_tls_context(True)

    assert await get_tls_context(True) is first
    assert len(threads) == 1 and threads[0] != threading.get_ident()
    assert await get_tls_context(False) is not first


class Records:
    """A server's side of TLS whose records go out when the test says so, in one segment or cut anywhere."""

    def __init__(self, peer: Any, context: ssl.SSLContext) -> None:
        self._sock = peer.sock
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._wait_for(self._tls.do_handshake)
        self.send(self.encrypt())

    def read(self) -> bytes:
        """Wait for a request; empty: the client has closed."""
        return cast(bytes, self._wait_for(lambda: self._tls.read(2**16)))

    def encrypt(self, *texts: bytes) -> bytes:
        """Return a record for each text."""
        for text in texts:
            self._tls.write(text)
        return self._outgoing.read()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._sock.sendall(data)

    def _wait_for(self, step: Callable[[], Any]) -> Any:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self.send(self._outgoing.read())
                data = self._sock.recv(2**16)
                if not data:
                    return b""
                self._incoming.write(data)


@pytest.mark.parametrize("part", [1, 4, 20, -1, None])
async def test_what_follows_a_reply_answers_nobody(
    serve: Any, context: ssl.SSLContext, bundle: Path, part: int | None
) -> None:
    """A second reply in the same segment, whole (None) or in part: the connection is closed, and no call gets it."""

    def script(peer: Any) -> None:
        records = Records(peer, context)
        records.read()
        reply, forged = records.encrypt(serve.reply(b"mine")), records.encrypt(serve.reply(b"forged"))
        records.send(reply + forged[:part])
        records.read()  # another request, if this connection is used again
        records.send(forged[part:] if part is not None else b"")

    server = serve(script)
    request = json_request(f"https://127.0.0.1:{server.port}/", "hi", {})
    settings = ClientSettings(verify=str(bundle))

    for _ in range(2):
        assert (await send(request, settings)).content == b"mine"
    assert server.accepted == 2


async def test_many_records_at_once(serve: Any, context: ssl.SSLContext, bundle: Path) -> None:
    """A body in many records, cut into segments where no record ends."""
    body = bytes(range(256)) * 400

    def script(peer: Any) -> None:
        records = Records(peer, context)
        while records.read():
            reply = serve.reply(body)
            data = records.encrypt(*(reply[at : at + 999] for at in range(0, len(reply), 999)))
            for at in range(0, len(data), 7_001):
                records.send(data[at : at + 7_001])

    server = serve(script)
    settings = ClientSettings(verify=str(bundle))

    for _ in range(3):
        request = json_request(f"https://127.0.0.1:{server.port}/", "hi", {})
        assert (await send(request, settings)).content == body
    assert server.accepted == 1


@pytest.mark.both_loops
async def test_large_body_is_neither_copied_nor_encrypted_as_a_whole(
    serve: Any, context: ssl.SSLContext, bundle: Path
) -> None:
    """It goes in pieces, as without TLS, and arrives as it was."""
    server, settings, body = serve.hashing(context), ClientSettings(verify=str(bundle)), bytes(range(256)) * 2**16
    await send(HTTPRequest("POST", server.url, {}, b"the first takes some for itself"), settings)

    tracemalloc.start()
    try:
        answer = await send(HTTPRequest("POST", server.url, {}, body), settings)
        assert tracemalloc.get_traced_memory()[1] < 10 * PIECE
    finally:
        tracemalloc.stop()
    assert answer.content.decode() == hashlib.sha256(body).hexdigest()


async def test_record_that_is_damaged(serve: Any, context: ssl.SSLContext, bundle: Path) -> None:
    """The connection has failed, like any that breaks."""

    def script(peer: Any) -> None:
        records = Records(peer, context)
        records.read()
        data = bytearray(records.encrypt(serve.reply()))
        data[-1] ^= 1
        records.send(bytes(data))
        records.read()

    server = serve(script)

    with pytest.raises(ConnectionFailed, match="broke") as caught:
        await send(json_request(f"https://127.0.0.1:{server.port}/", "hi", {}), ClientSettings(verify=str(bundle)))
    assert caught.value.retryable
