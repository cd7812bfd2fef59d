"""The run of a runnable that calls others, or computes: exactly one start and one end if a handler listens, as a model's
run has; no work at all if none does.

A retriever's is one too. Only its events have names of their own.
"""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from hocket import globals as settings
from hocket._runtime.mode import Mode
from hocket._runtime.sinks import RelaySink, Sink
from hocket.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForRetrieverRun,
    BaseCallbackManager,
    CallbackManager,
    CallbackManagerForChainRun,
    CallbackManagerForRetrieverRun,
)
from hocket.callbacks.run_listeners import has_ambient_handlers
from hocket.messages import BaseMessage
from hocket.messages.base import copy_message
from hocket.runnables.config import RunnableConfig, mark_resolved
from hocket.runnables.folding import Accumulator

__all__ = ["ChainRun", "StreamObserver", "add_run_tag", "child_config", "get_retriever_run", "get_run", "is_watched"]

T = TypeVar("T")

ChainRunManager = AsyncCallbackManagerForChainRun | CallbackManagerForChainRun
RetrieverRunManager = AsyncCallbackManagerForRetrieverRun | CallbackManagerForRetrieverRun

_OWN = ("run_id", "run_name")  # keys of a config that are about the chain's run, and not the runs inside
_RUN = "run"  # the attribute of a config that holds the run whose code it is for


def is_watched(config: RunnableConfig) -> bool:
    """Whether a handler may listen to a run with this config."""
    return bool(config.get("callbacks") or settings.get_debug() or has_ambient_handlers())


def child_config(config: RunnableConfig) -> RunnableConfig:
    """Return the config for the runs inside a run without handlers."""
    if "run_id" in config or "run_name" in config:
        return mark_resolved({key: value for key, value in config.items() if key not in _OWN})
    return config


def add_run_tag(config: RunnableConfig, tag: str, *parts: object) -> RunnableConfig:
    """Return ``config`` with one tag more for the next run only: ``tag``, its ``{}`` filled with ``parts``."""
    manager = config.get("callbacks")
    if not isinstance(manager, BaseCallbackManager):
        return config
    manager = manager.copy()
    manager.add_tags([tag.format(*parts)], inherit=False)
    return mark_resolved({**config, "callbacks": manager})


def get_run(config: RunnableConfig, mode: Mode) -> ChainRunManager:
    """Return the run inside which ``config`` is used; one without handlers if there is none."""
    cls = AsyncCallbackManagerForChainRun if mode.is_async else CallbackManagerForChainRun
    run: object = getattr(config, _RUN, None)
    return (
        run if isinstance(run, AsyncCallbackManagerForChainRun | CallbackManagerForChainRun) else cls.get_noop_manager()
    )


def get_retriever_run(config: RunnableConfig, mode: Mode) -> RetrieverRunManager:
    """Return the run of a retriever inside which ``config`` is used; one without handlers if there is none."""
    cls = AsyncCallbackManagerForRetrieverRun if mode.is_async else CallbackManagerForRetrieverRun
    run: RetrieverRunManager | None = getattr(config, _RUN, None)
    return run or cls.get_noop_manager()


