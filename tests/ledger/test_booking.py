"""Every attempt is booked, every hit, and every stream that was left; the sum is what the server's meter says."""

from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from pydantic import BaseModel, PrivateAttr

from hocket._metering.batch_row import BatchPlace, batch_place
from hocket.caches import InMemoryCache
from hocket.errors import AuthenticationError, InvalidInput
from hocket.language_models import FakeListLLM, ScriptedChatModel, Turn
from hocket.ledger import JSONLLedger, Ledger, LedgerEntry, set_ledger
from hocket.messages import UsageMetadata
from hocket.prices import Price, set_prices
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI
from hocket.testing import AnthropicFormat, Events, OpenAIFormat, Reply, Server, Status, Stream, serve
from tests.kit import AsyncRecorder

CACHED = {"cached", "shared"}


async def read(ledger: Ledger) -> list[LedgerEntry]:
    await ledger.aflush()
    return await to_thread.run_sync(lambda: list(ledger.entries()))


def make_model(server: Server, ledger: JSONLLedger, **more: object) -> ChatOpenAI:
    return ChatOpenAI(model="metered", base_url=server.url, api_key="k", ledger=ledger, **more)


def split(text: str) -> list[int]:
    return [0] * len(text.split())


class Colour(BaseModel):
    """What is asked for."""

    name: str


async def test_the_sum_is_the_meter_of_the_server(lines: JSONLLedger) -> None:
    """Plain, streamed, retried, asked again, fallen back, shared and cached calls, in all their attempts."""
    script = [
        Reply("one two"),
        Stream("a stream of five words"),
        Status(503),
        Reply("after a retry"),
        Reply('{"colour": "no name"}'),
        Reply('{"name": "blue"}'),
        Status(401),
        Reply("from the other one"),
        Reply("shared by all three"),
    ]
    async with serve(OpenAIFormat(), script) as server:
        model = make_model(server, lines, retry=3)
        await model.ainvoke("hello there")
        assert [chunk async for chunk in model.astream("in pieces please")]
        await model.ainvoke("once more")
        structured = model.with_structured_output(Colour, method="json_mode", reask=1)
        assert await structured.ainvoke("which colour") == Colour(name="blue")
        await model.with_fallbacks([make_model(server, lines)]).ainvoke("somebody else")
        cached = make_model(server, lines, cache=InMemoryCache())
        await cached.abatch(["the same"] * 3)
        await cached.ainvoke("the same")
        billed = server.tokens_billed
    entries = await read(lines)
    [total] = lines.total()
    assert total.input_tokens + total.output_tokens == billed > 0
    outcomes = [entry.outcome for entry in entries]
    assert outcomes.count("failed") == 2
    assert outcomes.count("ok") == 7
    assert sorted(outcome for outcome in outcomes if outcome in CACHED) == ["cached", "shared", "shared"]
    assert {entry.served_tokens > 0 for entry in entries if entry.outcome in CACHED} == {True}
    assert {entry.cost for entry in entries if entry.outcome in CACHED} == {Decimal(0)}


async def test_attempts_are_numbered_and_name_their_errors(lines: JSONLLedger) -> None:
    """A refused attempt has used nothing, and the request's name at the server is kept."""
    refusal = Status(503, headers={"x-request-id": "req-1"})
    async with serve(OpenAIFormat(), [refusal, Reply("yes")]) as server:
        await make_model(server, lines, retry=2).ainvoke("hi")
    first, second = await read(lines)
    assert (first.attempt, first.outcome, first.error, first.request_id) == (
        1,
        "failed",
        "ProviderUnavailable",
        "req-1",
    )
    assert (first.input_tokens, first.output_tokens) == (0, 0)
    assert (second.attempt, second.outcome, second.error) == (2, "ok", None)
    assert first.run_id == second.run_id
    assert (second.provider, second.model) == ("openai_compatible", "metered")


async def test_streams_that_are_left_are_estimated(lines: JSONLLedger) -> None:
    """Their prompt as the server told it, their answer as far as it came: here, to the token."""
    stream = Stream("one two", then="stall")
    async with serve(AnthropicFormat(), [stream, stream]) as server:
        model = ChatAnthropic(
            model="metered", base_url=server.url, api_key="k", ledger=lines, max_tokens=9, custom_get_token_ids=split
        )
        chunks = model.astream("say four words")
        async for chunk in chunks:
            if "two" in chunk.text:
                break
        await chunks.aclose()
        with anyio.CancelScope() as scope:
            async for chunk in model.astream("say four words"):
                if "two" in chunk.text:
                    scope.cancel()
    closed, cancelled = await read(lines)
    assert (closed.outcome, closed.estimated, closed.error) == ("closed", True, None)
    assert (cancelled.outcome, cancelled.estimated) == ("cancelled", True)
    for entry in (closed, cancelled):
        assert (entry.input_tokens, entry.output_tokens) == (3, 2)
        assert entry.first_token is not None
        assert 0 <= entry.first_token <= entry.seconds


