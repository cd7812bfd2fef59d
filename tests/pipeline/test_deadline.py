"""Limits on time: each strikes when it should, as its own error with what had come, and none where it should not."""

import contextlib
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import ValidationError

from hocket._pipeline.attempts import with_attempt_deadlines
from hocket._pipeline.observe import with_total_deadline
from hocket._runtime import clock
from hocket._runtime.mode import ASYNC
from hocket.caches import InMemoryCache
from hocket.errors import (
    FirstTokenTimeout,
    IdleTimeout,
    InvalidInput,
    ProviderUnavailable,
    RequestTimeout,
    TotalTimeout,
)
from hocket.language_models import ScriptedChatModel, Turn
from hocket.load import dumps, loads
from hocket.messages import AIMessage
from hocket.rate_limiters import InMemoryRateLimiter
from hocket.timeouts import Timeout, connect_limit
from tests.kit import AsyncRecorder, HookCall, Recorder, hook_llm, hook_model

LETTERS = list("abcdefghij")
FOREVER = 1e6

Clock = Any


def scripted(*turns: Turn | str, **fields: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=turns, **fields)


def text_model(delay: float, pause: float) -> Any:
    """Make a text model that says a letter, pauses, says the next."""

    async def say(call: HookCall) -> AsyncIterator[str]:
        for index, letter in enumerate(LETTERS):
            await clock.current().sleep(pause if index else delay)
            yield letter

    return hook_llm(say, "astream")


async def heard(stream: Any) -> str:
    return "".join([piece if isinstance(piece, str) else piece.content async for piece in stream])


# -- which limit strikes when

STRIKES: list[Any] = [
    # the limits, the model's pauses (before the first letter, before each other), the error, when, how much had come
    pytest.param(Timeout(first_token=2), (3, 0), FirstTokenTimeout, 2, 0, id="silent at first"),
    pytest.param(Timeout(first_token=2, idle=9), (3, 0), FirstTokenTimeout, 2, 0, id="silent at first, idle longer"),
    pytest.param(Timeout(idle=2), (0, 3), IdleTimeout, 2, 1, id="silent after the first"),
    pytest.param(Timeout(first_token=2, idle=1.5), (1, 2), IdleTimeout, 2.5, 1, id="the first in time"),
    pytest.param(Timeout(total=5), (0, 2), TotalTimeout, 5, 3, id="a long trickle"),
    pytest.param(Timeout(first_token=2, idle=2, total=5), (1.5, 1.5), TotalTimeout, 5, 3, id="each pause in time"),
    pytest.param(Timeout(total=5), (6, 0), TotalTimeout, 5, 0, id="nothing at all"),
    pytest.param(Timeout(first_token=9, total=5), (FOREVER, 0), TotalTimeout, 5, 0, id="total before first"),
]
HOLDS: list[Any] = [
    pytest.param(Timeout(first_token=2, idle=2, total=25), (1.9, 1.9), id="all in time"),
    pytest.param(Timeout(first_token=1), (0.5, 3), id="only the first matters"),
    pytest.param(Timeout(idle=1), (5, 0.5), id="only the others matter"),
    pytest.param(Timeout(connect=1), (5, 5), id="no connection, no limit on it"),
    pytest.param(None, (500, 500), id="no limits"),
]
as_chat = pytest.param(lambda delay, pause: scripted(Turn(text=LETTERS, delay=delay, pause=pause)), id="chat")
as_text = pytest.param(text_model, id="text")
each_kind = pytest.mark.parametrize("make", [as_chat, as_text])


@each_kind
@pytest.mark.parametrize(("limits", "pauses", "error", "at", "letters"), STRIKES)
async def test_a_stream_is_cut_off(
    make: Any, limits: Timeout, pauses: Any, error: type[RequestTimeout], at: float, letters: int, virtual_clock: Clock
) -> None:
    """On time, with its own error, which carries and says what had come, and is what the handlers are told."""
    model, pieces = make(*pauses), []
    with pytest.raises(RequestTimeout) as caught:
        async for piece in model.astream("hi", timeout=limits):
            pieces.append(piece if isinstance(piece, str) else piece.content)
    assert type(caught.value) is error
    assert virtual_clock.now() == pytest.approx(at)
    partial = getattr(caught.value.partial, "content", caught.value.partial)
    assert "".join(pieces) == (partial or "") == "".join(LETTERS[:letters])
    assert caught.value.retryable is (error is not TotalTimeout)
    says = {0: "nothing had come", 1: "1 chunk had come, 1 characters", 3: "3 chunks had come, 3 characters"}
    assert says[letters] in str(caught.value)


