"""A model under a budget: each attempt reserves its most before it is made, and is booked as what it came to."""

import pickle
import threading
from decimal import Decimal
from typing import Any, ClassVar

import anyio
import pytest

import hocket.prices.packaged as packaged
from hocket.agents import AgentLimits, create_agent
from hocket.budgets import Budget, spending
from hocket.caches import InMemoryCache
from hocket.errors import (
    BudgetExceeded,
    BudgetStoreFailed,
    ConnectionFailed,
    DroppedStateWarning,
    InvalidInput,
    LimitReached,
    ProviderUnavailable,
    RateLimitError,
    Unpriceable,
)
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import AIMessage, UsageMetadata
from hocket.outputs import ChatResult
from hocket.prices import Price, set_prices
from hocket.providers.openai import ChatOpenAI
from hocket.retries import RetryPolicy
from hocket.runnables import RunnableLambda
from hocket.serving import openai_app
from hocket.testing import OpenAIFormat, Reply, serve
from tests.budgets.conftest import MODEL, Place
from tests.kit import hook_llm, hook_model

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("priced")]

USAGE: UsageMetadata = {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30}
COST = Decimal("0.00005")  # of that usage
ANSWER = Turn(text=["one ", "two"], usage=USAGE)


def scripted(*script: Any, longest: int | None = 20, **options: Any) -> ScriptedChatModel:
    """Return a model whose answers have at most so many tokens."""
    profile: Any = None if longest is None else {"max_output_tokens": longest}
    return ScriptedChatModel(script=list(script), profile=profile, **options)


def spent(budget: Budget) -> tuple[Decimal, Decimal]:
    state = budget.state()
    return state.spent_usd, state.reserved_usd


async def aspent(budget: Budget, key: str | None = None) -> tuple[Decimal, Decimal]:
    """For a budget whose store waits."""
    state = await budget.astate(key=key)
    return state.spent_usd, state.reserved_usd


async def run_all(model: Any) -> None:
    """Ask by each async verb."""
    await model.ainvoke("hi")
    assert [chunk async for chunk in model.astream("hi")]
    await model.abatch(["hi", "hi"])


async def test_a_server_that_bills_more_than_the_estimate_passes_the_limit_at_the_beginning_only() -> None:
    """What the first answer was billed corrects what the next ones reserve, however many ask at once."""
    usage: UsageMetadata = {"input_tokens": 100, "output_tokens": 1, "total_tokens": 101}
    budget = Budget(tokens=2000)
    model = scripted(*[Turn(text="y", usage=usage)] * 61, longest=1, budget=budget)
    await model.ainvoke("x")
    outcomes = await model.abatch(["x"] * 60, return_exceptions=True)
    assert sum(isinstance(one, BudgetExceeded) for one in outcomes) == 42
    assert (await budget.astate()).spent_tokens == 19 * 101


async def test_each_call_is_booked_at_what_it_cost(place: Place) -> None:
    budget = place.open("1", tokens=10_000)
    await run_all(scripted(*[ANSWER] * 4, budget=budget))
    state = await budget.astate()
    assert (state.spent_usd, state.spent_tokens, state.reserved_usd, state.reserved_tokens) == (4 * COST, 120, 0, 0)


def test_sync_calls_are_booked_too(place: Place) -> None:
    """In their own thread, without an event loop."""
    budget = place.open("1", tokens=10_000)
    model = scripted(*[ANSWER] * 4, budget=budget)
    model.invoke("hi")
    assert list(model.stream("hi"))
    model.batch(["hi", "hi"])
    assert spent(budget) == (4 * COST, 0)


async def test_what_does_not_fit_is_not_sent(place: Place) -> None:
    """Although what is spent would leave room for a short answer: an answer may be long."""
    budget = place.open("0.0001")
    model = scripted(*[ANSWER] * 2, budget=budget, longest=40)
    await model.ainvoke("hi")
    with pytest.raises(BudgetExceeded) as caught:
        await model.ainvoke("hi")
    assert len(model.requests) == 1
    error = caught.value
    assert (error.limit, error.spent, error.reserved) == (Decimal("0.0001"), COST, 0)
    assert error.wanted > Decimal("0.00008")
    assert await aspent(budget) == (COST, 0)


async def test_a_refusal_is_not_tried_again() -> None:
    model = scripted(ANSWER, budget=Budget("0.00001"), retry=RetryPolicy(max_attempts=3, also=(Exception,)))
    with pytest.raises(BudgetExceeded):
        await model.ainvoke("hi")
    assert model.requests == []


