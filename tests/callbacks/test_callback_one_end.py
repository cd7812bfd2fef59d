"""Exactly one start and exactly one end for every run and every handler, whatever happens, wherever."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from hocket.messages import HumanMessage
from hocket.outputs import Generation, LLMResult
from tests.kit import MODEL_EVENTS, AsyncRecorder, Event, HookCall, HookModel, Recorder, hook_llm, hook_model


def pause(event: Event) -> Awaitable[None]:
    return anyio.sleep(0.001)


def slow() -> AsyncRecorder:
    """Return a handler that takes a moment over each event before it notes it."""
    return AsyncRecorder(*MODEL_EVENTS, before=pause)


def threaded() -> Recorder:
    return Recorder(*MODEL_EVENTS, run_inline=False)


def watchers() -> list[Any]:
    return [Recorder(*MODEL_EVENTS), slow(), threaded()]


def ends(handler: Any) -> list[list[str]]:
    """Return the starts and ends that a handler noted, by run."""
    return [[name.rsplit("_", 1)[1] for name in names] for names in handler.runs().values()]


def seen(handlers: list[Any]) -> list[Any]:
    return [ends(handler) for handler in handlers]


async def answer_or_fail(call: HookCall) -> str:
    """Fail where the last message says so."""
    await anyio.lowlevel.checkpoint()
    if call.text == "fail":
        raise ConnectionError("lost")
    return "hi"


ANSWERS = hook_model("hi")
FAILS = hook_model(answer_or_fail)


def waits(cancel: Callable[[], object], calls: int = 1) -> Any:
    """Return a model that never answers; it calls ``cancel`` when it is asked for the last time of ``calls``."""

    async def wait(call: HookCall) -> None:
        if len(model.requests) == calls:
            cancel()
        await anyio.sleep_forever()

    model = hook_model(wait)
    return model


async def say_and_wait(call: HookCall) -> AsyncIterator[str]:
    yield "one"
    await anyio.sleep_forever()


async def say_and_fail(call: HookCall) -> AsyncIterator[str]:
    yield "one"
    raise ConnectionError("lost")


# They say one word, and then wait for ever, or fail.
STREAMS = hook_model(say_and_wait, "astream")
STREAM_FAILS = hook_model(say_and_fail, "astream")


async def test_success() -> None:
    """Start, end."""
    handlers = watchers()
    await ANSWERS.ainvoke("x", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "end"]]] * 3


async def test_the_end_has_been_told_when_the_verb_returns() -> None:
    """A slow handler has finished by then: a caller that exits at once loses no trace."""
    handler = slow()
    await ANSWERS.ainvoke("x", {"callbacks": [handler]})
    assert ends(handler) == [["start", "end"]]


async def test_a_failing_hook() -> None:
    """Start, error; and the caller gets the hook's own exception."""
    handlers = watchers()
    with pytest.raises(ConnectionError) as caught:
        await FAILS.ainvoke("fail", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "error"]]] * 3
    assert handlers[0].firsts("on_llm_error") == [caught.value]


async def test_a_hook_that_returns_nonsense() -> None:
    """hocket's own complaint is the run's error."""

    class Nonsense(HookModel):
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
        await FAILS.agenerate(conversations, callbacks=handlers)
    for handler in handlers:
        assert ends(handler) == [["start", "end"], ["start", "error"], ["start", "end"], ["start", "error"]]


def test_one_of_several_conversations_fails_in_sync_code() -> None:
    """One after another: those behind the failure are not asked, and still end. LangChain leaves runs open here."""

    def answer_or_fail(call: HookCall) -> str:
        if call.text == "fail":
            raise ConnectionError("lost")
        return "hi"

    model = hook_model(answer_or_fail, "generate")
    handlers = watchers()
    with pytest.raises(ConnectionError):
        model.generate([[HumanMessage(text)] for text in ("a", "fail", "b")], callbacks=handlers)
    assert [call.text for call in model.requests] == ["a", "fail"]
    assert seen(handlers) == [[["start", "end"], ["start", "error"], ["start", "error"]]] * 3


async def test_cancelled_by_a_scope() -> None:
    """The end is told under cancellation, also by handlers that wait and by those in threads, before the verb raises."""
    handlers = watchers()
    with anyio.CancelScope() as scope:
        await waits(cancel=scope.cancel).ainvoke("x", {"callbacks": handlers})
    assert scope.cancelled_caught
    assert seen(handlers) == [[["start", "error"]]] * 3
    assert isinstance(handlers[0].firsts("on_llm_error")[0], anyio.get_cancelled_exc_class())


