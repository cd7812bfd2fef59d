"""The one way from an event to its handlers.

Handlers of a run are called in order, one after another, each awaited: a handler sees start, tokens and end in the order
in which they happened, and two handlers see them in the order in which they were given. An exception of a handler stays
here, unless it has ``raise_error``.

A start and an end belong together, so each goes to all handlers or to none: one that is cancelled half way goes on to
the handlers behind the one that it struck. An end waits for each handler for a bounded time: a cancelled caller is kept
waiting by its handlers, but not for ever.

Sync handlers are called in worker threads. A thread cannot be stopped, so a caller who is cancelled, or interrupted, would
leave it behind: the end of the run would then be told while the handler is still at its start, or a thread that had not
begun would never begin, and the handler hear of an end without a start. So the caller waits for it, for a bounded time.
"""

import dis
import functools
import inspect
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from types import CoroutineType, FunctionType
from typing import Any
from weakref import ref

import anyio
from anyio.lowlevel import current_token

from hocket._runtime.cancellation import is_stray
from hocket._runtime.detached import call_soon
from hocket._runtime.fork import free_at_fork
from hocket._runtime.mode import END_GRACE, Mode
from hocket.callbacks.background import put
from hocket.callbacks.base_manager import as_own_handler
from hocket.callbacks.handlers import AsyncCallbackHandler, BaseCallbackHandler
from hocket.messages import BaseMessage, get_buffer_string
from hocket.outputs import ChatGenerationChunk

__all__ = ["NOTHING", "Listener", "emit", "listener", "listeners", "tell_in_thread"]

_log = logging.getLogger("hocket.callbacks")
_counting = free_at_fork(threading.Lock())

_IGNORED_BY: Mapping[str, str] = {
    "on_llm_start": "ignore_llm",
    "on_chat_model_start": "ignore_chat_model",
    "on_llm_new_token": "ignore_llm",
    "on_llm_end": "ignore_llm",
    "on_llm_error": "ignore_llm",
    "on_first_token": "ignore_llm",
    "on_cache_hit": "ignore_llm",
    "on_limiter_wait": "ignore_llm",
    "on_offload": "ignore_llm",
    "on_downgrade": "ignore_llm",
    "on_embeddings_start": "ignore_embeddings",
    "on_embeddings_end": "ignore_embeddings",
    "on_embeddings_error": "ignore_embeddings",
    "on_chain_start": "ignore_chain",
    "on_chain_end": "ignore_chain",
    "on_chain_error": "ignore_chain",
    "on_chain_chunk": "ignore_chain",
    "on_agent_action": "ignore_agent",
    "on_agent_finish": "ignore_agent",
    "on_tool_start": "ignore_agent",
    "on_tool_end": "ignore_agent",
    "on_tool_error": "ignore_agent",
    "on_retriever_start": "ignore_retriever",
    "on_retriever_end": "ignore_retriever",
    "on_retriever_error": "ignore_retriever",
    "on_retry": "ignore_retry",
    "on_custom_event": "ignore_custom_event",
}
_CHAT_START = "on_chat_model_start"
_STARTS = frozenset(name for name in _IGNORED_BY if name.endswith("_start"))
_ENDS = frozenset(name for name in _IGNORED_BY if name.endswith(("_end", "_error")))

_SILENT = frozenset(
    getattr(cls, name)
    for cls in (BaseCallbackHandler, AsyncCallbackHandler)
    for name in dir(cls)
    if name.startswith("on_")
)
"""The methods that a handler has not overridden."""


class _Nothing:
    """Something to await that is over at once."""

    def __await__(self) -> Generator[None, None, None]:
        return iter(())  # type: ignore[return-value]


NOTHING: Awaitable[None] = _Nothing()
"""What to await where there is nobody to tell."""


Telling = Coroutine[Any, Any, object] | None
"""What a handler's method returns: a coroutine to await, or None. (Anything else that a sync method returns is ignored.)"""

Listener = tuple[BaseCallbackHandler, Callable[..., Telling], bool | None]
"""A handler that listens to events of one name, and how it is called: (handler, tell, waits).

``tell`` takes what the handler's method takes. ``waits`` says whether that may take time and be cancelled; None: it is sync
code, so only if it returns a coroutine after all. A tuple and no class, since each event of each run makes some.
"""


