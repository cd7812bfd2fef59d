"""Handlers are told in order, where they want to be told, and what one of them raises stays with it."""

import asyncio
import functools
import gc
import logging
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio.lowlevel
import pytest

from hocket.callbacks import AsyncCallbackHandler, AsyncCallbackManager, BaseCallbackHandler
from hocket.language_models import BaseChatModel, FakeListChatModel, FakeListLLM
from hocket.messages import HumanMessage
from tests.kit import AsyncRecorder, Event, Recorder, hook_model

Log = list[tuple[str, str]]


# The events that these tests follow, and how they note them.
NOTES = {"on_chat_model_start": "start", "on_llm_new_token": "token", "on_llm_end": "end"}


def write_down(name: str, log: Log) -> Callable[[Event], None]:
    """Return a function that notes an event under a handler's name."""

    def write(event: Event) -> None:
        log.append((name, event.args[0] if event.name == "on_llm_new_token" else NOTES[event.name]))

    return write


def inline(name: str, log: Log) -> Recorder:
    return Recorder(*NOTES, do=write_down(name, log))


def threaded(name: str, log: Log) -> Recorder:
    return Recorder(*NOTES, do=write_down(name, log), run_inline=False)


def waiting(name: str, log: Log) -> AsyncRecorder:
    """Return a handler that is told in the event loop, and takes a moment over each event."""
    write = write_down(name, log)

    async def wait_and_write(event: Event) -> None:
        await anyio.lowlevel.checkpoint()
        write(event)

    return AsyncRecorder(*NOTES, do=wait_and_write)


# Two words, by an async hook and by a sync one.
ASYNC_WORDS = hook_model(["one", "two"], "astream")
SYNC_WORDS = hook_model(["one", "two"], "stream")

WHOLE = [(name, event) for event in ("start", "one", "two", "end") for name in ("a", "b", "c")]


@pytest.mark.parametrize("model", [ASYNC_WORDS, SYNC_WORDS])
async def test_every_event_goes_to_the_handlers_in_the_order_given(model: BaseChatModel) -> None:
    """Async, inline and threaded handlers mixed: each event is told to one after the other, then the next event."""
    log: Log = []
    handlers = [waiting("a", log), threaded("b", log), inline("c", log)]
    async for _ in model.astream("x", {"callbacks": handlers}):
        pass
    assert log == WHOLE


@pytest.mark.parametrize("model", [ASYNC_WORDS, SYNC_WORDS])
def test_the_order_is_the_same_under_sync_verbs(model: BaseChatModel) -> None:
    """Async handlers are told by sync verbs, too, in their place among the others."""
    log: Log = []
    handlers = [waiting("a", log), threaded("b", log), inline("c", log)]
    for _ in model.stream("x", {"callbacks": handlers}):
        pass
    assert log == WHOLE


async def test_handlers_that_wait_and_that_do_not_keep_their_order() -> None:
    """Those in front of the first that may wait are told at once, and nobody behind it before it is done."""
    log: Log = []
    kinds: list[Any] = [inline, waiting, inline, threaded, inline]
    handlers = [kind(str(place), log) for place, kind in enumerate(kinds)]
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": handlers})
    assert log == [(str(place), what) for what in ("start", "end") for place in range(5)]


async def test_a_handler_that_raises_at_once_does_not_cut_in() -> None:
    """It neither ends the event for those behind it, nor is anybody told twice."""
    log: Log = []

    def refusing(name: str) -> Recorder:
        write = write_down(name, log)

        def refuse(event: Event) -> None:
            write(event)
            if event.name == "on_llm_end":
                raise LookupError(name)

        return Recorder(*NOTES, do=refuse, raise_error=True)

    handlers = [inline("0", log), refusing("1"), waiting("2", log), refusing("3"), inline("4", log)]
    with pytest.raises(LookupError, match="1"):
        await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": handlers})
    assert [name for name, what in log if what == "end"] == ["0", "1", "2", "3", "4"]


