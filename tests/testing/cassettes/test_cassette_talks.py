"""A talk that was recorded once is replayed without a socket: the same texts, chunks and errors, for every provider."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest

from hocket.errors import CassetteMiss, FirstTokenTimeout, LLMError
from hocket.messages import AIMessage
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.retries import RetryPolicy
from hocket.testing import (
    Body,
    Cut,
    Hangup,
    OpenAIFormat,
    ReceivedRequest,
    Reply,
    Server,
    Split,
    Status,
    Stream,
    Vectors,
    cassette,
    serve,
    virtual_clock,
)
from hocket.timeouts import Timeout
from tests.kit.providers import PROVIDERS, Provider
from tests.kit.recordings import load_recordings

NOWHERE = "http://127.0.0.1:9"  # nobody listens at the port of "discard"
AT_ONCE = RetryPolicy(max_attempts=2, first_pause=0)

Talk = Callable[[str], Awaitable[list[object]]]
"""What a test says to a model at an address; returns what came of it."""


@pytest.fixture(params=PROVIDERS.values(), ids=PROVIDERS.keys())
def provider(request: pytest.FixtureRequest) -> Provider:
    one: Provider = request.param
    return one


async def record_and_replay(path: Path, server: Server, talk: Talk) -> list[object]:
    """Return what a talk comes to, which is the same when it is recorded and twice when it is replayed."""
    async with server, cassette(path, record="once"):
        live = await talk(server.url)
        asked = len(server.requests)
    assert server.problems == []
    for _ in range(2):
        async with cassette(path):
            assert await talk(NOWHERE + server.url.removeprefix(server.origin)) == live
    assert len(server.requests) == asked
    return live


def repeat_question(request: ReceivedRequest) -> str:
    """Answer so that each answer belongs to one question."""
    return f"to {request.json['messages'][0]['content']}"


def show(message: AIMessage) -> tuple[object, ...]:
    """Return what a message or chunk says; ids are made anew for each run."""
    return (type(message), message.content, message.tool_calls, message.usage_metadata, message.response_metadata)


def describe(error: LLMError) -> tuple[object, ...]:
    """Return what a caller, and a retry, see of an error."""
    said = show(error.partial) if isinstance(error.partial, AIMessage) else error.partial
    return (type(error), str(error), error.status, error.retryable, error.retry_after, error.provider_code, said)


async def ask(model: Any, question: str) -> object:
    """Return what a call comes to."""
    try:
        return show(await model.ainvoke(question))
    except LLMError as error:
        return describe(error)


async def listen(model: Any, question: str) -> list[object]:
    """Return what a stream comes to."""
    came: list[object] = []
    try:
        async for chunk in model.astream(question):
            came.append(show(chunk))
    except LLMError as error:
        came.append(describe(error))
    return came


async def test_a_whole_talk_of_every_provider(provider: Provider, tmp_path: Path) -> None:
    """Plain, streamed, with tools, failed and retried, refused, broken off, hung up."""
    call = {"name": "get_weather", "args": {"city": "Bern"}}
    script = [
        Reply("Hello there"),
        Stream("one two three four"),
        Status(429, headers={"retry-after": "0"}),
        Reply("after another try"),
        Reply("", tool_calls=[call]),
        Stream("", tool_calls=[call]),
        Status(400),
        Cut(Stream("one two three four five six"), at_byte=300),
        Hangup(),
    ]

    async def talk(url: str) -> list[object]:
        model: Any = provider.make(model="test-model", base_url=url, api_key="k", retry=AT_ONCE)
        with_tool = model.bind_tools(
            [{"title": "get_weather", "description": "It.", "type": "object", "properties": {}}]
        )
        once = model.model_copy(update={"retry": None})
        return [
            await ask(model, "plain"),
            await listen(model, "streamed"),
            await ask(model, "retried"),
            await ask(with_tool, "with a tool"),
            await listen(with_tool, "with a tool, streamed"),
            await ask(model, "refused"),
            await listen(once, "broken off"),
            await ask(once, "hung up"),
        ]

    came: Any = await record_and_replay(tmp_path / "talk.json", serve(provider.format, script), talk)
    kinds = [type(one).__name__ if isinstance(one, list) else one[0].__name__ for one in came]
    assert kinds[:6] == ["AIMessage", "list", "AIMessage", "AIMessage", "list", "InvalidRequest"]
    assert came[6][-1][0].__name__ == "StreamTruncated"
    assert kinds[7] == "ConnectionFailed"


RECORDINGS = load_recordings(
    *("anthropic", "cohere_v2", "gemini", "mistral", "ollama", "openai_chat", "openai_compat", "openai_responses")
)
SPEAKERS = {
    "anthropic": "anthropic",
    "cohere_v2": "cohere",
    "gemini": "google",
    "mistral": "mistral",
    "ollama": "ollama",
    "openai_chat": "openai",
    "openai_compat": "openai",
    "openai_responses": "openai_responses",
}


@pytest.mark.parametrize("folder", SPEAKERS)
async def test_what_the_official_sdks_were_answered(folder: str, tmp_path: Path) -> None:
    """Every recorded reply of a provider, streams in small pieces: what hocket makes of it is the same."""
    provider = PROVIDERS[SPEAKERS[folder]]
    replies = [one["response"] for one in load_recordings(folder).values() if isinstance(one["response"], dict)]

    def play(response: dict[str, Any]) -> Body | Split:
        headers = {"content-type": "application/json", **(response.get("headers") or {})}
        status = response.get("status", 200)
        stream = "".join(response.get("sse") or response.get("ndjson") or "")
        if stream:
            kind = "text/event-stream" if "sse" in response else "application/x-ndjson"
            return Split(Body(stream.encode(), status=status, headers={**headers, "content-type": kind}), size=300)
        body = response.get("body")
        content = body.encode() if isinstance(body, str) else body
        return Body(content, status=status, headers={**headers, "retry-after": "0"})

    async def talk(url: str) -> list[object]:
        model = provider.make(model="m", base_url=url, api_key="k", retry=None)
        return [
            await (listen if "sse" in one or "ndjson" in one else ask)(model, f"question {number}")
            for number, one in enumerate(replies)
        ]

    came = await record_and_replay(tmp_path / "talk.json", serve(provider.format, map(play, replies)), talk)
    assert len(came) == len(replies) > 8


async def test_a_stream_that_was_left_is_left_again(provider: Provider, tmp_path: Path) -> None:
    """Its consumer breaks off at the same place; who goes on is told that nothing more was recorded."""

    async def talk(url: str) -> list[object]:
        model = provider.make(model="m", base_url=url, api_key="k")
        came: list[object] = []
        async with model.astream("go") as stream:
            async for chunk in stream:
                came.append(show(chunk))
                if "two" in chunk.text:
                    break
        return came

    path = tmp_path / "talk.json"
    await record_and_replay(path, serve(provider.format, Stream("one two three", then="stall")), talk)
    with virtual_clock():
        async with cassette(path):
            model = provider.make(model="m", base_url=NOWHERE + provider.format.prefix, api_key="k", timeout=None)
            with pytest.raises(CassetteMiss, match=r"given up after .* record it again"):
                await listen(model, "go")


async def test_a_time_out_comes_again(tmp_path: Path) -> None:
    """A server that says nothing is as silent when it is replayed, and the attempt after it goes well."""

    async def talk(url: str) -> list[object]:
        limits = Timeout(first_token=10)
        model = ChatOpenAI(model="m", base_url=url, api_key="k", timeout=limits, retry=AT_ONCE)
        once = model.model_copy(update={"retry": None})
        with virtual_clock() as clock:
            came = [await listen(model, "go"), *await listen(once, "go on"), *await listen(once, "and on")]
            return [*came, round(clock.now())]

    silent = Stream("never", first_after=60)
    script = [silent, Stream("here I am"), silent, Stream("never", delay=60)]
    came: Any = await record_and_replay(tmp_path / "talk.json", serve(OpenAIFormat(), script), talk)
    assert [chunk[1] for chunk in came[0][:3]] == ["here", " I", " am"]
    assert [one[0] for one in came[1:3]] == [FirstTokenTimeout] * 2
    assert came[3] == 30


async def test_pieces_and_their_times_are_kept(tmp_path: Path) -> None:
    """By default a replay takes no time; with `timing` as long as it took."""
    model = ChatOpenAI(model="m", base_url=f"{NOWHERE}/v1", api_key="k")
    path = tmp_path / "talk.json"
    with virtual_clock() as clock:
        script = Stream("one two three", delay=5, every=10)
        async with serve(OpenAIFormat(), script) as server, cassette(path, record="once"):
            await listen(model.model_copy(update={"base_url": server.url}), "go")
        took = clock.now()
    assert took >= 25
    for timing, takes in ((False, 0), (True, took)):
        with virtual_clock() as clock:
            async with cassette(path, timing=timing):
                await listen(model, "go")
            assert clock.now() == pytest.approx(takes, abs=0.1)


async def test_a_pause_before_another_try_is_hockets_own(tmp_path: Path) -> None:
    """What the server asked for is obeyed again, by hocket's clock: a virtual one jumps over it."""

    async def talk(url: str) -> list[object]:
        with virtual_clock() as clock:
            said = await ask(ChatOpenAI(model="m", base_url=url, api_key="k"), "go")
            return [said, round(clock.now())]

    script = [Status(429, headers={"retry-after": "20"}), Reply("now")]
    came = await record_and_replay(tmp_path / "talk.json", serve(OpenAIFormat(), script), talk)
    assert came[1] == 20