async def test_cancelled_by_a_task_group_among_several() -> None:
    """All the runs of one call end, and the scope is left as cancelled."""
    handlers = watchers()
    with anyio.CancelScope() as scope:
        model = waits(cancel=scope.cancel, calls=2)
        await model.agenerate([[HumanMessage("a")], [HumanMessage("b")]], callbacks=handlers)
    assert scope.cancelled_caught
    assert seen(handlers) == [[["start", "error"]] * 2] * 3


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelled_by_asyncio() -> None:
    """`wait_for`, `asyncio.timeout` and `task.cancel()`, in the hook and then again and again in the handlers."""
    handlers = watchers()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as timeout:
            model = waits(cancel=lambda: timeout.reschedule(0))
            await model.ainvoke("x", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "error"]]] * 3

    handlers, begun = watchers(), asyncio.Event()
    task = asyncio.create_task(waits(cancel=begun.set).ainvoke("x", {"callbacks": handlers}))
    await begun.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen(handlers) == [[["start", "error"]]] * 3


async def test_cancelled_in_the_middle_of_the_start() -> None:
    """The handlers behind the one that was struck hear of the start all the same, and all hear of the end."""

    async def hang(event: Event) -> None:
        if event.name == "on_chat_model_start":
            scope.cancel()
            await anyio.sleep_forever()

    hanging = AsyncRecorder(*MODEL_EVENTS, do=hang)
    handlers = [Recorder(*MODEL_EVENTS), hanging, slow(), threaded()]
    with anyio.CancelScope() as scope:
        await ANSWERS.ainvoke("x", {"callbacks": handlers})
    assert scope.cancelled_caught
    assert seen(handlers) == [[["start", "error"]]] * 4


async def test_cancelled_while_a_thread_is_told_of_the_start() -> None:
    """The caller waits for the thread: its end does not overtake its start, nor is there one without the other."""

    def cancel_and_sleep(event: Event) -> None:
        if event.name == "on_chat_model_start":
            anyio.from_thread.run_sync(scope.cancel)
            time.sleep(0.02)

    handler = Recorder(*MODEL_EVENTS, before=cancel_and_sleep, run_inline=False)
    with anyio.CancelScope() as scope:
        await ANSWERS.ainvoke("x", {"callbacks": [handler]})
    assert scope.cancelled_caught
    assert ends(handler) == [["start", "error"]]

    late = threaded()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await ANSWERS.ainvoke("x", {"callbacks": [late]})
    assert ends(late) == [["start", "error"]]


async def test_cancelled_in_the_middle_of_the_end() -> None:
    """The one that is told finishes, those behind it follow, and the answer gives way to the cancellation."""
    started = anyio.Event()

    async def sleep_at_the_end(event: Event) -> None:
        if event.name == "on_llm_end":
            started.set()
            await anyio.sleep(0.02)

    handlers: list[Any] = [AsyncRecorder(*MODEL_EVENTS, before=sleep_at_the_end), slow(), threaded()]
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await started.wait()
                scope.cancel()

            group.start_soon(cancel)
            await ANSWERS.ainvoke("x", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "end"]]] * 3


async def test_a_stream_that_fails() -> None:
    """Start, error, with what had come."""
    handlers = watchers()
    with pytest.raises(ConnectionError):
        async for _ in STREAM_FAILS.astream("x", {"callbacks": handlers}):
            pass
    assert seen(handlers) == [[["start", "error"]]] * 3
    assert handlers[0].only("on_llm_error").details["response"].generations[0][0].text == "one"


def partial_texts(handlers: list[Any]) -> list[str]:
    """Return the text that each handler was told at its early end."""
    return [handler.firsts("on_llm_end")[0].generations[0][0].text for handler in handlers]


async def test_a_stream_that_is_left() -> None:
    """Leaving is no failure: `on_llm_end` with what had come and `closed=True`, told before `aclose` returns."""
    handlers = watchers()
    async with STREAMS.astream("x", {"callbacks": handlers}) as stream:
        async for _ in stream:
            break
    assert seen(handlers) == [[["start", "end closed"]]] * 3
    assert partial_texts(handlers) == ["one"] * 3