async def test_every_attempt_reserves() -> None:
    """What is tried again is billed again; what was refused unworked costs nothing."""
    budget = Budget("1")
    broken = ConnectionFailed("broke", retryable=True)
    refused = ProviderUnavailable("down", status=503, retryable=True)
    model = scripted(broken, refused, ANSWER, budget=budget, retry=RetryPolicy(max_attempts=3, first_pause=0))
    await model.ainvoke("hi")
    total, reserved = spent(budget)
    assert COST < total < 2 * COST  # the prompt of the first attempt
    assert reserved == 0


async def test_a_budget_that_ends_between_attempts_ends_the_call() -> None:
    budget = Budget("0.00007")
    model = scripted(
        Turn(text=["many", "more"], usage=USAGE, error=ConnectionFailed("broke", retryable=True), error_after=1),
        ANSWER,
        budget=budget,
        longest=30,
        retry=RetryPolicy(max_attempts=3, first_pause=0),
    )
    with pytest.raises(BudgetExceeded):
        await model.ainvoke("hi")
    assert len(model.requests) == 1


async def test_an_answer_from_the_cache_costs_nothing() -> None:
    budget = Budget("1")
    model = scripted(ANSWER, budget=budget, cache=InMemoryCache())
    await model.abatch(["hi", "hi"])
    await model.ainvoke("hi")
    assert spent(budget) == (COST, 0)


async def test_of_several_budgets_all_hold() -> None:
    """And one that refuses leaves nothing held in the others."""
    large, small = Budget("1"), Budget(tokens=50)
    model = scripted(*[ANSWER] * 2, budget=[large, small])
    await model.ainvoke("hi")
    with pytest.raises(BudgetExceeded, match="50 tokens"):
        await model.ainvoke("hi")
    assert spent(large) == (COST, 0)
    assert small.state().spent_tokens == 30
    assert small.state().reserved_tokens == 0


async def test_each_tenant_has_its_own(place: Place) -> None:
    """The call's metadata says whose, over the model's."""
    budget = place.open("0.0001", by="tenant")
    model = scripted(*[ANSWER] * 4, budget=budget, longest=30, metadata={"tenant": "ada"})
    await model.ainvoke("hi")
    with pytest.raises(BudgetExceeded, match=r"\(tenant 'ada'\)"):
        await model.ainvoke("hi")
    await model.ainvoke("hi", {"metadata": {"tenant": "grace"}})
    await model.with_config({"metadata": {"tenant": 7}}).ainvoke("hi")
    assert [(await aspent(budget, key))[0] for key in ("ada", "grace", "7")] == [COST] * 3


async def test_a_call_that_is_nobodys_is_refused() -> None:
    budget = Budget("1", by="tenant")
    model = scripted(ANSWER, budget=budget)
    with pytest.raises(InvalidInput, match="there is no 'tenant'"):
        await model.ainvoke("hi")
    with pytest.raises(InvalidInput, match=r"state\(\) is asked with key="):
        await budget.astate()
    assert model.requests == []


