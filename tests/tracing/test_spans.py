"""One span a call: its name, its attributes, its retries, its end."""

import gc
import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from opentelemetry.trace import INVALID_SPAN, SpanKind, StatusCode, get_current_span

from hocket import ScriptedChatModel, Turn, create_agent
from hocket.agents import AgentMiddleware, ModelRequest
from hocket.caches import InMemoryCache
from hocket.durable import dbos, open_runs, wait_for
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import RateLimitError, StreamTruncated
from hocket.language_models import FakeListChatModel, FakeListLLM
from hocket.messages import HumanMessage
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.rate_limiters import InMemoryRateLimiter
from hocket.retries import RetryPolicy
from hocket.testing import AnthropicFormat, OpenAIFormat, Reply, Status, Stream, Vectors, serve
from hocket.testing.clock import virtual_clock
from tests.tracing.telemetry import Collected

QUICK = RetryPolicy(first_pause=0)


def chat(server: Any, **options: Any) -> ChatOpenAI:
    """Return a model of the scripted server's."""
    return ChatOpenAI(**{"model": "m-1", "base_url": server.url, "api_key": "sk-secret-key", "retry": QUICK, **options})


async def test_a_call_is_a_span(collected: Collected) -> None:
    """With who is asked, for what, and what came of it."""
    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        model = chat(server, temperature=0.5, max_tokens=9, seed=3)
        await model.ainvoke("hello", {"metadata": {"thread_id": "t-1"}}, stop=["."])
    span = collected.span()
    assert (span.name, span.kind, span.status.status_code) == ("chat m-1", SpanKind.CLIENT, StatusCode.UNSET)
    said = dict(span.attributes or {})
    assert said.pop("gen_ai.usage.input_tokens") + said.pop("gen_ai.usage.output_tokens") == server.tokens_billed
    assert said.pop("gen_ai.response.id")
    assert said == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m-1",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.seed": 3,
        "gen_ai.request.stop_sequences": (".",),
        "gen_ai.conversation.id": "t-1",
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "openai.response.system_fingerprint": "fp_test",
        "server.address": "127.0.0.1",
        "server.port": int(server.url.split(":")[2].split("/")[0]),
    }


async def test_its_retries_are_events_inside(collected: Collected) -> None:
    """Each with its number, its cause and the pause behind it."""
    async with serve(OpenAIFormat(), [Status(429), Status(503), Reply("hi")]) as server:
        await chat(server).ainvoke("hello")
    span = collected.span()
    assert [event.name for event in span.events] == ["hocket.retry", "hocket.retry"]
    first, second = (dict(event.attributes or {}) for event in span.events)
    assert first == {
        "hocket.retry.attempt": 1,
        "hocket.retry.delay": 0,
        "error.type": "hocket.errors.RateLimitError",
        "http.response.status_code": 429,
    }
    assert (second["hocket.retry.attempt"], second["http.response.status_code"]) == (2, 503)
    assert (span.attributes or {})["hocket.attempts"] == 3


async def test_a_routers_span_says_who_answered(collected: Collected) -> None:
    from hocket.routing import ChatRouter, Deployment

    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        await ChatRouter(deployments=[Deployment(chat(server), name="eu")]).ainvoke("hello")
    assert (collected.span().attributes or {})["hocket.deployment"] == "eu"


async def test_a_failure_is_told_by_its_kind(collected: Collected) -> None:
    """Not by its message, in which a server may quote what it was asked."""
    async with serve(OpenAIFormat(), [Status(429, "no more of your poem about herons")]) as server:
        with pytest.raises(RateLimitError):
            await chat(server, retry=None).ainvoke("hello")
    span = collected.span()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "rate_limit")
    assert span.attributes is not None
    assert span.attributes["error.type"] == "hocket.errors.RateLimitError"
    assert span.attributes["http.response.status_code"] == 429
    assert "heron" not in collected.everything()