async def test_a_stream_that_is_dropped() -> None:
    """A plain `break` and garbage collection end the run as well, soon after."""
    ended = anyio.Event()

    handler = Recorder(*MODEL_EVENTS, do=lambda event: ended.set() if event.name == "on_llm_end" else None)
    stream = STREAMS.astream("x", {"callbacks": [handler]})
    async for _ in stream:
        break
    del stream
    gc.collect()
    with anyio.fail_after(30):
        await ended.wait()
    assert ends(handler) == [["start", "end closed"]]
    assert partial_texts([handler]) == ["one"]


async def test_a_stream_whose_consumer_is_cancelled() -> None:
    """To be cancelled while waiting for a chunk is a cancellation, not a closing."""
    handlers = watchers()
    with anyio.CancelScope() as scope:
        async for _ in STREAMS.astream("x", {"callbacks": handlers}):
            scope.cancel()
    assert seen(handlers) == [[["start", "error"]]] * 3


async def test_a_stream_that_is_never_read() -> None:
    """Nothing was sent, so nothing is told."""
    handler = Recorder()
    await STREAMS.astream("x", {"callbacks": [handler]}).aclose()
    assert handler.events == []


def sync_streams(error: BaseException | None = None) -> Any:
    """Return a model that streams from a sync hook, and raises in the middle if told to."""

    def say(call: HookCall) -> Iterator[str]:
        yield "one"
        if error is not None:
            raise error
        yield "two"

    return hook_model(say, "stream")


def test_a_sync_stream_that_is_left() -> None:
    """The same in sync code, by `with`, by `close` and by dropping it."""
    handlers = watchers()
    with sync_streams().stream("x", {"callbacks": handlers}) as stream:
        next(stream)
    assert seen(handlers) == [[["start", "end closed"]]] * 3
    assert partial_texts(handlers) == ["one"] * 3

    handlers = watchers()
    for _ in sync_streams().stream("x", {"callbacks": handlers}):
        break
    gc.collect()
    assert seen(handlers) == [[["start", "end closed"]]] * 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ConnectionError, GeneratorExit])
def test_whatever_a_sync_hook_raises(error: type[BaseException]) -> None:
    """Ctrl-C in a hook ends the run, and goes on to the caller."""

    handlers = watchers()
    with pytest.raises(error):
        hook_model(error(), "generate").invoke("x", {"callbacks": handlers})
    assert seen(handlers) == [[["start", "error"]]] * 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, ConnectionError])
def test_whatever_a_sync_stream_raises(error: type[BaseException]) -> None:
    """In the middle of a stream, too."""
    handlers = watchers()
    with pytest.raises(error):
        list(sync_streams(error()).stream("x", {"callbacks": handlers}))
    assert seen(handlers) == [[["start", "error"]]] * 3


def insist(event: str) -> Recorder:
    """Return a handler that raises at one event, and wants to be heard."""

    def refuse(event: Event) -> None:
        raise RuntimeError("no")

    return Recorder(event, do=refuse, raise_error=True)


@pytest.mark.parametrize("first", [True, False])
async def test_a_handler_that_refuses_the_start(first: bool) -> None:
    """The run fails before it is asked for; the other handlers, before and behind, hear of both its ends."""
    handlers = watchers()
    insisting = insist("on_chat_model_start")
    given = [insisting, *handlers] if first else [*handlers, insisting]
    with pytest.raises(RuntimeError, match="no"):
        await ANSWERS.ainvoke("x", {"callbacks": given})
    assert seen(handlers) == [[["start", "error"]]] * 3


async def test_a_handler_that_refuses_one_of_several_starts() -> None:
    """The runs that had started are ended; those that had not are not told of."""

    def refuse_the_second(event: Event) -> None:
        if refusing.count("on_chat_model_start") == 2 and event.name == "on_chat_model_start":
            raise RuntimeError("no")

    refusing = Recorder(*MODEL_EVENTS, do=refuse_the_second, raise_error=True)
    handlers = [refusing, *watchers()]
    with pytest.raises(RuntimeError, match="no"):
        await ANSWERS.agenerate([[HumanMessage(text)] for text in "abc"], callbacks=handlers)
    assert seen(handlers) == [[["start", "error"]] * 2] * 4


async def test_a_handler_that_refuses_a_token() -> None:
    """The run fails there, once."""
    handlers = watchers()
    with pytest.raises(RuntimeError, match="no"):
        async for _ in STREAMS.astream("x", {"callbacks": [insist("on_llm_new_token"), *handlers]}):
            pass
    assert seen(handlers) == [[["start", "error"]]] * 3


