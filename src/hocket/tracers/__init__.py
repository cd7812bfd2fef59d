"""Tracers: handlers that see whole runs, with the runs inside them, as data. LangChain's names."""

from hocket.callbacks.run_listeners import register_configure_hook as register_configure_hook
from hocket.runnables.listeners import RootListenersTracer
from hocket.runnables.run_record import Run
from hocket.tracers.base import AsyncBaseTracer, BaseTracer
from hocket.tracers.collector import RunCollectorCallbackHandler, collect_runs
from hocket.tracers.console import (
    ConsoleCallbackHandler,
    FunctionCallbackHandler as FunctionCallbackHandler,
    try_json_stringify as try_json_stringify,
)

__all__ = [
    "AsyncBaseTracer",
    "BaseTracer",
    "ConsoleCallbackHandler",
    "RootListenersTracer",
    "Run",
    "RunCollectorCallbackHandler",
    "collect_runs",
]
