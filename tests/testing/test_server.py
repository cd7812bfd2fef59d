"""The scripted server does what it is told, to the byte, and leaves nothing behind."""

import asyncio
import gc
import itertools
import math
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest
from anyio.abc import SocketAttribute, SocketStream
from pydantic_core import to_json

from hocket.errors import InvalidInput, ScriptExhausted
from hocket.testing import (
    Body,
    Cut,
    Events,
    Hangup,
    OpenAIFormat,
    ReceivedRequest,
    Reply,
    Server,
    Split,
    Status,
    Stream,
    serve,
    virtual_clock,
)
from hocket.testing.server import Behaviour, End, Script, Wait
from hocket.testing.server.connection import NO_LINGER
from hocket.testing.server.wire import RequestParser

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi there"}]}
PATH = "/v1/chat/completions"


def request(body: Any = CHAT, path: str = PATH, **headers: str) -> bytes:
    """The bytes of a POST."""
    content = to_json(body)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n{lines}\r\n".encode() + content


STREAMED = request({**CHAT, "stream": True})


async def connect(server: Server) -> SocketStream:
    return await anyio.connect_tcp("127.0.0.1", int(server.origin.rpartition(":")[2]))


async def read_to_end(stream: SocketStream) -> tuple[bytes, str]:
    """Return what comes until the server closes, and how it does: ``eof`` or ``reset``."""
    received = bytearray()
    with anyio.fail_after(10):
        while True:
            try:
                received += await stream.receive()
            except anyio.EndOfStream:
                return bytes(received), "eof"
            except anyio.BrokenResourceError:
                return bytes(received), "reset"


async def read_until(stream: SocketStream, end: bytes) -> bytes:
    received = b""
    with anyio.fail_after(10):
        while not received.endswith(end):
            received += await stream.receive()
    return received


async def answer_to(server: Server, sent: bytes = STREAMED) -> tuple[bytes, bytes, str]:
    """Send ``sent`` on a connection of its own; return head, body (its chunks joined) and how the server closed."""
    async with await connect(server) as stream:
        await stream.send(sent)
        received, how = await read_to_end(stream)
    head, _, body = received.partition(b"\r\n\r\n")
    if b"chunked" in head:
        body = b"".join(re.findall(rb"[0-9a-f]+\r\n((?s:.+?))\r\n(?=[0-9a-f]+\r\n|\Z)", body))
    return head, body, how


async def post(server: Server, body: Any = CHAT, path: str = "/chat/completions") -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(server.url + path, json=body)


def living_tasks() -> int:
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:
        import trio

        return trio.lowlevel.current_statistics().tasks_living


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """An unclosed socket or stream warns when it is collected, and warnings are errors."""
    yield
    gc.collect()


# What it does.


BYTES = b"0123456789"


@pytest.mark.parametrize("how", ["eof", "reset"])
@pytest.mark.parametrize("place", [0, 1, 9, 10])
async def test_a_body_is_cut_at_the_byte(place: int, how: End) -> None:
    async with serve(OpenAIFormat(), Cut(Body(BYTES), at_byte=place, how=how)) as server:
        head, body, closed = await answer_to(server)
    assert (body, closed) == (BYTES[:place], how)
    assert b"content-length: 10" in head


async def test_a_stream_is_cut_at_every_byte() -> None:
    behaviour = Stream("Hello there", pieces=2, id="one")
    async with serve(OpenAIFormat(), behaviour) as server:
        whole = (await post(server, {**CHAT, "stream": True})).content
    places = range(0, len(whole) + 1, 7)
    async with serve(OpenAIFormat(), [Cut(behaviour, at_byte=place) for place in places]) as server:
        for place in places:
            _, body, closed = await answer_to(server)
            assert (body, closed) == (whole[:place], "eof")


async def test_a_cut_does_not_wait_for_what_it_leaves_out() -> None:
    async with serve(OpenAIFormat(), Cut(Events(["a", "b"], every=math.inf), at_byte=len(b"data: a\n\n"))) as server:
        _, body, closed = await answer_to(server)
    assert (body, closed) == (b"data: a\n\n", "eof")


