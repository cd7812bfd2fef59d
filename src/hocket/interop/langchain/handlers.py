"""Handlers of LangChain's in hocket, and hocket's in LangChain; and managers.

What stands in for a handler hears what that has overridden, and nothing else, and hands it on with the messages, results
and documents in it converted. Ids, parents, tags and metadata are the same. hocket makes a stand-in for each run and
name of an event (`hocket.callbacks.base_manager`), so that it is small: it keeps nothing but the handler.
"""

import inspect
from collections.abc import Callable
from typing import NamedTuple, cast

from langchain_core.callbacks.base import (
    AsyncCallbackHandler as LCAsyncCallbackHandler,
    BaseCallbackHandler as LCBaseCallbackHandler,
    BaseCallbackManager as LCBaseCallbackManager,
)

from hocket.callbacks import AsyncCallbackManager, BaseCallbackHandler, BaseCallbackManager, CallbackManager
from hocket.callbacks.events import listener
from hocket.interop.langchain.data import data_from_langchain, data_to_langchain

__all__ = [
    "HocketHandler",
    "LangChainHandler",
    "adapt",
    "handler_from_langchain",
    "handler_to_langchain",
    "manager_from_langchain",
]

_EVENTS = (
    *("on_llm_start", "on_chat_model_start", "on_llm_new_token", "on_llm_end", "on_llm_error"),
    *("on_chain_start", "on_chain_end", "on_chain_error", "on_tool_start", "on_tool_end", "on_tool_error"),
    *("on_retriever_start", "on_retriever_end", "on_retriever_error", "on_agent_action", "on_agent_finish"),
    *("on_text", "on_retry", "on_custom_event"),
)
"""The events that both libraries know."""

_FLAGS = frozenset(
    {
        *("raise_error", "run_inline", "ignore_llm", "ignore_chat_model", "ignore_chain", "ignore_agent"),
        *("ignore_retriever", "ignore_retry", "ignore_custom_event"),
    }
)

Method = Callable[..., object]
Convert = Callable[[object], object]


class _Teller(NamedTuple):
    """Calls a handler's method with everything in its arguments converted. Async, where the method is."""

    method: Method
    convert: Convert

    def tell(self, *args: object, **details: object) -> object:
        """Call a sync method."""
        return self.method(*map(self.convert, args), **{key: self.convert(one) for key, one in details.items()})

    async def tell_async(self, *args: object, **details: object) -> object:
        """Call an async method."""
        return await cast("Callable[..., object]", self.tell)(*args, **details)  # type: ignore[misc]

    @property
    def method_like_it(self) -> Method:
        """What may be called as the method may."""
        return self.tell_async if inspect.iscoroutinefunction(self.method) else self.tell


class LangChainHandler:
    """Stands in for a handler of LangChain's: has a method for each event that it listens to, and its flags."""

    def __init__(self, handler: LCBaseCallbackHandler) -> None:
        self.handler = handler

    def __getattr__(self, name: str) -> object:
        if name in _FLAGS:
            return getattr(self.handler, name)
        if name in _EVENTS:
            method = _find_own(self.handler, name)
            return None if method is None else _Teller(method, data_to_langchain).method_like_it
        raise AttributeError(name)

    @property
    def errors(self) -> int:
        """How many exceptions the handler has raised."""
        count: int = vars(self.handler).get("errors", 0)
        return count

    @errors.setter
    def errors(self, count: int) -> None:
        object.__setattr__(self.handler, "errors", count)


class HocketHandler(LCBaseCallbackHandler):
    """A handler of hocket's in LangChain. Made by `to_langchain`."""

    def __init__(self, handler: BaseCallbackHandler) -> None:
        self.handler = handler
        self.raise_error: bool = handler.raise_error
        self.run_inline: bool = handler.run_inline
        for name in _EVENTS:
            method = listener(handler, name)
            if method is not None:
                setattr(self, name, _Teller(method, data_from_langchain).method_like_it)
        if handler.ignore_chat_model:  # or LangChain would tell it of a text model instead
            vars(self)["on_chat_model_start"] = _ignore


def _ignore(*args: object, **details: object) -> None:
    """Hear nothing."""


def _find_own(handler: LCBaseCallbackHandler, name: str) -> Method | None:
    """Return a handler's method, unless it is LangChain's own: then the handler does not listen."""
    method: Method | None = getattr(handler, name, None)
    function = getattr(method, "__func__", method)
    bases = LCBaseCallbackHandler, LCAsyncCallbackHandler
    return None if any(function is getattr(base, name, None) for base in bases) else method


def handler_from_langchain(handler: LCBaseCallbackHandler) -> BaseCallbackHandler:
    """Return what stands in hocket for a handler of LangChain's."""
    return (
        handler.handler if isinstance(handler, HocketHandler) else cast(BaseCallbackHandler, LangChainHandler(handler))
    )


def handler_to_langchain(handler: BaseCallbackHandler) -> LCBaseCallbackHandler:
    """Return what stands in LangChain for a handler of hocket's."""
    return handler.handler if isinstance(handler, LangChainHandler) else HocketHandler(handler)


def manager_from_langchain(manager: LCBaseCallbackManager) -> BaseCallbackManager:
    """Return a manager of LangChain's as hocket's: the same handlers, told of runs inside the same run."""
    cls = AsyncCallbackManager if manager.is_async else CallbackManager
    return cls(
        cast("list[BaseCallbackHandler]", [*manager.handlers]),
        cast("list[BaseCallbackHandler]", [*manager.inheritable_handlers]),
        manager.parent_run_id,
        tags=[*manager.tags],
        inheritable_tags=[*manager.inheritable_tags],
        metadata={**manager.metadata},
        inheritable_metadata={**manager.inheritable_metadata},
    )


def adapt(thing: LCBaseCallbackHandler | LCBaseCallbackManager) -> BaseCallbackHandler | BaseCallbackManager:
    """Return what stands in hocket for a handler or a manager of LangChain's (`hocket.callbacks.base_manager` asks)."""
    return manager_from_langchain(thing) if isinstance(thing, LCBaseCallbackManager) else handler_from_langchain(thing)
