"""What threads share: models and what is given to them, messages, and what is kept of the whole process.

Each test has eight threads begin at once. On a free-threaded Python they run beside one another, and what only the GIL
held together falls apart there.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import trio

from hocket import (
    AIMessage,
    AIMessageChunk,
    BaseCallbackHandler,
    BaseChatModel,
    Budget,
    ChatGeneration,
    ChatPromptTemplate,
    HumanMessage,
    InMemoryCache,
    Price,
    SystemMessage,
    UsageMetadataCallbackHandler,
    price_of,
    set_prices,
    tool,
)
from hocket._metering import ambient
from hocket._pipeline import cache_key
from hocket._runtime.stream import Stream, finish_streams
from hocket._secrets import known_secrets, remember_secret
from hocket.agents.limits import RunUsage
from hocket.callbacks import run_listeners
from hocket.callbacks.events import _note
from hocket.callbacks.run_listeners import register_configure_hook, register_handler, unregister_handler
from hocket.ledger import SQLiteLedger
from hocket.messages.base import copy_message, copy_with_id
from hocket.outputs import ChatResult, LLMResult
from hocket.prices import lookup
from hocket.rate_limiters import RateLimiter
from hocket.retries import retry_budget
from hocket.routing import ChatCascade, ChatRouter
from hocket.routing.hedging import HedgeTimer
from hocket.stores import InMemoryStore
from hocket.tools.arguments import InferredArguments
from tests.kit import HookCall, hook_model
from tests.kit.threads import THREADS, race

ROUNDS = 50


def run_on(number: int, verb: Callable[[], Any]) -> Any:
    """Await a verb on a loop of this thread's own: trio's in every fourth, else asyncio's."""
    return trio.run(verb) if number % 4 == 3 else asyncio.run(verb())


def answer(call: HookCall) -> AIMessage:
    usage = {"input_tokens": 2, "output_tokens": 1, "total_tokens": 3}
    return AIMessage(f"to {call.text}", usage_metadata=usage, response_metadata={"model_name": "m"})


