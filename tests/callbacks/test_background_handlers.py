"""Handlers told behind the run's back: in order, without holding it up, and without losing anything."""

import gc
import itertools
import logging
import weakref
from collections.abc import Awaitable

import anyio
import anyio.lowlevel
import pytest

from hocket.callbacks import AsyncCallbackManager, background, flush
from hocket.language_models import BaseChatModel, FakeListChatModel
from hocket.messages import HumanMessage
from tests.kit import AsyncRecorder, Event, Recorder, hook_model

EVENTS = ("on_chat_model_start", "on_llm_new_token", "on_llm_end")


class Behind(AsyncRecorder):
    """Waits for a gate before it records what it is told."""

    def __init__(self) -> None:
        self.gate = anyio.Event()
        self.ended = anyio.Event()
        super().__init__(*EVENTS, before=self._wait, do=self._see_end, background=True)

    def _wait(self, event: Event) -> Awaitable[None]:
        return self.gate.wait()

    def _see_end(self, event: Event) -> None:
        if event.name == "on_llm_end":
            self.ended.set()

    @property
    def question(self) -> str:
        """The text of the first message that it was told."""
        return self.only("on_chat_model_start").args[1][0][0].text


async def test_the_run_does_not_wait_and_the_order_is_kept() -> None:
    """A handler that is stuck holds up neither tokens nor the end; once free, it hears of everything as it happened."""
    handler = Behind()
    with anyio.fail_after(30):
        stream = FakeListChatModel(responses=["abc"]).astream("x", {"callbacks": [handler]})
        answer = [chunk.content async for chunk in stream]
    assert answer == ["a", "b", "c"] and handler.names == []
    handler.gate.set()
    assert await flush() == 0
    assert handler.names == ["on_chat_model_start", *["on_llm_new_token"] * 3, "on_llm_end"]
    assert (handler.question, handler.tokens) == ("x", ["a", "b", "c"])


async def test_what_it_is_told_later_is_as_it_was() -> None:
    """What the caller does with question and answer meanwhile does not show."""

    handler, question = Behind(), HumanMessage("x")
    async for chunk in ONLY_ASYNC.astream([question], {"callbacks": [handler]}):
        question.additional_kwargs["edited"] = chunk.additional_kwargs["edited"] = True
    handler.gate.set()
    assert await flush() == 0
    (question_then,) = handler.only("on_chat_model_start").args[1][0]
    chunks = [event.details["chunk"].message for event in handler.named("on_llm_new_token")]
    assert [message.additional_kwargs for message in (question_then, *chunks)] == [{}, {}]
    assert handler.names[-1] == "on_llm_end"


async def test_flush_says_what_is_left() -> None:
    """With a deadline it gives up, and counts the events that were not told, the one at hand included."""
    handler = Behind()
    await FakeListChatModel(responses=["abc"]).ainvoke("x", {"callbacks": [handler]})
    assert await flush(timeout=0.01) == 2
    handler.gate.set()
    assert await flush(timeout=1) == 0
    assert await flush() == 0


async def test_other_handlers_are_told_at_once() -> None:
    """One in the background does not delay those in front."""

    behind, front = Behind(), Recorder("on_llm_end")
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [behind, front]})
    assert front.count("on_llm_end") == 1 and behind.names == []
    behind.gate.set()
    await flush()


async def test_each_handler_has_a_queue_of_its_own() -> None:
    """A stuck one does not keep another from being told."""
    stuck, free = Behind(), Behind()
    free.gate.set()
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [stuck, free]})
    with anyio.fail_after(30):
        await free.ended.wait()
    assert free.names == ["on_chat_model_start", "on_llm_end"] and free.question == "x"
    assert stuck.names == []
    stuck.gate.set()
    assert await flush() == 0


ONLY_ASYNC = hook_model("hi", "astream")