class TestUnpriceable:
    """What has no bound is refused before any request, unless the budget lets it pass."""

    @pytest.fixture(autouse=True)
    def price(self, priced: None) -> None:
        set_prices({MODEL: None})

    async def test_a_model_without_a_price(self) -> None:
        model = scripted(ANSWER, budget=Budget("1"))
        with pytest.raises(Unpriceable, match=rf"set_prices\({{'{MODEL}:{MODEL}': Price") as caught:
            await model.ainvoke("hi")
        assert caught.value.model == MODEL
        assert model.requests == []

    @pytest.mark.parametrize("is_installed", [True, False])
    async def test_the_tables_of_prices_are_advised_where_they_are_not_installed(
        self, is_installed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(packaged, "is_missing", lambda: not is_installed)
        model = scripted(ANSWER, budget=Budget("1"))
        with pytest.raises(Unpriceable) as refused:
            await model.ainvoke("hi")
        with pytest.raises(InvalidInput) as served:
            openai_app({"m": model})
        for error in (refused.value, served.value):
            assert ("hocket[prices]" in str(error)) is not is_installed and "set_prices({" in str(error)

    async def test_an_answer_of_any_length(self) -> None:
        set_prices({MODEL: Price(1, 2)})
        for budget in (Budget("1"), Budget(tokens=1000)):
            model = scripted(ANSWER, budget=budget, longest=None)
            with pytest.raises(Unpriceable, match="give the model max_tokens="):
                await model.ainvoke("hi")
            assert model.requests == []
            await model.ainvoke("hi", max_tokens=25)

    async def test_a_budget_in_tokens_needs_no_price(self) -> None:
        budget = Budget(tokens=1000)
        await scripted(ANSWER, budget=budget).ainvoke("hi")
        assert budget.state().spent_tokens == 30

    async def test_a_free_answer_may_be_of_any_length(self) -> None:
        set_prices({MODEL: Price(0, 0)})
        budget = Budget("1")
        await scripted(ANSWER, budget=budget, longest=None).ainvoke("hi")
        assert spent(budget) == (0, 0)

    async def test_what_is_let_pass_counts_as_nothing_until_it_is_known(self) -> None:
        budget = Budget("1", tokens=1000, unpriced="ignore")
        await scripted(ANSWER, budget=budget, longest=None).ainvoke("hi")
        assert (budget.state().spent_usd, budget.state().spent_tokens) == (0, 30)
        set_prices({MODEL: Price(1, 2)})
        await scripted(ANSWER, budget=budget, longest=None).ainvoke("hi")
        assert (budget.state().spent_usd, budget.state().spent_tokens) == (COST, 60)


class TestEnds:
    """However an attempt ends, nothing stays held."""

    async def test_an_answer_that_says_nothing_of_its_usage_is_booked_at_its_bound(self) -> None:
        budget = Budget("1")
        await scripted("yes", budget=budget).ainvoke("hi")
        total, reserved = spent(budget)
        assert total >= Decimal("0.00004")
        assert reserved == 0

    async def test_a_request_that_was_refused_costs_nothing(self) -> None:
        budget = Budget("1")
        with pytest.raises(RateLimitError):
            await scripted(RateLimitError("slow down", status=429), budget=budget).ainvoke("hi")
        assert spent(budget) == (0, 0)

    async def test_a_stream_that_breaks_costs_what_came(self) -> None:
        budget = Budget("1")
        broken = Turn(text=["twelve letters " * 4, "never"], error=ConnectionFailed("broke"), error_after=1)
        with pytest.raises(ConnectionFailed):
            async for _ in scripted(broken, budget=budget, longest=1000).astream("hi"):
                pass
        total, reserved = spent(budget)
        assert Decimal("0.00003") < total < Decimal("0.0001")
        assert reserved == 0

    async def test_a_stream_that_is_left_costs_what_came(self) -> None:
        budget = Budget("1")
        stream = scripted(Turn(text=["a", "b", "c"], pause=60), budget=budget).astream("hi")
        async for _ in stream:
            break
        assert spent(budget)[1] > 0
        await stream.aclose()
        total, reserved = spent(budget)
        assert 0 < total < COST
        assert reserved == 0

    async def test_a_cancelled_call_costs_its_prompt(self, place: Place) -> None:
        budget = place.open("1")
        with anyio.CancelScope() as scope:

            class Struck(ScriptedChatModel):
                async def _astream(self, *args: Any, **options: Any) -> Any:
                    scope.cancel()  # it has been sent
                    async for chunk in super()._astream(*args, **options):
                        yield chunk

            profile: Any = {"max_output_tokens": 20}
            await Struck(script=[Turn(text="late", delay=60)], profile=profile, budget=budget).ainvoke("hi")
        assert scope.cancelled_caught
        total, reserved = await aspent(budget)
        assert 0 < total < COST
        assert reserved == 0

    async def test_a_hook_that_fails_leaves_nothing_held(self) -> None:
        def fail(messages: Any, **options: Any) -> ChatResult:
            raise ZeroDivisionError

        budget = Budget(tokens=1000, unpriced="ignore")
        model = hook_model(fail, "generate", budget=budget)
        with pytest.raises(ZeroDivisionError):
            model.invoke("hi")
        assert budget.state().reserved_tokens == 0

    async def test_text_models_too(self) -> None:
        budget = Budget(tokens=1000, unpriced="ignore")
        await hook_llm("yes", budget=budget).ainvoke("hi")
        assert budget.state().spent_tokens > 0
        assert budget.state().reserved_tokens == 0


class TestBlocks:
    """`spending`: a budget for all that is done inside."""

    async def test_all_models_inside_count(self) -> None:
        with spending("1", tokens=1000) as inside:
            await run_all(scripted(*[ANSWER] * 4))
            await scripted(ANSWER).ainvoke("hi")
        await scripted(ANSWER).ainvoke("hi")
        assert (inside.usd, inside.tokens) == (5 * COST, 150)
        assert repr(inside) == "Spent(usd=0.00025, tokens=150)"

    def test_in_sync_code_and_threads(self) -> None:
        with spending("1") as inside:
            model = scripted(*[ANSWER] * 6)
            model.batch(["hi"] * 3)
            RunnableLambda(lambda text: model.invoke(text)).batch(["hi"] * 3)
        assert inside.usd == 6 * COST

    async def test_in_tasks_chains_and_callables(self) -> None:
        model = scripted(*[ANSWER] * 4)
        with spending("1") as inside:
            async with anyio.create_task_group() as group:
                group.start_soon(model.ainvoke, "hi")
                group.start_soon((RunnableLambda(str) | model).ainvoke, "hi")
            await anyio.to_thread.run_sync(model.invoke, "hi")
            await RunnableLambda(lambda text: model.invoke(text)).ainvoke("hi")
        assert inside.usd == 4 * COST

    async def test_of_nested_blocks_all_hold_and_so_does_the_models_own(self) -> None:
        own = Budget("1")
        model = scripted(*[ANSWER] * 4, budget=own)
        with spending("1") as outer:
            await model.ainvoke("hi")
            with spending("0.00009") as inner:
                await model.ainvoke("hi")
                with pytest.raises(BudgetExceeded, match=r"'spending' is 0\.00009 USD"):
                    await model.ainvoke("hi")
            await model.ainvoke("hi")
        assert (outer.usd, inner.usd, own.state().spent_usd) == (3 * COST, COST, 3 * COST)
        assert own.state().reserved_usd == 0

    async def test_blocks_at_once_are_their_own(self) -> None:
        totals: list[Decimal] = []

        async def work(calls: int) -> None:
            with spending("1") as inside:
                for _ in range(calls):
                    await scripted(ANSWER).ainvoke("hi")
                    await anyio.lowlevel.checkpoint()
                totals.append(inside.usd)

        async with anyio.create_task_group() as group:
            for calls in (1, 2, 3):
                group.start_soon(work, calls)
        assert sorted(totals) == [COST, 2 * COST, 3 * COST]

    async def test_a_stream_begun_inside_is_counted_to_its_end(self) -> None:
        with spending("1") as inside:
            stream = scripted(ANSWER).astream("hi")
            await anext(stream)
        assert [chunk async for chunk in stream]
        assert inside.usd == COST

    async def test_a_block_ends_with_an_error_too(self) -> None:
        with pytest.raises(ZeroDivisionError), spending("0.00000001"):
            raise ZeroDivisionError
        await scripted(ANSWER).ainvoke("hi")

    async def test_a_block_in_a_generator_that_ends_elsewhere(self) -> None:
        """In another context than it began in: nothing is raised, and nothing is left in either."""

        async def pieces() -> Any:
            with spending("0.00000001"):
                yield 1

        generator = pieces()

        async def begin() -> None:
            await anext(generator)

        async with anyio.create_task_group() as group:
            group.start_soon(begin)
        await generator.aclose()
        await scripted(ANSWER).ainvoke("hi")

    async def test_a_bare_thread_has_no_block(self) -> None:
        """As the docstring says; to run it in a copy of the context is the program's to do."""
        model = scripted(ANSWER)
        with spending("0.00000001"):
            thread = threading.Thread(target=model.invoke, args=("hi",))
            thread.start()
            thread.join()
        assert len(model.requests) == 1


class TestFields:
    """The field of a model."""

    @pytest.mark.parametrize("value", ["5", 5, True, [5], {}, object], ids=repr)
    def test_what_is_no_budget_is_refused(self, value: Any) -> None:
        with pytest.raises(ValueError, match="budget"):
            scripted(ANSWER, budget=value)

    async def test_it_may_be_changed_any_time(self) -> None:
        model = scripted(*[ANSWER] * 3, budget=Budget("0.00000001"))
        with pytest.raises(BudgetExceeded):
            await model.ainvoke("hi")
        budget = model.budget = Budget("1")
        await model.ainvoke("hi")
        model.budget = None
        await model.ainvoke("hi")
        assert spent(budget) == (COST, 0)

    async def test_copies_share_it(self) -> None:
        budget = Budget("1")
        model = scripted(*[ANSWER] * 4, budget=[budget])
        for copied in (model.model_copy(), model.model_copy(deep=True)):
            await copied.ainvoke("hi")
        assert spent(budget) == (2 * COST, 0)

    def test_a_pickle_takes_what_has_an_address_and_leaves_the_rest(self, tmp_path: Any) -> None:
        here, there = Budget("1"), Budget("2", store=f"sqlite:///{tmp_path}/budgets.db")
        model = PicklableModel(budget=there)
        assert repr(pickle.loads(pickle.dumps(model)).budget) == repr(there)
        for budgets, left in ((here, None), ([here, there], [repr(there)])):
            with pytest.warns(DroppedStateWarning, match="leaves its budget behind"):
                arrived = pickle.loads(pickle.dumps(PicklableModel(budget=budgets)))
            assert arrived.budget is None if left is None else [repr(one) for one in arrived.budget] == left


class PicklableModel(type(hook_model("yes"))):  # type: ignore[misc]
    """A model at the top of a module."""


class TestAgents:
    """A run of an agent ends where its budget does, with all that it has done so far, and the reason."""

    CALL: ClassVar[Any] = {"name": "add", "args": {"a": 1, "b": 2}, "id": "1"}

    def make_agent(self, *, usd: str = "0.0002", **options: Any) -> Any:
        def add(a: int, b: int) -> int:
            """Add."""
            return a + b

        turn = AIMessage("", tool_calls=[self.CALL], usage_metadata=USAGE)
        model = scripted(turn, AIMessage("3", usage_metadata=USAGE), budget=Budget(usd))
        return create_agent(model, [add], **options)

    @pytest.mark.parametrize("at_limit", ["answer", "stop"])
    async def test_it_stops(self, at_limit: Any) -> None:
        result = await self.make_agent(at_limit=at_limit).ainvoke("What is 1 + 2?")
        assert result.stop == "budget"
        assert [message.type for message in result.messages] == ["human", "ai", "tool"]
        assert result.usage["total_tokens"] == 30

    async def test_it_raises_where_it_is_told_to(self) -> None:
        with pytest.raises(LimitReached, match="budget") as caught:
            await self.make_agent(at_limit="raise").ainvoke("What is 1 + 2?")
        assert caught.value.limit == "budget"
        assert isinstance(caught.value.__context__, BudgetExceeded)

    async def test_it_stops_before_its_first_call(self) -> None:
        result = await self.make_agent(usd="0.00001").ainvoke("What is 1 + 2?")
        assert (result.stop, [message.text for message in result.messages]) == ("budget", ["What is 1 + 2?"])

    async def test_a_last_answer_that_does_not_fit_is_left_out(self) -> None:
        limits = AgentLimits(model_calls=1)
        result = await self.make_agent(limits=limits, at_limit="answer").ainvoke("What is 1 + 2?")
        assert result.stop in ("model_calls", "budget")

    async def test_in_a_block(self) -> None:
        with spending("0.0002") as inside:
            result = await self.make_agent(usd="1").ainvoke("What is 1 + 2?")
        assert (result.stop, inside.usd) == ("budget", COST)


async def test_a_hundred_calls_at_once_never_bill_more_than_a_dollar() -> None:
    """By the meter of a server: whole answers, streams, and streams that are left."""
    set_prices({"test-model": Price(1000, 1000)})  # a tenth of a cent a token
    budget = Budget("1")
    refused: list[BudgetExceeded] = []
    async with serve(OpenAIFormat(), lambda request: Reply("one two three four five six")) as server:
        async with ChatOpenAI(
            model="test-model", base_url=server.url, api_key="k", max_tokens=10, budget=budget
        ) as model:

            async def ask(number: int) -> None:
                try:
                    if number % 3 == 0:
                        await model.ainvoke("hi")
                        return
                    async with model.astream("hi") as stream:
                        async for _ in stream:
                            if number % 3 == 1:
                                break
                except BudgetExceeded as error:
                    refused.append(error)

            async with anyio.create_task_group() as group:
                for number in range(100):
                    group.start_soon(ask, number)
        assert 0 < server.tokens_billed <= 1000
        assert refused
        total, reserved = spent(budget)
        assert (total <= 1, reserved) == (True, 0)
        assert total * 1000 >= server.tokens_billed
    set_prices({"test-model": None})


async def test_a_store_that_is_down_lets_nothing_be_sent() -> None:
    model = scripted(ANSWER, budget=Budget("1", store="redis://127.0.0.1:1/0"))
    with pytest.raises(BudgetStoreFailed, match="nothing is sent"):
        await model.ainvoke("hi")
    assert model.requests == []
