"""Streams of models whose hook fails, under every verb: the error is the consumer's, the run ends once, all is tidy."""

import asyncio
import contextvars
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import Field

from hocket.caches import InMemoryCache
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessageChunk
from hocket.outputs import ChatGenerationChunk

setting = contextvars.ContextVar("setting", default="unset")


class Stop(BaseException):
    """Like KeyboardInterrupt: not an Exception."""


class Failing(BaseChatModel):
    """Says three things, then fails, if it has an error; notes where it ran, what it saw, and that it cleaned up."""

    error: Any = Field(default=None, exclude=True)
    notes: Any = Field(default_factory=list, exclude=True)

    def _pieces(self) -> Iterator[ChatGenerationChunk]:
        self.notes.append((setting.get(), threading.current_thread().name))
        try:
            for text in "abc":
                yield ChatGenerationChunk(message=AIMessageChunk(text))
            if self.error is not None:
                raise self.error
        finally:
            self.notes.append("cleaned up")

    @property
    def _llm_type(self) -> str:
        return "failing"


class InLoop(Failing):
    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for piece in self._pieces():
            yield piece
            await anyio.lowlevel.checkpoint()


class InThread(Failing):
    def _stream(self, messages: Any, stop: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield from self._pieces()


MODELS: dict[str, Callable[..., Failing]] = {
    "async hook": InLoop,
    "sync hook": InThread,
    "async hook, a cache": lambda **fields: InLoop(cache=InMemoryCache(), **fields),
    "sync hook, a cache": lambda **fields: InThread(cache=InMemoryCache(), **fields),
}

every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
ERRORS = [ValueError("no"), Stop("no"), KeyboardInterrupt(), SystemExit(3), TimeoutError()]


def assert_told(recorder: Any, error: BaseException) -> None:
    """The handlers heard of the error, once, with what had come before it."""
    assert recorder.end == "on_llm_error"
    assert recorder.firsts("on_llm_error") == [error]
    details = recorder.only("on_llm_error").details
    assert details["response"].generations[0][0].text == "abc"


@every_model
@pytest.mark.parametrize("error", ERRORS, ids=repr)
async def test_an_error_in_the_hook_is_raised_after_the_chunks(
    make: Callable[..., Failing], error: BaseException, recorder: Any, logged: pytest.LogCaptureFixture
) -> None:
    """By the pull that reaches it, as the object that it is."""
    model = make(error=error, callbacks=[recorder])
    stream = model.astream("hi")
    read: list[str] = []
    with pytest.raises(type(error)) as caught:
        async for one in stream:
            read.append(one.text)
    assert caught.value is error
    assert "".join(read) == stream.message.content == "abc"
    assert model.notes[-1] == "cleaned up"
    assert [one async for one in stream] == []
    assert_told(recorder, error)
    for _ in range(100):
        await anyio.lowlevel.checkpoint()
    assert not logged.records


@every_model
@pytest.mark.parametrize("error", ERRORS, ids=repr)
async def test_the_same_without_a_stream(make: Callable[..., Failing], error: BaseException, recorder: Any) -> None:
    """A hook that streams answers `ainvoke`, and fails it."""
    model = make(error=error, callbacks=[recorder])
    with pytest.raises(type(error)) as caught:
        await model.ainvoke("hi")
    assert caught.value is error
    assert_told(recorder, error)


@every_model
@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_the_same_in_sync_code(make: Callable[..., Failing], error: BaseException, recorder: Any) -> None:
    """Stepped in this thread, or on the kept loop, which survives it."""
    model = make(error=error, callbacks=[recorder])
    stream = model.stream("hi")
    read: list[str] = []
    with pytest.raises(type(error)) as caught:
        for one in stream:
            read.append(one.text)
    assert caught.value is error
    assert "".join(read) == stream.message.content == "abc"
    assert list(stream) == []
    assert_told(recorder, error)
    with pytest.raises(type(error)):
        model.invoke("hi")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("verb", ["astream", "ainvoke"])
@pytest.mark.parametrize("cache", [False, InMemoryCache()], ids=["no cache", "a cache"])
async def test_a_cancellation_out_of_nowhere_is_an_error(verb: str, cache: Any, recorder: Any) -> None:
    """Something that the hook waited for was cancelled: the caller hears of it, and is not cancelled himself."""
    error = asyncio.CancelledError("stray")
    model = InLoop(error=error, callbacks=[recorder], cache=cache)
    with pytest.raises(asyncio.CancelledError, match="stray"):
        if verb == "ainvoke":
            await model.ainvoke("hi")
        else:
            [one async for one in model.astream("hi")]
    assert_told(recorder, error)
    for _ in range(100):
        await anyio.lowlevel.checkpoint()


@every_model
async def test_the_hook_sees_the_callers_context(make: Callable[..., Failing]) -> None:
    """Context variables reach it in its task or its thread; what it sets stays there."""
    setting.set("the caller's")
    model = make()
    assert "".join([one.text async for one in model.astream("hi")]) == "abc"
    assert model.notes[0][0] == "the caller's"


@every_model
def test_the_hook_sees_the_sync_callers_context(make: Callable[..., Failing]) -> None:
    """In this thread (sync hooks) or on the kept loop."""
    token = setting.set("the caller's")
    model = make()
    assert "".join(one.text for one in model.stream("hi")) == "abc"
    setting.reset(token)
    here = isinstance(model, InThread)
    assert model.notes[0] == ("the caller's", threading.current_thread().name if here else "hocket")


# -- leaving sync streams


class Endless(Failing):
    """Says the same for ever."""

    def _pieces(self) -> Iterator[ChatGenerationChunk]:
        try:
            while True:
                yield ChatGenerationChunk(message=AIMessageChunk("a"))
        finally:
            self.notes.append("cleaned up")


class EndlessInLoop(Endless):
    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        pieces = self._pieces()
        try:
            for piece in pieces:
                yield piece
                await anyio.lowlevel.checkpoint()
        finally:
            pieces.close()  # type: ignore[attr-defined]


class EndlessInThread(Endless):
    def _stream(self, messages: Any, stop: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield from self._pieces()


def close(stream: Any) -> None:
    next(stream)
    stream.close()
    stream.close()


def leave_with(stream: Any) -> None:
    with stream:
        next(stream)


def break_off(stream: Any) -> None:
    for _ in stream:
        break


def collect(stream: Any) -> None:
    next(stream)
    cycle = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()


def collect_inside_out(stream: Any) -> None:
    gc.collect(0)  # the stream is of an older generation now than what it will hold, and so comes behind that
    next(stream)
    cycle = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()


def fail(stream: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        for _ in stream:
            _ = 1 / 0


@pytest.mark.parametrize("leave", [close, leave_with, break_off, collect, collect_inside_out, fail])
@pytest.mark.parametrize("cls", [EndlessInLoop, EndlessInThread])
@pytest.mark.parametrize("cached", [False, True], ids=["no cache", "a cache"])
def test_a_sync_stream_that_is_left_ends_once_as_left(
    cls: type[Endless], cached: bool, leave: Callable[[Any], None], recorder: Any, logged: pytest.LogCaptureFixture
) -> None:
    """Whatever the hook, however it is left."""
    model = cls(callbacks=[recorder], cache=InMemoryCache() if cached else False)
    leave(model.stream("hi"))
    deadline = time.monotonic() + 30
    while not recorder.firsts("on_llm_end") and time.monotonic() < deadline:
        time.sleep(0.001)
        gc.collect()  # the first does nothing while another thread is collecting
    assert recorder.end == "on_llm_end closed"
    assert model.notes == ["cleaned up"]
    assert not logged.records