def test_one_model_with_all_that_it_may_have(tmp_path: Path) -> None:
    """A cache, a limiter, a budget, a ledger and a handler, called from sync code and from loops: every count is right."""
    usage = UsageMetadataCallbackHandler()
    ledger, budget = SQLiteLedger(str(tmp_path / "ledger.db")), Budget(tokens=10**9, unpriced="ignore")
    limiter, cache = RateLimiter(requests_per_minute=10**9, burst=10**6), InMemoryCache()
    model = hook_model(
        answer,
        "agenerate",
        "generate",
        cache=cache,
        rate_limiter=limiter,
        budget=budget,
        ledger=ledger,
        callbacks=[usage],
        max_in_flight=3,
    )

    def work(number: int) -> None:
        for place in range(ROUNDS // 5):
            question = f"{number // 2} {place}"
            if number % 2:
                reply = run_on(number, lambda question=question: model.ainvoke(question))
            else:
                reply = model.invoke(question)
            assert reply.text == f"to {question}"

    race(work)
    paid, asked = len(model.requests), THREADS * (ROUNDS // 5)
    assert asked / 2 <= paid <= asked
    assert len(cache) == asked / 2
    assert budget.state().spent_tokens == 3 * paid
    assert budget.state().reserved_tokens == 0
    assert usage.usage_metadata["m"]["total_tokens"] == 3 * paid
    assert limiter.state().in_flight == 0
    ledger.flush()
    [total] = ledger.total()
    assert (total.calls, total.cached, total.input_tokens) == (asked, asked - paid, 2 * paid)
    ledger.close()


LOOKS: list[Callable[[Any], object]] = [
    lambda message: message.model_fields_set,
    lambda message: message.__pydantic_extra__,
    lambda message: message == HumanMessage("a"),
    lambda message: message.model_copy(),
    lambda message: message.model_dump(),
    copy_message,
    lambda message: copy_with_id(message, "1"),
    repr,
]


@pytest.mark.parametrize("make", [HumanMessage, SystemMessage, AIMessage, AIMessageChunk])
def test_a_message_that_is_looked_at_first(make: Callable[[str], Any]) -> None:
    """In whatever way the others look, each finds it whole, and all find the same lists and mappings."""
    messages = [make("a") for _ in range(ROUNDS)]

    def look(number: int) -> list[int]:
        for place, message in enumerate(messages):
            LOOKS[(number + place) % THREADS](message)
        return [id(message.additional_kwargs) for message in messages]

    first, *others = race(look)
    assert all(other == first for other in others)


def test_a_sum_of_chunks_and_results_that_are_looked_at_first() -> None:
    """A sum is folded when it is read, a result filled in when it is looked at: by any of them, and alike."""
    chunks = [AIMessageChunk("a") + AIMessageChunk("b") + AIMessageChunk("c", id="1") for _ in range(ROUNDS)]
    results = [ChatResult(generations=[ChatGeneration(message=AIMessage("abc"))]) for _ in range(ROUNDS)]

    def look(number: int) -> list[object]:
        texts = [chunk.text if (number + place) % 2 else chunk.content for place, chunk in enumerate(chunks)]
        told = [repr(result) if number % 2 else str(result.llm_output) for result in results]
        assert len(told) == ROUNDS
        return [*texts, *(chunk.tool_calls for chunk in chunks), *(one.generations[0].text for one in results)]

    assert race(look) == [["abc"] * ROUNDS + [[]] * ROUNDS + ["abc"] * ROUNDS] * THREADS


def test_tools_and_templates_that_are_used_first() -> None:
    """A schema is made, an argument read and a template parsed once, or twice and alike."""

    def work(number: int) -> object:
        found = [one.invoke({"place": place, "name": "a"}) for place, one in enumerate(tools)]
        texts = [prompt.invoke({"x": f"[{number}]"}).to_string() for prompt in prompts]
        return found, [one.args for one in tools], [text.replace(f"[{number}]", "x") for text in texts]

    for turn in range(5):

        def join(place: int, name: str = "b") -> str:
            """Join."""
            return f"{place} {name}"

        tools = [tool(join) for _ in range(5)]
        forms = (("f-string", "{x}"), ("jinja2", "{{ x }}"), ("mustache", "{{x}}"))
        prompts = [
            ChatPromptTemplate.from_messages([("human", f"turn {turn} {text}")], template_format=cast(Any, form))
            for form, text in forms
        ]
        first, *others = race(work)
        assert all(other == first for other in others)


def test_a_function_that_is_made_a_tool_in_all() -> None:
    """Has one schema: two classes of one name are not equal."""

    def make(number: int) -> list[type[InferredArguments]]:
        return [cast(type[InferredArguments], tool(function).args_schema) for function in functions]

    def add(a: int) -> int:
        """Add."""
        return a

    functions = [type(add)(add.__code__, {}, "add") for _ in range(ROUNDS)]
    for function in functions:
        function.__annotations__, function.__doc__ = {"a": int}, "Add."
    for schemas in zip(*race(make), strict=True):
        assert len(set(schemas)) == 1


def test_an_object_that_only_this_process_knows_has_one_mark() -> None:
    """By which a cache finds the answers again of a model that has one."""
    for _ in range(ROUNDS):
        thing = InMemoryStore()
        assert len(set(race(lambda _: cache_key._mark(thing)))) == 1  # noqa: B023 - called in this round


def ask(model: BaseChatModel, number: int) -> str:
    return str(run_on(number, lambda: model.ainvoke("hi")).text if number % 2 else model.invoke("hi").text)


def test_a_router_that_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands once: two would not know of each other's failures, and it would tell of one of them."""
    make, made = ChatRouter._make_places, list[ChatRouter]()

    def make_slowly(router: ChatRouter) -> Any:
        made.append(router)
        time.sleep(0.01)  # for the others to come
        return make(router)

    monkeypatch.setattr(ChatRouter, "_make_places", make_slowly)
    sites = [hook_model(answer), hook_model(answer)]
    router = ChatRouter(deployments=sites)
    race(lambda number: [ask(router, number) for _ in range(20)])
    assert len(made) == 1
    assert sum(len(site.requests) for site in sites) == THREADS * 20
    assert [state.in_flight for state in router.state()] == [0, 0]


def test_a_cascade_that_is_asked_first() -> None:
    """Composes its members for whoever asks."""
    for _ in range(5):
        cascade = ChatCascade(models=[hook_model(answer), hook_model(answer)], accept=lambda message: False)
        assert race(partial(ask, cascade)) == ["to hi"] * THREADS


def test_counters_lose_nothing() -> None:
    """Failures of a handler, of a retry budget and of a run's models, attempts in flight, and hedges: each is counted."""
    handler, heard, timer = BaseCallbackHandler(), RunUsage(), HedgeTimer(0.01)
    reply = LLMResult(generations=[[ChatGeneration(message=AIMessage("a"))]])
    with retry_budget(10**9) as budget:

        def count(number: int) -> int:
            for _ in range(200):
                _note(handler, "on_llm_end", ValueError("no"))
                budget.count()
                heard.on_llm_end(reply)
                timer.note_call()
            return sum(timer.take() for _ in range(200))

        taken = sum(race(count))
        assert taken <= THREADS * 200 * 0.01
        assert budget._failed == THREADS * 200
    assert handler.errors == THREADS * 200  # type: ignore[attr-defined]
    assert (heard.heard, heard.unknown) == (THREADS * 200, THREADS * 200)
    assert timer._saved >= 0


def test_what_is_kept_of_the_process_is_read_while_it_is_written() -> None:
    """Secrets, sources, hooks, handlers, prices, stores and streams: no reader meets a thing that changes under it."""
    store, handler = InMemoryStore(), BaseCallbackHandler()
    before, sources = run_listeners._hooks, dict(ambient.sources)
    variables = [ContextVar(f"hook {number}", default=None) for number in range(THREADS)]

    async def produce(sink: Any) -> None:
        sink.put(1)

    async def read() -> None:
        assert [one async for one in Stream(produce)] == [1]
        await finish_streams(1)

    def work(number: int) -> None:
        register_configure_hook(variables[number])
        for place in range(ROUNDS):
            remember_secret(f"secret {number} {place}")
            assert isinstance(known_secrets(), tuple)
            source: Any = partial(tuple[Any, ...])
            ambient.add_source(source)
            ambient.find_reservers()
            del ambient.sources[source]
            register_handler(handler)
            run_listeners.ambient_handlers()
            unregister_handler(handler)
            store.mset([(f"{number} {place}", 1)])
            assert list(store.yield_keys(prefix=f"{number} "))
        for _ in range(5):
            run_on(number, read)

    try:
        race(work)
        assert {one.variable for one in run_listeners._hooks} >= {*variables}
        assert len(store.store) == THREADS * ROUNDS
        assert ambient.sources == sources
    finally:
        run_listeners._hooks = before


def test_a_price_that_is_looked_up_while_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is not kept for those who look afterwards."""

    class Meanwhile(frozenset[str]):
        def __contains__(self, maker: object) -> bool:  # asked when everything else has been looked at
            change.start()
            change.join(0.1)
            return super().__contains__(maker)

    change = threading.Thread(target=set_prices, args=({"test:changing": Price(2, 1)},))
    monkeypatch.setattr(lookup, "_UNBILLED", Meanwhile())
    try:
        assert price_of("test:changing") is None
        change.join()
        assert price_of("test:changing") == Price(2, 1)
    finally:
        set_prices({"test:changing": None})