async def test_a_cut_body_may_end_properly() -> None:
    async with serve(OpenAIFormat(), Cut(Reply("Hello"), at_byte=20, how="end")) as server:
        reply = await post(server)
        with pytest.raises(ValueError, match="Unterminated string"):
            reply.json()
        assert len(reply.content) == 20
        streamed = await post(server, {**CHAT, "stream": True})
        assert len(streamed.content) == 20


@pytest.mark.parametrize("how", ["eof", "reset"])
async def test_it_may_hang_up_without_a_byte(how: Any) -> None:
    async with serve(OpenAIFormat(), Hangup(how)) as server:
        assert await answer_to(server) == (b"", b"", how)


@pytest.mark.parametrize(
    ("script", "sent"),
    [
        pytest.param(Stream("Hello", then="stall"), b'{"content":"Hello"}', id="after the text"),
        pytest.param(Cut(Events(["abc"]), at_byte=9, how="stall"), b"data: abc", id="at a byte"),
        pytest.param(Stream("Hello", first_after=math.inf), b"", id="before the first event"),
        pytest.param(lambda _: Body(iter([b"abc", Wait(math.inf)])), b"abc", id="in a body"),
    ],
)
async def test_it_may_fall_silent_with_the_connection_open(script: Script, sent: bytes) -> None:
    async with serve(OpenAIFormat(), script) as server, await connect(server) as stream:
        await stream.send(STREAMED)
        received = await stream.receive()
        while sent not in received or b"\r\n\r\n" not in received:
            received += await stream.receive()
        with anyio.move_on_after(0.05):
            while True:
                received += await stream.receive()
        assert received.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b'finish_reason":"stop' not in received
        assert not received.endswith(b"0\r\n\r\n")
        assert server.open_connections == 1


async def test_it_may_be_silent_before_the_headers() -> None:
    async with serve(OpenAIFormat(), Reply("Hello", delay=math.inf)) as server, await connect(server) as stream:
        await stream.send(request())
        await server.wait_for_requests(1)
        with anyio.move_on_after(0.05) as silence:
            await stream.receive()
        assert silence.cancelled_caught


async def test_pauses_follow_the_clock() -> None:
    pace = Stream("a b c", delay=100, first_after=10, pings=2, every=1)
    with virtual_clock() as clock:
        async with serve(OpenAIFormat(), pace) as server:
            _, body, _ = await answer_to(server, request({**CHAT, "stream": True}, Connection="close"))
        assert clock.now() == 100 + 10 + 2 + 3  # the role, and three words
    assert body.startswith(b": ping\n\n: ping\n\ndata: ")


async def test_pings_may_go_on_for_ever() -> None:
    async with serve(OpenAIFormat(), Stream("a", then="ping", every=0.001)) as server, await connect(server) as stream:
        await stream.send(STREAMED)
        await read_until(stream, b": ping\n\n\r\n")
        await read_until(stream, b": ping\n\n\r\n")


async def test_a_body_may_never_end_and_does_not_keep_the_loop_to_itself() -> None:
    numbers = itertools.count()
    async with serve(OpenAIFormat(), Body(b"%1000d" % number for number in numbers)) as server:
        async with await connect(server) as stream:
            await stream.send(request())
            size = len(await stream.receive())
            assert next(numbers) < 100
            while size < 10**6:
                size += len(await stream.receive())
        await server.wait_for_open_connections(0)


