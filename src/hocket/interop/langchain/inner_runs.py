"""The config of a run of LangChain's inside one of hocket's, which is the run that a call is told as.

LangChain adds handlers to its runs by itself: the tracer that the environment asks for, and those of contexts such as
``collect_runs()`` and ``get_usage_metadata_callback()``. One that is among hocket's, too, has been told of the call, and
would count it twice. So it is taken out of the context while LangChain's run is opened. That is done within one step of
the call: nothing is held while a stream waits for its reader.
"""

import contextlib
from collections.abc import Generator, Sequence
from contextvars import ContextVar
from typing import TypeVar

from langchain_core.callbacks import AsyncCallbackManager as LCAsyncManager, CallbackManager as LCManager
from langchain_core.runnables import RunnableConfig as LCRunnableConfig
from langchain_core.tracers import LangChainTracer, context as lc_context
from langsmith.run_helpers import tracing_context  # pyright: ignore[reportUnknownVariableType]
from langsmith.utils import tracing_is_enabled  # pyright: ignore[reportUnknownVariableType]

from hocket._pipeline.runs import LLMRun

__all__ = ["inner_config", "telling_once"]


T = TypeVar("T")


def inner_config(run: LLMRun | None, *, is_async: bool) -> LCRunnableConfig:
    """Return the config of LangChain's run: it has no handlers, and hocket's run as its parent, if anybody knows of that.

    The environment's tracer, where it is not among hocket's handlers, has not been told of it, and would wait for it.
    """
    told = _told_of(run)
    is_known = bool(told) and (_has_tracer(told) or not tracing_is_enabled())
    manager = LCAsyncManager if is_async else LCManager
    return {"callbacks": manager([], parent_run_id=run.run_id if run is not None and is_known else None)}


@contextlib.contextmanager
def telling_once(run: LLMRun | None) -> Generator[None, None, None]:
    """Keep LangChain from telling of its run, if it is opened in the block, whoever has been told of hocket's."""
    told = _told_of(run)
    if not told:
        yield
        return
    with contextlib.ExitStack() as stack:
        if _has_tracer(told):
            stack.enter_context(tracing_context(enabled=False))
            stack.enter_context(_without(lc_context.tracing_v2_callback_var))
        for variable, *_ in lc_context._configure_hooks:  # pyright: ignore[reportPrivateUsage]  # there is no other list
            if any(variable.get() is handler for handler in told):
                stack.enter_context(_without(variable))
        yield


def _told_of(run: LLMRun | None) -> Sequence[object]:
    return () if run is None else run.handlers


def _has_tracer(told: Sequence[object]) -> bool:
    return any(isinstance(handler, LangChainTracer) for handler in told)


@contextlib.contextmanager
def _without(variable: ContextVar[T | None]) -> Generator[None, None, None]:
    token = variable.set(None)
    try:
        yield
    finally:
        variable.reset(token)