async def test_a_stream_is_a_span(collected: Collected) -> None:
    """It tells that it streams, when the first chunk came, and the tokens of all."""
    async with serve(OpenAIFormat(), [Stream("one two three")]) as server:
        async for _ in chat(server).astream("hello"):
            pass
    said = collected.span("chat").attributes or {}
    assert said["gen_ai.request.stream"] is True
    assert said["gen_ai.response.time_to_first_chunk"] >= 0  # type: ignore[operator]
    assert said["gen_ai.usage.input_tokens"] + said["gen_ai.usage.output_tokens"] == server.tokens_billed  # type: ignore[operator]


async def test_several_answers_are_counted_together(collected: Collected) -> None:
    """``n`` is told, and each answer's end."""
    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        await chat(server, n=2).ainvoke("hello")
    assert (collected.span().attributes or {})["gen_ai.request.choice.count"] == 2


async def test_structured_output_is_json(collected: Collected) -> None:
    """The kind of output is told."""
    async with serve(OpenAIFormat(), [Reply("{}")]) as server:
        await chat(server).bind(response_format={"type": "json_object"}).ainvoke("hello")
    assert (collected.span("chat").attributes or {})["gen_ai.output.type"] == "json"


async def test_a_text_model_is_a_span(collected: Collected) -> None:
    """Of another operation."""
    await FakeListLLM(responses=["hi"]).ainvoke("hello")
    assert collected.names == ["text_completion fake-list"]


async def test_an_embedding_model_is_a_span(collected: Collected) -> None:
    """With the size of its vectors, its tokens and its retries."""
    async with serve(OpenAIFormat(), [Status(429), Vectors(dimensions=3)]) as server:
        model = OpenAIEmbeddings(model="e-1", base_url=server.url, api_key="k", retry=QUICK)
        await model.aembed_documents(["one", "two"])
    span = collected.span()
    assert (span.name, span.kind) == ("embeddings e-1", SpanKind.CLIENT)
    said = span.attributes or {}
    assert said["gen_ai.embeddings.dimension.count"] == 3
    assert said["gen_ai.usage.input_tokens"] == server.tokens_billed == collected.tokens
    assert [event.name for event in span.events] == ["hocket.retry"]


async def test_a_failed_embedding_is_an_error(collected: Collected) -> None:
    """As that of a chat model."""
    async with serve(OpenAIFormat(), [Status(429)]) as server:
        with pytest.raises(RateLimitError):
            await OpenAIEmbeddings(model="e-1", base_url=server.url, api_key="k", retry=None).aembed_query("one")
    assert (collected.span().attributes or {})["error.type"] == "hocket.errors.RateLimitError"
    assert collected.points("gen_ai.client.operation.duration")[0].attributes["error.type"]


async def test_an_answer_out_of_the_cache_costs_nothing(collected: Collected) -> None:
    """It is a span that says so, and no tokens are counted."""
    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        model = chat(server, cache=InMemoryCache())
        await model.ainvoke("hello")
        await model.ainvoke("hello")
        async for _ in model.astream("hello"):
            pass
    first, *others = collected.spans
    assert "hocket.cache_hit" not in (first.attributes or {})
    for span in others:
        assert (span.attributes or {})["hocket.cache_hit"] is True
        assert "gen_ai.usage.input_tokens" not in (span.attributes or {})
    assert collected.tokens == server.tokens_billed
    assert collected.points("gen_ai.client.operation.time_to_first_chunk") == []


