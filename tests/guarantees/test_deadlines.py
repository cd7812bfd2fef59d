"""Deadlines over HTTP: what the server does on the connection does not matter, only what of an answer has come."""

import itertools
import math
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from hocket.errors import ConnectTimeout, FirstTokenTimeout, IdleTimeout, RequestTimeout, TotalTimeout
from hocket.language_models import BaseLanguageModel
from hocket.providers.openai import ChatOpenAI, OpenAI
from hocket.testing import OpenAIFormat, Reply, Status, Stream, serve
from hocket.timeouts import Timeout

pytestmark = pytest.mark.usefixtures("nothing_is_logged")

WORDS = "a b c d e f g h i j"
FOREVER = 10**9


def chat(url: str, **fields: Any) -> Any:
    return ChatOpenAI(**{"model": "test-model", "base_url": url, "api_key": "k", "retry": None, **fields})


def text(url: str, **fields: Any) -> Any:
    return OpenAI(**{"model": "test-model", "base_url": url, "api_key": "k", "retry": None, **fields})


async def heard(stream: Any) -> str:
    return "".join([getattr(piece, "content", piece) async for piece in stream])


CASES: list[Any] = [
    # what the server does, the limits, the error, when, the words that had come (of a chat, whose first event only tells
    # whose turn it is, one fewer may have)
    pytest.param(
        Stream(WORDS, pings=FOREVER, every=0.05), Timeout(first_token=2), FirstTokenTimeout, 2, "", id="pings alone"
    ),
    pytest.param(
        Stream("a", then="ping", every=0.05), Timeout(first_token=2, idle=3), IdleTimeout, 3, "a", id="pings after a"
    ),
    pytest.param(Stream("a b", then="stall"), Timeout(idle=3), IdleTimeout, 3, "a b", id="silence after b"),
    pytest.param(Reply(WORDS, delay=math.inf), Timeout(first_token=2), FirstTokenTimeout, 2, "", id="no headers"),
    pytest.param(Reply(WORDS, delay=math.inf), Timeout(total=4), TotalTimeout, 4, "", id="no headers, total"),
    pytest.param(Stream(WORDS, first_after=9), Timeout(first_token=2), FirstTokenTimeout, 2, "", id="headers alone"),
    pytest.param(
        Stream(WORDS, every=1), Timeout(idle=3, total=2.5), TotalTimeout, 2.5, ("a b", "a b c"), id="a long trickle"
    ),
]


@pytest.mark.parametrize("model_at", [chat, text])
@pytest.mark.parametrize(("behaviour", "limits", "error", "at", "came"), CASES)
async def test_a_stream_is_cut_off(
    behaviour: Any,
    limits: Timeout,
    error: type[RequestTimeout],
    at: float,
    came: Any,
    model_at: Any,
    virtual_clock: Any,
) -> None:
    """On time, however alive the connection is; which is closed, and the next call is none the worse."""
    async with serve(OpenAIFormat(), [behaviour, Reply("next")]) as server:
        model = model_at(server.url, timeout=limits)
        with pytest.raises(RequestTimeout) as caught:
            await heard(model.astream("hi"))
        assert type(caught.value) is error
        assert virtual_clock.now() == pytest.approx(at, abs=0.06)
        partial = getattr(caught.value.partial, "content", caught.value.partial)
        assert partial == (came or None) or partial in came
        assert caught.value.model == "test-model"
        await server.wait_for_open_connections(0, within=0.1)
        assert await heard(model.astream("hi")) == "next"
        assert not server.problems


@pytest.mark.parametrize("model_at", [chat, text])
async def test_limits_that_hold(model_at: Any, virtual_clock: Any) -> None:
    behaviour = Stream(WORDS, pings=20, every=1.5)
    async with serve(OpenAIFormat(), behaviour) as server:
        limits = Timeout(first_token=32, idle=1.9, total=60)
        assert await heard(model_at(server.url, timeout=limits).astream("hi")) == WORDS