async def test_a_token_is_told_before_its_consumer_has_it() -> None:
    """A handler that logs tokens never lags behind what a user has seen."""
    log: Log = []
    async for chunk in ASYNC_WORDS.astream("x", {"callbacks": [inline("a", log)]}):
        assert ("a", chunk.content) in log


async def test_a_sync_handler_is_told_in_a_worker_thread_and_an_inline_one_in_the_loop() -> None:
    """A handler that blocks must not hold up the loop; a quick one can ask to be spared the hop."""
    threads: list[int] = []

    def note_thread(event: Event) -> None:
        threads.append(threading.get_ident())

    handlers = [Recorder("on_llm_end", do=note_thread, run_inline=run_inline) for run_inline in (False, True)]
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": handlers})

    threaded_in, inline_in = threads
    assert inline_in == threading.get_ident()
    assert threaded_in != threading.get_ident()


def test_a_sync_verb_tells_sync_handlers_in_its_own_thread() -> None:
    """No thread and no loop comes between: a thread-bound object in a handler goes on working."""
    told_in: list[int] = []

    handler = Recorder("on_llm_end", do=lambda event: told_in.append(threading.get_ident()), run_inline=False)
    FakeListChatModel(responses=["hi"]).invoke("x", {"callbacks": [handler]})

    assert told_in == [threading.get_ident()]


def fail(event: Event) -> None:
    """Fail at everything."""
    raise ValueError(f"at the {NOTES[event.name]}")


