"""Exactly one start and exactly one end for every run and every handler, whatever happens, wherever."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from uuid import UUID

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from hocket.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from hocket.language_models import BaseChatModel, BaseLLM
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, Generation, LLMResult


class Ends(BaseCallbackHandler):
    """Notes starts and ends by run."""

    run_inline = True

    def __init__(self) -> None:
        self.runs: dict[UUID, list[str]] = {}
        self.details: list[dict[str, Any]] = []
        self.results: list[Any] = []

    def on_chat_model_start(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        self.runs.setdefault(run_id, []).append("start")

    def on_llm_start(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        self.runs.setdefault(run_id, []).append("start")

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        self.runs.setdefault(run_id, []).append("end")
        self.details.append(kwargs)
        self.results.append(response)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.runs.setdefault(run_id, []).append("error")
        self.details.append(kwargs)
        self.results.append(error)

    @property
    def seen(self) -> list[list[str]]:
        return list(self.runs.values())


class AsyncEnds(AsyncCallbackHandler):
    """The same, and takes a moment over each."""

    def __init__(self) -> None:
        self.told = Ends()

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        await anyio.sleep(0.001)
        self.told.on_chat_model_start(*args, **kwargs)

    async def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
        await anyio.sleep(0.001)
        self.told.on_llm_start(*args, **kwargs)

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        await anyio.sleep(0.001)
        self.told.on_llm_end(*args, **kwargs)

    async def on_llm_error(self, *args: Any, **kwargs: Any) -> None:
        await anyio.sleep(0.001)
        self.told.on_llm_error(*args, **kwargs)

    @property
    def seen(self) -> list[list[str]]:
        return self.told.seen


class EndsInThread(Ends):
    run_inline = False


def watchers() -> list[Any]:
    return [Ends(), AsyncEnds(), EndsInThread()]


def seen(handlers: list[Any]) -> list[Any]:
    return [handler.seen for handler in handlers]


class Chat(BaseChatModel):
    """Answers, or does what a test wants instead."""

    @property
    def _llm_type(self) -> str:
        return "chat"


class Answers(Chat):
    async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])


class Fails(Chat):
    """Fails where the last message says so."""

    async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        await anyio.lowlevel.checkpoint()
        if messages[-1].content == "fail":
            raise ConnectionError("lost")
        return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])


class Waits(Chat):
    """Never answers; calls ``cancel`` when it is asked for the last time of ``calls``."""

    cancel: Callable[[], object]
    calls: int = 1

    async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        self.calls -= 1
        if not self.calls:
            self.cancel()
        await anyio.sleep_forever()
        raise AssertionError


class Streams(Chat):
    """Says one word, and then waits for ever, or fails."""

    fails: bool = False

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk("one"))
        if self.fails:
            raise ConnectionError("lost")
        await anyio.sleep_forever()


async def test_success() -> None:
    """Start, end."""
    handlers = watchers()
    await Answers().ainvoke("x", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "end"]]] * 3


async def test_the_end_has_been_told_when_the_verb_returns() -> None:
    """A slow handler has finished by then: a caller that exits at once loses no trace."""
    handler = AsyncEnds()
    await Answers().ainvoke("x", {"callbacks": [handler]})
    assert handler.seen == [["start", "end"]]


async def test_a_failing_hook() -> None:
    """Start, error; and the caller gets the hook's own exception."""
    handlers = watchers()
    with pytest.raises(ConnectionError) as caught:
        await Fails().ainvoke("fail", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "error"]]] * 3
    assert handlers[0].results == [caught.value]


async def test_a_hook_that_returns_nonsense() -> None:
    """hocket's own complaint is the run's error."""

    class Nonsense(Chat):
        async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
            return "hi"

    handlers = watchers()
    with pytest.raises(TypeError, match="ChatResult"):
        await Nonsense().ainvoke("x", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "error"]]] * 3


async def test_one_of_several_conversations_fails() -> None:
    """The others end well, each once; the caller gets the first error, and no group of errors."""
    handlers = watchers()
    conversations = [[HumanMessage(text)] for text in ("a", "fail", "b", "fail")]
    with pytest.raises(ConnectionError):
        await Fails().agenerate(conversations, callbacks=handlers)
    for handler in handlers:
        assert handler.seen == [["start", "end"], ["start", "error"], ["start", "end"], ["start", "error"]]