class Watched(ChatAnthropic):
    """A model that says when it has read what opens a stream."""

    _has_read: anyio.Event = PrivateAttr(default_factory=anyio.Event)

    def _decoder(self, headers: Any) -> Any:
        decoder = super()._decoder(headers)
        read = decoder.read

        def watch(data: Any, event: str) -> Any:
            chunk = read(data, event)
            self._has_read.set()
            return chunk

        decoder.read = watch  # type: ignore[method-assign]
        return decoder


@pytest.mark.both_loops
async def test_a_stream_that_is_left_before_its_first_word_has_what_it_was_told(lines: JSONLLedger) -> None:
    """The server says how long the prompt is before it says anything else: it is booked, and handlers hear of it."""
    told = {"input_tokens": 21, "cache_read_input_tokens": 900, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "x", "usage": told}
    opening = Events([{"type": "message_start", "message": message}], then="stall")
    recorder = AsyncRecorder()
    async with serve(AnthropicFormat(), [opening, opening]) as server:

        def make(**more: Any) -> Watched:
            return Watched(model="x", base_url=server.url, api_key="k", ledger=lines, **more)

        async def read_first(chunks: AsyncIterator[object]) -> None:
            await anext(chunks, None)

        model = make()
        async with anyio.create_task_group() as group, model.astream("hi", {"callbacks": [recorder]}) as chunks:
            group.start_soon(read_first, chunks)
            await model._has_read.wait()
            await chunks.aclose()
        model = make()
        async with anyio.create_task_group() as group:
            group.start_soon(read_first, model.astream("hi"))
            await model._has_read.wait()
            group.cancel_scope.cancel()
    closed, cancelled = await read(lines)
    assert (closed.outcome, cancelled.outcome) == ("closed", "cancelled")
    for entry in (closed, cancelled):
        assert (entry.input_tokens, entry.output_tokens, entry.cache_read) == (921, 1, 900)
    assert recorder.only("on_llm_end").args[0].generations[0][0].message.usage_metadata["input_tokens"] == 921
    assert recorder.tokens == []


async def test_entries_are_priced(lines: JSONLLedger) -> None:
    """Exactly; where there is no price the cost is unknown, and never 0."""
    set_prices({"metered": Price("0.15", "0.60")})
    try:
        async with serve(OpenAIFormat(), [Reply("one two three"), Reply("one")]) as server:
            await make_model(server, lines).ainvoke("hi there")
            await make_model(server, lines).model_copy(update={"model": "unheard-of"}).ainvoke("hi")
        priced, unpriced = await read(lines)
    finally:
        set_prices({"metered": None})
    assert priced.cost == Decimal("0.15") / 10**6 * 2 + Decimal("0.60") / 10**6 * 3
    assert priced.price == "0.15/0.60"
    assert (unpriced.cost, unpriced.price) == (None, None)
    [total] = lines.total()
    assert (total.cost, total.unpriced) == (priced.cost, 1)


