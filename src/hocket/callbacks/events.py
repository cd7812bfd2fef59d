"""The one way from an event to its handlers.

Handlers of a run are told in order, one after another, each awaited: a handler sees start, tokens and end in the order
in which they happened, and two handlers see them in the order in which they were given. What a handler raises stays
here, unless it asked to be heard (``raise_error``).

A start and an end belong together, so each is told to all handlers or to none: one that is cancelled half way goes on to
the handlers behind the one that it struck.
"""

import asyncio
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hocket._runtime.cancellation import is_cancelled
from hocket._runtime.runtime import END_GRACE, Runtime
from hocket.callbacks.background import put
from hocket.callbacks.handlers import AsyncCallbackHandler, BaseCallbackHandler
from hocket.messages import get_buffer_string

__all__ = ["Event", "Listener", "emit", "listener", "listeners"]

_log = logging.getLogger("hocket.callbacks")

_IGNORED_BY: Mapping[str, str] = {
    "on_llm_start": "ignore_llm",
    "on_chat_model_start": "ignore_chat_model",
    "on_llm_new_token": "ignore_llm",
    "on_llm_end": "ignore_llm",
    "on_llm_error": "ignore_llm",
    "on_first_token": "ignore_llm",
    "on_cache_hit": "ignore_llm",
    "on_limiter_wait": "ignore_llm",
    "on_chain_start": "ignore_chain",
    "on_chain_end": "ignore_chain",
    "on_chain_error": "ignore_chain",
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
_PAIRED = frozenset(name for name in _IGNORED_BY if name.endswith(("_start", "_end", "_error")))

_SILENT = frozenset(
    function
    for cls in (BaseCallbackHandler, AsyncCallbackHandler)
    for name, function in vars(cls).items()
    if name.startswith("on_")
)
"""The methods that a handler has not overridden."""


class Event(NamedTuple):
    """Something that happened: the name of the method that is told, and what it is told."""

    name: str
    args: Sequence[Any]
    details: Mapping[str, Any]


class Listener(NamedTuple):
    """A handler that listens to events of one kind.

    Attributes:
        tell: takes what the handler's method takes, and returns something to await.
        otherwise: is told instead where ``tell`` raises NotImplementedError.
    """

    handler: BaseCallbackHandler
    tell: Callable[..., Awaitable[Any]]
    otherwise: "Listener | None" = None


def listeners(runtime: Runtime, handlers: Iterable[BaseCallbackHandler], name: str) -> list[Listener]:
    """Return those of ``handlers`` that listen to events of this name, in their order."""
    found: list[Listener] = []
    for handler in handlers:
        method, otherwise = listener(handler, name), None
        if name == "on_chat_model_start" and not getattr(handler, "ignore_chat_model", False):
            otherwise = _as_text_listener(runtime, handler)
        heard = otherwise if method is None else Listener(handler, _teller(runtime, handler, method, method), otherwise)
        if heard is not None:
            later = runtime.is_async and getattr(handler, "background", False)
            found.append(_queued(runtime, heard, name) if later else heard)
    return found


def listener(handler: BaseCallbackHandler, name: str) -> Any:
    """Return the handler's method for events of this name, or None if it does not listen to them."""
    method = getattr(handler, name, None)
    if method is None or getattr(method, "__func__", None) in _SILENT:
        return None
    flag = _IGNORED_BY.get(name)
    return None if flag and getattr(handler, flag, False) else method


def _as_text_listener(runtime: Runtime, handler: BaseCallbackHandler) -> Listener | None:
    """Return how a handler that knows no chat models is told of one that starts: as of a text model."""
    method = listener(handler, "on_llm_start")
    if method is None:
        return None

    def tell(serialized: Any, conversations: Iterable[Sequence[Any]], **details: Any) -> Any:
        return method(serialized, [get_buffer_string(messages) for messages in conversations], **details)

    return Listener(handler, _teller(runtime, handler, method, tell))


def _teller(
    runtime: Runtime, handler: BaseCallbackHandler, method: Any, call: Callable[..., Any]
) -> Callable[..., Awaitable[Any]]:
    """Return how ``call``, which calls ``method``, is made on ``runtime``."""
    if _is_coroutine(method):
        return call if runtime.is_async else functools.partial(runtime.call, call)
    if getattr(handler, "run_inline", False) or not runtime.is_async:
        return functools.partial(_tell_inline, runtime, call)
    return functools.partial(_tell_in_thread, runtime, call)


def _queued(runtime: Runtime, heard: Listener, name: str) -> Listener:
    """Return how a background handler listens: through its queue."""

    async def tell(*args: Any, **details: Any) -> None:
        if name == "on_chat_model_start":  # copies that are made when somebody looks: now, for later may be too late
            args = (args[0], [list(messages) for messages in args[1]])
        await put(heard.handler, functools.partial(emit, runtime, [heard], Event(name, args, details)))

    return Listener(heard.handler, tell)


async def _tell_inline(runtime: Runtime, call: Callable[..., Any], /, *args: Any, **details: Any) -> None:
    await _settle(runtime, call(*args, **details))


async def _tell_in_thread(runtime: Runtime, call: Callable[..., Any], /, *args: Any, **details: Any) -> None:
    await _settle(runtime, await runtime.sync(call, *args, **details))


async def _settle(runtime: Runtime, outcome: Any) -> None:
    """Await what a sync method returned, if that is a coroutine after all: the method is a decorated ``async def``."""
    if outcome is not None and inspect.iscoroutine(outcome):
        await runtime.call(lambda: outcome)


async def emit(runtime: Runtime, heard: Iterable[Listener], event: Event) -> None:
    """Tell ``heard`` of ``event``.

    Raises:
        Exception: what a handler with ``raise_error`` raised, after the handlers behind it were told.
        BaseException: the run was cancelled; in the middle of a start or an end, after the rest were told.
    """
    name, args, details = event
    refused: Exception | None = None
    interruption: BaseException | None = None
    for handler, tell, otherwise in heard:
        try:
            telling = tell(*args, **details)
            if otherwise is not None:
                telling = _or_otherwise(telling, otherwise, event)
            if interruption is None:
                await telling
            elif not await runtime.shielded(telling):
                raise TimeoutError(f"it took longer than {END_GRACE:g} s in a cancelled run, and was cut off")
        except Exception as error:
            _note(handler, name, error)
            if getattr(handler, "raise_error", False):
                refused = refused or error
        except BaseException as error:
            if name not in _PAIRED and not _is_stray(error):
                raise
            _note(handler, name, error)
            if not _is_stray(error):
                interruption = interruption or error
    if interruption is not None:
        raise interruption
    if refused is not None:
        raise refused


async def _or_otherwise(telling: Awaitable[Any], otherwise: Listener, event: Event) -> None:
    try:
        await telling
    except NotImplementedError:
        await otherwise.tell(*event.args, **event.details)


def _is_coroutine(method: Any) -> bool:
    """Whether calling ``method`` surely gives something to await."""
    code = getattr(method, "__code__", None)
    return bool(code.co_flags & inspect.CO_COROUTINE) if code is not None else inspect.iscoroutinefunction(method)


def _is_stray(error: BaseException) -> bool:
    """Whether a cancellation is a handler's own: something that it waited for was cancelled, and the run was not."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # not asyncio's
        return True
    return task is not None and not task.cancelling() and not is_cancelled()


def _note(handler: BaseCallbackHandler, name: str, error: BaseException) -> None:
    """Count a handler's failure, and log it: the first at WARNING, the rest at DEBUG."""
    count = getattr(handler, "errors", 0) + 1
    object.__setattr__(handler, "errors", count)  # also on a handler that is frozen
    level = logging.WARNING if count == 1 else logging.DEBUG
    _log.log(level, "%s.%s raised %r; the run goes on", type(handler).__name__, name, error)