def test_one_of_several_conversations_fails_in_sync_code() -> None:
    """One after another: those behind the failure are not asked, and still end. LangChain leaves runs open here."""
    asked: list[str] = []

    class Sync(Chat):
        def _generate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
            asked.append(messages[-1].content)
            if messages[-1].content == "fail":
                raise ConnectionError("lost")
            return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])

    handlers = watchers()
    with pytest.raises(ConnectionError):
        Sync().generate([[HumanMessage(text)] for text in ("a", "fail", "b")], callbacks=handlers)
    assert asked == ["a", "fail"]
    assert seen(handlers) == [[["start", "end"], ["start", "error"], ["start", "error"]]] * 3


async def test_cancelled_by_a_scope() -> None:
    """The end is told under cancellation, also by handlers that wait and by those in threads, before the verb raises."""
    handlers = watchers()
    with anyio.CancelScope() as scope:
        await Waits(cancel=scope.cancel).ainvoke("x", {"callbacks": handlers})
    assert scope.cancelled_caught
    assert seen(handlers) == [[["start", "error"]]] * 3
    assert isinstance(handlers[0].results[0], anyio.get_cancelled_exc_class())


async def test_cancelled_by_a_task_group_among_several() -> None:
    """All the runs of one call end, and the scope is left as cancelled."""
    handlers = watchers()
    with anyio.CancelScope() as scope:
        model = Waits(cancel=scope.cancel, calls=2)
        await model.agenerate([[HumanMessage("a")], [HumanMessage("b")]], callbacks=handlers)
    assert scope.cancelled_caught
    assert seen(handlers) == [[["start", "error"]] * 2] * 3


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelled_by_asyncio() -> None:
    """`wait_for`, `asyncio.timeout` and `task.cancel()`, in the hook and then again and again in the handlers."""
    handlers = watchers()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as timeout:
            model = Waits(cancel=lambda: timeout.reschedule(0))
            await model.ainvoke("x", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "error"]]] * 3

    handlers, begun = watchers(), asyncio.Event()
    task = asyncio.create_task(Waits(cancel=begun.set).ainvoke("x", {"callbacks": handlers}))
    await begun.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen(handlers) == [[["start", "error"]]] * 3


async def test_cancelled_in_the_middle_of_the_start() -> None:
    """The handlers behind the one that was struck hear of the start all the same, and all hear of the end."""

    class Slow(AsyncEnds):
        async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            self.told.on_chat_model_start(*args, **kwargs)
            scope.cancel()
            await anyio.sleep_forever()

    handlers = [Ends(), Slow(), AsyncEnds(), EndsInThread()]
    with anyio.CancelScope() as scope:
        await Answers().ainvoke("x", {"callbacks": handlers})
    assert scope.cancelled_caught
    assert seen(handlers) == [[["start", "error"]]] * 4


async def test_cancelled_while_a_thread_is_told_of_the_start() -> None:
    """The caller waits for the thread: its end does not overtake its start, nor is there one without the other."""

    class SlowThread(EndsInThread):
        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            anyio.from_thread.run_sync(scope.cancel)
            time.sleep(0.02)
            super().on_chat_model_start(*args, **kwargs)

    handler = SlowThread()
    with anyio.CancelScope() as scope:
        await Answers().ainvoke("x", {"callbacks": [handler]})
    assert scope.cancelled_caught
    assert handler.seen == [["start", "error"]]

    late = EndsInThread()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await Answers().ainvoke("x", {"callbacks": [late]})
    assert late.seen == [["start", "error"]]


async def test_cancelled_in_the_middle_of_the_end() -> None:
    """The one that is told finishes, those behind it follow, and the answer gives way to the cancellation."""
    started = anyio.Event()

    class Slow(AsyncEnds):
        async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            started.set()
            await anyio.sleep(0.02)
            await super().on_llm_end(*args, **kwargs)

    handlers = [Slow(), AsyncEnds(), EndsInThread()]
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await started.wait()
                scope.cancel()

            group.start_soon(cancel)
            await Answers().ainvoke("x", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "end"]]] * 3


async def test_a_stream_that_fails() -> None:
    """Start, error, with what had come."""
    handlers = watchers()
    with pytest.raises(ConnectionError):
        async for _ in Streams(fails=True).astream("x", {"callbacks": handlers}):
            pass
    assert seen(handlers) == [[["start", "error"]]] * 3
    assert handlers[0].details[0]["response"].generations[0][0].text == "one"


def partial(handler: Any) -> tuple[str, bool]:
    """Return the text that an early end was told with, and whether it was told as closed."""
    told = getattr(handler, "told", handler)
    return told.results[0].generations[0][0].text, told.details[0]["closed"]