@pytest.mark.parametrize("count", [1, 3])
async def test_a_handler_that_refuses_the_end(count: int) -> None:
    """The verb raises; the runs have had their end, and get no second one."""
    handlers = watchers()
    with pytest.raises(RuntimeError, match="no"):
        await ANSWERS.agenerate([[HumanMessage("x")]] * count, callbacks=[insist("on_llm_end"), *handlers])
    assert seen(handlers) == [[["start", "end"]] * count] * 3


@pytest.mark.parametrize("count", [1, 3])
async def test_a_handler_that_refuses_the_error(count: int) -> None:
    """A run that has failed keeps its own error, and its siblings their ends."""
    handlers = watchers()
    with pytest.raises(ConnectionError):
        await FAILS.agenerate([[HumanMessage("fail")]] * count, callbacks=[insist("on_llm_error"), *handlers])
    assert seen(handlers) == [[["start", "error"]] * count] * 3


def hurry(monkeypatch: pytest.MonkeyPatch) -> AsyncRecorder:
    """Give the handler before this one a moment for the end of a run, and those behind it a minute: machines are busy."""
    import hocket._runtime.mode as mode

    monkeypatch.setattr(mode, "END_GRACE", 0.02)

    async def wait_longer(event: Event) -> None:
        if event.name == "on_llm_end":
            monkeypatch.setattr(mode, "END_GRACE", 60.0)

    return AsyncRecorder(*MODEL_EVENTS, before=wait_longer)


async def test_a_handler_that_hangs_at_the_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets a few seconds; the handlers behind it are told, the answer arrives, and the failure is on the record."""

    async def hang(event: Event) -> None:
        if event.name == "on_llm_end":
            await anyio.sleep_forever()

    hanging, behind = AsyncRecorder(*MODEL_EVENTS, before=hang), slow()
    with anyio.fail_after(30):
        answer = await ANSWERS.ainvoke("x", {"callbacks": [hanging, hurry(monkeypatch), behind]})
    assert answer.content == "hi"
    assert ends(behind) == [["start", "end"]]
    assert hanging.errors == 1


async def test_a_handler_that_hangs_in_its_thread_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for one that holds up its worker thread, which cannot be stopped."""
    import hocket._runtime.mode as mode

    monkeypatch.setattr(mode, "END_GRACE", 1.5)
    release = threading.Event()

    def hang(event: Event) -> None:
        if event.name == "on_llm_end":
            release.wait(20)

    hanging, behind = Recorder(*MODEL_EVENTS, before=hang, run_inline=False), slow()
    began = time.monotonic()
    await ANSWERS.ainvoke("x", {"callbacks": [hanging, behind]})
    assert time.monotonic() - began < 2.9, "it waited twice"
    release.set()
    assert ends(behind) == [["start", "end"]]
    assert hanging.errors == 1


def texts_or_fail(call: HookCall) -> LLMResult:
    if "fail" in call.input:
        raise ConnectionError("lost")
    return LLMResult(generations=[[Generation(text=prompt)] for prompt in call.input])


async def test_all_the_prompts_of_a_text_model_end() -> None:
    """One request, several runs: they end together, well or not."""
    handlers, model = watchers(), hook_llm(texts_or_fail)
    await model.agenerate(["a", "b"], callbacks=handlers)
    assert seen(handlers) == [[["start", "end"]] * 2] * 3

    handlers = watchers()
    with pytest.raises(ConnectionError):
        await model.agenerate(["a", "fail"], callbacks=handlers)
    assert seen(handlers) == [[["start", "error"]] * 2] * 3

    async def cancel(call: HookCall) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    handlers = watchers()
    with anyio.CancelScope() as scope:
        await hook_llm(cancel).agenerate(["a", "b"], callbacks=handlers)
    assert seen(handlers) == [[["start", "error"]] * 2] * 3


async def test_a_batch_that_fails() -> None:
    """The siblings that are cancelled end, too: as many ends as starts."""
    handler = Recorder(*MODEL_EVENTS)
    with pytest.raises(ConnectionError):
        await FAILS.abatch(["a", "b", "fail", *"cdefgh"], {"callbacks": [handler], "max_concurrency": 4})
    assert handler.events
    handler.assert_every_run_ended_once()