class ChainRun:
    """One run of a chain.

    Args:
        mode: the one it runs in.
        name: of the chain, unless the config has one for this run.
        config: of the call.
        run_type: what kind of thing runs, for tracers.
        own_tags, own_metadata: of the runnable, for its own run alone.
    """

    def __init__(
        self,
        mode: Mode,
        name: str,
        config: RunnableConfig,
        run_type: str = "chain",
        own_tags: list[str] | None = None,
        own_metadata: dict[str, Any] | None = None,
    ) -> None:
        self._name = config.get("run_name") or name
        self._type = run_type
        self._events = "on_retriever" if run_type == "retriever" else "on_chain"
        self._config = config
        self._run: ChainRunManager | RetrieverRunManager | None = None
        if is_watched(config):
            manager = (AsyncCallbackManager if mode.is_async else CallbackManager).configure(
                config.get("callbacks"),
                inheritable_tags=config.get("tags"),
                local_tags=own_tags,
                inheritable_metadata=config.get("metadata"),
                local_metadata=own_metadata,
            )
            if manager.handlers:
                run_class = manager.retriever_run_class if run_type == "retriever" else manager.chain_run_class
                self._run = manager.new_run(cast(Any, run_class), config.get("run_id"))

    def config_inside(self) -> RunnableConfig:
        """Return the config for a run inside this one."""
        if self._run is None:
            return child_config(self._config)
        config = mark_resolved({key: value for key, value in self._config.items() if key not in _OWN})
        config["callbacks"] = self._run.get_child()
        setattr(config, _RUN, self._run)
        return config

    async def execute(
        self,
        input: object,
        work: Callable[[], Awaitable[T]],
        has_left: Callable[[], bool],
        partial_output: Callable[[], object] = lambda: None,
    ) -> T:
        """Await ``work()`` as this run, and return its result.

        Args:
            input: of the run; handlers get a copy.
            work: does what the run is about.
            has_left: whether the consumer of the output has left on its own account, which is no failure.
            partial_output: returns the output that the consumer has got so far.
        """
        if self._run is None:
            return await work()
        try:
            await self.start(input)
            result = await work()
        except BaseException as error:
            await self.fail(error, closed=has_left(), partial_output=partial_output)
            raise
        await self.end(result)
        return result

    async def start(self, input: object) -> None:
        """Tell the handlers that the run starts."""
        if self._run is not None:
            serialized = {"name": self._name}
            details = {"name": self._name, "run_type": self._type}
            await self._run.emit_start(f"{self._events}_start", (serialized, _copy_for_handlers(input)), details)

    async def end(self, output: object, **details: object) -> None:
        """Tell the handlers that the run has ended."""
        if self._run is not None:
            await self._run.emit_end(f"{self._events}_end", _copy_for_handlers(output), **details)

    async def fail(
        self, error: BaseException, *, closed: bool, partial_output: Callable[[], object] = lambda: None
    ) -> None:
        """Tell the handlers that the run has failed; or, where its consumer has left, that it has ended. Only once.

        Args:
            error: that it failed with.
            closed: whether its consumer has left.
            partial_output: returns the output until then.
        """
        if self._run is not None and not self._run.ended:
            with contextlib.suppress(Exception):  # of a handler: a run that has failed keeps its own error
                if closed:
                    await self.end(partial_output(), closed=True)
                else:
                    await self._run.emit_end(f"{self._events}_error", error)

    async def tell(self, name: str, *args: object, **details: object) -> None:
        """Tell the run's handlers of something that happened in it."""
        if self._run is not None:
            await self._run.emit(name, *args, **details)

    def has_listener(self, name: str) -> bool:
        """Whether a handler listens to events of this name."""
        return self._run is not None and bool(self._run.listeners(name))

    @property
    def is_watched(self) -> bool:
        """Whether it has handlers."""
        return self._run is not None


class StreamObserver(RelaySink[T]):
    """A sink that shows pieces to the handlers of a run, passes them on, and keeps them for the end of the run.

    Attributes:
        pieces: those so far.
    """

    def __init__(self, run: ChainRun, sink: Sink[T], *, cumulative: bool) -> None:
        super().__init__(sink)
        self._run = run
        self._has_listener = run.has_listener("on_chain_chunk")
        self.pieces: Accumulator[T] = Accumulator(cumulative=cumulative)

    def put(self, item: T) -> Awaitable[None] | None:
        """Hand over a piece."""
        self.pieces.add(item)
        return self._tell_and_put(item) if self._has_listener else self._sink.put(item)

    async def _tell_and_put(self, item: T) -> None:
        await self._run.tell("on_chain_chunk", item)
        waiting = self._sink.put(item)
        if waiting is not None:
            await waiting


def _copy_for_handlers(value: object) -> object:
    """Return a copy of an input or output: of lists, tuples, dicts and messages, at any depth."""
    if isinstance(value, BaseMessage):
        return copy_message(value)
    if value.__class__ is list:
        return [_copy_for_handlers(one) for one in cast("list[object]", value)]
    if value.__class__ is tuple:
        return tuple(_copy_for_handlers(one) for one in cast("tuple[object, ...]", value))
    if value.__class__ is dict:
        return {key: _copy_for_handlers(one) for key, one in cast("dict[object, object]", value).items()}
    return value