async def test_a_stream_that_is_left() -> None:
    """Leaving is no failure: `on_llm_end` with what had come and `closed=True`, told before `aclose` returns."""
    handlers = watchers()
    async with Streams().astream("x", {"callbacks": handlers}) as stream:
        async for _ in stream:
            break
    assert seen(handlers) == [[["start", "end"]]] * 3
    assert [partial(handler) for handler in handlers] == [("one", True)] * 3


async def test_a_stream_that_is_dropped() -> None:
    """A plain `break` and garbage collection end the run as well, soon after."""
    ended = anyio.Event()

    class Ending(Ends):
        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            super().on_llm_end(*args, **kwargs)
            ended.set()

    handler = Ending()
    stream = Streams().astream("x", {"callbacks": [handler]})
    async for _ in stream:
        break
    del stream
    gc.collect()
    with anyio.fail_after(1):
        await ended.wait()
    assert handler.seen == [["start", "end"]]
    assert partial(handler) == ("one", True)


async def test_a_stream_whose_consumer_is_cancelled() -> None:
    """To be cancelled while waiting for a chunk is a cancellation, not a closing."""
    handlers = watchers()
    with anyio.CancelScope() as scope:
        async for _ in Streams().astream("x", {"callbacks": handlers}):
            scope.cancel()
    assert seen(handlers) == [[["start", "error"]]] * 3


async def test_a_stream_that_is_never_read() -> None:
    """Nothing was sent, so nothing is told."""
    handler = Ends()
    await Streams().astream("x", {"callbacks": [handler]}).aclose()
    assert handler.seen == []


class SyncStreams(Chat):
    """Streams from a sync hook, and raises at the end if told to."""

    error: Any = None

    def _stream(self, messages: Any, stop: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk("one"))
        if self.error is not None:
            raise self.error
        yield ChatGenerationChunk(message=AIMessageChunk("two"))


def test_a_sync_stream_that_is_left() -> None:
    """The same in sync code, by `with`, by `close` and by dropping it."""
    handlers = watchers()
    with SyncStreams().stream("x", {"callbacks": handlers}) as stream:
        next(stream)
    assert seen(handlers) == [[["start", "end"]]] * 3
    assert [partial(handler) for handler in handlers] == [("one", True)] * 3

    handlers = watchers()
    for _ in SyncStreams().stream("x", {"callbacks": handlers}):
        break
    gc.collect()
    assert seen(handlers) == [[["start", "end"]]] * 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ConnectionError, GeneratorExit])
def test_whatever_a_sync_hook_raises(error: type[BaseException]) -> None:
    """Ctrl-C in a hook ends the run, and goes on to the caller."""

    class Raises(Chat):
        def _generate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
            raise error

    handlers = watchers()
    with pytest.raises(error):
        Raises().invoke("x", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "error"]]] * 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, ConnectionError])
def test_whatever_a_sync_stream_raises(error: type[BaseException]) -> None:
    """In the middle of a stream, too."""
    handlers = watchers()
    with pytest.raises(error):
        list(SyncStreams(error=error()).stream("x", {"callbacks": handlers}))
    assert seen(handlers) == [[["start", "error"]]] * 3