async def test_any_status_any_header_any_body() -> None:
    script = [
        Status(429, "slow down", headers={"Retry-After": "1"}, error={"code": "quota"}),
        Status(529),
        Body("<html>Bad gateway</html>", status=502),
        Body({"a": [1]}),
        Body(b"\x00\xff", headers={"Content-Type": "image/png", "Connection": "close"}),
    ]
    async with serve(OpenAIFormat(), script) as server:
        limited, overloaded, page, document, image = [await post(server) for _ in script]
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "1")
    assert limited.json()["error"] == {"message": "slow down", "type": "requests", "param": None, "code": "quota"}
    assert (overloaded.status_code, overloaded.json()["error"]["type"]) == (529, "server_error")
    assert (page.status_code, page.headers["content-type"]) == (502, "text/html; charset=utf-8")
    assert (document.json(), document.headers["content-type"]) == ({"a": [1]}, "application/json")
    assert (image.content, image.headers.get_list("content-type")) == (b"\x00\xff", ["image/png"])


async def test_a_header_may_lie() -> None:
    async with serve(OpenAIFormat(), Body(b"abc", headers={"Content-Length": "500", "Connection": "close"})) as server:
        head, body, closed = await answer_to(server)
    assert b"content-length: 500\r\n" in head
    assert (body, closed) == (b"abc", "eof")


async def test_raw_events() -> None:
    events = Events([{"a": 1}, "two\nlines", b": raw\r\n\r\n", "[DONE]"], headers={"x-request-id": "r"})
    async with serve(OpenAIFormat(), events) as server:
        reply = await post(server)
    assert reply.content == b'data: {"a":1}\n\ndata: two\ndata: lines\n\n: raw\r\n\r\ndata: [DONE]\n\n'
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["x-request-id"] == "r"


async def test_an_error_within_a_stream_is_the_last_that_is_said() -> None:
    async with serve(OpenAIFormat(), Stream("Hello", error={"message": "overloaded", "code": "x"})) as server:
        reply = await post(server, {**CHAT, "stream": True})
    assert reply.status_code == 200
    assert reply.text.endswith(
        'data: {"error":{"message":"overloaded","type":"server_error","param":null,"code":"x"}}\n\n'
    )


async def test_a_body_in_pieces() -> None:
    async with serve(OpenAIFormat(), Split(Events(["abc"]), size=4)) as server, await connect(server) as stream:
        await stream.send(STREAMED)
        received = await read_until(stream, b"0\r\n\r\n")
    assert received.endswith(b"\r\n\r\n4\r\ndata\r\n4\r\n: ab\r\n3\r\nc\n\n\r\n0\r\n\r\n")


# Whom it obeys.


async def test_one_behaviour_is_for_every_request() -> None:
    async with serve(OpenAIFormat(), "Hello") as server:
        says = [(await post(server)).json()["choices"][0]["message"]["content"] for _ in range(3)]
    assert says == ["Hello"] * 3


async def test_a_function_decides_by_the_request() -> None:
    def script(request: ReceivedRequest) -> str | Behaviour:
        return Status(404) if request.json["model"] == "none" else "Hello"

    async with serve(OpenAIFormat(), script) as server:
        assert (await post(server, {**CHAT, "model": "none"})).status_code == 404
        assert (await post(server)).status_code == 200


@pytest.mark.parametrize(
    ("script", "problem", "says"),
    [
        pytest.param([], ScriptExhausted, "has 0 behaviours, and this is request 1", id="it is over"),
        pytest.param([Stream("Hello")], InvalidInput, "asks for none: make it a Reply", id="no stream asked for"),
        pytest.param([Reply(["a", "b"])], InvalidInput, "has 2 texts here.* 1 choices", id="another number of choices"),
        pytest.param([7], InvalidInput, "not of int", id="no behaviour"),
        pytest.param(lambda _: 1 / 0, ZeroDivisionError, "division by zero", id="it raises"),
    ],
)
async def test_a_script_that_does_not_fit_is_a_500_and_is_noted(script: Any, problem: type, says: str) -> None:
    async with serve(OpenAIFormat(), script) as server:
        reply = await post(server)
    assert reply.status_code == 500
    assert reply.headers["x-should-retry"] == "false"
    assert re.search(says, reply.json()["error"]["message"])
    assert [type(error) for error in server.problems] == [problem]


