"""Handlers are told in order, where they want to be told, and what one of them raises stays with it."""

import asyncio
import functools
import gc
import logging
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import anyio.lowlevel
import pytest

from hocket.callbacks import AsyncCallbackHandler, AsyncCallbackManager, BaseCallbackHandler
from hocket.language_models import BaseChatModel, FakeListChatModel, FakeListLLM
from hocket.messages import AIMessageChunk, HumanMessage
from hocket.outputs import ChatGenerationChunk

Log = list[tuple[str, str]]


class Told(BaseCallbackHandler):
    """Notes what it is told, and by what it calls itself."""

    run_inline = True

    def __init__(self, name: str, log: Log) -> None:
        self.name, self.log = name, log

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.log.append((self.name, "start"))

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        self.log.append((self.name, token))

    def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        self.log.append((self.name, "end"))


class ToldInThread(Told):
    run_inline = False


class ToldAsync(AsyncCallbackHandler):
    """The same, told in the event loop; it takes a moment over each event."""

    def __init__(self, name: str, log: Log) -> None:
        self.name, self.log = name, log

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.log.append((self.name, "start"))

    async def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.log.append((self.name, token))

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.log.append((self.name, "end"))


class Words(BaseChatModel):
    """Streams two words, by a sync hook or an async one."""

    is_async: bool = True

    @property
    def _llm_type(self) -> str:
        return "words"


class AsyncWords(Words):
    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for word in ("one", "two"):
            yield ChatGenerationChunk(message=AIMessageChunk(word))


class SyncWords(Words):
    def _stream(self, messages: Any, stop: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for word in ("one", "two"):
            yield ChatGenerationChunk(message=AIMessageChunk(word))


WHOLE = [(name, event) for event in ("start", "one", "two", "", "end") for name in ("a", "b", "c")]


@pytest.mark.parametrize("model", [AsyncWords(), SyncWords()])
async def test_every_event_goes_to_the_handlers_in_the_order_given(model: BaseChatModel) -> None:
    """Async, inline and threaded handlers mixed: each event is told to one after the other, then the next event."""
    log: Log = []
    handlers = [ToldAsync("a", log), ToldInThread("b", log), Told("c", log)]
    async for _ in model.astream("x", {"callbacks": handlers}):
        pass
    assert log == WHOLE


@pytest.mark.parametrize("model", [AsyncWords(), SyncWords()])
def test_the_order_is_the_same_under_sync_verbs(model: BaseChatModel) -> None:
    """Async handlers are told by sync verbs, too, in their place among the others."""
    log: Log = []
    handlers = [ToldAsync("a", log), ToldInThread("b", log), Told("c", log)]
    for _ in model.stream("x", {"callbacks": handlers}):
        pass
    assert log == WHOLE


async def test_handlers_that_wait_and_that_do_not_keep_their_order() -> None:
    """Those in front of the first that may wait are told at once, and nobody behind it before it is done."""
    log: Log = []
    kinds = [Told, ToldAsync, Told, ToldInThread, Told]
    handlers = [kind(str(place), log) for place, kind in enumerate(kinds)]
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": handlers})
    assert log == [(str(place), what) for what in ("start", "end") for place in range(5)]


async def test_a_handler_that_raises_at_once_does_not_cut_in() -> None:
    """It neither ends the event for those behind it, nor is anybody told twice."""
    log: Log = []

    class Refusing(Told):
        raise_error = True

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            super().on_llm_end()
            raise LookupError(self.name)

    handlers = [Told("0", log), Refusing("1", log), ToldAsync("2", log), Refusing("3", log), Told("4", log)]
    with pytest.raises(LookupError, match="1"):
        await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": handlers})
    assert [name for name, what in log if what == "end"] == ["0", "1", "2", "3", "4"]


async def test_a_token_is_told_before_its_consumer_has_it() -> None:
    """A handler that logs tokens never lags behind what a user has seen."""
    log: Log = []
    async for chunk in AsyncWords().astream("x", {"callbacks": [Told("a", log)]}):
        assert ("a", chunk.content) in log


async def test_a_sync_handler_is_told_in_a_worker_thread_and_an_inline_one_in_the_loop() -> None:
    """A handler that blocks must not hold up the loop; a quick one can ask to be spared the hop."""
    threads: dict[str, int] = {}

    class InThread(BaseCallbackHandler):
        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            threads["thread"] = threading.get_ident()

    class Inline(BaseCallbackHandler):
        run_inline = True

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            threads["inline"] = threading.get_ident()

    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [InThread(), Inline()]})

    assert threads["inline"] == threading.get_ident()
    assert threads["thread"] != threading.get_ident()