class TestBatches:
    """A row of a provider's batch, whose reply is read."""

    @pytest.fixture(autouse=True)
    def _priced(self) -> Iterator[None]:
        set_prices({"scripted-chat-model": Price(1, 2, batch=Price("0.75", "1.5"))})
        yield
        set_prices({"scripted-chat-model": None})

    async def _read_row(self, ledger: Ledger, batch: str = "hk1", **options: Any) -> None:
        turn = Turn(text="yes", usage={"input_tokens": 10, "output_tokens": 20, "total_tokens": 30})
        token = batch_place.set(BatchPlace(batch, "file-7", 0.0))
        try:
            await ScriptedChatModel(script=[turn], ledger=ledger, **options).ainvoke("hi")
        finally:
            batch_place.reset(token)

    async def test_it_costs_what_batches_cost_and_names_its_batch(self, ledger: Ledger) -> None:
        await self._read_row(ledger, metadata={"tenant": "acme"})
        [entry] = await read(ledger)
        assert (entry.cost, entry.price) == (Decimal("0.0000375"), "batch 0.75/1.5")
        assert (entry.outcome, entry.attempt) == ("ok", 1)
        assert entry.metadata == {"tenant": "acme", "batch": "hk1"}

    async def test_it_is_one_entry_for_each_batch_however_often_it_is_read(self, ledger: Ledger) -> None:
        """A process may die between the entry and the answer's line in the file; the next one reads it again."""
        for batch in ("hk1", "hk1", "hk2"):
            await self._read_row(ledger, batch)
            await ledger.aflush()
        entries = await read(ledger)
        assert [entry.metadata["batch"] for entry in entries] == ["hk1", "hk2"]
        assert {entry.outcome for entry in entries} == {"ok"}

    async def test_its_batch_is_kept_whatever_else_is(self, tmp_path: Path) -> None:
        ledger = JSONLLedger(tmp_path / "usage.jsonl", metadata=["tenant"])
        await self._read_row(ledger, metadata={"tenant": "acme", "shift": "night"})
        assert [entry.metadata for entry in await read(ledger)] == [{"tenant": "acme", "batch": "hk1"}]

    async def test_what_batches_cost_may_not_be_known(self, lines: JSONLLedger) -> None:
        set_prices({"scripted-chat-model": Price(1, 2)})
        await self._read_row(lines)
        [entry] = await read(lines)
        assert (entry.cost, entry.price) == (None, "batch")
        assert lines.total()[0].unpriced == 1

    async def test_a_live_call_may_have_metadata_of_that_name(self, lines: JSONLLedger) -> None:
        usage: UsageMetadata = {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30}
        model = ScriptedChatModel(script=[Turn(text="a", usage=usage)], ledger=lines)
        await model.ainvoke("hi", {"metadata": {"batch": "nightly"}})
        [entry] = await read(lines)
        assert (entry.cost, entry.price, entry.metadata) == (Decimal("0.00005"), "1/2", {"batch": "nightly"})


async def test_metadata_are_kept_and_grouped_by(lines: JSONLLedger) -> None:
    """The call's over the model's; what is no text, number or truth value is left out."""
    model = ScriptedChatModel(
        script=[Turn(text="a"), Turn(text="b"), Turn(text="c")],
        ledger=lines,
        metadata={"tenant": "acme", "x": object()},
    )
    for tenant in ("globex", "acme", "acme"):
        await model.ainvoke("hi", {"metadata": {"tenant": tenant}})
    assert [entry.metadata for entry in await read(lines)] == [
        {"tenant": "globex"},
        {"tenant": "acme"},
        {"tenant": "acme"},
    ]
    assert [(one.group, one.calls) for one in lines.total(by=("tenant",))] == [
        ({"tenant": "acme"}, 2),
        ({"tenant": "globex"}, 1),
    ]
    assert [entry.metadata["tenant"] for entry in lines.entries(tenant="globex")] == ["globex"]


async def test_the_ledger_of_the_process(lines: JSONLLedger, tmp_path: object) -> None:
    """Serves models without one of their own, hits too; False keeps a model out of it."""
    with pytest.raises(InvalidInput, match=r"ledger=True, and no ledger is set: call hocket\.ledger\.set_ledger"):
        await ScriptedChatModel(script=["a"], ledger=True).ainvoke("hi")
    set_ledger(lines)
    cache = InMemoryCache()
    for ledger in (None, True, False):
        await ScriptedChatModel(script=["a"], ledger=ledger).ainvoke("hi")
    for _ in range(2):
        await ScriptedChatModel(script=["b"], cache=cache).ainvoke("hi")
    set_ledger(None)
    await ScriptedChatModel(script=["a"]).ainvoke("hi")
    assert [entry.outcome for entry in await read(lines)] == ["ok", "ok", "ok", "cached"]


def test_sync_verbs_and_text_models_are_booked(lines: JSONLLedger) -> None:
    """Each request once; of several prompts, those in the cache as hits."""
    model = FakeListLLM(responses=["a", "b", "c"], ledger=lines, cache=InMemoryCache())
    model.invoke("one")
    model.generate(["one", "two"])
    lines.flush()
    assert [entry.outcome for entry in lines.entries()] == ["ok", "cached", "ok"]


async def test_a_refused_call_is_no_attempt(lines: JSONLLedger) -> None:
    """What fails before it is made has no entry; what the server refuses has one."""
    async with serve(OpenAIFormat(), [Status(401)]) as server:
        with pytest.raises(AuthenticationError):
            await make_model(server, lines).ainvoke("hi")
        with pytest.raises(InvalidInput):
            await make_model(server, lines).ainvoke("hi", stop="no list")
    assert [entry.error for entry in await read(lines)] == ["AuthenticationError"]


@pytest.mark.parametrize("value", ["usage.sqlite", 5])
def test_no_ledger(value: object) -> None:
    """It is refused where it is set."""
    with pytest.raises(InvalidInput, match="is no ledger: SQLiteLedger"):
        set_ledger(value)  # type: ignore[arg-type]
