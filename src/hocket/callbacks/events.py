"""The one way from an event to its handlers.

Handlers of a run are told in order, one after another, each awaited: a handler sees start, tokens and end in the order
in which they happened, and two handlers see them in the order in which they were given. What a handler raises stays
here, unless it asked to be heard (``raise_error``).
"""

import inspect
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hocket._runtime.runtime import Runtime
from hocket.callbacks.handlers import AsyncCallbackHandler, BaseCallbackHandler
from hocket.messages import get_buffer_string

__all__ = ["Event", "emit", "listener"]

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


def listener(handler: BaseCallbackHandler, name: str) -> Any:
    """Return the handler's method for events of this name, or None if it does not listen to them."""
    method = getattr(handler, name, None)
    if method is None or getattr(method, "__func__", None) in _SILENT:
        return None
    flag = _IGNORED_BY.get(name)
    return None if flag and getattr(handler, flag, False) else method


async def emit(runtime: Runtime, handlers: Iterable[BaseCallbackHandler], event: Event) -> None:
    """Tell ``handlers`` of ``event``.

    Raises:
        Exception: what a handler with ``raise_error`` raised, after the handlers behind it were told.
    """
    refused: Exception | None = None
    for handler in handlers:
        method = listener(handler, event.name)
        try:
            if method is not None:
                await _tell(runtime, handler, method, event)
            elif event.name == "on_chat_model_start" and not getattr(handler, "ignore_chat_model", False):
                await _tell_as_text(runtime, handler, event)
        except Exception as error:
            _note(handler, event.name, error)
            if getattr(handler, "raise_error", False):
                refused = refused or error
    if refused is not None:
        raise refused


async def _tell(runtime: Runtime, handler: BaseCallbackHandler, method: Any, event: Event) -> None:
    try:
        if is_coroutine(method):
            await runtime.call(method, *event.args, **event.details)
        elif handler.run_inline or not runtime.is_async:
            method(*event.args, **event.details)
        else:
            await runtime.sync(method, *event.args, **event.details)
    except NotImplementedError:
        if event.name != "on_chat_model_start":
            raise
        await _tell_as_text(runtime, handler, event)


async def _tell_as_text(runtime: Runtime, handler: BaseCallbackHandler, event: Event) -> None:
    """Tell a handler that knows no chat models of one, as of a text model."""
    method = listener(handler, "on_llm_start")
    if method is not None:
        serialized, conversations = event.args
        texts = [get_buffer_string(messages) for messages in conversations]
        await _tell(runtime, handler, method, Event("on_llm_start", (serialized, texts), event.details))


def is_coroutine(method: Any) -> bool:
    """Whether calling ``method`` gives something to await."""
    code = getattr(method, "__code__", None)
    return bool(code.co_flags & inspect.CO_COROUTINE) if code is not None else inspect.iscoroutinefunction(method)


def _note(handler: BaseCallbackHandler, name: str, error: Exception) -> None:
    """Count a handler's failure, and log it: the first at WARNING, the rest at DEBUG."""
    handler.errors = getattr(handler, "errors", 0) + 1
    level = logging.WARNING if handler.errors == 1 else logging.DEBUG
    _log.log(level, "%s.%s raised %r; the run goes on", type(handler).__name__, name, error)