async def test_an_answer_that_a_durable_run_had_already_says_so(
    collected: Collected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its span is there, and no tokens are counted again."""
    monkeypatch.setattr(dbos, "EVERY", 0.05)
    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        model = chat(server)

        async def ask(question: str) -> str:
            said = await model.ainvoke(question)
            await wait_for("end")
            return said.text

        for life in (1, 2):
            runs = open_runs(f"sqlite:///{tmp_path}/runs.db")
            durable = runs.durable(ask)
            async with runs:
                run = await durable.astart("hello", id="a")
                while (info := await run.ainfo()).attempts < life or info.status != "waiting":  # noqa: ASYNC110
                    await anyio.sleep(0.02)
                if life == 2:
                    await run.asignal("end")
                    assert await run.aresult() == "hi"
    first, again = (span for span in collected.spans if span.kind is SpanKind.CLIENT)
    assert "hocket.replayed" not in (first.attributes or {})
    assert (again.attributes or {})["hocket.replayed"] is True
    assert collected.tokens == server.tokens_billed


async def test_equal_calls_that_share_a_request_are_paid_once(collected: Collected) -> None:
    """Each is a span of its own."""
    async with serve(OpenAIFormat(), [Reply("hi", delay=0.05)]) as server:
        model = chat(server, cache=InMemoryCache())
        await model.abatch(["hello"] * 5)
        assert len(server.requests) == 1
    assert len(collected.spans) == 5
    assert collected.tokens == server.tokens_billed


async def test_waiting_for_the_limiter_is_an_event(collected: Collected) -> None:
    """With the seconds."""
    limiter = InMemoryRateLimiter(requests_per_second=1, max_bucket_size=1)
    model = FakeListChatModel(responses=["hi"], rate_limiter=limiter)
    with virtual_clock():
        await model.ainvoke("hello")
        await model.ainvoke("hello")
    (wait,) = collected.spans[1].events
    assert wait.name == "hocket.limiter_wait"
    assert (wait.attributes or {})["hocket.limiter_wait.seconds"] > 0  # type: ignore[operator]


async def test_a_request_that_begins_otherwise_is_an_event_of_the_agent(collected: Collected) -> None:
    """With the cause; the detail quotes the prompt, which is content, and that is off."""

    class Clock(AgentMiddleware):
        async def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
            return await handler(request.override(messages=[HumanMessage(f"step {request.step}"), *request.messages]))

    def look() -> str:
        """Look."""
        return "found"

    call: Any = {"type": "tool_call", "name": "look", "args": {}, "id": "c1"}
    model = ScriptedChatModel(script=[Turn(tool_calls=[call]), "Done."])
    await create_agent(model, [look], middleware=[Clock()], prompt_cache=False, name="a").ainvoke("hi")
    [event] = next(span for span in collected.spans if span.name == "invoke_agent a").events
    facts = dict(event.attributes or {})
    assert (event.name, facts.pop("hocket.prefix_break.lost_tokens", 0) != 0) == ("hocket.prefix_break", True)
    assert facts == {"hocket.prefix_break.step": 2, "hocket.prefix_break.cause": "messages"}


# -- streams that are not read to their ends


async def test_a_stream_that_is_left_is_closed(collected: Collected) -> None:
    """It is no failure, and what came is counted."""
    async with (
        serve(OpenAIFormat(), [Stream("one two three four", then="stall")]) as server,
        chat(server).astream("hello") as stream,
    ):
        async for _ in stream:
            break
    span = collected.span()
    assert span.status.status_code is StatusCode.UNSET
    assert (span.attributes or {})["hocket.closed"] is True
    assert "error.type" not in (span.attributes or {})


async def test_a_stream_that_breaks_off_is_truncated(collected: Collected) -> None:
    """Its error is told; so is the usage that came before."""
    async with serve(AnthropicFormat(), [Stream("one two three", then="eof")]) as server:
        with pytest.raises(StreamTruncated):
            async for _ in ChatAnthropic(model="m-1", base_url=server.url, api_key="k").astream("hello"):
                pass
    said = collected.span().attributes or {}
    assert said["error.type"] == "hocket.errors.StreamTruncated"
    assert said["gen_ai.usage.input_tokens"] > 0  # type: ignore[operator]
    assert collected.span().status.status_code is StatusCode.ERROR


async def test_a_call_that_is_cancelled_says_so(collected: Collected, caplog: pytest.LogCaptureFixture) -> None:
    """In one word for asyncio and trio; nobody is alarmed."""
    caplog.set_level(logging.DEBUG)
    async with serve(OpenAIFormat(), Reply("hi", delay=math.inf)) as server, anyio.create_task_group() as group:
        group.start_soon(chat(server).ainvoke, "hello")
        await server.wait_for_requests(1)
        group.cancel_scope.cancel()
    assert (collected.span().attributes or {})["error.type"] == "cancelled"
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


async def test_what_is_traced_is_what_is_called(collected: Collected) -> None:
    """A broken answer is tried again as without a handler, although this one measures the chunks."""
    async with serve(OpenAIFormat(), [Stream("half", then="eof"), Stream("whole")]) as server:
        reply = await chat(server, streaming=True).ainvoke("hello")
    assert reply.content == "whole"
    assert len(collected.span().events) == 1


async def test_a_message_without_text_and_odd_metadata_are_no_trouble(collected: Collected) -> None:
    """A handler that fails is a warning in the log: there is none."""
    model = FakeListChatModel(responses=[""])
    await model.ainvoke([HumanMessage([{"type": "image", "url": "https://x"}])], {"metadata": {"thread_id": 7}})
    assert "gen_ai.conversation.id" not in (collected.span().attributes or {})


async def test_a_fake_embedding_model_is_a_span_in_sync_code(collected: Collected) -> None:
    """Whatever verb is used."""
    DeterministicFakeEmbedding(size=2).embed_query("x")
    assert collected.names == ["embeddings DeterministicFakeEmbedding:2"]


# -- every way to leave a stream


async def leave_by_break(model: Any) -> None:
    """In a generator around it."""

    async def around() -> AsyncIterator[Any]:
        async for chunk in model.astream("hello"):
            yield chunk

    async with aclosing(around()) as chunks:  # trio warns of a generator that is left to the garbage collector
        async for _ in chunks:
            break


async def leave_by_closing(model: Any) -> None:
    """From another task, while the next chunk is awaited."""
    stream = model.astream("hello")
    await anext(aiter(stream))
    async with anyio.create_task_group() as group:
        group.start_soon(stream.aclose)
        with suppress(StopAsyncIteration):
            await anext(aiter(stream))


async def leave_it_to_the_collector(model: Any) -> None:
    """Lose it."""
    stream = model.astream("hello")
    await anext(aiter(stream))
    del stream
    gc.collect()


async def be_cancelled(model: Any) -> None:
    """While the next chunk is awaited."""
    with anyio.CancelScope() as scope:
        async for _ in model.astream("hello"):
            scope.cancel()


async def leave_in_sync_code(model: Any) -> None:
    """In a thread."""

    def leave() -> None:
        for _ in model.stream("hello"):
            break

    await anyio.to_thread.run_sync(leave)
    gc.collect()


LEAVE = [leave_by_break, leave_by_closing, leave_it_to_the_collector, be_cancelled, leave_in_sync_code]


@pytest.mark.parametrize("leave", LEAVE, ids=lambda leave: str(leave.__name__))
async def test_however_a_stream_is_left_it_is_one_span(
    collected: Collected, caplog: pytest.LogCaptureFixture, leave: Callable[[Any], Any]
) -> None:
    """With the usage that had come, and nobody alarmed; the context is as it was."""
    caplog.set_level(logging.DEBUG)
    async with serve(AnthropicFormat(), [Stream("one two three four", every=0.01, then="stall")]) as server:
        await leave(ChatAnthropic(model="m-1", base_url=server.url, api_key="k"))
        with anyio.fail_after(30):
            while not collected.spans:  # noqa: ASYNC110  # a span tells nobody that it has ended
                await anyio.sleep(0.001)
    said = collected.span().attributes or {}
    assert said["gen_ai.usage.input_tokens"] == collected.total(
        "gen_ai.client.token.usage", gen_ai__token__type="input"
    )
    assert said["gen_ai.usage.input_tokens"] > 0  # type: ignore[operator]
    if leave is be_cancelled:
        assert said["error.type"] == "cancelled"
    else:
        assert (said["hocket.closed"], collected.span().status.status_code) == (True, StatusCode.UNSET)
    assert get_current_span() is INVALID_SPAN
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []
