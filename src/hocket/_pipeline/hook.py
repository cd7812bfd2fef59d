"""The model's own code: which of its hooks answers a call, and how.

A model defines any one of four hooks; which ones is found out once a class. The async verbs prefer async hooks, the
sync verbs sync ones. Chunks are folded into the result as they pass, so that a streamed and a whole answer are one.
"""

import functools
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from types import CoroutineType
from typing import Any, NamedTuple, TypeVar, cast

from hocket._pipeline.cache import replay
from hocket._pipeline.call import Call
from hocket._pipeline.deadline import check_total
from hocket._pipeline.text_call import TextCall
from hocket._runtime.thread_stream import from_thread
from hocket.errors import InvalidHook, LLMError
from hocket.outputs import LLMResult

__all__ = ["Hooks", "ask_hook", "default_hook", "defines", "takes_run_manager"]

F = TypeVar("F", bound=Callable[..., Any])

_defaults: set[Any] = set()


class Hooks(NamedTuple):
    """Which hooks a class defines, and which of them take the run manager."""

    agenerate: bool
    generate: bool
    astream: bool
    stream: bool
    agenerate_takes_run: bool
    generate_takes_run: bool

    @classmethod
    def of(cls, model: type) -> "Hooks":
        """Find the hooks that ``model`` defines."""
        names = ("_agenerate", "_generate", "_astream", "_stream")
        return cls(*(defines(model, name) for name in names), *(takes_run_manager(model, name) for name in names[:2]))

    @property
    def steps(self) -> bool:
        """Whether a sync hook can answer, so that sync verbs need no event loop."""
        return self.generate or self.stream

    @property
    def steps_stream(self) -> bool:
        """Whether a sync stream needs no event loop: there is a sync hook, and no async one would stream better."""
        return self.stream or (self.generate and not self.astream)

    def can_stream(self) -> bool:
        """Whether any hook streams."""
        return self.astream or self.stream


def default_hook(method: F) -> F:
    """Mark a hook of hocket's own base classes: it only says what the hook is, or leads to another one."""
    _defaults.add(method)
    return method


def defines(model: type, name: str) -> bool:
    """Whether a class has a hook of this name that is more than a default."""
    return getattr(model, name, None) not in _defaults | {None}


@functools.cache
def takes_run_manager(model: type, name: str) -> bool:
    """Whether the method ``name`` of a class has a parameter for the run manager."""
    method = getattr(model, name, None)
    return method is not None and "run_manager" in inspect.signature(method).parameters


async def ask_hook(call: Call) -> Any:
    """Have the model answer. An error of its server gets the part of the answer that had come (`LLMError.partial`)."""
    model, hooks = call.model, call.model._hooks
    is_async = call.runtime.is_async
    try:
        if call.streaming and (hooks.astream if is_async else hooks.stream):
            return await (_fold_async(call) if is_async else _fold_sync(call))
        if call.streaming and hooks.stream:
            return await _fold_thread(call)
        several = len(call.prompts) > 1  # of a text model: a stream hook takes one
        if is_async and hooks.agenerate:
            hook = "_agenerate"
            returned = model._agenerate(*call.asked(), **_arguments(call, hooks.agenerate_takes_run))
            if type(returned) is not CoroutineType:
                _check_awaitable(call, returned)
            result = await returned
        elif hooks.generate and (several or not (is_async and hooks.astream)):
            hook = "_generate"
            if is_async:
                await _tell_offloaded(call)
            arguments = _arguments(call, hooks.generate_takes_run, for_sync=True)
            result = await call.runtime.call_sync(_uninterrupted, model._generate, *call.asked(), **arguments)
        elif several:
            return await _ask_each(cast(TextCall, call))
        elif is_async and hooks.astream:
            return await _fold_async(call)
        else:
            return await (_fold_thread(call) if is_async else _fold_sync(call))
    except LLMError as error:
        if error.partial is None and call.has_begun:
            error.partial = call.gathered()
        raise
    result = call.checked(result, hook)
    if call.sink is not None and not call.is_raw:  # in flight, each of those who share the answer replays it himself
        await replay(call, result)
    return result


async def _ask_each(call: TextCall) -> LLMResult:
    """Answer several prompts with a hook that takes one: one after another, and without telling of their chunks."""
    results = [await ask_hook(call.only([index])) for index in range(len(call.prompts))]
    return LLMResult(generations=[result.generations[0] for result in results])


def _arguments(call: Call, takes_run: bool, *, for_sync: bool = False) -> dict[str, Any]:
    arguments = {"stop": call.stop, **call.params}
    if takes_run:
        run = call.run_manager()
        arguments["run_manager"] = run.get_sync() if for_sync and hasattr(run, "get_sync") else run
    return arguments


def _check_awaitable(call: Call, returned: Any) -> None:
    if not inspect.isawaitable(returned):
        raise InvalidHook(
            f"{type(call.model).__name__}._agenerate returned {type(returned).__name__}, nothing to await; "
            "define it with async def"
        )


def _uninterrupted(hook: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a hook; a StopIteration that it lets out must not end somebody's iterator."""
    try:
        returned = hook(*args, **kwargs)
    except StopIteration as stop:
        raise RuntimeError(f"{hook.__qualname__} raised StopIteration") from stop
    if type(returned) is CoroutineType:
        returned.close()
        raise InvalidHook(f"{hook.__qualname__} is an async def; the async form of _generate is called _agenerate")
    return returned


def _stream(call: Call) -> Iterator[Any]:
    chunks = call.model._stream(*call.asked_to_stream(), stop=call.stop, **call.params)
    if not isinstance(chunks, Iterable) or isinstance(chunks, str):
        raise _no_stream(call, "_stream", chunks)
    return iter(chunks)


def _no_stream(call: Call, hook: str, returned: object) -> InvalidHook:
    if isinstance(returned, CoroutineType):
        returned.close()
    return InvalidHook(
        f"{type(call.model).__name__}.{hook} returned {type(returned).__name__}, which is no stream; "
        "it must yield its chunks"
    )


async def _fold_async(call: Call) -> Any:
    chunks: AsyncIterator[Any] = call.model._astream(*call.asked_to_stream(), stop=call.stop, **call.params)
    if not isinstance(chunks, AsyncIterable):
        raise _no_stream(call, "_astream", chunks)
    try:
        async for chunk in chunks:
            waiting = call.deliver(chunk)
            if waiting is not None:
                await waiting
    except BaseException:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await call.runtime.finish_within_grace(close())
        raise
    return await _closing(call)


async def _fold_sync(call: Call) -> Any:
    chunks = _stream(call)
    try:
        for chunk in chunks:
            waiting = call.deliver(chunk)
            if waiting is not None:
                await waiting
            if call.ends_at is not None:
                check_total(call)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    return await _closing(call)


async def _fold_thread(call: Call) -> Any:
    """Run a sync stream in a worker thread, as a whole."""

    def work(put: Callable[[Any], bool]) -> None:
        chunks = _stream(call)
        try:
            for chunk in chunks:
                if put(chunk):
                    break
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()

    await _tell_offloaded(call)
    await from_thread(work, call.deliver)
    return await _closing(call)


async def _tell_offloaded(call: Call) -> None:
    if call.runs or call.is_raw:
        await call.note("on_offload")


async def _closing(call: Call) -> Any:
    """End a stream: mark its end, and make the result."""
    result = call.streamed()
    last = call.last_chunk()
    if last is not None:
        waiting = call.deliver(last)
        if waiting is not None:
            await waiting
        result = call.streamed()
    return result
