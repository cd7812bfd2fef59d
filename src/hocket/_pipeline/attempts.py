"""The last stages: attempts, in each of which the model's own hook answers.

This module alone decides which of four hooks is called, and how: directly, in a worker thread, or chunk by chunk. An
async hook is preferred under async verbs, a sync one under sync verbs; where only the other kind exists it is
used all the same.

Around it, attempts, each within its limits on time: ``first_token`` and ``idle`` are right above the hook, anew for each
attempt, and hold for what the hook hands over; while the consumer of a stream takes its time the clock stands still. There
is no other attempt once a chunk was handed out, to a consumer or to handlers that listen to tokens: nobody is to get the
beginning twice. Nor is there one after the call's deadline: where the server asks for a longer wait, its error is raised at
once. The outermost policy sets the number of attempts; policies inside it spend from the same budget.
"""

# pyright: reportPrivateUsage=false
# A model's hooks have private names, LangChain's, and this is where they are called.

import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator
from types import CoroutineType
from typing import Any, ClassVar, Protocol, cast

from hocket._metering.listeners import opening_listener
from hocket._metering.stage import is_unbilled
from hocket._pipeline.call import Call, Next
from hocket._pipeline.hooks import Hooks
from hocket._pipeline.observe import check_total, make_timeout
from hocket._pipeline.runs import view_run
from hocket._runtime.clock import Alarm, Turns
from hocket._runtime.thread_stream import from_thread
from hocket.errors import FirstTokenTimeout, IdleTimeout, InvalidHook, LLMError
from hocket.outputs import LLMResult
from hocket.retries import Failure, RetryPolicy, retry_async
from hocket.timeouts import Timeout, connect_limit

__all__ = ["ask_hook", "with_attempt_deadlines", "with_retries"]


class HookedModel(Protocol):
    """The four hooks, by LangChain's names. Each takes the prompt, or the prompts, and then these and more keywords."""

    _hooks: ClassVar[Hooks]

    async def _agenerate(self, prompt: object, stop: list[str] | None = None, **kwargs: object) -> object: ...
    def _generate(self, prompt: object, stop: list[str] | None = None, **kwargs: object) -> object: ...
    def _astream(self, prompt: object, stop: list[str] | None = None, **kwargs: object) -> object: ...
    def _stream(self, prompt: object, stop: list[str] | None = None, **kwargs: object) -> object: ...


async def ask_hook(call: Call) -> Any:
    """Have the model answer. An error of its server gets the part of the answer that had come (`LLMError.partial`)."""
    request, is_async = call.request, call.mode.is_async
    model: HookedModel = request.model
    hooks = model._hooks
    prompt = [*request.prompts] if call.answer.takes_list else request.prompts[0]
    try:
        if hooks.agenerate and is_async and not request.streaming:
            hook = "_agenerate"
            returned = model._agenerate(prompt, **_hook_kwargs(call, hooks.agenerate_takes_run))
            if type(returned) is not CoroutineType:
                _check_awaitable(call, returned)
            result = await returned
        elif (ask := _choose(call, hooks)) is not None:
            return await ask(call)
        else:
            hook = "_generate"
            if is_async:
                await _emit_offload(call)
            kwargs = _hook_kwargs(call, hooks.generate_takes_run, for_sync=True)
            result = await call.mode.call_sync(_call_hook, model._generate, prompt, **kwargs)
    except BaseException as error:
        call.delivery.is_billed = not is_unbilled(error)
        if isinstance(error, LLMError) and error.partial is None and call.delivery.has_begun:
            error.partial = call.delivery.fold.partial_message()
        raise
    result = call.answer.check(call.request, result, hook)
    if (
        call.delivery.sink is not None and not call.delivery.is_shared
    ):  # calls that share a request replay it themselves
        await call.delivery.replay(result)
    return result


def _choose(call: Call, hooks: Hooks) -> Callable[[Call], Awaitable[Any]] | None:
    """Return what asks a hook that streams, or the same hook for each of several prompts; None: `_generate` answers."""
    is_async, several = call.mode.is_async, len(call.request.prompts) > 1  # a stream hook takes one prompt
    if call.request.streaming and is_async and hooks.astream:
        return _fold_async
    if call.request.streaming and hooks.stream:
        return _fold_in_thread if is_async else _fold_sync
    if hooks.generate and (several or not (is_async and hooks.astream)):
        return None
    if several:
        return _ask_each
    if is_async:
        return _fold_async if hooks.astream else _fold_in_thread
    return _fold_sync


async def _ask_each(call: Call) -> LLMResult:
    """Answer several prompts with a hook that takes one: one after another, and without telling of their chunks."""
    results: list[LLMResult] = [await ask_hook(call.select([index])) for index in range(len(call.request.prompts))]
    return LLMResult(generations=[result.generations[0] for result in results])


def _hook_kwargs(call: Call, takes_run: bool, *, for_sync: bool = False) -> dict[str, Any]:
    kwargs = {"stop": call.request.stop, **call.request.params}
    if takes_run:
        run = call.run_manager()
        kwargs["run_manager"] = view_run(run, is_async=False) if for_sync else run
    return kwargs


def _check_awaitable(call: Call, returned: object) -> None:
    if not inspect.isawaitable(returned):
        raise InvalidHook(
            f"{call.request.class_name}._agenerate returned {type(returned).__name__}, nothing to await; "
            "define it with async def"
        )