async def test_a_full_queue_makes_the_run_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, and nothing is dropped: at the bound the run goes at the handler's pace."""
    monkeypatch.setattr(background, "BOUND", 5)
    handler, taken, went_on = Behind(), 0, anyio.Event()
    stream = hook_model(lambda call: itertools.repeat("x"), "astream").astream("x", {"callbacks": [handler]})

    async def read() -> None:
        nonlocal taken
        async for _ in stream:
            taken += 1
            if taken == 25:
                went_on.set()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.sleep(0.02)
        assert taken < 5
        handler.gate.set()
        with anyio.fail_after(30):
            await went_on.wait()
        await stream.aclose()
        group.cancel_scope.cancel()
    assert await flush(timeout=1) == 0
    assert handler.names[0] == "on_chat_model_start" and handler.names[-1] == "on_llm_end"


async def test_sync_handlers_may_stay_behind_as_well() -> None:
    """Told in a worker thread, in order."""

    handler = Recorder("on_llm_start", "on_llm_new_token", background=True, run_inline=False)
    async for _ in FakeListChatModel(responses=["abc"]).astream("x", {"callbacks": [handler]}):
        pass
    await flush()
    assert handler.names == ["on_llm_start", *["on_llm_new_token"] * 3]
    assert (handler.events[0].args[1], handler.tokens) == (["Human: x"], ["a", "b", "c"])


@pytest.mark.parametrize("model", [FakeListChatModel(responses=["hi"]), ONLY_ASYNC])
def test_sync_verbs_tell_it_at_once(model: BaseChatModel) -> None:
    """Whether or not the hook is async: who calls them has no loop in which to wait for what comes later."""

    handler = Recorder("on_llm_end", background=True, run_inline=False)
    model.invoke("x", {"callbacks": [handler]})
    assert handler.count("on_llm_end") == 1


async def test_it_cannot_fail_a_run() -> None:
    """Its exceptions are counted, and later events are told all the same, even if it would insist."""

    def refuse(event: Event) -> None:
        raise RuntimeError("no")

    handler = AsyncRecorder("on_chat_model_start", "on_llm_end", do=refuse, background=True, raise_error=True)
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    assert await flush() == 0
    assert handler.errors == 2


async def test_later_edits_of_the_callers_messages_are_not_seen() -> None:
    """What is told later is what was said then."""
    handler, messages = Behind(), [HumanMessage("before")]
    await FakeListChatModel(responses=["hi"]).ainvoke(messages, {"callbacks": [handler]})
    messages[0].content = "after"
    handler.gate.set()
    await flush()
    assert handler.question == "before" and handler.names[1:] == ["on_llm_end"]


async def test_nothing_is_left_of_a_handler_made_for_one_request() -> None:
    """Its queue goes with its last event, and the handler with it."""
    handlers: list[weakref.ref[Behind]] = []
    for _ in range(100):
        handler = Behind()
        handler.gate.set()
        handlers.append(weakref.ref(handler))
        await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    await flush()
    del handler
    await anyio.lowlevel.checkpoint()
    gc.collect()
    assert not any(one() for one in handlers)


async def test_many_runs_at_once_share_the_queue() -> None:
    """Every run's events in their order, whatever comes between."""

    def pause(event: Event) -> Awaitable[None]:
        return anyio.lowlevel.checkpoint()

    many = AsyncRecorder("on_chat_model_start", "on_llm_end", before=pause, background=True)
    await FakeListChatModel(responses=["hi"]).abatch(["x"] * 50, {"callbacks": [many]})
    await flush()
    assert list(many.runs().values()) == [["on_chat_model_start", "on_llm_end"]] * 50


def test_a_loop_that_ends_too_early_says_what_is_lost(
    anyio_backend_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Without `flush` there is no promise; but it is on the record."""

    stuck = AsyncRecorder("on_chain_start", do=lambda event: anyio.sleep_forever(), background=True)

    async def main() -> None:
        manager = AsyncCallbackManager([stuck])
        await manager.on_chain_start({}, {})
        await manager.on_chain_start({}, {})
        await anyio.sleep(0.01)

    with caplog.at_level(logging.WARNING, logger="hocket.callbacks"):
        anyio.run(main, backend=anyio_backend_name)
    assert "2 events" in caplog.text and "flush()" in caplog.text