def test_a_sync_verb_tells_sync_handlers_in_its_own_thread() -> None:
    """No thread and no loop comes between: a thread-bound object in a handler goes on working."""
    told_in: list[int] = []

    class Here(BaseCallbackHandler):
        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            told_in.append(threading.get_ident())

    FakeListChatModel(responses=["hi"]).invoke("x", {"callbacks": [Here()]})

    assert told_in == [threading.get_ident()]


class Broken(BaseCallbackHandler):
    """Fails at everything."""

    run_inline = True

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("at the start")

    def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("at a token")

    def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("at the end")


class BrokenInThread(Broken):
    run_inline = False


class BrokenAsync(AsyncCallbackHandler):
    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("at the start")

    async def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("at a token")

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("at the end")


BROKEN = [Broken, BrokenInThread, BrokenAsync]


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_handler_that_raises_is_counted_and_logged_once_and_the_run_goes_on(
    broken: type[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Five failures are one warning, which names the handler, the event and the error; the others are at DEBUG."""
    log: Log = []
    handler = broken()
    with caplog.at_level(logging.DEBUG, logger="hocket.callbacks"):
        answer = [chunk.content async for chunk in AsyncWords().astream("x", {"callbacks": [handler, Told("b", log)]})]

    assert answer == ["one", "two", ""]
    assert log == [entry for entry in WHOLE if entry[0] == "b"]
    assert handler.errors == 5
    assert type(handler).errors == 0
    assert [record.levelname for record in caplog.records] == ["WARNING", *["DEBUG"] * 4]
    first = caplog.records[0].getMessage()
    assert type(handler).__name__ in first and "on_chat_model_start" in first and "at the start" in first


@pytest.mark.parametrize("broken", BROKEN)
def test_a_handler_that_raises_does_not_disturb_sync_verbs(broken: type[Any]) -> None:
    """The same under the sync verbs, with an async handler as well."""
    handler = broken()
    assert SyncWords().invoke("x", {"callbacks": [handler]}).content == "onetwo"
    assert handler.errors > 0


@pytest.mark.parametrize("broken", BROKEN)
async def test_raise_error_raises_after_the_handlers_behind_it_were_told(broken: type[Any]) -> None:
    """A handler may insist; but the others must not lose an event by it."""
    log: Log = []
    handler = broken()
    handler.raise_error = True
    with pytest.raises(ValueError, match="at the start"):
        await AsyncWords().ainvoke("x", {"callbacks": [handler, Told("b", log)]})
    assert log == [("b", "start")]


@pytest.mark.parametrize("broken", BROKEN)
def test_raise_error_raises_under_sync_verbs(broken: type[Any]) -> None:
    """LangChain swallows it for async handlers under sync calls; here it is the same everywhere."""
    handler = broken()
    handler.raise_error = True
    with pytest.raises(ValueError, match="at the start"):
        SyncWords().invoke("x", {"callbacks": [handler]})


async def test_the_first_of_several_that_insist_is_raised() -> None:
    """Both are told, and the error is that of the one given first."""

    class Insists(AsyncCallbackHandler):
        raise_error = True

        def __init__(self, text: str) -> None:
            self.text = text

        async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            raise ValueError(self.text)

    first, second = Insists("first"), Insists("second")
    with pytest.raises(ValueError, match="first"):
        await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [first, second]})
    assert (first.errors, second.errors) == (1, 1)


async def test_a_handler_whose_own_work_was_cancelled_does_not_cancel_the_run(anyio_backend_name: str) -> None:
    """`CancelledError` out of a handler, while nobody cancelled the run, is an error like any other."""

    class Cancelled(AsyncCallbackHandler):
        async def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None:
            if anyio_backend_name == "asyncio":
                waiting = asyncio.get_running_loop().create_future()
                waiting.cancel()
                await waiting
            raise asyncio.CancelledError

    handler = Cancelled()
    answer = [chunk.content async for chunk in AsyncWords().astream("x", {"callbacks": [handler]})]
    assert answer == ["one", "two", ""]
    assert handler.errors == 3


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
    class Recorder(BaseCallbackHandler):
        ends: list[str] = field(default_factory=list)

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            self.ends.append("end")

    first, second = Recorder(), Recorder()
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
    handler, inline = Wrapped(), Wrapped()
    inline.run_inline = True
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler, inline]})
    assert (handler.told, inline.told) == (1, 1)


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
        with anyio.fail_after(5):
            await anyio.lowlevel.checkpoint()
        self.told += 1

    on_chain_end = on_llm_end


@pytest.mark.parametrize("behind", [ToldAsync, ToldInThread])
async def test_a_decorated_async_method_ends_in_the_task_that_it_begins_in(behind: type[Any]) -> None:
    """An end that takes time has a task, or a scope, of its own: what a handler opens must not lie around it."""
    scoped, waiting = Scoped(), behind("waiting", [])
    waiting.on_chain_end = waiting.on_llm_end
    handlers = [scoped, waiting]
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": handlers})
    run = await AsyncCallbackManager(handlers).on_chain_start({"name": "chain"}, {})
    await run.on_chain_end({})
    assert (scoped.told, scoped.errors) == (2, 0)
    assert [what for _, what in waiting.log] == ["start", "end", "end"]


async def test_what_a_handler_raises_is_logged_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """Also a StopIteration, which cannot leave a coroutine."""

    class Spent(Told):
        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            next(iter(()))

    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [Spent("spent", [])]})
    assert [record.getMessage() for record in caplog.records] == [
        "Spent.on_llm_end raised StopIteration(); the run goes on"
    ]


async def test_what_a_handler_raises_is_gone_once_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It holds the frames that it came through, and the answer in them: it must not wait for the garbage collector."""
    caplog.set_level(logging.CRITICAL, "hocket.callbacks")  # pytest keeps what is logged
    raised: list[weakref.ref[Exception]] = []

    class Failure(Exception):
        def __init__(self) -> None:
            raised.append(weakref.ref(self))

    class Failing(Told):
        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            raise Failure

    gc.collect()
    gc.disable()
    try:
        await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [Failing("failing", [])]})
        assert [failure() for failure in raised] == [None]
    finally:
        gc.enable()


