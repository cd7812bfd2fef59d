"""What reserves for an attempt is asked before it, in order, and told its end, whatever that is."""

import logging
from typing import Any

import anyio
import pytest

from hocket._metering.attempt import AttemptEnd
from hocket.caches import InMemoryCache
from hocket.errors import (
    AuthenticationError,
    ConnectionFailed,
    ConnectTimeout,
    InvalidInput,
    ProviderUnavailable,
    RateLimitError,
    Unsupported,
)
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import UsageMetadata
from hocket.retries import RetryPolicy
from tests.kit import hook_llm
from tests.kit.reservers import RecordingReserver, reserve_with

USAGE: UsageMetadata = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
ANSWER = Turn(text=["one ", "two"], usage=USAGE)


async def run_all(model: Any) -> None:
    """Ask by each async verb."""
    await model.ainvoke("hi")
    assert [chunk async for chunk in model.astream("hi")]
    await model.abatch(["hi"])


def only(ends: list[AttemptEnd]) -> AttemptEnd:
    assert len(ends) == 1
    return ends[0]


async def test_each_attempt_is_reserved_and_settled_with_its_usage() -> None:
    """Invoked, streamed and in a batch, several in order, settled the other way round."""
    log: list[str] = []
    first, second = RecordingReserver("first", log), RecordingReserver("second", log, waits=False)
    with reserve_with(first, second):
        await run_all(ScriptedChatModel(script=[ANSWER] * 3))
    assert log == ["first reserves", "second reserves", "second settles ok", "first settles ok"] * 3
    assert [end.usage for end in first.ends] == [USAGE] * 3
    assert all(end.is_billed and not end.is_estimate and end.error is None for end in first.ends)
    assert all((end.began_at or 0) <= (end.first_token_at or 0) <= end.ended_at for end in first.ends)


def test_sync_verbs_reserve_too() -> None:
    """In their own thread."""
    reserver = RecordingReserver()
    with reserve_with(reserver):
        model = hook_llm("yes", "generate")
        model.invoke("hi")
        assert list(model.stream("hi"))
    assert [end.outcome for end in reserver.ends] == ["ok", "ok"]
    assert not any(attempt.mode.is_async for attempt in reserver.attempts)


async def test_nothing_is_reserved_for_an_answer_from_the_cache() -> None:
    """Nor for calls that share a request."""
    reserver = RecordingReserver()
    with reserve_with(reserver):
        model = ScriptedChatModel(script=[ANSWER], cache=InMemoryCache())
        await model.abatch(["hi", "hi", "hi"])
        await model.ainvoke("hi")
    assert len(reserver.attempts) == len(reserver.ends) == 1


async def test_every_attempt_counts() -> None:
    """One that is made again is a new attempt, with its number."""
    reserver = RecordingReserver()
    failure = ProviderUnavailable("down", status=503, retryable=True)
    with reserve_with(reserver):
        model = ScriptedChatModel(script=[failure, failure, ANSWER], retry=RetryPolicy(max_attempts=3, first_pause=0))
        await model.ainvoke("hi")
    assert [attempt.number for attempt in reserver.attempts] == [1, 2, 3]
    assert [(end.outcome, end.is_billed) for end in reserver.ends] == [
        ("failed", False),
        ("failed", False),
        ("ok", True),
    ]