BROKEN = [
    partial(Recorder, *NOTES, do=fail),
    partial(Recorder, *NOTES, do=fail, run_inline=False),
    partial(AsyncRecorder, *NOTES, do=fail),
]


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_handler_that_raises_is_counted_and_logged_once_and_the_run_goes_on(
    broken: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Four failures are one warning, which names the handler, the event and the error; the others are at DEBUG."""
    log: Log = []
    handler = broken()
    with caplog.at_level(logging.DEBUG, logger="hocket.callbacks"):
        answer = [chunk.content async for chunk in ASYNC_WORDS.astream("x", {"callbacks": [handler, inline("b", log)]})]

    assert answer == ["one", "two"]
    assert log == [entry for entry in WHOLE if entry[0] == "b"]
    assert handler.errors == 4
    assert type(handler).errors == 0
    assert [record.levelname for record in caplog.records] == ["WARNING", *["DEBUG"] * 3]
    first = caplog.records[0].getMessage()
    assert type(handler).__name__ in first and "on_chat_model_start" in first and "at the start" in first


@pytest.mark.parametrize("broken", BROKEN)
def test_a_handler_that_raises_does_not_disturb_sync_verbs(broken: Callable[[], Any]) -> None:
    """The same under the sync verbs, with an async handler as well."""
    handler = broken()
    assert SYNC_WORDS.invoke("x", {"callbacks": [handler]}).content == "onetwo"
    assert handler.errors > 0


@pytest.mark.parametrize("broken", BROKEN)
async def test_raise_error_raises_after_the_handlers_behind_it_were_told(broken: Callable[[], Any]) -> None:
    """A handler may insist; but the others must not lose an event by it."""
    log: Log = []
    handler = broken()
    handler.raise_error = True
    with pytest.raises(ValueError, match="at the start"):
        await ASYNC_WORDS.ainvoke("x", {"callbacks": [handler, inline("b", log)]})
    assert log == [("b", "start")]


@pytest.mark.parametrize("broken", BROKEN)
def test_raise_error_raises_under_sync_verbs(broken: Callable[[], Any]) -> None:
    """LangChain swallows it for async handlers under sync calls; here it is the same everywhere."""
    handler = broken()
    handler.raise_error = True
    with pytest.raises(ValueError, match="at the start"):
        SYNC_WORDS.invoke("x", {"callbacks": [handler]})


async def test_the_first_of_several_that_insist_is_raised() -> None:
    """Both are told, and the error is that of the one given first."""

    def insisting(text: str) -> AsyncRecorder:
        def refuse(event: Event) -> None:
            raise ValueError(text)

        return AsyncRecorder("on_llm_end", do=refuse, raise_error=True)

    first, second = insisting("first"), insisting("second")
    with pytest.raises(ValueError, match="first"):
        await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [first, second]})
    assert (first.errors, second.errors) == (1, 1)


async def test_a_handler_whose_own_work_was_cancelled_does_not_cancel_the_run(anyio_backend_name: str) -> None:
    """`CancelledError` out of a handler, while nobody cancelled the run, is an error like any other."""

    async def cancel(event: Event) -> None:
        if anyio_backend_name == "asyncio":
            waiting = asyncio.get_running_loop().create_future()
            waiting.cancel()
            await waiting
        raise asyncio.CancelledError

    handler = AsyncRecorder("on_llm_new_token", do=cancel)
    answer = [chunk.content async for chunk in ASYNC_WORDS.astream("x", {"callbacks": [handler]})]
    assert answer == ["one", "two"]
    assert handler.errors == 2


async def test_a_frozen_handler_can_fail_too() -> None:
    """A handler that forbids assignment is counted like any other."""

    @dataclass(frozen=True)
    class Frozen(BaseCallbackHandler):
        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            raise ValueError("no")

    handler = Frozen()
    assert (await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})).content == "hi"
    assert handler.errors == 1


async def test_handlers_that_compare_equal_are_two_handlers() -> None:
    """Two recorders that are still empty are equal as dataclasses; LangChain drops the second."""

    @dataclass
    class Equal(BaseCallbackHandler):
        ends: list[str] = field(default_factory=list)

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            self.ends.append("end")

    first, second = Equal(), Equal()
    assert first == second
    await FakeListChatModel(responses=["hi"], callbacks=[second]).ainvoke("x", {"callbacks": [first, first]})
    assert (first.ends, second.ends) == (["end"], ["end"])


def wrapped(method: Any) -> Any:
    """Decorate a coroutine function with a plain one, as tracing libraries do."""

    @functools.wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    return wrapper


class Wrapped(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.told = 0

    @wrapped
    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.told += 1


async def test_a_decorated_async_method_is_awaited() -> None:
    """Its plain wrapper hides that it is a coroutine function; the coroutine is not lost for that."""
    handler, inlined = Wrapped(), Wrapped()
    inlined.run_inline = True
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler, inlined]})
    assert (handler.told, inlined.told) == (1, 1)


def test_a_decorated_async_method_is_awaited_by_sync_verbs() -> None:
    """The same where there is no loop."""
    handler = Wrapped()
    FakeListChatModel(responses=["hi"]).invoke("x", {"callbacks": [handler]})
    assert handler.told == 1


class Scoped(Wrapped):
    """Opens a scope, and leaves it."""

    run_inline = True

    @wrapped
    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        with anyio.fail_after(30):
            await anyio.lowlevel.checkpoint()
        self.told += 1

    on_chain_end = on_llm_end


@pytest.mark.parametrize("behind", [waiting, threaded])
async def test_a_decorated_async_method_ends_in_the_task_that_it_begins_in(behind: Callable[[str, Log], Any]) -> None:
    """An end that takes time has a task, or a scope, of its own: what a handler opens must not lie around it."""
    scoped, slow = Scoped(), behind("slow", log := [])
    slow.on_chain_end = slow.on_llm_end
    handlers = [scoped, slow]
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": handlers})
    run = await AsyncCallbackManager(handlers).on_chain_start({"name": "chain"}, {})
    await run.on_chain_end({})
    assert (scoped.told, scoped.errors) == (2, 0)
    assert [what for _, what in log] == ["start", "end", "end"]


async def test_what_a_handler_raises_is_logged_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """Also a StopIteration, which cannot leave a coroutine."""

    spent = Recorder("on_llm_end", do=lambda event: next(iter(())))
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [spent]})
    assert [record.getMessage() for record in caplog.records] == [
        "Recorder.on_llm_end raised StopIteration(); the run goes on"
    ]


async def test_what_a_handler_raises_is_gone_once_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It holds the frames that it came through, and the answer in them: it must not wait for the garbage collector."""
    caplog.set_level(logging.CRITICAL, "hocket.callbacks")  # pytest keeps what is logged
    raised: list[weakref.ref[Exception]] = []

    class Failure(Exception):
        def __init__(self) -> None:
            raised.append(weakref.ref(self))

    def fail(event: Event) -> None:
        raise Failure

    gc.collect()
    gc.disable()
    try:
        await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [Recorder("on_llm_end", do=fail)]})
        assert [failure() for failure in raised] == [None]
    finally:
        gc.enable()