async def test_total_covers_attempts(virtual_clock: Any) -> None:
    busy = Status(503, headers={"retry-after": "2"})
    async with serve(OpenAIFormat(), itertools.repeat(busy)) as server:
        model = chat(server.url, retry=100, timeout=7)
        with pytest.raises(Exception, match="provider_unavailable"):
            await model.ainvoke("hi")
        assert virtual_clock.now() == pytest.approx(6)
        assert len(server.requests) == 4
    async with serve(OpenAIFormat(), [Reply("late", delay=5)] * 2) as server:
        with pytest.raises(TotalTimeout):
            await chat(server.url, timeout=3).ainvoke("hi")
        assert len(server.requests) == 1


def test_sync_verbs() -> None:
    """They run on hocket's own loop, and are cut off there."""
    with serve(OpenAIFormat(), [Reply("late", delay=60), Stream("a", then="ping", every=0.02)]) as server:
        model = chat(server.url)
        with pytest.raises(TotalTimeout):
            model.invoke("hi", timeout=0.1)
        with pytest.raises(IdleTimeout) as caught:
            list(model.stream("hi", timeout=Timeout(idle=0.3)))
        assert caught.value.partial.content == "a"
        server.block_for(lambda server: server.open_connections == 0)


# -- connecting


@pytest.fixture
def mute() -> Iterator[str]:
    """The address of a server that takes connections and never says a word, not even of TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/v1"


@pytest.mark.parametrize("stream", [False, True])
async def test_no_connection_in_time(mute: str, stream: bool) -> None:
    """The limit is the call's, over the model's; nothing was sent, and it may be tried again."""
    for model, limits in [
        (chat(mute, timeout=Timeout(connect=0.05)), {}),
        (chat(mute), {"timeout": Timeout(connect=0.05)}),
    ]:
        with pytest.raises(ConnectTimeout, match=r"0\.05 s") as caught:
            await (heard(model.astream("hi", **limits)) if stream else model.ainvoke("hi", **limits))
        assert caught.value.retryable
        assert caught.value.partial is None


async def test_no_limit_on_connecting(mute: str) -> None:
    """None switches it off; what is left is the limit on the whole."""
    for limits in [Timeout(connect=None, total=0.2), Timeout(connect=0.05)]:
        expected = TotalTimeout if limits.total else ConnectTimeout
        with pytest.raises(RequestTimeout) as caught:
            await chat(mute, timeout=Timeout(connect=0.01)).ainvoke("hi", timeout=limits)
        assert type(caught.value) is expected


@pytest.mark.parametrize("limits", [Timeout(total=0.05), Timeout(first_token=0.05)])
async def test_a_limit_that_strikes_while_connecting(mute: str, limits: Timeout) -> None:
    with pytest.raises(RequestTimeout) as caught:
        await heard(chat(mute, timeout=limits).astream("hi"))
    assert type(caught.value) is (TotalTimeout if limits.total else FirstTokenTimeout)


async def test_all_calls_share_the_connections_whatever_their_limits() -> None:
    """So that closing the model closes them all."""
    async with serve(OpenAIFormat(), Reply("ok")) as server:
        async with chat(server.url, timeout=Timeout(connect=3)) as model:
            for limits in [{}, {"timeout": Timeout(connect=7)}, {"timeout": None}]:
                await model.ainvoke("hi", **limits)
            assert server.connections == 1
        await server.wait_for_open_connections(0)


# -- what is said of it


@pytest.mark.parametrize("cls", [ChatOpenAI, OpenAI])
def test_models_behind_http_have_limits_unless_told_otherwise(cls: type[BaseLanguageModel[Any]]) -> None:
    options: Any = {"model": "m", "api_key": "k"}
    assert cls(**options).timeout == Timeout(connect=10, first_token=300, idle=120, total=1200)
    assert cls(**options, timeout=None).timeout is None
    assert cls(**options, timeout=Timeout(idle=5)).timeout == Timeout(idle=5)
