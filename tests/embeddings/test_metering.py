"""Embedding models behind HTTP under limits, budgets and a ledger: every attempt, with what the server says it used."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from anyio import to_thread

from hocket.budgets import Budget, spending
from hocket.callbacks.run_listeners import Listening
from hocket.errors import (
    BudgetExceeded,
    DroppedStateWarning,
    InvalidInput,
    LLMError,
    RateLimitError,
    TotalTimeout,
    Unpriceable,
)
from hocket.http.request import HTTPReply
from hocket.ledger import JSONLLedger, LedgerEntry, SQLiteLedger, set_ledger
from hocket.messages import UsageMetadata
from hocket.prices import Price, set_prices
from hocket.providers.cohere import CohereEmbeddings
from hocket.providers.google import GoogleGenerativeAIEmbeddings
from hocket.providers.mistral import MistralAIEmbeddings
from hocket.providers.ollama import OllamaEmbeddings
from hocket.providers.openai import OpenAIEmbeddings
from hocket.rate_limiters import InMemoryRateLimiter, RateLimiter
from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
from hocket.retries import RetryPolicy
from hocket.runnables import RunnableLambda
from hocket.testing import (
    CohereFormat,
    GoogleFormat,
    MistralFormat,
    OllamaFormat,
    OpenAIFormat,
    Server,
    Status,
    Vectors,
    serve,
)
from hocket.testing.server import Format
from hocket.timeouts import Timeout
from tests.kit import CountingLimiter, Recorder

MODEL = "metered"
TEXTS = ["one two three", "four", "five six", "seven eight nine ten", "eleven"]


class Provider(NamedTuple):
    """A provider: its server's format, its class, and whether its replies say what was used."""

    format: Format
    make: Callable[..., RemoteEmbeddings]
    tells_usage: bool = True


PROVIDERS = {
    "openai": Provider(OpenAIFormat(), OpenAIEmbeddings),
    "cohere": Provider(CohereFormat(), CohereEmbeddings),
    "mistral": Provider(MistralFormat(), MistralAIEmbeddings),
    "ollama": Provider(OllamaFormat(), OllamaEmbeddings),
    "google": Provider(GoogleFormat(), GoogleGenerativeAIEmbeddings, tells_usage=False),
}
TELLING = [name for name, provider in PROVIDERS.items() if provider.tells_usage]


@pytest.fixture(autouse=True)
def priced() -> Iterator[None]:
    """A dollar for a million tokens."""
    set_prices({f"*:{MODEL}": Price(1, 0)})
    yield
    set_ledger(None)


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[JSONLLedger]:
    """A ledger in a file."""
    made = JSONLLedger(tmp_path / "usage.jsonl", spool=str(tmp_path / "spool.jsonl"))
    yield made
    made.flush()


def open_model(server: Server, provider: Provider = PROVIDERS["openai"], **options: Any) -> RemoteEmbeddings:
    """Return a model of the scripted server's, which asks again at once."""
    again = RetryPolicy(max_attempts=3, first_pause=0.001)
    return provider.make(**{"model": MODEL, "base_url": server.url, "api_key": "k", "retry": again, **options})


async def read(ledger: JSONLLedger) -> list[LedgerEntry]:
    await ledger.aflush()
    return await to_thread.run_sync(lambda: list(ledger.entries()))


@pytest.mark.parametrize("name", TELLING)
async def test_the_sum_of_the_ledger_is_the_meter_of_the_server(name: str, lines: JSONLLedger) -> None:
    """Over several requests at once, one that is refused and made again, queries, and a reply that is of no use."""
    script = [Vectors(), Status(503), Vectors(), Vectors(), Vectors(), Vectors()]
    async with serve(PROVIDERS[name].format, script) as server:
        model = open_model(server, PROVIDERS[name], ledger=lines, chunk_size=2)
        assert len(await model.aembed_documents(TEXTS)) == len(TEXTS)
        await model.aembed_query("which one")
        billed = server.tokens_billed
    entries = await read(lines)
    [total] = lines.total()
    assert total.input_tokens == billed > 0
    assert total.output_tokens == 0
    assert total.cost == Decimal(billed) / 1_000_000
    assert sorted(entry.outcome for entry in entries) == ["failed", "ok", "ok", "ok", "ok"]
    assert sorted(entry.attempt for entry in entries) == [1, 1, 1, 1, 2]
    assert {(entry.model, entry.provider) for entry in entries} == {(MODEL, entries[0].provider)}
    assert len({entry.run_id for entry in entries}) == 2


