"""Equal calls in flight: one request, an answer for everybody, and whoever leaves leaves the others alone."""

import asyncio
import functools
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from hocket._pipeline import single_flight
from hocket.caches import InMemoryCache
from hocket.callbacks import UsageMetadataCallbackHandler
from hocket.errors import ProviderUnavailable
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk, add_usage
from hocket.rate_limiters import InMemoryRateLimiter
from hocket.testing import VirtualClock
from tests.kit import HookCall, hook_model

USAGE: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
PIECES = ["Hel", "lo ", "world"]


class Slow:
    """What a model does that streams in pieces, waiting before each to be told to go on; it notes how it ends."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.ends: list[str] = []
        self.go_on = anyio.Event()

    async def __call__(self, call: HookCall) -> AsyncIterator[AIMessageChunk]:
        try:
            for index, text in enumerate(PIECES):
                if index:
                    await self.go_on.wait()
                usage = USAGE if text == "world" else None
                facts = {"model_name": "slow"} if usage else {}
                yield AIMessageChunk(text, usage_metadata=usage, response_metadata=facts)
            if self.error is not None:
                raise self.error
            self.ends.append("done")
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.001)
            self.ends.append("cancelled")
            raise


def slow_model(error: BaseException | None = None, **fields: Any) -> Any:
    return hook_model(Slow(error), "astream", **fields)


async def rest() -> None:
    """Let everybody get as far as they can. (anyio's own `wait_all_tasks_blocked` takes 0.1 s on asyncio.)"""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


class Passenger:
    """One of many equal calls; some invoke, some stream."""

    def __init__(self, model: BaseChatModel, number: int, **config: Any) -> None:
        self.model = model
        self.streams = number % 2 == 1
        self.config: Any = config
        self.scope = anyio.CancelScope()
        self.answer: AIMessage | None = None
        self.error: BaseException | None = None
        self.pieces: list[str] = []

    async def __call__(self) -> None:
        with self.scope:
            try:
                await self.ask()
            except Exception as error:
                self.error = error

    async def ask(self) -> None:
        if self.streams:
            stream = self.model.astream("hi", self.config)
            async for chunk in stream:
                self.pieces.append(chunk.text)
            self.answer = stream.message
        else:
            self.answer = await self.model.ainvoke("hi", self.config)


class Cabin:
    """Passengers of one flight, each a task."""

    def __init__(self, model: Any, count: int, **config: Any) -> None:
        self.model = model
        self.passengers = [Passenger(model, number, **config) for number in range(count)]

    async def board(self, group: anyio.abc.TaskGroup) -> None:
        """Start them in order (trio starts tasks in any) and wait until all are aboard."""
        for passenger in self.passengers:
            group.start_soon(passenger)
            await rest()

    async def arrive(self) -> None:
        """Let them fly to the end."""
        async with anyio.create_task_group() as group:
            await self.board(group)
            self.model.do.go_on.set()


async def test_a_hundred_equal_calls_make_one_request() -> None:
    """Invoked and streamed alike, they all get the answer, and one of them is billed."""
    model = slow_model(cache=InMemoryCache())
    cabin = Cabin(model, 100)
    await cabin.arrive()
    assert (len(model.requests), model.do.ends) == (1, ["done"])
    answers = [passenger.answer for passenger in cabin.passengers]
    assert all(answer is not None and answer.content == "Hello world" for answer in answers)
    flags = [bool(answer.response_metadata.get("cache_hit")) for answer in answers if answer]
    assert flags.count(False) == 1
    assert len({answer.id for answer in answers if answer}) == 100
    assert all([p for p in one.pieces if p] == PIECES for one in cabin.passengers if one.streams)
    assert not single_flight._requests


async def test_the_answers_are_equal_and_not_shared() -> None:
    """Whoever edits his own edits nobody else's, nor what is stored."""
    model = slow_model(cache=InMemoryCache())
    cabin = Cabin(model, 6)
    await cabin.arrive()
    for passenger in cabin.passengers:
        assert passenger.answer is not None
        assert passenger.answer.response_metadata.pop("edited", None) is None
        assert passenger.answer.content == "Hello world"
        passenger.answer.content = "EDITED"
        passenger.answer.response_metadata["edited"] = True
        passenger.answer.usage_metadata["total_tokens"] = 99  # type: ignore[index]
    assert (await model.ainvoke("hi")).usage_metadata == {**USAGE, "total_cost": 0}


async def test_nobody_can_edit_the_chunks_that_others_get() -> None:
    """Each stream has its own."""
    model = slow_model(cache=InMemoryCache())
    model.do.go_on.set()
    streams = [model.astream("hi") for _ in range(3)]
    for _ in PIECES:
        for chunk in [await anext(stream) for stream in streams]:
            assert chunk.text in PIECES
            assert chunk.additional_kwargs == {}
            chunk.content = "EDITED"
            chunk.additional_kwargs["a"] = "EDITED"
    for stream in streams:
        [chunk async for chunk in stream]
        assert (stream.message.content, stream.message.additional_kwargs) == ("Hello world", {})


async def test_usage_is_counted_once_for_all() -> None:
    """As it was paid."""
    counter = UsageMetadataCallbackHandler()
    await Cabin(slow_model(cache=InMemoryCache(), callbacks=[counter]), 20).arrive()
    assert counter.usage_metadata == {"slow": USAGE}


class Reporting(Slow):
    """Says what it costs with its first piece."""

    async def __call__(self, call: HookCall) -> AsyncIterator[AIMessageChunk]:
        yield AIMessageChunk("Hel", usage_metadata=USAGE, response_metadata={"model_name": "slow"})
        await self.go_on.wait()
        if self.error is not None:
            raise self.error
        yield AIMessageChunk("lo")


class CountedCabin(Cabin):
    """Passengers of whom each has a handler of his own."""

    def __init__(self, model: Any, count: int) -> None:
        super().__init__(model, count)
        self.counters = [UsageMetadataCallbackHandler() for _ in self.passengers]
        for passenger, counter in zip(self.passengers, self.counters, strict=True):
            passenger.config = {"callbacks": [counter]}

    @property
    def booked(self) -> Any:
        """What all handlers have counted together."""
        return functools.reduce(add_usage, [counter.usage_metadata.get("slow") for counter in self.counters])


async def test_the_usage_of_a_failed_request_is_on_one_bill() -> None:
    """That of the first who hears of it; the others are told what had come, as something that another pays for."""
    model = hook_model(Reporting(ProviderUnavailable("no")), "astream", cache=InMemoryCache())
    cabin = CountedCabin(model, 6)
    await cabin.arrive()
    assert all(isinstance(passenger.error, ProviderUnavailable) for passenger in cabin.passengers)
    assert (len(model.requests), cabin.booked) == (1, USAGE)


@pytest.mark.parametrize("who", ["some", "all"])
async def test_the_usage_of_a_request_that_is_left_is_on_one_bill(who: str) -> None:
    """That of those who stay, else of the last who leaves; who leaves by himself, by a break, or is cancelled."""
    model = hook_model(Reporting(), "astream", cache=InMemoryCache())
    cabin = CountedCabin(model, 6)
    async with anyio.create_task_group() as group:
        await cabin.board(group)
        for passenger in cabin.passengers[: 6 if who == "all" else 4]:
            passenger.scope.cancel()
        await rest()
        model.do.go_on.set()
    assert [passenger.answer is not None for passenger in cabin.passengers] == [False] * 4 + [who == "some"] * 2
    assert (len(model.requests), cabin.booked) == (1, USAGE)


@pytest.mark.parametrize("leaders_too", [False, True], ids=["the leader stays", "the leader leaves"])
async def test_all_but_one_may_leave(leaders_too: bool) -> None:
    """The one who stays is not disturbed, whoever started the request."""
    model = slow_model(cache=InMemoryCache())
    cabin = Cabin(model, 100)
    stays = cabin.passengers[-1 if leaders_too else 0]
    async with anyio.create_task_group() as group:
        await cabin.board(group)
        for passenger in cabin.passengers:
            if passenger is not stays:
                passenger.scope.cancel()
        await rest()
        assert model.do.ends == []
        model.do.go_on.set()
    assert (len(model.requests), model.do.ends) == (1, ["done"])
    assert stays.answer is not None
    assert stays.answer.content == "Hello world"
    assert "cache_hit" not in stays.answer.response_metadata
    assert sum(passenger.answer is not None for passenger in cabin.passengers) == 1


async def test_when_all_have_left_the_request_is_cancelled() -> None:
    """Its clean-up has run when the last of them is gone, nothing is stored, and the next call asks anew."""
    model = slow_model(cache=InMemoryCache())
    cabin = Cabin(model, 20)
    async with anyio.create_task_group() as group:
        await cabin.board(group)
        group.cancel_scope.cancel()
    assert (len(model.requests), model.do.ends) == (1, ["cancelled"])
    assert not single_flight._requests
    model.do.go_on.set()
    assert (await model.ainvoke("hi")).content == "Hello world"
    assert len(model.requests) == 2


async def test_one_who_comes_when_all_have_left_starts_anew() -> None:
    """While the abandoned request is still cleaning up."""
    model = slow_model(cache=InMemoryCache())
    first, second = Passenger(model, 0), Passenger(model, 0)
    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await rest()
        first.scope.cancel()
        await anyio.lowlevel.checkpoint()
        group.start_soon(second)
        await rest()
        model.do.go_on.set()
    assert sorted(model.do.ends) == ["cancelled", "done"]
    assert second.answer is not None
    assert second.answer.content == "Hello world"


async def test_one_who_boards_late_misses_nothing() -> None:
    """All the pieces, from the first, and the answer."""
    model = slow_model(cache=InMemoryCache())
    early, late = Passenger(model, 0), Passenger(model, 1)
    async with anyio.create_task_group() as group:
        group.start_soon(early)
        await rest()
        group.start_soon(late)
        await rest()
        assert late.pieces == ["Hel"]
        model.do.go_on.set()
    assert [piece for piece in late.pieces if piece] == PIECES
    assert len(model.requests) == 1


async def test_a_slow_reader_holds_up_nobody() -> None:
    """The request runs at nobody's pace."""
    model = slow_model(cache=InMemoryCache())
    model.do.go_on.set()
    async with model.astream("hi") as lazy:
        await anext(lazy)
        with anyio.fail_after(30):
            assert (await model.ainvoke("hi")).content == "Hello world"
            assert [chunk.text async for chunk in model.astream("hi")]
        assert [chunk.text async for chunk in lazy if chunk.text] == PIECES[1:]
    assert len(model.requests) == 1


async def test_a_stream_that_is_left_leaves_the_others_alone() -> None:
    """Closing is no cancelling, as long as somebody is aboard."""
    model = slow_model(cache=InMemoryCache())
    stays = Passenger(model, 1)
    async with anyio.create_task_group() as group:
        stream = model.astream("hi")
        await anext(stream)
        group.start_soon(stays)
        await rest()
        await stream.aclose()
        assert model.do.ends == []
        model.do.go_on.set()
    assert stays.answer is not None
    assert stays.answer.content == "Hello world"
    assert "cache_hit" not in stays.answer.response_metadata


class Stop(BaseException):
    """Like KeyboardInterrupt: not an Exception."""


async def test_an_error_reaches_all_and_does_not_grow() -> None:
    """One exception, raised in each with a traceback of the same length; nothing is stored."""
    model = slow_model(ConnectionError("refused"), cache=InMemoryCache())
    cabin = Cabin(model, 100)
    depths = []

    async def arrive(passenger: Passenger) -> None:
        await passenger()
        assert passenger.error is not None
        depths.append(len(traceback.extract_tb(passenger.error.__traceback__)))

    async with anyio.create_task_group() as group:
        for passenger in cabin.passengers:
            group.start_soon(arrive, passenger)
        await rest()
        model.do.go_on.set()
    assert {repr(passenger.error) for passenger in cabin.passengers} == {"ConnectionError('refused')"}
    assert len(depths) == 100
    assert max(depths) < 30
    assert not single_flight._requests
    with pytest.raises(ConnectionError):
        await model.ainvoke("hi")
    assert len(model.requests) == 2


@pytest.mark.parametrize("error", [Stop("no"), KeyboardInterrupt(), SystemExit(3)])
async def test_what_is_no_exception_reaches_all_too(error: BaseException) -> None:
    """And stops no loop on its way."""
    model = slow_model(error, cache=InMemoryCache())
    model.do.go_on.set()
    caught: list[BaseException] = []

    async def ask() -> None:
        try:
            await model.ainvoke("hi")
        except BaseException as error:
            caught.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ask)
    assert caught == [error] * 5
    assert len(model.requests) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_out_of_nowhere_reaches_all_too() -> None:
    """Something inside the hook was cancelled: the callers hear of it, and nobody waits for ever."""
    model = slow_model(asyncio.CancelledError("stray"), cache=InMemoryCache())
    model.do.go_on.set()
    calls = [asyncio.ensure_future(model.ainvoke("hi")) for _ in range(5)]
    done = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 1)
    assert [type(one) for one in done] == [asyncio.CancelledError] * 5
    assert not single_flight._requests