class ForTexts(BaseCallbackHandler):
    """Was written before there were chat models."""

    run_inline = True

    def __init__(self) -> None:
        self.prompts: list[list[str]] = []
        self.ends = 0

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], **kwargs: Any) -> None:
        self.prompts.append(prompts)

    def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        self.ends += 1


class Refusing(ForTexts):
    """Says of chat models what LangChain's base class says."""

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError


class RefusingInThread(Refusing):
    run_inline = False


class RefusingAsync(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.prompts: list[list[str]] = []
        self.ends = 0

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    async def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], **kwargs: Any) -> None:
        self.prompts.append(prompts)

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        self.ends += 1


FOR_TEXTS = [ForTexts, Refusing, RefusingInThread, RefusingAsync]


@pytest.mark.parametrize("made", FOR_TEXTS)
async def test_a_handler_without_chat_models_is_told_of_texts(made: type[Any]) -> None:
    """A handler that knows only text models hears of a chat model as of one, whether it says so or just has no method."""
    handler = made()
    model = FakeListChatModel(responses=["hi"])
    await model.ainvoke([("system", "Be kind."), HumanMessage("Hello")], {"callbacks": [handler]})
    assert handler.prompts == [["System: Be kind.\nHuman: Hello"]]
    assert (handler.ends, handler.errors) == (1, 0)


@pytest.mark.parametrize("made", FOR_TEXTS)
def test_the_same_under_sync_verbs(made: type[Any]) -> None:
    """The fallback does not depend on the verb."""
    handler = made()
    FakeListChatModel(responses=["hi"]).invoke("Hello", {"callbacks": [handler]})
    assert handler.prompts == [["Human: Hello"]]
    assert (handler.ends, handler.errors) == (1, 0)


async def test_a_handler_that_knows_neither_is_left_alone() -> None:
    """A refusal without anything to fall back to is no failure."""

    class Neither(BaseCallbackHandler):
        run_inline = True

        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            raise NotImplementedError

    handler = Neither()
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    assert handler.errors == 0


async def test_a_text_handler_that_refuses_itself_is_asked_once() -> None:
    """`NotImplementedError` out of the fallback is a failure, and not a reason to try again."""

    class Unfinished(BaseCallbackHandler):
        run_inline = True
        asked = 0

        def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
            self.asked += 1
            raise NotImplementedError

    handler = Unfinished()
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    assert (handler.asked, handler.errors) == (1, 1)


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
    events: list[str] = []

    class Picky(BaseCallbackHandler):
        run_inline = True

        def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
            events.append("on_llm_start")

        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            events.append("on_chat_model_start")

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            events.append("on_llm_end")

    as_property = type("AsProperty", (Picky,), {flag: property(lambda self: True)})
    as_attribute = Picky()
    setattr(as_attribute, flag, True)
    for handler in (as_property(), as_attribute):
        events.clear()
        await model(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
        assert events == heard


async def test_ignoring_chat_models_does_not_fall_back_to_texts() -> None:
    """`ignore_chat_model` says no to the event in either form."""
    handler = ForTexts()
    handler.ignore_chat_model = True
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    assert handler.prompts == []
