"""Functions that are told of the runs of one runnable."""

# The functions that `_start` and its like return are methods of `RootListenersTracer`, and use what is its own:
# pyright: reportPrivateUsage=false

import inspect
from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeAlias, TypeVar
from uuid import UUID

from pydantic import Field

from hocket.callbacks import BaseCallbackHandler
from hocket.runnables.base import Runnable
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.config import RunnableConfig, merge_configs
from hocket.runnables.proxy import RunnableBinding
from hocket.runnables.run_record import AsyncListener, Listener, Run

__all__ = ["RootListenersTracer", "RunnableListened"]

Input = TypeVar("Input")
Output = TypeVar("Output")

_Event: TypeAlias = Any
"""A method that is told of an event: handlers may leave out some of what it takes."""


class RunnableListened(RunnableBinding[Input, Output], Generic[Input, Output]):
    """Calls another runnable, and tells functions of its run. Made by `Runnable.with_listeners`, which see."""

    on_start: Callable[..., object] | None = Field(default=None, exclude=True)
    on_end: Callable[..., object] | None = Field(default=None, exclude=True)
    on_error: Callable[..., object] | None = Field(default=None, exclude=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Functions do not travel as data."""
        return False

    def _make_batch(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs,
        return_exceptions: bool,
        kwargs: dict[str, object],
    ) -> Batch[Input, Output]:
        return Runnable._make_batch(self, inputs, config, return_exceptions, kwargs)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # each item is a run of its own

    def _merge_config(self, config: RunnableConfig | None) -> RunnableConfig | None:
        merged = merge_configs(self.config, config)
        tracer = RootListenersTracer(config=merged, on_start=self.on_start, on_end=self.on_end, on_error=self.on_error)
        return merge_configs(merged, {"callbacks": [tracer]})


def _start(kind: str) -> Callable[..., object]:
    """Return the method for runs of one kind that start."""

    def start(
        self: "RootListenersTracer", serialized: dict[str, Any] | None, inputs: object, *, run_id: UUID, **details: Any
    ) -> object:
        if self._run is not None:
            return None
        name = details.get("name") or (serialized or {}).get("name") or kind
        facts = {key: details[key] for key in ("parent_run_id", "tags", "metadata") if details.get(key)}
        self._run = Run(run_id, name, details.get("run_type") or kind, inputs, **facts)
        return self._tell("start")

    return start


class RootListenersTracer(BaseCallbackHandler):
    """Tells functions of the first run that starts, and of no run inside it: what `Runnable.with_listeners` is made of.

    As a handler of a config it tells of the call that the config is given to. A coroutine that a function returns is
    awaited by the code that calls the handlers, so that async functions work under an event loop. (LangChain has a class of
    its own for these.)

    Args:
        config: what a function that takes two arguments is given as the second.
        on_start, on_end, on_error: called with the run (`Run`); None: nobody is told.

    Attributes:
        root_id: the id of that run; None: none has started.
    """

    run_inline: bool = False

    def __init__(
        self,
        *,
        config: RunnableConfig | None = None,
        on_start: Listener | AsyncListener | None = None,
        on_end: Listener | AsyncListener | None = None,
        on_error: Listener | AsyncListener | None = None,
    ) -> None:
        listeners = {"start": on_start, "end": on_end, "error": on_error}
        self.run_inline = all(inspect.iscoroutinefunction(one) for one in listeners.values() if one is not None)
        self._listeners: dict[str, Callable[..., object] | None] = dict(listeners)
        self._config: RunnableConfig = config or {}
        self._run: Run | None = None

    @property
    def root_id(self) -> UUID | None:
        """The id of the run that is told of."""
        return None if self._run is None else self._run.id

    def _end(self, outputs: object, *, run_id: UUID, **details: object) -> object:
        return self._tell_end("end", run_id, outputs=outputs)

    def _fail(self, error: BaseException, *, run_id: UUID, **details: object) -> object:
        return self._tell_end("error", run_id, error=error)

    def _tell_end(self, what: str, run_id: UUID, **facts: Any) -> object:
        if self._run is None or self._run.id != run_id:
            return None
        self._run = replace(self._run, end_time=datetime.now(UTC), **facts)
        return self._tell(what)

    def _tell(self, what: str) -> object:
        listener = self._listeners[what]
        if listener is None:
            return None
        takes_config = len(inspect.signature(listener).parameters) > 1
        return listener(self._run, self._config) if takes_config else listener(self._run)

    on_chain_start: _Event = _start("chain")
    on_llm_start: _Event = _start("llm")
    on_chat_model_start: _Event = _start("chat_model")
    on_tool_start: _Event = _start("tool")
    on_retriever_start: _Event = _start("retriever")
    on_llm_end: _Event = _end
    on_chain_end: _Event = _end
    on_tool_end: _Event = _end
    on_retriever_end: _Event = _end
    on_llm_error: _Event = _fail
    on_chain_error: _Event = _fail
    on_tool_error: _Event = _fail
    on_retriever_error: _Event = _fail