def _call_hook(hook: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Call a sync hook; a StopIteration that it lets out must not end an iterator further up."""
    try:
        returned = hook(*args, **kwargs)
    except StopIteration as stop:
        raise RuntimeError(f"{hook.__qualname__} raised StopIteration") from stop
    if type(returned) is CoroutineType:
        returned.close()
        raise InvalidHook(f"{hook.__qualname__} is an async def; the async form of _generate is called _agenerate")
    return returned


# -- hooks that stream


def _stream_kwargs(call: Call, takes_run: bool) -> dict[str, Any]:
    kwargs: dict[str, Any] = {"stop": call.request.stop, **call.request.params}
    if takes_run:
        kwargs["hocket_run"] = call.run_manager()
    return kwargs


def _open_stream(call: Call) -> Iterator[object]:
    request = call.request
    model: HookedModel = request.model
    kwargs = _stream_kwargs(call, model._hooks.stream_takes_run)
    chunks: object = model._stream(request.prompts[0], **kwargs)
    if not isinstance(chunks, Iterable) or isinstance(chunks, str):
        raise _no_stream(call, "_stream", chunks)
    return iter(cast("Iterable[object]", chunks))


def _no_stream(call: Call, hook: str, returned: object) -> InvalidHook:
    name = type(returned).__name__
    if isinstance(returned, CoroutineType):
        returned.close()
    return InvalidHook(
        f"{call.request.class_name}.{hook} returned {name}, which is no stream; it must yield its chunks"
    )


async def _fold_async(call: Call) -> Any:
    request = call.request
    model: HookedModel = request.model
    kwargs = _stream_kwargs(call, model._hooks.astream_takes_run)
    chunks: object = model._astream(request.prompts[0], **kwargs)
    if not isinstance(chunks, AsyncIterable):
        raise _no_stream(call, "_astream", chunks)
    deliver = call.delivery.deliver
    turns = Turns() if call.delivery.sink is None else None  # a sink has its consumer catch up
    listening = opening_listener.set(call.delivery.hear_opening)
    try:
        async for chunk in cast("AsyncIterable[object]", chunks):
            waiting = deliver(chunk)
            if waiting is not None:
                await waiting
            elif turns is not None:
                await turns.share()
    except BaseException:
        close = getattr(cast(object, chunks), "aclose", None)
        if close is not None:
            await call.mode.finish_within_grace(close())
        raise
    finally:
        opening_listener.reset(listening)
    return call.delivery.fold.result()


async def _fold_sync(call: Call) -> Any:
    chunks = _open_stream(call)
    try:
        for chunk in chunks:
            waiting = call.delivery.deliver(chunk)
            if waiting is not None:
                await waiting
            if call.limits.ends_at is not None:
                check_total(call)
    finally:
        _close(chunks)
    return call.delivery.fold.result()


async def _fold_in_thread(call: Call) -> Any:
    """Run a sync stream in a worker thread, as a whole."""

    def work(put: Callable[[object], bool]) -> None:
        chunks = _open_stream(call)
        try:
            for chunk in chunks:
                if put(chunk):
                    break
        finally:
            _close(chunks)

    await _emit_offload(call)
    await from_thread(work, call.delivery.deliver)
    return call.delivery.fold.result()


def _close(chunks: Iterator[object]) -> None:
    close: Any = getattr(chunks, "close", None)
    if close is not None:
        close()


async def _emit_offload(call: Call) -> None:
    if call.runs.are_heard:
        await call.runs.emit_shared("on_offload")


# -- attempts


def with_attempt_deadlines(call_next: Next) -> Next:
    """Return ``call_next`` within the call's limits on each attempt, if it has any."""

    def start(call: Call) -> Awaitable[Any]:
        if not call.mode.is_async:
            return call_next(call)
        limits = call.limits.timeout
        if limits is None and connect_limit.get() is None:
            return call_next(call)
        timed = limits is not None and call.request.streaming and (limits.first_token or limits.idle)
        attempt = _attempt_within(call, call_next, limits) if limits is not None and timed else call_next(call)
        connect = None if limits is None else limits.connect
        return attempt if connect == connect_limit.get() else _connect_within(attempt, connect)

    return start


async def _connect_within(attempt: Awaitable[Any], limit: float | None) -> Any:
    token = connect_limit.set(limit)
    try:
        return await attempt
    finally:
        connect_limit.reset(token)


async def _attempt_within(call: Call, call_next: Next, limits: Timeout) -> Any:
    try:
        with Alarm() as alarm:
            alarm.set(limits.first_token)
            call.delivery.watch(alarm, limits.idle)
            return await call_next(call)
    finally:
        call.delivery.unwatch()
    if call.delivery.has_begun and limits.idle is not None:
        raise make_timeout(call, IdleTimeout, f"the stream brought nothing more for {limits.idle:g} s", "idle")
    raise make_timeout(
        call, FirstTokenTimeout, f"the stream brought nothing within {limits.first_token:g} s", "first_token"
    )


def with_retries(call_next: Next) -> Next:
    """Return ``call_next``, tried again by the call's policy, if it has one."""

    def start(call: Call) -> Awaitable[Any]:
        policy = call.limits.retry
        return call_next(call) if policy is None else _make_attempts(call, call_next, policy)

    return start


def _make_attempts(call: Call, call_next: Next, policy: RetryPolicy) -> Awaitable[Any]:
    async def attempt(number: int) -> Any:
        if number > 1:
            call.delivery.restart()
            check_total(call)
        return await call_next(call)

    async def emit_retry(failure: Failure) -> None:
        state, facts = failure.retry_event_args
        response = call.failure_response(failure.error)
        await call.runs.emit_shared("on_retry", state, **facts, response=response)

    return retry_async(
        attempt,
        policy,
        call.mode,
        limit=policy.max_attempts,
        ends_at=lambda: call.limits.ends_at,
        may_repeat=lambda: not call.delivery.has_handed_out,
        tell=emit_retry,
    )