def listeners(mode: Mode, handlers: Iterable[BaseCallbackHandler], name: str) -> list[Listener]:
    """Return those of ``handlers`` that listen to events of this name, in their order."""
    found: list[Listener] = []
    is_async, flag = mode.is_async, _IGNORED_BY.get(name, "")
    for handler in handlers:
        if not isinstance(handler, BaseCallbackHandler):  # pyright: ignore[reportUnnecessaryIsInstance]
            handler = as_own_handler(handler)
        method: Any = getattr(handler, name, None)  # None, if it is a handler of another library
        is_silent, is_coroutine, is_native, may_suspend = _kind(method)
        heard: Listener | None
        if is_silent or (flag and getattr(handler, flag, False)):
            if name != _CHAT_START or getattr(handler, "ignore_chat_model", False):
                continue
            heard = _listen_as_text(mode, handler)
        elif is_native and is_async:  # this and the next: what `_listen` says, in place, for nearly all who listen
            heard = (handler, method, may_suspend)
        elif is_async and not is_coroutine and getattr(handler, "run_inline", False):
            heard = (handler, method, None)
        else:
            heard = _listen(mode, handler, method, method)
        if heard is not None:
            later = is_async and getattr(handler, "background", False)
            found.append(_listen_in_background(mode, heard, name) if later else heard)
    return found


def listener(handler: BaseCallbackHandler, name: str) -> Callable[..., Telling] | None:
    """Return the handler's method for events of this name, or None if it does not listen to them."""
    method: Callable[..., Telling] | None = getattr(handler, name, None)
    if _kind(method)[0]:
        return None
    flag = _IGNORED_BY.get(name)
    return None if flag and getattr(handler, flag, False) else method


def _listen(
    mode: Mode, handler: BaseCallbackHandler, method: Callable[..., Telling], call: Callable[..., Any]
) -> Listener:
    """Return the listener that calls ``call``, which calls the handler's ``method``, on ``mode``."""
    _, is_coroutine, is_native, may_suspend = _kind(method)
    if is_coroutine:
        is_native = mode.is_async and is_native
        return handler, call if is_native else functools.partial(mode.call_async, call), may_suspend
    if not mode.is_async:
        return handler, functools.partial(_tell_inline, mode, call), False
    if getattr(handler, "run_inline", False):
        return handler, call, None
    return handler, functools.partial(_tell_in_thread, mode, call), True


def _listen_as_text(mode: Mode, handler: BaseCallbackHandler) -> Listener | None:
    """Return the listener of a handler that knows no chat models: it is told of a chat model as of a text model."""
    method = listener(handler, "on_llm_start")
    if method is None:
        return None

    def tell(serialized: object, conversations: Iterable[Sequence[BaseMessage]], **details: object) -> Telling:
        return method(serialized, [get_buffer_string(messages) for messages in conversations], **details)

    return _listen(mode, handler, method, tell)


def _listen_in_background(mode: Mode, heard: Listener, name: str) -> Listener:
    """Return the listener of a background handler: it puts each event into the handler's queue."""

    async def tell(*args: Any, **details: object) -> None:
        if name == _CHAT_START:  # copies that are made when somebody looks: now, for later may be too late
            args = (args[0], [list(messages) for messages in args[1]])
        elif isinstance(details.get("chunk"), ChatGenerationChunk):  # the same
            vars(details["chunk"])
        await put(heard[0], functools.partial(emit, mode, [heard], name, args, details))

    return heard[0], tell, True


async def _tell_inline(mode: Mode, call: Callable[..., object], /, *args: object, **details: object) -> None:
    await _await_result(mode, call(*args, **details))


async def _tell_in_thread(mode: Mode, call: Callable[..., object], /, *args: object, **details: object) -> None:
    await _await_result(mode, await tell_in_thread(mode, call, *args, **details))


async def _await_result(mode: Mode, outcome: object) -> None:
    """Await what a sync method returned, if that is a coroutine after all: the method is a decorated ``async def``."""
    if outcome is not None and inspect.iscoroutine(outcome):
        await mode.call_async(lambda: outcome)


async def _tell_as_text(
    mode: Mode, handler: BaseCallbackHandler, args: Sequence[object], details: Mapping[str, object]
) -> None:
    heard = _listen_as_text(mode, handler)
    telling = None if heard is None else heard[1](*args, **details)
    if type(telling) is CoroutineType:
        await telling


def emit(
    mode: Mode, heard: Sequence[Listener], name: str, args: Sequence[object], details: Mapping[str, object]
) -> Awaitable[None]:
    """Tell the listeners ``heard`` of an event: call their methods ``name`` with ``args`` and ``details``.

    Most handlers never wait. They have been called when this returns, up to the first that may wait or that raises. The
    caller must await the result, which tells the others; it is `NOTHING` if there are none.

    Raises, when it is awaited:
        Exception: of a handler with ``raise_error``, after the handlers behind it were called.
        BaseException: the run was cancelled; in the middle of a start or an end, after the rest were called.
    """
    for place, (_, tell, waits) in enumerate(heard):
        if waits:
            return _tell_rest(mode, heard[place:], name, args, details)
        try:
            telling = tell(*args, **details)
            if type(telling) is not CoroutineType:
                continue
            if waits is not None:
                try:
                    telling.send(None)  # pyright: ignore[reportUnknownMemberType]  # `type() is` forgets its arguments
                except StopIteration:
                    continue
        except BaseException as error:
            return _tell_rest(mode, heard[place:], name, args, details, struck=error)
        # It may wait, and is begun where it is awaited: in the task, and in the scope, that it ends in.
        return _tell_rest(mode, heard[place:], name, args, details, telling)  # pyright: ignore[reportUnknownArgumentType]
    return NOTHING