async def test_many_at_once_get_each_its_own(tmp_path: Path) -> None:
    """Twenty calls and streams at a time, replayed in another order."""

    async def talk(url: str, order: list[int]) -> dict[int, object]:
        model = ChatOpenAI(model="m", base_url=url, api_key="k")
        came: dict[int, object] = {}

        async def one(number: int) -> None:
            came[number] = await (listen if number % 2 else ask)(model, f"question {number}")

        async with anyio.create_task_group() as tasks:
            for number in order:
                tasks.start_soon(one, number)
        return came

    path = tmp_path / "talk.json"
    async with serve(OpenAIFormat(), repeat_question) as server, cassette(path, record="once"):
        live = await talk(server.url, list(range(20)))
    assert len(set(map(str, live.values()))) == 20
    for order in (list(range(20)), list(reversed(range(20))), [(7 * number) % 20 for number in range(20)]):
        async with cassette(path):
            assert await talk(f"{NOWHERE}/v1", order) == live


async def test_equal_requests_are_answered_in_order(tmp_path: Path) -> None:
    """As they were recorded: a tool that asks until something is done goes on being answered."""

    async def talk(url: str) -> list[object]:
        model = ChatOpenAI(model="m", base_url=url, api_key="k")
        return [await ask(model, "done?") for _ in range(3)]

    came: Any = await record_and_replay(tmp_path / "t.json", serve(OpenAIFormat(), ["no", "not yet", "yes"]), talk)
    assert [one[1] for one in came] == ["no", "not yet", "yes"]