async def test_a_server_that_does_not_say_what_was_used(lines: JSONLLedger) -> None:
    """Its tokens are unknown, and not 0; a budget books what it had reserved."""
    provider = PROVIDERS["google"]
    budget = Budget(tokens=1_000)
    async with serve(provider.format, Vectors()) as server:
        await open_model(server, provider, ledger=lines, budget=budget).aembed_documents(TEXTS)
    [entry] = await read(lines)
    assert (entry.outcome, entry.input_tokens, entry.cost) == ("ok", None, None)
    assert budget.state().spent_tokens >= sum(len(text.split()) for text in TEXTS)
    assert budget.state().reserved_tokens == 0


@pytest.mark.parametrize("name", TELLING)
async def test_a_budget_holds_and_is_settled(name: str) -> None:
    """By what the server says; and what does not fit is not sent."""
    budget = Budget("0.0001", tokens=100)
    async with serve(PROVIDERS[name].format, Vectors()) as server:
        model = open_model(server, PROVIDERS[name], budget=[budget])
        await model.aembed_documents(TEXTS)
        state = budget.state()
        assert (state.spent_tokens, state.reserved_tokens) == (server.tokens_billed, 0)
        assert state.spent_usd == Decimal(server.tokens_billed) / 1_000_000
        with pytest.raises(BudgetExceeded):
            await model.aembed_documents(["word " * 200])
        assert len(server.requests) == 1
        assert budget.state().reserved_tokens == 0


async def test_what_is_refused_costs_nothing() -> None:
    """Neither tokens of a budget nor of a limit; each attempt asks the limit."""
    budget, limiter = Budget(tokens=1_000), RateLimiter(tokens_per_minute=1_000, adaptive=False)
    async with serve(OpenAIFormat(), Status(401)) as server:
        with pytest.raises(LLMError):
            await open_model(server, budget=budget, rate_limiter=limiter).aembed_documents(TEXTS)
    assert (budget.state().spent_tokens, budget.state().reserved_tokens) == (0, 0)
    assert (await limiter.astate()).input_tokens == 0


async def test_a_limiter_of_requests_is_asked_for_each_attempt() -> None:
    """Whatever a user writes."""
    limiter = CountingLimiter()
    async with serve(OpenAIFormat(), [Status(503), Vectors(), Vectors()]) as server:
        await open_model(server, rate_limiter=limiter, chunk_size=3).aembed_documents(TEXTS)
        assert limiter.count == len(server.requests) == 3


async def test_a_limiter_of_tokens_is_settled_and_learns() -> None:
    """It reserves an estimate, and holds what was used; from headers it knows the limit of the account."""
    limiter = RateLimiter()
    headers = {"x-ratelimit-limit-requests": "300", "x-ratelimit-limit-tokens": "90000"}
    async with serve(OpenAIFormat(), Vectors(headers=headers)) as server:
        await open_model(server, rate_limiter=limiter).aembed_documents(TEXTS)
        state = await limiter.astate()
        assert (state.input_tokens, state.output_tokens) == (server.tokens_billed, 0)
    assert (state.requests_per_minute, state.tokens_per_minute) == (300, 90_000)


async def test_a_refusal_slows_the_limiter_down() -> None:
    limiter = RateLimiter(requests_per_minute=6_000, tokens_per_minute=10**6)
    async with serve(OpenAIFormat(), Status(429)) as server:
        with pytest.raises(RateLimitError):
            await open_model(server, rate_limiter=limiter, retry=None).aembed_documents(TEXTS)
    assert (await limiter.astate()).share < 1