def refuse_chats(event: Event) -> None:
    """Say of chat models what LangChain's base class says."""
    if event.name == "on_chat_model_start":
        raise NotImplementedError


# Written before there were chat models; the first has no method for them, the others refuse.
TEXT_EVENTS = ("on_llm_start", "on_llm_end")
FOR_TEXTS = [
    partial(Recorder, *TEXT_EVENTS),
    partial(Recorder, *TEXT_EVENTS, "on_chat_model_start", do=refuse_chats),
    partial(Recorder, *TEXT_EVENTS, "on_chat_model_start", do=refuse_chats, run_inline=False),
    partial(AsyncRecorder, *TEXT_EVENTS, "on_chat_model_start", do=refuse_chats),
]


@pytest.mark.parametrize("for_texts", FOR_TEXTS)
async def test_a_handler_without_chat_models_is_told_of_texts(for_texts: Callable[[], Any]) -> None:
    """A handler that knows only text models hears of a chat model as of one, whether it says so or just has no method."""
    handler = for_texts()
    model = FakeListChatModel(responses=["hi"])
    await model.ainvoke([("system", "Be kind."), HumanMessage("Hello")], {"callbacks": [handler]})
    assert handler.only("on_llm_start").args[1] == ["System: Be kind.\nHuman: Hello"]
    assert (handler.count("on_llm_end"), handler.errors) == (1, 0)


@pytest.mark.parametrize("for_texts", FOR_TEXTS)
def test_the_same_under_sync_verbs(for_texts: Callable[[], Any]) -> None:
    """The fallback does not depend on the verb."""
    handler = for_texts()
    FakeListChatModel(responses=["hi"]).invoke("Hello", {"callbacks": [handler]})
    assert handler.only("on_llm_start").args[1] == ["Human: Hello"]
    assert (handler.count("on_llm_end"), handler.errors) == (1, 0)


async def test_a_handler_that_knows_neither_is_left_alone() -> None:
    """A refusal without anything to fall back to is no failure."""

    handler = Recorder("on_chat_model_start", do=refuse_chats)
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    assert handler.errors == 0


async def test_a_text_handler_that_refuses_itself_is_asked_once() -> None:
    """`NotImplementedError` out of the fallback is a failure, and not a reason to try again."""

    def refuse(event: Event) -> None:
        raise NotImplementedError

    handler = Recorder("on_llm_start", do=refuse)
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    assert (handler.count("on_llm_start"), handler.errors) == (1, 1)


IGNORED = [
    ("ignore_llm", FakeListLLM, []),
    ("ignore_llm", FakeListChatModel, ["on_chat_model_start"]),
    ("ignore_chat_model", FakeListLLM, ["on_llm_start", "on_llm_end"]),
    ("ignore_chat_model", FakeListChatModel, ["on_llm_end"]),
    ("ignore_chain", FakeListChatModel, ["on_chat_model_start", "on_llm_end"]),
]


@pytest.mark.parametrize(("flag", "model", "heard"), IGNORED)
async def test_a_handler_hears_nothing_of_what_it_ignores(flag: str, model: type[Any], heard: list[str]) -> None:
    """The flags are LangChain's, in its classes of events; one may be a property, as there."""
    events = ("on_llm_start", "on_chat_model_start", "on_llm_end")
    as_property = type("AsProperty", (Recorder,), {flag: property(lambda self: True)})(*events)
    as_attribute = Recorder(*events, **{flag: True})
    for handler in (as_property, as_attribute):
        await model(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
        assert handler.names == heard


async def test_ignoring_chat_models_does_not_fall_back_to_texts() -> None:
    """`ignore_chat_model` says no to the event in either form."""
    handler = Recorder(*TEXT_EVENTS, ignore_chat_model=True)
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    assert handler.count("on_llm_start") == 0
