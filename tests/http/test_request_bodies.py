"""The body of a request: what cannot be written as JSON is one error, and what is large is sent in pieces."""

import hashlib
import logging
import random
import tracemalloc
from typing import Any

import anyio
import pytest
from pydantic_core import PydanticSerializationError

from hocket.http.clients import ClientSettings
from hocket.http.exchange import send
from hocket.http.pool import PIECE, Connection
from hocket.http.request import HTTPRequest, json_bytes
from hocket.http.wire import Origin


def test_data_that_hold_themselves_are_refused_as_such() -> None:
    """With half of a surrogate pair beside it, too, which alone is mended."""
    loop: dict[str, Any] = {"text": "\ud800"}
    assert json_bytes(loop) == '{"text":"\ufffd"}'.encode()
    loop["itself"] = loop
    with pytest.raises(PydanticSerializationError):
        json_bytes(loop)


@pytest.mark.both_loops
@pytest.mark.parametrize("size", [PIECE - 1, PIECE, PIECE + 1, 30 * PIECE + 7])
async def test_body_of_any_size_arrives_as_it_is(serve: Any, settings: ClientSettings, size: int) -> None:
    """Whatever number of pieces it has, the connection carries the next request, too."""
    server, body = serve.hashing(), random.Random(size).randbytes(size)

    for _ in range(2):
        answer = await send(HTTPRequest("POST", server.url, {}, body), settings)
        assert answer.content.decode() == hashlib.sha256(body).hexdigest()
    assert server.accepted == 1


@pytest.mark.both_loops
async def test_large_body_is_not_copied(serve: Any, settings: ClientSettings) -> None:
    """Beside it, there are some pieces in memory and no second body."""
    server, body = serve.hashing(), bytes(80 * PIECE)
    await send(HTTPRequest("POST", server.url, {}, b"the first takes some for itself"), settings)

    tracemalloc.start()
    try:
        await send(HTTPRequest("POST", server.url, {}, body), settings)
        assert tracemalloc.get_traced_memory()[1] < 10 * PIECE
    finally:
        tracemalloc.stop()


@pytest.mark.both_loops
async def test_large_body_can_be_cancelled_at_each_piece() -> None:
    """Also where the server takes them faster than they can be given."""
    sent: list[int] = []

    class FastWire:
        is_stale = False

        async def send(self, data: bytes | memoryview) -> None:
            sent.append(len(data))
            if len(sent) == 3:
                scope.cancel()

        async def receive(self) -> bytes:
            raise AssertionError("the request has not gone")

        def abort(self) -> None: ...

    connection = Connection(Origin("http", "h", 80), FastWire())
    with anyio.CancelScope() as scope:
        await connection.request("POST", b"head", [memoryview(bytes(9))] * 9)
    assert sent == [4, 9, 9]


async def test_server_that_closes_in_the_middle_of_a_large_body(
    serve: Any, settings: ClientSettings, caplog: pytest.LogCaptureFixture
) -> None:
    """What it said is the answer, and what was still to go is not written to a connection that is closed."""

    def script(peer: Any) -> None:
        peer.sock.recv(1000)
        peer.send(serve.reply(b"too large", "connection: close", status="413 Too Large"))
        peer.sock.shutdown(1)
        while peer.sock.recv(65536):  # a reset would take the reply with it
            pass

    server = serve(script)
    with caplog.at_level(logging.WARNING):
        answer = await send(HTTPRequest("POST", server.url, {}, bytes(100 * PIECE)), settings)

    assert (answer.status, answer.content) == (413, b"too large")
    assert not caplog.records