@each_kind
@pytest.mark.parametrize(("limits", "pauses"), HOLDS)
async def test_a_stream_is_left_alone(make: Any, limits: Any, pauses: Any, virtual_clock: Clock) -> None:
    assert await heard(make(*pauses).astream("hi", timeout=limits)) == "".join(LETTERS)


@each_kind
async def test_a_whole_answer_has_a_total_only(make: Any, virtual_clock: Clock) -> None:
    answer = await make(5, 5).ainvoke("hi", timeout=Timeout(first_token=1, idle=1, total=100))
    assert getattr(answer, "content", answer) == "".join(LETTERS)
    with pytest.raises(TotalTimeout, match=r"longer than 7 s in all .*Timeout\(total=\.\.\.\)"):
        await make(5, 5).ainvoke("hi", timeout=7)


async def test_what_a_handler_is_told_of_it(recorder: Any, virtual_clock: Clock) -> None:
    model = scripted(Turn(text=LETTERS, pause=2), callbacks=[recorder], timeout=5)
    with pytest.raises(TotalTimeout) as caught:
        await model.ainvoke("hi", stream=True)
    assert recorder.end == "on_llm_error"
    _, (error,), details = recorder.events[-1]
    assert error is caught.value
    assert details["response"].generations[0][0].text == "abc"


# -- where limits come from


async def test_a_call_says_otherwise(virtual_clock: Clock) -> None:
    """A number is a total; what is left out is the model's; None is no limit."""
    model = scripted(*[Turn(text=LETTERS, delay=3, pause=3)] * 6, timeout=Timeout(first_token=2, total=50))
    with pytest.raises(FirstTokenTimeout):
        await heard(model.astream("hi", timeout=100))
    with pytest.raises(TotalTimeout, match="longer than 8 s"):
        await heard(model.astream("hi", timeout=Timeout(first_token=None, total=8)))
    with pytest.raises(IdleTimeout):
        await heard(model.bind(timeout=Timeout(first_token=None, idle=1)).astream("hi"))
    assert await heard(model.astream("hi", timeout=None)) == "".join(LETTERS)
    assert (await model.ainvoke("hi", timeout=None)).content == "".join(LETTERS)
    model.timeout = 4  # type: ignore[assignment]
    with pytest.raises(TotalTimeout, match="longer than 4 s"):
        await model.ainvoke("hi")


async def test_the_hook_hears_nothing_of_it(virtual_clock: Clock) -> None:
    model = scripted("ok", "ok", cache=InMemoryCache())
    for limits in (3, Timeout(idle=4)):
        await model.ainvoke("hi", timeout=limits)
    assert [request.params for request in model.requests] == [{}]


