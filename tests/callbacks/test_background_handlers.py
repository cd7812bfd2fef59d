"""Handlers told behind the run's back: in order, without holding it up, and without losing anything."""

import gc
import logging
import weakref
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket.callbacks import AsyncCallbackHandler, AsyncCallbackManager, BaseCallbackHandler, background, flush
from hocket.language_models import BaseChatModel, FakeListChatModel
from hocket.messages import AIMessageChunk, HumanMessage
from hocket.outputs import ChatGenerationChunk


class Behind(AsyncCallbackHandler):
    """Waits for a gate, and then notes what it is told."""

    background = True

    def __init__(self) -> None:
        self.gate = anyio.Event()
        self.ended = anyio.Event()
        self.told: list[str] = []

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        await self.gate.wait()
        self.told.append(f"start {messages[0][0].content}")

    async def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        await self.gate.wait()
        self.told.append(token)

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        await self.gate.wait()
        self.told.append("end")
        self.ended.set()


async def test_the_run_does_not_wait_and_the_order_is_kept() -> None:
    """A handler that is stuck holds up neither tokens nor the end; once free, it hears of everything as it happened."""
    handler = Behind()
    with anyio.fail_after(1):
        stream = FakeListChatModel(responses=["abc"]).astream("x", {"callbacks": [handler]})
        answer = [chunk.content async for chunk in stream]
    assert answer == ["a", "b", "c"] and handler.told == []
    handler.gate.set()
    assert await flush() == 0
    assert handler.told == ["start x", "a", "b", "c", "end"]


async def test_what_it_is_told_later_is_as_it_was() -> None:
    """What the caller does with question and answer meanwhile does not show."""

    class Looking(Behind):
        async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            await self.gate.wait()
            self.told.append(messages[0][0].additional_kwargs)

        async def on_llm_new_token(self, token: str, *, chunk: Any = None, **kwargs: Any) -> None:
            await self.gate.wait()
            self.told.append(chunk.message.additional_kwargs)

    handler, question = Looking(), HumanMessage("x")
    async for chunk in OnlyAsync().astream([question], {"callbacks": [handler]}):
        question.additional_kwargs["edited"] = chunk.additional_kwargs["edited"] = True
    handler.gate.set()
    assert await flush() == 0
    assert handler.told == [{}, {}, {}, "end"]


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

    class Front(BaseCallbackHandler):
        run_inline = True
        ends = 0

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            self.ends += 1

    behind, front = Behind(), Front()
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [behind, front]})
    assert front.ends == 1 and behind.told == []
    behind.gate.set()
    await flush()


async def test_each_handler_has_a_queue_of_its_own() -> None:
    """A stuck one does not keep another from being told."""
    stuck, free = Behind(), Behind()
    free.gate.set()
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [stuck, free]})
    with anyio.fail_after(1):
        await free.ended.wait()
    assert free.told == ["start x", "end"]
    assert stuck.told == []
    stuck.gate.set()
    assert await flush() == 0


class OnlyAsync(BaseChatModel):
    """Has an async hook alone."""

    @property
    def _llm_type(self) -> str:
        return "only-async"

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk("hi"))


class Endless(BaseChatModel):
    """Streams for as long as it is listened to."""

    @property
    def _llm_type(self) -> str:
        return "endless"

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        while True:
            yield ChatGenerationChunk(message=AIMessageChunk("x"))


async def test_a_full_queue_makes_the_run_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, and nothing is dropped: at the bound the run goes at the handler's pace."""
    monkeypatch.setattr(background, "BOUND", 5)
    handler, taken, went_on = Behind(), 0, anyio.Event()
    stream = Endless().astream("x", {"callbacks": [handler]})

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
        with anyio.fail_after(1):
            await went_on.wait()
        await stream.aclose()
        group.cancel_scope.cancel()
    assert await flush(timeout=1) == 0
    assert handler.told[0] == "start x" and handler.told[-1] == "end"


async def test_sync_handlers_may_stay_behind_as_well() -> None:
    """Told in a worker thread, in order."""

    class Sync(BaseCallbackHandler):
        background = True

        def __init__(self) -> None:
            self.told: list[str] = []

        def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
            self.told.append(token)

        def on_llm_start(self, serialized: Any, prompts: list[str], **kwargs: Any) -> None:
            self.told.append(prompts[0])

    handler = Sync()
    async for _ in FakeListChatModel(responses=["abc"]).astream("x", {"callbacks": [handler]}):
        pass
    await flush()
    assert handler.told == ["Human: x", "a", "b", "c"]


@pytest.mark.parametrize("model", [FakeListChatModel(responses=["hi"]), OnlyAsync()])
def test_sync_verbs_tell_it_at_once(model: BaseChatModel) -> None:
    """Whether or not the hook is async: who calls them has no loop in which to wait for what comes later."""

    class Sync(BaseCallbackHandler):
        background = True
        ends = 0

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            self.ends += 1

    handler = Sync()
    model.invoke("x", {"callbacks": [handler]})
    assert handler.ends == 1


async def test_it_cannot_fail_a_run() -> None:
    """Its exceptions are counted, and later events are told all the same, even if it would insist."""

    class Fails(AsyncCallbackHandler):
        background = True
        raise_error = True

        async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError("no")

        async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError("no")

    handler = Fails()
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
    assert handler.told == ["start before", "end"]


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
    runs: dict[Any, list[str]] = {}

    class Many(AsyncCallbackHandler):
        background = True

        async def on_chat_model_start(self, *args: Any, run_id: Any, **kwargs: Any) -> None:
            await anyio.lowlevel.checkpoint()
            runs.setdefault(run_id, []).append("start")

        async def on_llm_end(self, *args: Any, run_id: Any, **kwargs: Any) -> None:
            await anyio.lowlevel.checkpoint()
            runs.setdefault(run_id, []).append("end")

    await FakeListChatModel(responses=["hi"]).abatch(["x"] * 50, {"callbacks": [Many()]})
    await flush()
    assert len(runs) == 50 and all(events == ["start", "end"] for events in runs.values())


def test_a_loop_that_ends_too_early_says_what_is_lost(
    anyio_backend_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Without `flush` there is no promise; but it is on the record."""

    class Stuck(AsyncCallbackHandler):
        background = True

        async def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
            await anyio.sleep_forever()

    async def main() -> None:
        manager = AsyncCallbackManager([Stuck()])
        await manager.on_chain_start({}, {})
        await manager.on_chain_start({}, {})
        await anyio.sleep(0.01)

    with caplog.at_level(logging.WARNING, logger="hocket.callbacks"):
        anyio.run(main, backend=anyio_backend_name)
    assert "2 events" in caplog.text and "flush()" in caplog.text
