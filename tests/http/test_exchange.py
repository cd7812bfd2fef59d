"""A request and its reply, whole: what is sent, what is read, what is refused, and what is never done twice."""

import gzip
import threading
import traceback
import zlib
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket import __version__
from hocket.errors import ConnectionFailed, InvalidInput, InvalidReply, LLMError
from hocket.http.clients import ClientSettings
from hocket.http.exchange import open_stream, send
from hocket.http.request import HTTPRequest

SECRET = "sk-abcdefgh12345678"


async def test_request_arrives_as_it_was_made(serve: Any, settings: ClientSettings) -> None:
    """Method, path, query, headers and body are the request's; user agent, host and length are added."""
    server = serve.answering(serve.reply(b'{"a":1}', "X-Two: 1", "x-two: 2", status="201 Created"))

    answer = await send(server.request(body={"b": "ü"}, authorization="Bearer k"), settings)

    assert (answer.status, answer.content) == (201, b'{"a":1}')
    assert answer.headers == {"content-length": "7", "x-two": "1, 2"}
    (received,) = server.requests
    assert (received.method, received.target, received.body) == ("POST", "/v1/chat?x=1", '{"b":"ü"}'.encode())
    assert received.headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": f"hocket/{__version__}",
        "accept-encoding": "identity",
        "accept": "application/json",
        "content-type": "application/json",
        "authorization": "Bearer k",
        "content-length": "10",
    }


@pytest.mark.parametrize(
    ("url", "target", "authorization"),
    [
        ("", "/", None),
        ("?q=a b", "/?q=a%20b", None),
        ("/models/größe:generate", "/models/gr%C3%B6%C3%9Fe:generate", None),
        ("/a%20b/%2F", "/a%20b/%2F", None),
        ("user:p%40ss@/x", "/x", "Basic dXNlcjpwQHNz"),
    ],
)
async def test_url_is_escaped_where_it_must_be(
    serve: Any, settings: ClientSettings, url: str, target: str, authorization: str | None
) -> None:
    """What is escaped stays so; a user in the URL becomes the header it stands for."""
    server = serve.answering(serve.reply())
    user, at, path = url.rpartition("@")

    await send(HTTPRequest("GET", f"http://{user}{at}127.0.0.1:{server.port}{path}", {}), settings)

    (received,) = server.requests
    assert (received.method, received.target) == ("GET", target)
    assert received.headers.get("authorization") == authorization
    assert "content-length" not in received.headers


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("data", "status", "body"),
    [
        (HEAD + b"Content-Length: 5\r\n\r\nhello", 200, b"hello"),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nt: x\r\n\r\n", 200, b"hello"),
        (HEAD + b"\r\nhello", 200, b"hello"),
        (b"HTTP/1.0 200 OK\r\n\r\nhello", 200, b"hello"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + HEAD + b"content-length: 0\r\n\r\n", 200, b""),
        (b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 1\r\n\r\nx", 302, b"x"),
        (b"HTTP/1.1 529 \r\ncontent-length: 4\r\n\r\nbusy", 529, b"busy"),
    ],
)
async def test_replies_of_every_frame(
    serve: Any, settings: ClientSettings, data: bytes, status: int, body: bytes
) -> None:
    """A body ends by its length, its last chunk or its connection; every status is a reply, and asks for nothing more."""
    server = serve.closing(data)

    answer = await send(server.request(), settings)

    assert (answer.status, answer.content) == (status, body)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"\x15\x03\x01\x00\x02\x02\x46 this is not HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"x" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nmany\r\nhello\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
    ],
    ids=["no HTTP", "no header", "no length", "too long a head", "no chunk", "another protocol"],
)
async def test_reply_that_breaks_http(serve: Any, settings: ClientSettings, data: bytes) -> None:
    """What is not HTTP is an `InvalidReply` of bounded length, and its connection is closed."""
    server = serve.waiting(data)

    with pytest.raises(InvalidReply) as caught:
        await send(server.request(), settings)

    assert not caught.value.retryable
    assert len(str(caught.value)) < 400
    await server.until(lambda it: it.closed_at)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhe",
    ],
)
@pytest.mark.parametrize("ending", ["closed", "reset"])
async def test_reply_that_is_cut(serve: Any, settings: ClientSettings, data: bytes, ending: str) -> None:
    """A connection that ends before its reply has failed, and the request is not sent again."""

    def script(peer: Any) -> None:
        peer.read()
        peer.send(data)
        if ending == "reset":
            peer.reset()

    server = serve(script)

    with pytest.raises(ConnectionFailed) as caught:
        await send(server.request(), settings)

    assert caught.value.retryable
    assert f"127.0.0.1:{server.port}" in str(caught.value)
    assert "x=1" not in str(caught.value)
    assert len(server.requests) == 1


async def test_request_on_a_kept_connection_is_not_sent_twice(serve: Any, settings: ClientSettings) -> None:
    """A server that takes a second request and dies may have begun to work on it."""
    answers = [serve.reply(), b""]

    def script(peer: Any) -> None:
        for answer in answers:
            peer.read()
            peer.send(answer)

    server = serve(script)
    await send(server.request(), settings)

    with pytest.raises(ConnectionFailed):
        await send(server.request(), settings)

    assert (len(server.requests), server.accepted) == (2, 1)


async def test_refusal_that_comes_before_the_request_has_gone(serve: Any, settings: ClientSettings) -> None:
    """A server may answer and close before it has read a long request: what it said is what counts."""
    said = threading.Event()

    def script(peer: Any) -> None:
        peer.sock.recv(1000)
        peer.send(serve.reply(b"too large", "connection: close", status="413 Too Large"))
        said.wait(30)
        while peer.sock.recv(1 << 20):  # a reset would take the reply with it
            pass

    server = serve(script)
    said.set()

    answer = await send(server.request(body="x" * 5_000_000), settings)

    assert (answer.status, answer.content) == (413, b"too large")


