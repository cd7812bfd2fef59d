"""A server that does what a test tells it, byte by byte, in threads of its own: it serves whatever loop asks."""

import hashlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import NamedTuple

import anyio
import pytest

from hocket.http.clients import ClientSettings
from hocket.http.request import HTTPRequest, json_request

PATIENCE = 30.0
"""Seconds after which a test has failed."""


class Received(NamedTuple):
    """A request, as the server saw it."""

    method: str
    target: str
    headers: dict[str, str]  # names in lower case
    body: bytes


class Peer:
    """The server's side of one connection."""

    def __init__(self, server: "Server", sock: socket.socket, number: int) -> None:
        self.server = server
        self.sock = sock
        self.number = number
        self._buffer = b""

    def read(self) -> Received | None:
        """Wait for a request; None: the client has closed."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        while len(self._buffer) < int(headers.get("content-length", 0)):
            if not self._more():
                return None
        received = Received(method, target, headers, self._buffer)
        self._buffer = b""
        self.server.requests.append(received)
        return received

    def hash_body(self) -> bytes:
        """Wait for a request, and return the digest of its body, of which nothing is kept."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                return b""
        head, _, piece = self._buffer.partition(b"\r\n\r\n")
        left = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        digest, self._buffer = hashlib.sha256(), b""
        while piece or left:
            digest.update(piece)
            left -= len(piece)
            piece = self.sock.recv(min(left, 65536)) if left else b""
        return digest.hexdigest().encode()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.sock.sendall(data)

    def wait_closed(self) -> None:
        """Wait until the client closes, and note when it did."""
        while self._more():
            pass
        self.server.closed_at.append(time.monotonic())

    def reset(self) -> None:
        """Break the connection instead of closing it."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def _more(self) -> bool:
        try:
            data = self.sock.recv(65536)
        except OSError:
            data = b""
        self._buffer += data
        return bool(data)


Script = Callable[[Peer], None]


class Server:
    """Listens on this machine and runs a script for each connection."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.script = script
        self.tls = tls
        self.requests: list[Received] = []
        self.accepted = 0
        self.open = 0
        self.most_open = 0
        self.closed_at: list[float] = []
        self._lock = threading.Lock()
        self._peers: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def request(self, path: str = "/v1/chat?x=1", body: object = "hi", **headers: str) -> HTTPRequest:
        """Make a request to it."""
        return json_request(self.url + path, body, headers)

    async def until(self, condition: Callable[["Server"], bool]) -> None:
        """Wait until the server, which learns things a moment after the client, is in some state."""
        with anyio.fail_after(PATIENCE):
            while not condition(self):  # noqa: ASYNC110 - it lives in other threads, and has no event
                await anyio.sleep(0.002)

    def stop(self) -> None:
        """Close everything."""
        for sock in [self._listener, *self._peers]:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.accepted += 1
                self.open += 1
                self.most_open = max(self.most_open, self.open)
                self._peers.add(sock)
            threading.Thread(target=self._serve, args=(sock, self.accepted), daemon=True).start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        talking = sock
        try:
            if self.tls is not None:
                talking = self.tls.wrap_socket(sock, server_side=True)
            self.script(Peer(self, talking, number))
        except OSError:
            pass  # the client has gone
        finally:
            talking.close()
            with self._lock:
                self._peers.discard(sock)
                self.open -= 1


class Servers:
    """Starts servers, which end with the test, and knows how to write replies."""

    CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(self, script: Script, tls: ssl.SSLContext | None = None) -> Server:
        """Start one that runs this script for each connection."""
        server = Server(script, tls)
        self._stack.callback(server.stop)
        return server

    def answering(self, *replies: bytes, tls: ssl.SSLContext | None = None) -> Server:
        """Answer every request of a connection, with each of these on its turn, the last one for ever."""

        def script(peer: Peer) -> None:
            turn = 0
            while peer.read() is not None:
                peer.send(replies[min(turn, len(replies) - 1)])
                turn += 1

        return self(script, tls)

    def hashing(self, tls: ssl.SSLContext | None = None) -> Server:
        """Answer every request of a connection with the digest of its body."""

        def script(peer: Peer) -> None:
            while digest := peer.hash_body():
                peer.send(self.reply(digest))

        return self(script, tls)

    def waiting(self, data: bytes = b"") -> Server:
        """Answer with these bytes and wait until the client closes."""

        def script(peer: Peer) -> None:
            if peer.read() is not None:
                peer.send(data)
                peer.wait_closed()

        return self(script)

    def closing(self, data: bytes = b"") -> Server:
        """Answer one request with these bytes and close."""

        def script(peer: Peer) -> None:
            if peer.read() is not None:
                peer.send(data)

        return self(script)

    @staticmethod
    def reply(body: bytes = b"ok", *headers: str, status: str = "200 OK") -> bytes:
        """Write a reply of known length."""
        return "\r\n".join([f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers, "", ""]).encode() + body

    @staticmethod
    def chunk(data: bytes) -> bytes:
        """Frame a piece of a chunked body; no data is its end."""
        return b"%x\r\n%b\r\n" % (len(data), data)


@pytest.fixture
def serve() -> Iterator[Servers]:
    """Start servers, which end with the test."""
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture(autouse=True)
def no_proxy_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the proxies of whoever runs the tests."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> ClientSettings:
    """Settings of the test's own, so that its client is, too: all tests of a module share a loop."""
    return ClientSettings(verify=request.node.nodeid)  # which nobody reads: there is no https
