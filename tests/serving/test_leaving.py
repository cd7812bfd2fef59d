"""Clients that leave, at any point, or that are slow: what they asked for ends, and is no failure."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from hocket import ScriptedChatModel, Turn
from hocket.messages import AIMessageChunk
from hocket.providers.openai import ChatOpenAI
from hocket.serving import SSE_HEADERS, openai_app, openai_events, sse
from hocket.testing import virtual_clock
from hocket.testing.server import OpenAIFormat, Stream, serve
from tests.kit import HookCall, RawClient, Recorder, body, hook_model
from tests.serving.conftest import chat_client, read_events, send
from tests.serving.silence import Silence

WITHIN = 30  # seconds; nothing here takes one, unless the machine is very busy


async def test_a_client_that_leaves_an_answer_in_one_piece():
    """Nothing is sent, and the call is cancelled."""
    silence = Silence()
    client = chat_client()
    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as group:
            group.start_soon(client.ask, openai_app({"m": silence.model}))
            await silence.began.wait()
            client.left.set()
    assert silence.over.is_set() and client.got == []
    assert silence.recorder.end == "on_llm_error"


async def test_a_client_that_leaves_a_stream():
    """It is closed, which handlers hear apart from a failure; what had come is told."""
    silence = Silence()
    client = chat_client(stream=True)
    app = openai_app({"m": silence.model}, metrics=True)
    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as group:
            group.start_soon(client.ask, app)
            await silence.began.wait()
            while b"Hello" not in client.body:
                await anyio.lowlevel.checkpoint()
            client.left.set()
    assert silence.over.is_set() and b"[DONE]" not in client.body and b"error" not in client.body
    assert silence.recorder.end == "on_llm_end closed"
    assert silence.recorder.firsts("on_llm_end")[0].generations[0][0].text == "Hello"
    text = (await send(app, "GET", "/metrics")).text
    assert 'hocket_requests_total{model="m",status="499"} 1\n' in text
    assert "hocket_requests_in_progress 0\n" in text and "hocket_broken_streams_total{" not in text


@pytest.mark.parametrize("stream", [False, True])
async def test_what_is_left_ends_within_a_tenth_of_a_second(stream: bool):
    """By a clock that goes on only while all wait: nobody looks for clients that have gone from time to time."""
    silence = Silence()
    client = chat_client(stream=stream)
    with virtual_clock() as clock:
        async with anyio.create_task_group() as group:
            group.start_soon(client.ask, openai_app({"m": silence.model}))
            await silence.began.wait()
            left_at = clock.now()
            client.left.set()
            await silence.over.wait()
        assert clock.now() - left_at < 0.1


@pytest.mark.parametrize("whole", [False, True])
async def test_a_client_that_leaves_within_its_request(whole: bool):
    """The model is not asked; or, where the request was whole, not for long."""
    silence = Silence()
    client = chat_client() if whole else chat_client(body(b'{"model": "m"', is_last=False))
    client.left.set()
    with anyio.fail_after(WITHIN):
        await client.ask(openai_app({"m": silence.model}))
    assert client.got == []
    assert whole or not silence.began.is_set()


@pytest.mark.parametrize("at", range(4))
async def test_a_server_that_says_by_an_error_that_the_client_has_gone(at: int):
    """At any piece that it is sent, of an answer or of a refusal."""

    async def refuse(_: Any) -> None:
        if len(client.got) > at:
            raise ConnectionResetError("the client has gone")

    recorder = Recorder("on_chat_model_start", "on_llm_end", "on_llm_error")
    client = chat_client(stream=True)
    client.taken = refuse
    model = ScriptedChatModel(script=[Turn(text=["a", "b", "c"], pause=1)], callbacks=[recorder])
    with virtual_clock():
        await client.ask(openai_app({"m": model}))
    refused = chat_client(stream=True, n=2)
    refused.taken = refuse
    await refused.ask(openai_app({"m": model}))
    assert len(client.got) == at + 1
    assert recorder.end in ("on_llm_end closed", "on_llm_end")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_that_stops_cancels_its_requests(stream: bool):
    """As it cancels anything else."""
    silence = Silence()
    client = chat_client(stream=stream)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(client.ask, openai_app({"m": silence.model}))
            await silence.began.wait()
            scope.cancel()
    assert scope.cancelled_caught
    with anyio.fail_after(WITHIN):
        await silence.over.wait()


async def test_a_client_that_takes_nothing_is_left():
    """After a minute, and its stream is closed; the model is not read ahead of it by more than a few pieces."""
    given = 0

    async def talk(_: HookCall) -> AsyncIterator[AIMessageChunk]:
        async def speak() -> AsyncIterator[AIMessageChunk]:
            nonlocal given
            while True:
                given += 1
                yield AIMessageChunk("word ")

        return speak()

    async def stall(event: Any) -> None:
        if len(client.got) == 3:
            await anyio.sleep_forever()

    recorder = Recorder("on_chat_model_start", "on_llm_end", "on_llm_error")
    client = chat_client(stream=True)
    client.taken = stall
    with virtual_clock() as clock:
        await client.ask(openai_app({"m": hook_model(talk, "astream", callbacks=[recorder])}))
        assert clock.now() == 60
    assert len(client.got) == 3 and given < 300
    assert recorder.end == "on_llm_end closed"


async def test_the_connection_to_the_models_server_is_closed():
    """When the client leaves; here the model is behind HTTP, too."""
    answer = Stream("Hello there", every=0.001, then="stall")
    async with (
        serve(OpenAIFormat(), [answer]) as server,
        ChatOpenAI(model="m", base_url=server.url, api_key="k") as model,
    ):
        client, came = chat_client(stream=True), anyio.Event()

        async def take(event: dict[str, Any]) -> None:
            if b"there" in event.get("body", b""):
                came.set()

        client.taken = take
        async with anyio.create_task_group() as group:
            group.start_soon(client.ask, openai_app({"m": model}))
            with anyio.fail_after(WITHIN):
                await came.wait()
            client.left.set()
        await server.wait_for_open_connections(0, within=WITHIN)


async def test_two_hundred_streams_at_once_do_not_mix():
    """All are under way together; half of the clients leave, and the others have their answers."""
    count, together, go_on = 0, anyio.Event(), anyio.Event()

    async def talk(call: HookCall) -> AsyncIterator[AIMessageChunk]:
        async def speak() -> AsyncIterator[AIMessageChunk]:
            nonlocal count
            yield AIMessageChunk(f"{call.text}:")
            count += 1
            if count == 200:
                together.set()
            await go_on.wait()
            for _ in range(20):
                yield AIMessageChunk(f" {call.text}")

        return speak()

    recorder = Recorder("on_chat_model_start", "on_llm_end", "on_llm_error")
    app = openai_app({"m": hook_model(talk, "astream", callbacks=[recorder])}, metrics=True)
    clients = [chat_client(text=str(number), stream=True) for number in range(200)]
    async with anyio.create_task_group() as group:
        for client in clients:
            group.start_soon(client.ask, app)
        await together.wait()
        while not all(len(client.got) > 1 for client in clients):
            await anyio.lowlevel.checkpoint()
        for client in clients[::2]:
            client.left.set()
        go_on.set()
    for number, client in list(enumerate(clients))[1::2]:
        texts = [event["choices"][0]["delta"].get("content", "") for event in read_events(client.body.decode())[:-1]]
        assert "".join(texts) == f"{number}:" + f" {number}" * 20
    recorder.assert_every_run_ended_once()
    assert recorder.count("on_llm_error") == 0
    assert "hocket_requests_in_progress 0\n" in (await send(app, "GET", "/metrics")).text


Body = Callable[[Any], Any]


@pytest.mark.parametrize("make", [sse, openai_events], ids=["sse", "openai_events"])
async def test_a_body_whose_reader_is_cancelled_closes_its_stream(make: Body):
    """As Starlette cancels it when the client has gone."""
    silence = Silence()
    body = make(silence.model.astream("hi"))
    with anyio.CancelScope() as scope:
        async for _ in body:
            if silence.began.is_set():
                scope.cancel()
    assert silence.over.is_set() and silence.recorder.end == "on_llm_end closed"
    with pytest.raises(StopAsyncIteration):
        await anext(body)


@pytest.mark.parametrize("make", [sse, openai_events], ids=["sse", "openai_events"])
async def test_a_body_that_is_dropped_closes_its_stream(make: Body):
    """Or closed, also by another task, while somebody waits for its next piece."""
    silence = Silence()
    body = make(silence.model.astream("hi"))
    await anext(body)
    del body
    with anyio.fail_after(WITHIN):
        await silence.over.wait()

    silence = Silence()
    body = make(silence.model.astream("hi"))
    pieces: list[bytes] = []

    async def read() -> None:
        async for piece in body:
            pieces.append(piece)

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await silence.began.wait()
        while not pieces:
            await anyio.lowlevel.checkpoint()
        await body.aclose()
        await body.aclose()
    assert len(pieces) == 1, "no end is made up"
    assert silence.recorder.end == "on_llm_end closed"


async def test_a_stream_that_was_left_has_no_end():
    """Whoever else left it."""
    silence = Silence()
    stream = silence.model.astream("hi")
    body = sse(stream)
    assert await anext(body) == b'data: {"text":"Hello"}\n\n'
    await stream.aclose()
    assert [piece async for piece in body] == []


async def test_a_body_that_nobody_reads_asks_nothing():
    """And may be closed."""
    silence = Silence()
    body = sse(silence.model.astream("hi"))
    await body.aclose()
    assert [piece async for piece in body] == [] and not silence.recorder.events


async def test_a_generator_that_is_left_is_closed():
    """Any async iterable is a stream."""
    over = anyio.Event()

    async def count() -> AsyncIterator[int]:
        try:
            yield 1
            await anyio.sleep_forever()
        finally:
            over.set()

    body = sse(count())
    assert await anext(body) == b"data: 1\n\n"
    await body.aclose()
    assert over.is_set()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_with_its_answer_has_not_left(stream: bool):
    """Some servers say that it has gone while its last piece is being sent."""

    async def take(event: dict[str, Any]) -> None:
        if event["type"] == "http.response.body" and not event.get("more_body"):
            client.left.set()
            await anyio.sleep(0.01)

    client = chat_client(stream=stream)
    client.taken = take
    app = openai_app({"m": ScriptedChatModel(script=["Hello."])}, metrics=True)
    await client.ask(app)
    assert client.status == 200 and b"Hello." in client.body
    assert 'hocket_requests_total{model="m",status="200"} 1\n' in (await send(app, "GET", "/metrics")).text


@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
async def test_a_reader_of_starlettes_response_who_leaves(spec_version: str):
    """Older servers say that he has gone, newer ones by an error of what is sent next, a ping at the latest."""
    silence = Silence()
    client = RawClient(body(b""), asgi={"version": "3.0", "spec_version": spec_version})

    async def take(event: dict[str, Any]) -> None:
        if b"ping" in event.get("body", b"") and spec_version == "2.4":
            raise ConnectionResetError("the client has gone")
        if b"Hello" in event.get("body", b"") and spec_version == "2.3":
            client.left.set()

    client.taken = take
    with virtual_clock(), contextlib.suppress(ClientDisconnect):
        await client.ask(StreamingResponse(sse(silence.model.astream("hi")), headers=SSE_HEADERS))
    with anyio.fail_after(WITHIN):
        await silence.over.wait()
    while not silence.recorder.count("on_llm_end"):
        await anyio.lowlevel.checkpoint()
    assert silence.recorder.end == "on_llm_end closed"