async def test_every_run_ends_once_whoever_leaves(recorders: Callable[[], Any]) -> None:
    """Those who stay with their answer, those who leave with the cancellation; all hear the tokens of a hook that streams,
    whether they asked for a stream or not, and all but one that they shared."""
    model = slow_model(cache=InMemoryCache())
    cabin = Cabin(model, 10)
    handlers = [recorders() for _ in cabin.passengers]
    for passenger, handler in zip(cabin.passengers, handlers, strict=True):
        passenger.config = {"callbacks": [handler]}
    async with anyio.create_task_group() as group:
        await cabin.board(group)
        for passenger in cabin.passengers[:5]:
            passenger.scope.cancel()
        await rest()
        model.do.go_on.set()
    assert [handler.end for handler in handlers] == ["on_llm_error"] * 5 + ["on_llm_end"] * 5
    assert (
        sum([hit.details.get("shared") for hit in handler.named("on_cache_hit")] == [True] for handler in handlers) == 4
    )
    assert ["".join(handler.tokens) for handler in handlers] == ["Hel"] * 5 + ["Hello world"] * 5


async def test_what_the_hook_itself_tells_is_heard_by_those_who_asked_first(recorders: Callable[[], Any]) -> None:
    """It is given the run of the call that started the request."""

    async def tell(call: HookCall) -> str:
        await call.run_manager.on_llm_new_token("from the hook")
        return "yes"

    first, second = recorders(), recorders()
    model = hook_model(tell, cache=InMemoryCache())
    async with anyio.create_task_group() as group:
        group.start_soon(Passenger(model, 0, callbacks=[first]))
        await anyio.lowlevel.checkpoint()
        group.start_soon(Passenger(model, 0, callbacks=[second]))
    assert sorted([first.tokens, second.tokens]) == [[], ["from the hook"]]