async def test_what_a_body_raises_closes_the_connection_and_is_noted() -> None:
    async with serve(OpenAIFormat(), Body(1 / number for number in (1, 0))) as server:
        _, _, closed = await answer_to(server)
        await server.wait_for_open_connections(0)
    assert closed == "eof"
    assert len(server.problems) == 1


@pytest.mark.parametrize("nonsense", [b"\x16\x03\x01\r\n\r\n", b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n"])
async def test_what_is_not_http_is_noted(nonsense: bytes) -> None:
    async with serve(OpenAIFormat(), []) as server:
        assert await answer_to(server, nonsense) == (b"", b"", "eof")
        await server.wait_for_open_connections(0)
    assert [isinstance(problem, ValueError) for problem in server.problems] == [True]


# What it knows.


async def test_it_keeps_what_it_was_asked() -> None:
    async with serve(OpenAIFormat(), "Hello") as server:
        await answer_to(server, request(path=f"{PATH}?a=b", Authorization="Bearer k", Connection="close"))
        (asked,) = server.requests
    assert (asked.method, asked.path, asked.query, asked.connection) == ("POST", PATH, "a=b", 1)
    assert asked.headers["authorization"] == "Bearer k"
    assert asked.json == CHAT
    assert asked.body == to_json(CHAT)


def test_a_request_may_come_in_any_pieces() -> None:
    chunked = b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n3;ext=1\r\n\r\n \r\n0\r\n\r\n"
    body = request() + chunked + b"GET /y?q HTTP/1.1\r\n\r\n" + request()
    expected = [(PATH, to_json(CHAT)), ("/x", b"{}\r\n "), ("/y", b""), (PATH, to_json(CHAT))]
    for size in range(1, len(body) + 1):
        parser = RequestParser()
        pieces = (body[start : start + size] for start in range(0, len(body), size))
        requests = [one for piece in pieces for one in parser.feed(piece)]
        assert [(one.path, one.body) for one in requests] == expected


async def test_requests_on_one_connection_are_answered_in_order() -> None:
    """Sent at once, before the first answer."""
    script = [Reply("first", delay=0.02), Stream("second"), "third"]
    async with serve(OpenAIFormat(), script) as server:
        _, body, closed = await answer_to(server, request() + STREAMED + request(Connection="close"))
        assert closed == "eof"
        assert [one.connection for one in server.requests] == [1, 1, 1]
        assert server.connections == 1
    assert re.findall(rb"first|second|third|DONE", body) == [b"first", b"second", b"DONE", b"third"]


async def test_fifty_at_once() -> None:
    async with serve(OpenAIFormat(), lambda asked: Stream(asked.json["user"], every=0.001)) as server:

        async def ask(client: httpx.AsyncClient, name: str) -> None:
            reply = await client.post(server.url + "/chat/completions", json={**CHAT, "user": name, "stream": True})
            assert f'"content":"{name}"' in reply.text

        async with httpx.AsyncClient() as client, anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(ask, client, f"user{number}")
        await server.wait_for_open_connections(0)
    assert len(server.requests) == 50
    assert server.connections <= 50


@pytest.mark.parametrize("leave", ["close", "reset"])
async def test_it_sees_at_once_that_a_client_has_left(leave: str) -> None:
    async with serve(OpenAIFormat(), Stream("Hello", then="stall")) as server:
        stream = await connect(server)
        await stream.send(STREAMED)
        await server.wait_for_requests(1)
        await server.wait_for_open_connections(1)
        if leave == "reset":
            stream.extra(SocketAttribute.raw_socket).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        await stream.aclose()
        await server.wait_for_open_connections(0)


async def test_waiting_has_an_end() -> None:
    async with serve(OpenAIFormat(), "Hello") as server:
        with pytest.raises(AssertionError, match=r"not within 0.01 s: <Server http.* 0 requests, 0 of 0 connections"):
            await server.wait_for_requests(1, within=0.01)


async def test_a_stream_is_billed_as_it_is_sent() -> None:
    script = [Reply("one two three"), Cut(Stream("one two three four"), at_byte=0, how="end"), Status(500)]
    script += [Stream("one two three four", then="stall")]
    async with serve(OpenAIFormat(), script) as server:
        for expected in (2 + 3, 5 + 2, 7):
            await post(server, {**CHAT, "stream": server.tokens_billed == 5})
            assert server.tokens_billed == expected
        async with await connect(server) as stream:
            await stream.send(STREAMED)
            await server.wait_for(lambda server: server.tokens_billed == 7 + 2 + 4)


# Where it runs, and how it ends.


@pytest.mark.usefixtures("nothing_left")
async def test_it_ends_with_connections_open_and_leaves_nothing() -> None:
    before = living_tasks()
    script = [Stream("Hello", then="stall"), Reply("Hello", delay=math.inf), Reply("Hello")]
    async with serve(OpenAIFormat(), script) as server:
        streams = [await connect(server) for _ in range(4)]
        for stream in streams[:3]:
            await stream.send(STREAMED)
        await server.wait_for_requests(3)
        await server.wait_for_open_connections(4)
    assert server.open_connections == 0
    assert living_tasks() == before
    for stream in streams:
        await read_to_end(stream)
        await stream.aclose()
    with pytest.raises(OSError):
        await connect(server)


async def test_one_task_may_start_it_and_another_stop_it() -> None:
    """As some plugins do with a fixture."""
    server = serve(OpenAIFormat(), "Hello")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.__aenter__)
    assert (await post(server)).status_code == 200
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.__aexit__, None, None, None)