async def test_handlers_are_told_of_a_wait() -> None:
    """In the run of the call."""
    recorder = Recorder("on_embeddings_start", "on_limiter_wait")
    limiter = InMemoryRateLimiter(requests_per_second=50, max_bucket_size=1, check_every_n_seconds=0.005)
    async with serve(OpenAIFormat(), Vectors()) as server:
        with Listening(recorder):
            await open_model(server, rate_limiter=limiter, chunk_size=1).aembed_documents(TEXTS)
    start = recorder.only("on_embeddings_start")
    waits = [event for event in recorder.events if event.name == "on_limiter_wait"]
    assert waits
    assert {event.details["run_id"] for event in waits} == {start.details["run_id"]}


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_the_budget_of_a_block_and_the_ledger_of_the_process_count_too(
    lines: JSONLLedger, is_async: bool
) -> None:
    """For the verbs of both kinds; a model may stay out of the ledger."""
    set_ledger(lines)

    async def embed(model: RemoteEmbeddings) -> None:
        await (model.aembed_documents(TEXTS) if is_async else to_thread.run_sync(model.embed_documents, TEXTS))

    async with serve(OpenAIFormat(), Vectors()) as server:
        with spending(tokens=200) as spent:
            await embed(open_model(server))
            await embed(open_model(server, ledger=False))
        assert spent.tokens == server.tokens_billed
        with spending(tokens=1), pytest.raises(BudgetExceeded):
            await embed(open_model(server))
        assert len(server.requests) == 2
    entries = await read(lines)
    assert [(entry.outcome, entry.input_tokens) for entry in entries] == [("ok", server.tokens_billed // 2)]


async def test_what_has_no_price_is_refused_before_it_is_sent() -> None:
    """Unless the budget lets it pass."""
    async with serve(OpenAIFormat(), Vectors()) as server:
        model = open_model(server, model="of no price", budget=Budget("1"))
        with pytest.raises(Unpriceable):
            await model.aembed_query("one")
        assert not server.requests
        await model.model_copy(update={"budget": Budget("1", unpriced="ignore")}).aembed_query("one")


async def test_a_budget_for_each_tenant(lines: JSONLLedger) -> None:
    """Who it is says the run that the call is made in, or the model."""
    budget = Budget(tokens=1_000, by="tenant")
    async with serve(OpenAIFormat(), Vectors()) as server:
        model = open_model(server, budget=budget, ledger=lines)

        async def search(text: str) -> int:
            return len(await model.aembed_query(text))

        await RunnableLambda(search).ainvoke("one two", {"metadata": {"tenant": "acme"}})
        await model.model_copy(update={"metadata": {"tenant": "other"}}).aembed_query("one")
        with pytest.raises(InvalidInput, match="tenant"):
            await model.aembed_query("one")
    await lines.aflush()
    totals = {total.group["tenant"]: total.input_tokens for total in lines.total(by=("tenant",))}
    assert totals == {name: budget.state(key=name).spent_tokens for name in ("acme", "other")}


@pytest.mark.parametrize("end", ["cancelled", "late"])
async def test_who_leaves_midway_has_used_what_was_sent(end: str, lines: JSONLLedger) -> None:
    """The server may have worked: its tokens are estimated."""
    budget = Budget(tokens=1_000)
    async with serve(OpenAIFormat(), Vectors(delay=30)) as server:
        timeout = Timeout(total=0.3) if end == "late" else None
        model = open_model(server, ledger=lines, budget=budget, timeout=timeout)
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                while not server.requests:  # noqa: ASYNC110  # nothing tells of it
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()

            if end == "cancelled":
                group.start_soon(cancel)
                await model.aembed_documents(TEXTS)
            else:
                with pytest.raises(TotalTimeout):
                    await model.aembed_documents(TEXTS)
    [entry] = await read(lines)
    assert (entry.outcome, entry.estimated) == ("cancelled", True)
    assert entry.input_tokens == budget.state().spent_tokens >= sum(len(text.split()) for text in TEXTS)


def test_copies_share_and_pickles_take_what_can_travel(tmp_path: Path) -> None:
    """As those of models do."""
    ledger = SQLiteLedger(tmp_path / "book.db")
    limiter = CountingLimiter()
    model = OpenAIEmbeddings(model=MODEL, api_key="k", ledger=ledger, rate_limiter=limiter, budget=Budget("1"))
    for copied in (model.model_copy(), model.model_copy(deep=True)):
        assert (copied.ledger, copied.rate_limiter, copied.budget) == (ledger, limiter, model.budget)
    with pytest.warns(DroppedStateWarning, match="rate_limiter, budget"):
        loaded = pickle.loads(pickle.dumps(model))
    assert (loaded.rate_limiter, loaded.budget) == (None, None)
    assert repr(loaded.ledger) == repr(ledger)


def test_a_ledger_that_is_not_there_is_said_so() -> None:
    with pytest.raises(InvalidInput, match="ledger"):
        OpenAIEmbeddings(model=MODEL, api_key="k", base_url="http://127.0.0.1:9/v1", ledger=True).embed_query("one")


class CountsTenfold(OpenAIEmbeddings):
    """Of a server that finds 100 tokens in each request."""

    def _decode(self, reply: HTTPReply) -> EmbeddingResult:
        usage: UsageMetadata = {"input_tokens": 100, "output_tokens": 0, "total_tokens": 100}
        return replace(super()._decode(reply), usage=usage)


async def test_a_servers_counts_correct_the_estimates_of_later_requests() -> None:
    """Two requests with the same text: the second reserves what the first has cost, and does not fit any more."""
    again = RetryPolicy(max_attempts=1)
    async with serve(OpenAIFormat(), Vectors()) as server:
        options: Any = {"model": MODEL, "base_url": server.url, "api_key": "k", "retry": again}
        model = CountsTenfold(budget=Budget(tokens=150), **options)
        await model.aembed_query("one two three")
        with pytest.raises(BudgetExceeded):
            await model.aembed_query("one two three")
        assert len(server.requests) == 1
        assert model == CountsTenfold(budget=model.budget, **options)  # what was learned is no difference