async def test_embeddings(tmp_path: Path) -> None:
    """They go over the same wire."""

    async def talk(url: str) -> list[object]:
        return [await OpenAIEmbeddings(model="m", base_url=url, api_key="k").aembed_documents(["one", "two"])]

    await record_and_replay(tmp_path / "t.json", serve(OpenAIFormat(), Vectors()), talk)


@pytest.mark.parametrize("package", [httpx, httpx2], ids=["httpx", "httpx2"])
async def test_injected_clients(package: Any, tmp_path: Path) -> None:
    """They are recorded, and not asked when it is replayed."""

    async def talk(url: str) -> list[object]:
        async with package.AsyncClient(headers={"x-api-key": "secret-of-the-client"}) as client:
            model = ChatOpenAI(model="m", base_url=url, api_key="k", http_client=client, retry=AT_ONCE)
            once = model.model_copy(update={"retry": None})
            return [await ask(model, "plain"), await listen(model, "go"), await listen(once, "broken")]

    script = ["Hello", Status(503), Stream("one two"), Cut(Stream("three four five"), at_byte=250)]
    path = tmp_path / "talk.json"
    await record_and_replay(path, serve(OpenAIFormat(), script), talk)
    assert "secret-of-the-client" not in await anyio.Path(path).read_text()


def test_sync_verbs(tmp_path: Path) -> None:
    """They send from a thread of hocket's, on a loop of its own."""

    def talk(url: str) -> list[object]:
        model = ChatOpenAI(model="m", base_url=url, api_key="k")
        said = [show(model.invoke("plain")), *map(show, model.stream("streamed"))]
        return [*said, *map(show, model.batch(["a", "b", "c"]))]

    path = tmp_path / "talk.json"
    with serve(OpenAIFormat(), repeat_question) as server, cassette(path, record="once"):
        live = talk(server.url)
    with cassette(path):
        assert talk(f"{NOWHERE}/v1") == live


def test_threads_and_their_loops(tmp_path: Path) -> None:
    """An application under test may run in a thread of its own: a cassette is there for the whole process."""
    path = tmp_path / "talk.json"

    def talk(url: str) -> list[str]:
        came: dict[int, str] = {}

        def work(number: int) -> None:
            model = ChatOpenAI(model="m", base_url=url, api_key="k")

            async def go() -> str:
                return (await model.ainvoke(f"question {number}")).text

            came[number] = anyio.run(go, backend=["asyncio", "trio"][number % 2])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [came[number] for number in range(8)]

    with serve(OpenAIFormat(), repeat_question) as server, cassette(path, record="once"):
        live = talk(server.url)
    assert live == [f"to question {number}" for number in range(8)]
    with cassette(path):
        assert talk(f"{NOWHERE}/v1") == live


def test_what_one_loop_recorded_another_replays(tmp_path: Path) -> None:
    """asyncio, trio and sync verbs say the same on the wire."""
    path = tmp_path / "talk.json"

    async def talk(url: str) -> list[object]:
        model = ChatOpenAI(model="m", base_url=url, api_key="k")
        return [await ask(model, "plain"), await listen(model, "streamed")]

    with serve(OpenAIFormat(), ["Hello", Stream("one two")]) as server, cassette(path, record="once"):
        live = asyncio.run(talk(server.url))
    with cassette(path):
        assert anyio.run(talk, f"{NOWHERE}/v1", backend="trio") == live
    with cassette(path):
        model = ChatOpenAI(model="m", base_url=f"{NOWHERE}/v1", api_key="k")
        assert [show(model.invoke("plain")), list(map(show, model.stream("streamed")))] == live
