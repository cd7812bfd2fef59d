"""What is measured, in both vocabularies; the sums are the server's."""

from typing import Any

import pytest

from hocket.agents import create_agent
from hocket.language_models import ScriptedChatModel, Turn
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.retries import RetryPolicy
from hocket.testing import Events, OpenAIFormat, Reply, Stream, Vectors, serve
from hocket.testing.clock import virtual_clock
from hocket.tools import tool
from tests.tracing.telemetry import Collected

PUBLISHED = {
    "gen_ai.client.operation.duration",
    "gen_ai.client.token.usage",
    "gen_ai.client.operation.time_to_first_chunk",
    "gen_ai.client.operation.time_per_output_chunk",
    "gen_ai.execute_tool.duration",
    "gen_ai.invoke_agent.duration",
}
LATEST = {
    "gen_ai.client.inference.duration",
    "gen_ai.client.operation.duration",
    "gen_ai.client.token.usage",
    "gen_ai.client.inference.usage.input_tokens",
    "gen_ai.client.inference.usage.output_tokens",
    "gen_ai.client.inference.operation.input_tokens",
    "gen_ai.client.inference.operation.output_tokens",
    "gen_ai.client.inference.time_to_first_chunk",
    "gen_ai.client.inference.time_per_output_chunk",
    "gen_ai.execute_tool.duration",
    "gen_ai.invoke_agent.duration",
}


async def do_everything(server: Any) -> None:
    """Call a model, stream from it, embed, and run an agent."""
    model = ChatOpenAI(model="m-1", base_url=server.url, api_key="k")
    await model.ainvoke("x")
    async for _ in model.astream("x"):
        pass
    await OpenAIEmbeddings(base_url=server.url, api_key="k").aembed_query("x")

    @tool
    def look(place: str) -> str:
        """Look."""
        return place

    call = {"type": "tool_call", "name": "look", "args": {"place": "here"}, "id": "call-1"}
    await create_agent(ScriptedChatModel(script=[Turn(tool_calls=[call]), "done"]), [look]).ainvoke("x")


def answer(request: Any) -> Any:
    """Answer as is asked."""
    if "input" in request.json:
        return Vectors()
    return Stream("one two three") if request.json.get("stream") else Reply("hi")


@pytest.mark.parametrize(
    ("semconv", "environment", "names"),
    [
        (None, "", PUBLISHED),
        (None, "http,gen_ai_latest_experimental", LATEST),
        ("latest", "", LATEST),
        ("published", "gen_ai_latest_experimental", PUBLISHED),
    ],
)
async def test_they_have_the_names_of_a_vocabulary(
    instrumented: Any, monkeypatch: pytest.MonkeyPatch, semconv: str | None, environment: str, names: set[str]
) -> None:
    """The published ones by default; an argument comes over the environment."""
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", environment)
    collected = instrumented(semconv=semconv)
    async with serve(OpenAIFormat(), answer) as server:
        await do_everything(server)
    assert collected.metric_names == names


async def test_tokens_are_those_that_the_server_counted(collected: Collected) -> None:
    """Over plain calls, streams and embeddings; input and output apart."""
    async with serve(OpenAIFormat(), answer) as server:
        await do_everything(server)
    assert collected.tokens == server.tokens_billed
    kinds = {point.attributes["gen_ai.token.type"] for point in collected.points("gen_ai.client.token.usage")}
    assert kinds == {"input", "output"}


async def test_tokens_of_the_latest_vocabulary_are_the_same(instrumented: Any) -> None:
    """Their modality is not known."""
    collected = instrumented(semconv="latest")
    async with serve(OpenAIFormat(), answer) as server:
        await do_everything(server)
    names = [f"gen_ai.client.inference.usage.{kind}_tokens" for kind in ("input", "output")]
    counted = sum(collected.total(name, gen_ai__token__modality="unknown") for name in names)
    assert counted + collected.tokens == server.tokens_billed
    histograms = [f"gen_ai.client.inference.operation.{kind}_tokens" for kind in ("input", "output")]
    assert sum(collected.total(name) for name in histograms) == counted


async def test_they_say_who_was_asked(collected: Collected) -> None:
    """As the span does, without what differs from call to call."""
    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        await ChatOpenAI(model="m-1", base_url=server.url, api_key="k", temperature=0.3).ainvoke("x")
    (point,) = collected.points("gen_ai.client.operation.duration")
    assert dict(point.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m-1",
        "gen_ai.response.model": "m-1",
        "server.address": "127.0.0.1",
        "server.port": int(server.url.split(":")[2].split("/")[0]),
    }


async def test_buckets_are_those_of_the_conventions(collected: Collected) -> None:
    """Seconds from 0.01 doubling, tokens by powers of 4."""
    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        await ChatOpenAI(model="m-1", base_url=server.url, api_key="k").ainvoke("x")
    seconds = collected.points("gen_ai.client.operation.duration")[0].explicit_bounds
    assert (seconds[0], seconds[1], seconds[-1], len(seconds)) == (0.01, 0.02, 81.92, 14)
    tokens = collected.points("gen_ai.client.token.usage")[0].explicit_bounds
    assert (tokens[0], tokens[1], tokens[-1]) == (1, 4, 67108864)


async def test_a_stream_is_measured_chunk_by_chunk(collected: Collected) -> None:
    """The first from the start, each other one from the one before."""
    stream = Stream("one two three", first_after=2, every=0.5)
    with virtual_clock():
        async with serve(OpenAIFormat(), [stream]) as server:
            model = ChatOpenAI(model="m", base_url=server.url, api_key="k")
            chunks = [chunk async for chunk in model.astream("x")]
    (first,) = collected.points("gen_ai.client.operation.time_to_first_chunk")
    (others,) = collected.points("gen_ai.client.operation.time_per_output_chunk")
    assert first.sum >= 2
    assert 1 < others.count < len(chunks)
    (whole,) = collected.points("gen_ai.client.operation.duration")
    assert whole.sum >= first.sum + others.sum


async def test_what_a_failed_attempt_used_is_counted(collected: Collected) -> None:
    """Where its server told, before it broke off."""
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    first = {"choices": [{"index": 0, "delta": {"content": "half"}}], "usage": usage, "model": "m", "id": "1"}
    async with serve(OpenAIFormat(), [Events([first], then="eof"), Stream("whole")]) as server:
        model = ChatOpenAI(
            model="m", base_url=server.url, api_key="k", streaming=True, retry=RetryPolicy(first_pause=0)
        )
        await model.ainvoke("x")
    said = collected.span().attributes or {}
    assert collected.tokens == 7 + server.tokens_billed
    assert said["gen_ai.usage.input_tokens"] + said["gen_ai.usage.output_tokens"] == collected.tokens  # type: ignore[operator]