@pytest.mark.parametrize(
    ("error", "is_billed"),
    [
        (AuthenticationError("no key", status=401), False),
        (RateLimitError("slow down", status=429), False),
        (ConnectTimeout("no connection"), False),
        (Unsupported("no images"), False),
        (InvalidInput("no messages"), False),
        (ConnectionFailed("broke"), True),
        (ProviderUnavailable("an event of a stream"), True),
        (ValueError("a fault of the hook"), True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
async def test_what_was_refused_unworked_is_not_billed(error: Exception, is_billed: bool) -> None:
    """A reply that refuses, a request that never left; where nobody knows, the prompt counts."""
    reserver = RecordingReserver()
    with reserve_with(reserver), pytest.raises(type(error)):
        await ScriptedChatModel(script=[error]).ainvoke("a prompt of a few words")
    end = only(reserver.ends)
    assert (end.outcome, end.is_billed, end.error) == ("failed", is_billed, error)
    assert end.usage is not None
    assert (end.usage["input_tokens"] > 0) is is_billed
    assert end.usage["output_tokens"] == 0


async def test_a_stream_that_breaks_is_estimated() -> None:
    """What had come is counted."""
    reserver = RecordingReserver()
    broken = Turn(text=["twelve letters " * 4, "never"], error=ConnectionFailed("broke"), error_after=1)
    with reserve_with(reserver), pytest.raises(ConnectionFailed):
        await anyio.lowlevel.checkpoint()
        async for _ in ScriptedChatModel(script=[broken]).astream("hi"):
            pass
    end = only(reserver.ends)
    assert (end.outcome, end.is_billed, end.is_estimate) == ("failed", True, True)
    assert end.usage is not None
    assert end.usage["output_tokens"] >= 15
    assert end.usage["total_tokens"] == end.usage["input_tokens"] + end.usage["output_tokens"]


async def test_a_stream_that_is_left_is_closed() -> None:
    """Its consumer went on its own account."""
    reserver = RecordingReserver()
    with reserve_with(reserver):
        stream = ScriptedChatModel(script=[Turn(text=["a", "b", "c"], pause=60)]).astream("hi")
        async for _ in stream:
            break
        await stream.aclose()
    end = only(reserver.ends)
    assert (end.outcome, end.is_estimate) == ("closed", True)


async def test_a_cancelled_call_is_settled() -> None:
    """Although its task may wait for nothing any more."""
    reserver = RecordingReserver()
    with reserve_with(reserver):
        with anyio.CancelScope() as scope:
            reserver.on_reserve = scope.cancel
            await ScriptedChatModel(script=[Turn(text="late", delay=60)]).ainvoke("hi")
    assert scope.cancelled_caught
    assert only(reserver.ends).outcome == "cancelled"


async def test_one_that_refuses_gives_the_others_back() -> None:
    """Nothing is asked of the model."""
    log: list[str] = []
    first = RecordingReserver("first", log)
    second = RecordingReserver("second", log, refuse=InvalidInput("too much"))
    model = ScriptedChatModel(script=[ANSWER])
    with reserve_with(first, second), pytest.raises(InvalidInput, match="too much"):
        await model.ainvoke("hi")
    assert log == ["first reserves", "first settles failed"]
    assert (only(first.ends).is_billed, only(first.ends).began_at) == (False, None)
    assert not model.requests


@pytest.mark.parametrize("waits", [True, False])
async def test_what_cannot_be_settled_is_logged(waits: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The answer is not lost for it, and the others are settled."""

    class Failing(RecordingReserver):
        async def settle(self, end: AttemptEnd) -> None:
            raise OSError("the disk is full")

    other = RecordingReserver()
    with caplog.at_level(logging.WARNING), reserve_with(other, Failing(waits=waits)):
        reply = await ScriptedChatModel(script=[ANSWER]).ainvoke("hi")
    assert reply.text == "one two"
    assert only(other.ends).outcome == "ok"
    assert "could not be settled: OSError('the disk is full')" in caplog.text


async def test_reservers_know_the_call() -> None:
    """Metadata of model and call, the run, the need: the prompt's tokens, and the answer's, by ``max_tokens``."""
    reserver = RecordingReserver()
    model = ScriptedChatModel(script=[ANSWER], metadata={"tenant": "model's", "team": "a"})
    with reserve_with(reserver):
        await model.ainvoke("x" * 400, {"metadata": {"tenant": "call's"}}, max_tokens=50)
    [attempt] = reserver.attempts
    assert attempt.metadata == {"tenant": "call's", "team": "a"}
    need = await attempt.estimate_need()
    assert need.output == 50
    assert need.input >= 100


async def test_an_unknown_length_of_the_answer_is_said() -> None:
    """Neither an option nor a profile tells."""
    reserver = RecordingReserver()
    with reserve_with(reserver):
        await ScriptedChatModel(script=[ANSWER]).ainvoke("hi")
    assert (await reserver.attempts[0].estimate_need()).output is None