BODY = b"0123456789" * 1_000
FRAMES = {
    "length": lambda serve, body: serve.reply(body),
    "chunks": lambda serve, body: serve.CHUNKED + serve.chunk(body[:9]) + serve.chunk(body[9:]) + serve.chunk(b""),
    "gzip": lambda serve, body: serve.reply(gzip.compress(body), "content-encoding: gzip"),
}


@pytest.mark.parametrize("frame", FRAMES)
async def test_reply_larger_than_the_limit(serve: Any, settings: ClientSettings, frame: str) -> None:
    """A body of exactly ``max_bytes`` passes; one byte more is an `InvalidReply` that names the limit."""
    server = serve.answering(FRAMES[frame](serve, BODY))

    assert (await send(server.request(), settings, max_bytes=10_000)).content == BODY
    assert (await send(server.request(), settings, max_bytes=None)).content == BODY
    with pytest.raises(InvalidReply, match=r"9,999 bytes"):
        await send(server.request(), settings, max_bytes=9_999)
    stream = await open_stream(server.request(), settings, max_bytes=9_999)
    with pytest.raises(InvalidReply, match=r"9,999 bytes"):
        await stream.read()


async def test_bomb_is_not_unpacked(serve: Any, settings: ClientSettings) -> None:
    """Of a hundred megabytes in a few packed ones, no more is unpacked than the limit allows."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    zeros = bytes(1 << 20)
    packed = b"".join([packer.compress(zeros) for _ in range(100)]) + packer.flush()
    server = serve.answering(serve.reply(packed, "content-encoding: gzip"))

    with pytest.raises(InvalidReply, match=r"1,000,000 bytes"):
        await send(server.request(), settings, max_bytes=1_000_000)


async def test_other_tasks_have_their_turn_while_a_bomb_is_unpacked(serve: Any, settings: ClientSettings) -> None:
    """It comes in pieces of a few megabytes at most, and between two of them the loop goes on."""
    server = serve.answering(serve.reply(gzip.compress(bytes(60_000_000)), "content-encoding: gzip"))
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as counting:
        counting.start_soon(count_turns)
        stream = await open_stream(server.request(), settings)
        sizes: list[int] = []
        before = turns
        async for piece in stream:
            sizes.append(len(piece))
        assert sum(sizes) == 60_000_000 and max(sizes) < 5_000_000
        assert turns - before >= len(sizes) // 2  # the first piece of each packet is there at once
        counting.cancel_scope.cancel()


@pytest.mark.parametrize("member", [b"", b"x"])
async def test_members_without_end(serve: Any, settings: ClientSettings, member: bytes) -> None:
    """A body of gzip members of next to nothing: what comes counts as well as what it decompresses to."""
    many = gzip.compress(member) * 6_000
    server = serve.waiting(
        serve.CHUNKED.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n") + serve.chunk(many)
    )

    with pytest.raises(InvalidReply, match=r"100,000 bytes"):
        await send(server.request(), settings, max_bytes=100_000)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("X-GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity", bytes),
    ],
)
async def test_packed_reply_is_unpacked(serve: Any, settings: ClientSettings, encoding: str, pack: Any) -> None:
    """It was not asked for, but some servers pack all the same."""
    packed = pack(BODY)
    body = b"".join(serve.chunk(packed[place : place + 7]) for place in range(0, len(packed), 7)) + serve.chunk(b"")
    server = serve.answering(
        serve.CHUNKED.replace(b"\r\n\r\n", f"\r\ncontent-encoding: {encoding}\r\n\r\n".encode()) + body
    )

    assert (await send(server.request(), settings)).content == BODY


@pytest.mark.parametrize(
    ("encoding", "body", "why"),
    [
        ("br", b"x", "'br', which was not asked for"),
        ("gzip", b"not packed", "says that it is gzip, and is not"),
        ("gzip", gzip.compress(BODY, mtime=0)[:-9], "in the middle of its gzip data"),
    ],
)
async def test_reply_that_cannot_be_unpacked(
    serve: Any, settings: ClientSettings, encoding: str, body: bytes, why: str
) -> None:
    """It is an `InvalidReply`, and its connection does not stay open."""
    server = serve.answering(serve.reply(body, f"content-encoding: {encoding}"))

    with pytest.raises(InvalidReply, match=why):
        await send(server.request(), settings)


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("ftp://host/", {}),
        ("host/path", {}),
        ("http:///path", {}),
        ("http://host:port/", {}),
        (f"http://{'x' * 70}/", {}),
        ("http://127.0.0.1:9/", {"authorization": f"Bearer {SECRET}\r\nx: y"}),
        ("http://127.0.0.1:9/", {"authorization": f"Bearer {SECRET}ü😀"}),
    ],
)
async def test_request_that_cannot_be_sent(settings: ClientSettings, url: str, headers: dict[str, str]) -> None:
    """It is refused, and nothing that is shown of the refusal shows the key or the URL."""
    with pytest.raises(InvalidInput) as caught:
        await send(HTTPRequest("POST", f"{url}?key={SECRET}" if not headers else url, headers), settings)

    assert SECRET not in "".join(traceback.format_exception(caught.value))


async def test_nobody_listens(serve: Any, settings: ClientSettings) -> None:
    """No connection is a `ConnectionFailed` that names the address and may be tried again."""
    server = serve.answering(b"")
    server.stop()

    with pytest.raises(ConnectionFailed, match=f"127.0.0.1:{server.port}") as caught:
        await send(server.request(), settings)

    assert isinstance(caught.value, LLMError)
    assert caught.value.retryable
    assert isinstance(caught.value.__cause__, OSError)
