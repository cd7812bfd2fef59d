"""Several conversations in one call: every run starts in order, ends once, and fails alone."""

import asyncio
from typing import Any
from uuid import uuid4

import anyio
import anyio.to_thread
import pytest

from hocket import BaseMessage, HumanMessage, InMemoryCache
from tests.kit import MODEL_EVENTS, Event, HookCall, Recorder, hook_model


class Spontaneous(BaseException):
    """What a hook may raise that is no Exception."""


class Actor:
    """What a model does that answers, waits or raises as it is told; it counts how many calls it is in at once."""

    def __init__(self) -> None:
        self.active = self.most = 0

    async def __call__(self, call: HookCall) -> str:
        self.active += 1
        self.most = max(self.most, self.active)
        try:
            await anyio.sleep(60 if call.text == "wait" else 0.005)
            return act(call.text)
        finally:
            self.active -= 1


def acting_model(**fields: Any) -> Any:
    """Make a model that does as it is told."""
    return hook_model(Actor(), **fields)


def sync_acting_model() -> Any:
    """The same in sync code."""
    return hook_model(lambda call: act(call.text), "generate")


def act(text: str) -> str:
    if text == "fail":
        raise KeyError(text)
    if text == "break":
        raise ValueError(text)
    if text == "vanish":
        raise Spontaneous(text)
    if text == "cancel":
        raise asyncio.CancelledError(text)
    return text.upper()


def conversations(*texts: str) -> list[list[BaseMessage]]:
    return [[HumanMessage(text)] for text in texts]


async def test_conversations_are_answered_at_once(recorder: Any) -> None:
    """BCM-31: all start in order before any ends, all run at the same time, answers come in order."""
    model = acting_model()
    result = await model.agenerate(conversations("a", "b", "c"), callbacks=[recorder])
    assert [candidates[0].text for candidates in result.generations] == ["A", "B", "C"]
    assert model.do.most == 3
    assert recorder.names == ["on_chat_model_start"] * 3 + ["on_llm_end"] * 3
    assert result.run is not None
    assert [run.run_id for run in result.run] == list(recorder.runs())


async def test_one_that_fails_leaves_the_others(recorder: Any) -> None:
    """BCM-31: the others run to their end and are told; the first error by position is raised, as itself."""
    with pytest.raises(ValueError, match="break") as raised:
        await acting_model().agenerate(conversations("a", "break", "b", "fail"), callbacks=[recorder])
    assert not isinstance(raised.value, BaseExceptionGroup)
    ends = list(recorder.ends().values())
    assert ends == [["on_llm_end"], ["on_llm_error"], ["on_llm_end"], ["on_llm_error"]]


@pytest.mark.parametrize("model", [acting_model(), sync_acting_model()], ids=["async", "sync"])
async def test_one_that_raises_no_exception(model: Any, recorder: Any) -> None:
    """BCM-31: an error that is no Exception takes its run alone with it, too."""
    with pytest.raises(Spontaneous, match="vanish"):
        await model.agenerate(conversations("a", "vanish", "b"), callbacks=[recorder])
    assert list(recorder.ends().values()) == [
        ["on_llm_end"],
        ["on_llm_error"],
        ["on_llm_end"],
    ]


def test_one_that_is_cancelled_from_within(recorder: Any) -> None:
    """BCM-31: a hook that raises CancelledError by itself: LangChain breaks here; the others still answer."""

    async def ask() -> None:
        await acting_model().agenerate(conversations("a", "cancel", "b"), callbacks=[recorder])

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ask())
    assert list(recorder.ends().values()) == [
        ["on_llm_end"],
        ["on_llm_error"],
        ["on_llm_end"],
    ]


async def test_a_cancelled_call_ends_every_run(recorder: Any) -> None:
    """BCM-31, MODEL-13: cancelling the call cancels all hooks, and each run is told its end once."""
    model = acting_model()
    with anyio.move_on_after(0.01) as scope:
        await model.agenerate(conversations("wait", "wait", "wait"), callbacks=[recorder])
    assert scope.cancelled_caught
    assert model.do.active == 0
    assert list(recorder.ends().values()) == [["on_llm_error"]] * 3


async def test_a_hook_that_fails_while_it_is_cancelled(recorder: Any) -> None:
    """No ExceptionGroup leaves a verb, even if a hook answers a cancellation with an error of its own."""

    async def sulk(call: HookCall) -> str:
        try:
            await anyio.sleep(1)
        finally:
            raise OSError("the connection was busy")

    errors: list[Exception] = []
    with anyio.move_on_after(0.01):
        try:
            await hook_model(sulk).agenerate(conversations("a", "b"), callbacks=[recorder])
        except Exception as error:  # on asyncio the cancellation comes first
            errors.append(error)
    assert [type(error) for error in errors] in ([], [OSError])
    recorder.assert_every_run_ended_once()


def test_sync_conversations_are_answered_one_by_one(recorder: Any) -> None:
    """BCM-30: in order, each with its own end."""
    result = sync_acting_model().generate(conversations("a", "b"), callbacks=[recorder])
    assert [candidates[0].text for candidates in result.generations] == ["A", "B"]
    assert recorder.names == ["on_chat_model_start"] * 2 + ["on_llm_end"] * 2


def test_a_sync_failure_closes_every_run(recorder: Any) -> None:
    """BCM-30: LangChain leaves the finished and the unstarted runs open; ours all end once."""
    with pytest.raises(KeyError, match="fail"):
        sync_acting_model().generate(conversations("a", "fail", "b"), callbacks=[recorder])
    assert list(recorder.ends().values()) == [
        ["on_llm_end"],
        ["on_llm_error"],
        ["on_llm_error"],
    ]


async def test_the_cache_answers_conversation_by_conversation(recorder: Any) -> None:
    """BCM-47: known conversations come from the cache, the others from the hook, in their order."""
    model = acting_model(cache=InMemoryCache())
    await model.agenerate(conversations("b"))
    result = await model.agenerate(conversations("a", "b", "c"), callbacks=[recorder])
    assert [candidates[0].text for candidates in result.generations] == ["A", "B", "C"]
    assert recorder.names.count("on_cache_hit") == 1
    recorder.assert_every_run_ended_once()


async def test_runs_are_named_in_the_result() -> None:
    """BCM-33: unwatched calls have run ids, too; one that is given is the first."""
    run_id = uuid4()
    result = await acting_model().agenerate(conversations("a", "b"), run_id=run_id)
    assert result.run is not None
    first, second = result.run
    assert first.run_id == run_id != second.run_id


async def test_a_start_handler_that_raises_closes_every_run(recorder: Any) -> None:
    """A handler with ``raise_error`` that refuses a start: no hook is asked, and every run that started ends once."""

    def refuse_the_second(event: Event) -> None:
        if event.name == "on_chat_model_start" and refusing.count("on_chat_model_start") == 2:
            raise PermissionError("over budget")

    refusing = Recorder(*MODEL_EVENTS, do=refuse_the_second, raise_error=True)
    model = acting_model()
    with pytest.raises(PermissionError, match="over budget"):
        await model.agenerate(conversations("a", "b", "c"), callbacks=[refusing, recorder])
    assert model.do.most == 0
    refusing.assert_every_run_ended_once()
    recorder.assert_every_run_ended_once()