async def test_all_hear_of_the_wait_for_the_limiter(recorders: Callable[[], Any], virtual_clock: VirtualClock) -> None:
    """It happened to the request that they share."""
    limiter = InMemoryRateLimiter(requests_per_second=0.5)
    model = slow_model(cache=InMemoryCache(), rate_limiter=limiter)
    model.do.go_on.set()
    handlers = [recorders() for _ in range(4)]
    async with anyio.create_task_group() as group:
        for number, handler in enumerate(handlers):
            group.start_soon(Passenger(model, number, callbacks=[handler]))
    assert [handler.firsts("on_limiter_wait") for handler in handlers] == [[2.0]] * 4
    assert virtual_clock.now() == 2


async def test_without_a_cache_nothing_is_shared() -> None:
    """Nor with caches of two models, nor of different questions."""
    plain = slow_model()
    await Cabin(plain, 5).arrive()
    assert len(plain.requests) == 5
    first, second = slow_model(cache=InMemoryCache()), slow_model(cache=InMemoryCache())
    async with anyio.create_task_group() as group:
        for model in (first, second):
            group.start_soon(model.ainvoke, "hi")
            group.start_soon(model.ainvoke, "ho")
        await rest()
        first.do.go_on.set()
        second.do.go_on.set()
    assert (len(first.requests), len(second.requests)) == (2, 2)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_asks_itself_its_own_question(stream: bool) -> None:
    """It is asked anew, for it would wait for its own answer for ever."""
    asked: list[str] = []

    async def ask_again(call: HookCall) -> str:
        asked.append(call.input)
        return "in" if len(asked) > 1 else f"out of {(await model.ainvoke('q')).text}"

    model: Any = hook_model(ask_again, "agenerate", cache=InMemoryCache())
    with anyio.fail_after(10):
        answer = "".join([chunk.text async for chunk in model.astream("q")]) if stream else await model.ainvoke("q")
    assert (answer if stream else answer.text) == "out of in"
    assert len(asked) == 2