async def test_each_item_of_a_batch_has_its_own(virtual_clock: Clock) -> None:
    model = scripted(*[Turn(text="ok", delay=4)] * 3)
    answers = await model.abatch(["a", "b", "c"], {"max_concurrency": 1}, timeout=5)
    assert [answer.content for answer in answers] == ["ok"] * 3
    assert virtual_clock.now() == 12

    model = scripted(Turn(text="ok", delay=4), Turn(text="late", delay=6), Turn(text="ok", delay=4))
    outcomes = await model.abatch(["a", "b", "c"], {"max_concurrency": 1}, timeout=5, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [AIMessage, TotalTimeout, AIMessage]


async def test_each_conversation_of_several_has_its_own(recorder: Any, virtual_clock: Clock) -> None:
    model = scripted(Turn(text="ok", delay=4), Turn(text="late", delay=6), callbacks=[recorder])
    with pytest.raises(TotalTimeout):
        await model.agenerate([model._to_messages("a"), model._to_messages("b")], timeout=5)
    assert sorted(end for (end,) in recorder.ends().values()) == ["on_llm_end", "on_llm_error"]


# -- what total covers


async def test_the_wait_for_the_limiter(virtual_clock: Clock, recorder: Any) -> None:
    limiter = InMemoryRateLimiter(requests_per_second=0.1)
    model = hook_model("ok", rate_limiter=limiter, timeout=5, callbacks=[recorder])
    with pytest.raises(TotalTimeout):
        await model.ainvoke("hi")
    assert virtual_clock.now() == 5
    assert not model.requests
    assert recorder.end == "on_llm_error"
    assert (await model.ainvoke("hi", timeout=6)).content == "ok"


async def test_the_place_among_the_calls_in_flight(virtual_clock: Clock) -> None:
    model = scripted(Turn(text="slow", delay=20), "next", max_in_flight=1)
    async with anyio.create_task_group() as group:
        group.start_soon(model.ainvoke, "slow")
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(TotalTimeout):
            await model.ainvoke("hi", timeout=5)
        assert virtual_clock.now() == 5
    assert (await model.ainvoke("hi", timeout=5)).content == "next"


async def test_attempts_and_the_pauses_between_them(virtual_clock: Clock) -> None:
    """The limits of an attempt begin anew with each; total does not."""
    never = Turn(delay=FOREVER)
    model = scripted(never, never, "ok", retry=3, timeout=Timeout(first_token=2))
    assert await heard(model.astream("hi")) == "ok"
    assert len(model.requests) == 3

    model, before = scripted(never, never, never, retry=3), virtual_clock.now()
    with pytest.raises(TotalTimeout):
        await heard(model.astream("hi", timeout=Timeout(first_token=2, total=3.9)))
    assert virtual_clock.now() == pytest.approx(before + 3.9)
    assert len(model.requests) == 2


async def test_a_pause_that_would_end_too_late_is_not_begun(virtual_clock: Clock) -> None:
    busy = ProviderUnavailable("busy", retryable=True, retry_after=10)
    model = hook_model(busy, retry=3, timeout=5)
    with pytest.raises(ProviderUnavailable):
        await model.ainvoke("hi")
    assert virtual_clock.now() == 0


def slow_handler(event: str, *, in_thread: bool = False, takes: float = 100) -> Recorder | AsyncRecorder:
    """Takes its time over one kind of event."""

    if in_thread:
        return Recorder(event, before=lambda _: clock.current().block(takes), run_inline=False)
    return AsyncRecorder(event, before=lambda _: clock.current().sleep(takes))


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("event", ["on_llm_new_token", "on_first_token", "on_retry", "on_limiter_wait"])
async def test_handlers(event: str, in_thread: bool, recorder: Any, virtual_clock: Clock) -> None:
    """A slow one is cut off with the call, whose error it is; it does not count as idleness of the model.

    One in a thread, which nothing can cut off, is waited for, for some seconds.
    """
    handlers = [slow_handler(event, in_thread=in_thread), recorder]
    again = Turn(error=ProviderUnavailable("busy", retryable=True))
    limiter = InMemoryRateLimiter(requests_per_second=2)
    model = scripted(*[again] * (event == "on_retry"), "a b c", callbacks=handlers, retry=2, rate_limiter=limiter)
    with pytest.raises(TotalTimeout):
        await heard(model.astream("hi", timeout=Timeout(idle=2, first_token=2, total=20)))
    assert virtual_clock.now() == pytest.approx(100.5 if in_thread else 20)
    assert recorder.end == "on_llm_error"


@pytest.mark.parametrize("verb", ["ainvoke", "astream", "agenerate"])
@pytest.mark.parametrize("in_thread", [False, True])
async def test_handlers_that_are_told_of_the_start(
    verb: str, in_thread: bool, recorder: Any, virtual_clock: Clock
) -> None:
    """The caller waits for them, so that the limit begins with them; the run ends with its error, and nothing is sent."""
    model = hook_model(callbacks=[slow_handler("on_chat_model_start", in_thread=in_thread), recorder])
    with pytest.raises(TotalTimeout, match="nothing had come"):
        await {
            "ainvoke": lambda: model.ainvoke("hi", timeout=20),
            "astream": lambda: heard(model.astream("hi", timeout=20)),
            "agenerate": lambda: model.agenerate([model._to_messages("hi")], timeout=20),
        }[verb]()
    assert virtual_clock.now() == (100 if in_thread else 20)
    assert recorder.names == ["on_chat_model_start", "on_llm_error"]
    assert not model.requests


async def test_what_handlers_of_the_start_have_left_of_it(recorder: Any, virtual_clock: Clock) -> None:
    """There is one limit for both."""
    model = scripted(Turn(delay=3), Turn(text="ok", delay=1), callbacks=[slow_handler("on_chat_model_start", takes=3)])
    with pytest.raises(TotalTimeout):
        await model.ainvoke("hi", timeout=5)
    assert virtual_clock.now() == 5
    assert (await model.ainvoke("hi", timeout=5)).content == "ok"


@pytest.mark.parametrize("event", ["on_llm_end", "on_llm_error"])
async def test_handlers_that_are_told_of_the_end_are_outside_of_it(
    event: str, recorder: Any, virtual_clock: Clock
) -> None:
    """An end is always told, whatever time it takes (and that has a limit of its own)."""
    turn = Turn(text="ok", delay=4) if event == "on_llm_end" else Turn(error=ProviderUnavailable("no"), delay=4)
    model = scripted(turn, callbacks=[slow_handler(event, takes=3), recorder], timeout=5)
    if event == "on_llm_end":
        assert (await model.ainvoke("hi")).content == "ok"
    else:
        with pytest.raises(ProviderUnavailable):
            await model.ainvoke("hi")
    assert virtual_clock.now() == 7
    assert recorder.end == event


def test_a_sync_hook_is_not_asked_when_a_handler_has_taken_all_of_it(recorder: Any, virtual_clock: Clock) -> None:
    """Which nothing could interrupt."""
    model = hook_model(
        "ok",
        "generate",
        "stream",
        callbacks=[slow_handler("on_chat_model_start", in_thread=True), recorder],
        timeout=20,
    )
    with pytest.raises(TotalTimeout):
        model.invoke("hi")
    assert recorder.end == "on_llm_error"
    assert not model.requests


async def test_the_time_of_the_consumer_does_not_count(virtual_clock: Clock) -> None:
    """Neither as idleness nor in all; however much the model had to wait, so that its buffer was full."""
    many = 100
    model = scripted(Turn(text=["x"] * many, pause=0.01), timeout=Timeout(first_token=2, idle=2, total=10))
    count = 0
    async for _ in model.astream("hi"):
        await virtual_clock.sleep(5)
        count += 1
    assert count == many + 1
    assert virtual_clock.now() > 5 * many


async def test_what_is_left_after_a_consumer_took_his_time(virtual_clock: Clock) -> None:
    model = scripted(Turn(text=["x"] * 100, pause=0.5), timeout=30.2)
    taken = 0
    with pytest.raises(TotalTimeout) as caught:
        async for _ in model.astream("hi"):
            taken += 1
            if taken in (1, 2):
                await virtual_clock.sleep(1000)  # 32 chunks are made meanwhile, in 16 s; then nobody's time passes
    assert taken == len(caught.value.partial.content) == 61


async def test_passengers_of_one_flight_keep_each_to_its_own(recorders: Any, virtual_clock: Clock) -> None:
    model = scripted(Turn(text=LETTERS, delay=5, pause=1), cache=InMemoryCache())
    outcomes: dict[Any, tuple[Any, float]] = {}
    handlers = {limit: recorders() for limit in (2, 7.5, None, 50)}

    async def ask(limit: Any) -> None:
        try:
            outcome: Any = await heard(model.astream("hi", {"callbacks": [handlers[limit]]}, timeout=limit))
        except TotalTimeout as error:
            outcome = error.partial and error.partial.content
        outcomes[limit] = outcome, virtual_clock.now()

    async with anyio.create_task_group() as group:
        for limit in handlers:
            group.start_soon(ask, limit)
    whole = "".join(LETTERS)
    assert outcomes == {2: (None, 2), 7.5: ("abc", 7.5), None: (whole, 15), 50: (whole, 15)}
    assert len(model.requests) == 1
    ends = [handler.end for handler in handlers.values()]
    assert ends == ["on_llm_error", "on_llm_error", "on_llm_end", "on_llm_end"]


@pytest.mark.parametrize("patience", [60, None])
async def test_a_flight_pauses_for_as_long_as_any_of_its_passengers_would(patience: Any, virtual_clock: Clock) -> None:
    """Though the first of them, whose request it was, has less time."""
    busy = Turn(error=ProviderUnavailable("busy", retryable=True, retry_after=10), delay=1)
    model = scripted(busy, "ok", cache=InMemoryCache(), retry=2)
    async with anyio.create_task_group() as group:

        async def hurried() -> None:
            with pytest.raises(TotalTimeout):
                await model.ainvoke("hi", timeout=3)

        group.start_soon(hurried)
        await anyio.lowlevel.checkpoint()
        assert (await model.ainvoke("hi", timeout=patience)).content == "ok"
    assert virtual_clock.now() == 11


# -- whose it was


async def test_a_callers_own_limit_stays_his(virtual_clock: Clock) -> None:
    """Whichever comes first; at the same time, one of them, and never both."""
    for outer, inner in [(2, 5), (5, 2), (3, 3)]:
        model, began = scripted(Turn(delay=FOREVER), "next"), virtual_clock.now()
        ours = False
        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as theirs:

                async def strike(scope: anyio.CancelScope = theirs, seconds: float = outer) -> None:
                    await virtual_clock.sleep(seconds)
                    scope.cancel()

                group.start_soon(strike)
                try:
                    await model.ainvoke("hi", timeout=inner)
                except TotalTimeout:
                    ours = True
                    assert not theirs.cancel_called or outer <= inner
            assert theirs.cancelled_caught is not ours
            if outer != inner:
                assert ours is (inner < outer)
            assert virtual_clock.now() == began + min(outer, inner)
            group.cancel_scope.cancel()
        assert (await model.ainvoke("hi", timeout=inner)).content == "next"


async def test_real_time_limits_of_the_callers(recorder: Any) -> None:
    model = scripted(*[Turn(delay=FOREVER)] * 2, callbacks=[recorder])
    with pytest.raises(TimeoutError) as caught, anyio.fail_after(0.05):
        await model.ainvoke("hi", timeout=50)
    assert type(caught.value) is TimeoutError
    with pytest.raises(TotalTimeout), anyio.fail_after(50):
        await model.ainvoke("hi", timeout=0.05)
    assert [ends for (ends,) in recorder.ends().values()] == ["on_llm_error"] * 2


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_real_time_limits_of_asyncios() -> None:
    import asyncio

    model, task = scripted(*[Turn(delay=FOREVER)] * 4), asyncio.current_task()
    assert task is not None
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(0.05):
            await model.ainvoke("hi", timeout=50)
    assert type(caught.value) is TimeoutError
    with pytest.raises(TotalTimeout):
        async with asyncio.timeout(50):
            await model.ainvoke("hi", timeout=0.05)
    with pytest.raises(TimeoutError) as caught:
        await asyncio.wait_for(heard(model.astream("hi", timeout=Timeout(first_token=50))), 0.05)
    assert type(caught.value) is TimeoutError
    assert task.cancelling() == 0


# -- sync code


def thread_model(pause: float, **fields: Any) -> Any:
    """Make a model whose hook says a letter, blocks, says the next."""

    def say(call: HookCall) -> Iterator[str]:
        for index, letter in enumerate(LETTERS):
            clock.current().block(pause if index else 0)
            yield letter

    return hook_model(say, "stream", **fields)


def blocking_model(pause: float, *errors: Exception, **fields: Any) -> Any:
    """Make a model whose hook blocks, and then fails once with each error, before it answers."""
    left = list(errors)

    def answer(call: HookCall) -> str | Exception:
        clock.current().block(pause)
        return left.pop(0) if left else "ok"

    return hook_model(answer, "generate", **fields)


def test_a_sync_stream_is_looked_at_between_chunks(virtual_clock: Clock) -> None:
    model, pieces = thread_model(2, timeout=Timeout(first_token=0.1, idle=0.1, total=5)), []
    with pytest.raises(TotalTimeout) as caught:
        for chunk in model.stream("hi"):
            pieces.append(chunk.content)
            virtual_clock.advance(1000)  # the consumer's
    assert "".join(pieces) == caught.value.partial.content == "abcd"
    with pytest.raises(TotalTimeout):
        model.invoke("hi")


def test_a_sync_hook_is_not_interrupted_but_not_tried_again_either(virtual_clock: Clock) -> None:
    busy = ProviderUnavailable("busy", retryable=True, retry_after=0)
    model = blocking_model(4, busy, busy, busy, retry=9, timeout=7)
    with pytest.raises((TotalTimeout, ProviderUnavailable)):
        model.invoke("hi")
    assert len(model.requests) == 2
    model = blocking_model(9, timeout=7)
    assert model.invoke("hi").content == "ok"


async def test_a_sync_hook_under_an_async_verb_is_left_behind(virtual_clock: Clock) -> None:
    model = thread_model(2, timeout=Timeout(idle=1))
    with pytest.raises(IdleTimeout) as caught:
        await heard(model.astream("hi"))
    assert caught.value.partial.content == "a"
    with pytest.raises(TotalTimeout):
        await blocking_model(9).ainvoke("hi", timeout=7)


def test_sync_verbs_of_async_models_are_interrupted(recorder: Any, virtual_clock: Clock) -> None:
    model = scripted(Turn(delay=FOREVER), Turn(text=LETTERS, pause=2), timeout=5, callbacks=[recorder])
    with pytest.raises(TotalTimeout):
        model.invoke("hi")
    with pytest.raises(TotalTimeout) as caught:
        list(model.stream("hi"))
    assert caught.value.partial.content == "abc"
    assert [end for (end,) in recorder.ends().values()] == ["on_llm_error"] * 2


# -- costs and seams


def test_without_limits_there_is_nothing_in_between() -> None:
    """The stages hand on what the next one returns."""
    model = hook_model()
    call = model._open_call(ASYNC, [], None, None, {})
    answer: Any = object()
    go: Callable[[Any], Awaitable[Any]] = lambda call: answer  # noqa: E731
    assert with_total_deadline(with_attempt_deadlines(go))(call) is answer


def nested_model(inner: Any = None, **fields: Any) -> tuple[Any, list[Any]]:
    """Make a model, and a list of the limits on connecting that its hook sees, before and after it asks another model."""
    seen: list[Any] = []

    async def answer(call: HookCall) -> str:
        seen.append(connect_limit.get())
        if inner is not None:
            await inner.ainvoke("hi")
            seen.append(connect_limit.get())
        return "ok"

    return hook_model(answer, **fields), seen


async def test_the_limit_on_connecting_is_each_models_own() -> None:
    inner, seen_inside = nested_model(timeout=None)
    outer, seen = nested_model(inner, timeout=Timeout(connect=5))
    await outer.ainvoke("hi")
    await outer.ainvoke("hi", timeout=Timeout(connect=7))
    await outer.ainvoke("hi", timeout=None)
    assert seen == [5, 5, 7, 7, None, None]
    assert seen_inside == [None, None, None]
    assert connect_limit.get() is None


# -- the limits as data


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "5", (1, 2), object()])
async def test_what_is_no_limit_is_refused_at_the_door(value: Any, recorder: Any) -> None:
    with pytest.raises(InvalidInput, match="timeout is"):
        await hook_model(callbacks=[recorder]).ainvoke("hi", timeout=value)
    assert not recorder.events
    with pytest.raises(ValidationError):
        hook_model(timeout=value)
    with pytest.raises(ValidationError):
        Timeout(idle=value)


def test_limits_over_limits() -> None:
    models = Timeout(connect=1, idle=2, total=3)
    assert Timeout(idle=5, total=None).over(models) == Timeout(connect=1, idle=5, total=None)
    assert Timeout().over(models) == models
    assert Timeout(idle=5).over(None) == Timeout(idle=5)
    assert Timeout.of(3) == Timeout(total=3)


def test_limits_travel() -> None:
    limits = Timeout(connect=1, total=2.5)
    assert loads(dumps(limits)) == limits == pickle.loads(pickle.dumps(limits))
    assert hook_model(timeout=3).timeout == Timeout(total=3)
    with contextlib.suppress(ValidationError):
        limits.total = 5  # type: ignore[misc]
    assert limits.total == 2.5