@pytest.mark.usefixtures("nothing_left")
async def test_what_the_test_raises_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with serve(OpenAIFormat(), "Hello"):
            raise ZeroDivisionError


@pytest.mark.usefixtures("nothing_left")
async def test_a_cancelled_test_ends_it_too() -> None:
    before = living_tasks()
    server = serve(OpenAIFormat(), "Hello")
    with anyio.CancelScope() as scope:
        async with server:
            scope.cancel()
            await anyio.sleep_forever()
    assert server.open_connections == 0
    assert living_tasks() == before


def test_in_a_thread_for_sync_tests() -> None:
    threads = threading.active_count()
    with serve(OpenAIFormat(), Reply("Hello", delay=0.001)) as server:
        with httpx.Client() as client:
            for _ in range(2):
                assert client.post(server.url + "/chat/completions", json=CHAT).status_code == 200
        server.block_for(lambda server: server.open_connections == 0)
        with pytest.raises(AssertionError, match=r"not within 0.01 s"):
            server.block_for(lambda server: server.open_connections == 1, within=0.01)
    assert (len(server.requests), server.connections) == (2, 1)
    assert threading.active_count() == threads


def test_in_a_thread_time_is_real() -> None:
    """A virtual clock that jumps could not see that the client's loop is at work."""
    with virtual_clock(autojump=False), serve(OpenAIFormat(), Reply("Hello", delay=0.001)) as server:
        assert httpx.post(server.url + "/chat/completions", json=CHAT).status_code == 200


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_in_a_thread_for_several_loops(backend: Any) -> None:
    async def ask(server: Server) -> None:
        assert (await post(server)).status_code == 200
        await server.wait_for_open_connections(0)

    with serve(OpenAIFormat(), "Hello") as server:
        for _ in range(2):
            anyio.run(ask, server, backend=backend)
    assert server.connections == 2


@pytest.mark.usefixtures("nothing_left")
def test_a_thread_ends_with_connections_open() -> None:
    with serve(OpenAIFormat(), Reply("Hello", delay=math.inf)) as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(server.url + "/chat/completions", json=CHAT, timeout=0.05)
        client = httpx.Client(timeout=0.05)
        with pytest.raises(httpx.ReadTimeout):
            client.post(server.url + "/chat/completions", json=CHAT)
    client.close()
    assert server.open_connections == 0