async def _tell_rest(
    mode: Mode,
    heard: Iterable[Listener],
    name: str,
    args: Sequence[object],
    details: Mapping[str, object],
    given: Awaitable[object] | None = None,
    struck: BaseException | None = None,
) -> None:
    """Tell the remaining listeners ``heard``.

    If the first one has been called already, ``given`` is the coroutine that it returned, or ``struck`` what it raised.
    """
    shielded = name in _ENDS
    refused: Exception | None = None
    interruption: BaseException | None = None
    for handler, tell, waits in heard:
        try:
            try:
                if struck is not None:
                    raise struck
                telling, given = given or tell(*args, **details), None
                if type(telling) is not CoroutineType:
                    continue
                if not (shielded and waits):
                    await telling
                elif not await mode.finish_within_grace(telling):  # pyright: ignore[reportUnknownArgumentType]
                    raise TimeoutError(f"it took longer than {END_GRACE:g} s, and was cut off")
            except NotImplementedError:  # a handler that knows no chat models: it is told as of a text model
                if name != _CHAT_START or listener(handler, name) is None:
                    raise
                await _tell_as_text(mode, handler, args, details)
        except Exception as error:
            _note(handler, name, error)
            if getattr(handler, "raise_error", False):
                refused = refused or error
        except BaseException as error:
            if is_stray(error):
                _note(handler, name, error)
            elif shielded or name in _STARTS:
                interruption, shielded = interruption or error, True
            else:
                raise
        finally:
            struck = None
    if interruption is not None:
        raise interruption
    if refused is not None:
        raise refused


def _kind(method: Any) -> tuple[bool, bool, bool, bool]:
    """Return four facts about the function of a handler's method: (is_silent, is_coroutine, is_native, may_suspend).

    ``is_silent``: the handler has not overridden it. ``is_coroutine``: calling it gives something to await.
    ``is_native``: that is a coroutine of Python's own. ``may_suspend``: it may take time; a coroutine function without an
    ``await`` never does, so that there is nothing to shield.
    """
    function: Callable[..., object] = getattr(method, "__func__", method)
    try:
        return _kind_of(ref(function))
    except TypeError:  # None, or an object that cannot be referred to weakly
        return _examine(function)


@functools.lru_cache(maxsize=1024)
def _kind_of(function: "ref[Callable[..., object]]") -> tuple[bool, bool, bool, bool]:
    """Examine a function once. A weak reference: one that a handler has of its own keeps the handler, and its events."""
    return _examine(function())


def _examine(function: object) -> tuple[bool, bool, bool, bool]:
    if not isinstance(function, FunctionType):
        return function is None, inspect.iscoroutinefunction(function), False, True
    code = function.__code__
    is_coroutine = bool(code.co_flags & inspect.CO_COROUTINE)
    may_suspend = is_coroutine and any(instruction.opname == "SEND" for instruction in dis.get_instructions(code))
    return function in _SILENT, is_coroutine, is_coroutine, may_suspend


def _note(handler: BaseCallbackHandler, name: str, error: BaseException) -> None:
    """Count a handler's failure, and log it: the first at WARNING, the rest at DEBUG."""
    with _counting:
        count = getattr(handler, "errors", 0) + 1
        object.__setattr__(handler, "errors", count)  # also on a handler that is frozen
    level = logging.WARNING if count == 1 else logging.DEBUG
    _log.log(level, "%s.%s raised %r; the run goes on", type(handler).__name__, name, error)


async def tell_in_thread(mode: Mode, call: Callable[..., object], /, *args: object, **details: object) -> object:
    """Call ``call`` once, in a worker thread, whatever strikes the caller meanwhile. Returns and raises what it does."""
    waiting = [call]
    over = False
    begun_at = 0.0
    left: Callable[[], None] | None = None

    def work() -> tuple[object]:
        nonlocal over, begun_at
        begun_at = time.monotonic()
        try:
            # In a box, since trio takes no coroutine out of a thread. Called once: by the one that empties the list.
            return (waiting.pop()(*args, **details) if waiting else None,)
        finally:
            over = True
            if left is not None:
                left()

    async def rest() -> None:
        nonlocal left
        end, token = anyio.Event(), current_token()
        left = functools.partial(call_soon, token, end.set)
        if waiting:
            await mode.call_sync(work)
        elif not over:
            await end.wait()

    try:
        (outcome,) = await mode.call_sync(work)
    except BaseException:
        if over:  # it is what the handler raised
            raise
        spent = time.monotonic() - begun_at if begun_at else 0.0  # one that had its time is not waited for again
        await mode.run_shielded(_within_bounds(mode, rest(), spent))
        raise
    return outcome


async def _within_bounds(mode: Mode, job: Awaitable[object], spent: float) -> None:
    await mode.finish_within_grace(job, spent)