class Insists(BaseCallbackHandler):
    """Raises at one event, and wants to be heard."""

    raise_error = True
    run_inline = True

    def __init__(self, event: str) -> None:
        setattr(self, event, self._refuse)

    def _refuse(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no")


@pytest.mark.parametrize("first", [True, False])
async def test_a_handler_that_refuses_the_start(first: bool) -> None:
    """The run fails before it is asked for; the other handlers, before and behind, hear of both its ends."""
    handlers = watchers()
    insisting = Insists("on_chat_model_start")
    given = [insisting, *handlers] if first else [*handlers, insisting]
    with pytest.raises(RuntimeError, match="no"):
        await Answers().ainvoke("x", {"callbacks": given})
    assert seen(handlers) == [[["start", "error"]]] * 3


async def test_a_handler_that_refuses_one_of_several_starts() -> None:
    """The runs that had started are ended; those that had not are not told of."""
    refused: list[UUID] = []

    class Second(Ends):
        raise_error = True

        def on_chat_model_start(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
            super().on_chat_model_start(*args, run_id=run_id, **kwargs)
            if len(self.runs) == 2:
                refused.append(run_id)
                raise RuntimeError("no")

    handlers = [Second(), *watchers()]
    with pytest.raises(RuntimeError, match="no"):
        await Answers().agenerate([[HumanMessage(text)] for text in "abc"], callbacks=handlers)
    assert seen(handlers) == [[["start", "error"]] * 2] * 4


async def test_a_handler_that_refuses_a_token() -> None:
    """The run fails there, once."""
    handlers = watchers()
    with pytest.raises(RuntimeError, match="no"):
        async for _ in Streams().astream("x", {"callbacks": [Insists("on_llm_new_token"), *handlers]}):
            pass
    assert seen(handlers) == [[["start", "error"]]] * 3


@pytest.mark.parametrize("count", [1, 3])
async def test_a_handler_that_refuses_the_end(count: int) -> None:
    """The verb raises; the runs have had their end, and get no second one."""
    handlers = watchers()
    with pytest.raises(RuntimeError, match="no"):
        await Answers().agenerate([[HumanMessage("x")]] * count, callbacks=[Insists("on_llm_end"), *handlers])
    assert seen(handlers) == [[["start", "end"]] * count] * 3


@pytest.mark.parametrize("count", [1, 3])
async def test_a_handler_that_refuses_the_error(count: int) -> None:
    """A run that has failed keeps its own error, and its siblings their ends."""
    handlers = watchers()
    with pytest.raises(ConnectionError):
        await Fails().agenerate([[HumanMessage("fail")]] * count, callbacks=[Insists("on_llm_error"), *handlers])
    assert seen(handlers) == [[["start", "error"]] * count] * 3


async def test_a_handler_that_hangs_at_the_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets a few seconds; the handlers behind it are told, the answer arrives, and the failure is on the record."""
    import hocket._runtime.runtime as runtime

    monkeypatch.setattr(runtime, "END_GRACE", 0.02)

    class Hangs(AsyncEnds):
        async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            await anyio.sleep_forever()

    hanging, behind = Hangs(), AsyncEnds()
    with anyio.fail_after(1):
        answer = await Answers().ainvoke("x", {"callbacks": [hanging, behind]})
    assert answer.content == "hi"
    assert behind.seen == [["start", "end"]]
    assert hanging.errors == 1


async def test_a_handler_that_hangs_in_its_thread_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for one that holds up its worker thread, which cannot be stopped."""
    import hocket._runtime.runtime as runtime

    monkeypatch.setattr(runtime, "END_GRACE", 0.02)
    release = threading.Event()

    class Hangs(EndsInThread):
        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            release.wait(5)

    hanging, behind = Hangs(), AsyncEnds()
    with anyio.fail_after(1):
        await Answers().ainvoke("x", {"callbacks": [hanging, behind]})
    release.set()
    assert behind.seen == [["start", "end"]]
    assert hanging.errors == 1


class Texts(BaseLLM):
    """A text model; fails if a prompt says so."""

    cancel: Callable[[], object] | None = None

    @property
    def _llm_type(self) -> str:
        return "texts"

    async def _agenerate(self, prompts: list[str], stop: Any = None, **kwargs: Any) -> LLMResult:
        if self.cancel is not None:
            self.cancel()
            await anyio.sleep_forever()
        if "fail" in prompts:
            raise ConnectionError("lost")
        return LLMResult(generations=[[Generation(text=prompt)] for prompt in prompts])


async def test_all_the_prompts_of_a_text_model_end() -> None:
    """One request, several runs: they end together, well or not."""
    handlers = watchers()
    await Texts().agenerate(["a", "b"], callbacks=handlers)
    assert seen(handlers) == [[["start", "end"]] * 2] * 3

    handlers = watchers()
    with pytest.raises(ConnectionError):
        await Texts().agenerate(["a", "fail"], callbacks=handlers)
    assert seen(handlers) == [[["start", "error"]] * 2] * 3

    handlers = watchers()
    with anyio.CancelScope() as scope:
        await Texts(cancel=scope.cancel).agenerate(["a", "b"], callbacks=handlers)
    assert seen(handlers) == [[["start", "error"]] * 2] * 3


async def test_a_batch_that_fails() -> None:
    """The siblings that are cancelled end, too: as many ends as starts."""
    handler = Ends()
    with pytest.raises(ConnectionError):
        await Fails().abatch(["a", "b", "fail", *"cdefgh"], {"callbacks": [handler], "max_concurrency": 4})
    assert handler.seen and all(len(events) == 2 and events[0] == "start" for events in handler.seen)
