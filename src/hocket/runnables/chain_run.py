"""The run of a runnable that calls others, or computes: exactly one start and one end, as a model's has, if anybody
watches; and nothing at all if nobody does.
"""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from hocket import globals as settings
from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainRun,
    BaseCallbackManager,
    CallbackManager,
    CallbackManagerForChainRun,
)
from hocket.callbacks.ambient import has_ambient_handlers
from hocket.messages import BaseMessage
from hocket.messages.base import isolated
from hocket.runnables.config import RunnableConfig, mark_resolved
from hocket.runnables.folding import Accumulator

__all__ = ["ChainRun", "StreamObserver", "add_run_tag", "child_config", "get_run", "is_watched"]

T = TypeVar("T")

_OWN = ("run_id", "run_name")  # keys of a config that are about the chain's run, and not the runs inside
_RUN = "run"  # the attribute of a config that holds the run whose code it is for


def is_watched(config: RunnableConfig) -> bool:
    """Whether anybody may listen to a run with this config."""
    return bool(config.get("callbacks") or settings.get_debug() or has_ambient_handlers())


def child_config(config: RunnableConfig) -> RunnableConfig:
    """Return the config for runs inside one that nobody watches."""
    if "run_id" in config or "run_name" in config:
        return mark_resolved({key: value for key, value in config.items() if key not in _OWN})
    return config


def add_run_tag(config: RunnableConfig, tag: str, *parts: object) -> RunnableConfig:
    """Return ``config`` with a tag for the next run alone: ``tag``, its ``{}`` filled with ``parts``."""
    manager = config.get("callbacks")
    if not isinstance(manager, BaseCallbackManager):
        return config
    manager = manager.copy()
    manager.add_tags([tag.format(*parts)], inherit=False)
    return mark_resolved({**config, "callbacks": manager})


def get_run(config: RunnableConfig, runtime: Runtime) -> Any:
    """Return the run whose code ``config`` is for; one that nobody listens to if there is none."""
    cls = AsyncCallbackManagerForChainRun if runtime.is_async else CallbackManagerForChainRun
    return getattr(config, _RUN, None) or cls.get_noop_manager()


class ChainRun:
    """One run of a chain.

    Args:
        runtime: the one it runs on.
        name: of the chain, unless the config has one for this run.
        config: of the call.
        run_type: what kind of thing runs, for tracers.
    """

    def __init__(self, runtime: Runtime, name: str, config: RunnableConfig, run_type: str = "chain") -> None:
        self._name = config.get("run_name") or name
        self._type = run_type
        self._config = config
        self._run: Any = None
        if is_watched(config):
            cls = AsyncCallbackManager if runtime.is_async else CallbackManager
            run_class = AsyncCallbackManagerForChainRun if runtime.is_async else CallbackManagerForChainRun
            tags, metadata = config.get("tags"), config.get("metadata")
            manager = cls.configure(config.get("callbacks"), inheritable_tags=tags, inheritable_metadata=metadata)
            if manager.handlers:
                self._run = manager.new_run(cast(Any, run_class), config.get("run_id"))

    def config_inside(self, tag: str | None = None) -> RunnableConfig:
        """Return the config for a run inside this one, on which ``tag`` is put."""
        if self._run is None:
            return child_config(self._config)
        config: Any = mark_resolved({key: value for key, value in self._config.items() if key not in _OWN})
        config["callbacks"] = self._run.get_child(tag)
        setattr(config, _RUN, self._run)
        return cast(RunnableConfig, config)

    async def around(
        self,
        input: Any,
        go: Callable[[], Awaitable[T]],
        has_left: Callable[[], bool],
        so_far: Callable[[], Any] = lambda: None,
    ) -> T:
        """Run ``go`` as this run, and return its result.

        Args:
            input: what handlers are told of at the start: a copy.
            go: does the work.
            has_left: whether the consumer of the result has left on its own account, which is no failure.
            so_far: what it has got until then.
        """
        if self._run is None:
            return await go()
        try:
            await self.start(input)
            result = await go()
        except BaseException as error:
            await self.fail(error, closed=has_left(), so_far=so_far)
            raise
        await self.end(result)
        return result

    async def start(self, input: Any) -> None:
        """Tell the handlers that the run starts."""
        told = {"name": self._name}
        details = {"name": self._name, "run_type": self._type}
        await self._run._tell_start("on_chain_start", (told, _shown(input)), details)

    async def end(self, output: Any, **details: Any) -> None:
        """Tell the handlers that the run has ended."""
        await self._run._tell_end("on_chain_end", _shown(output), **details)

    async def fail(self, error: BaseException, *, closed: bool, so_far: Callable[[], Any] = lambda: None) -> None:
        """Tell the handlers that the run has failed, or, where its consumer just left, that it has ended. Only once."""
        if not self._run.ended:
            with contextlib.suppress(Exception):  # of a handler: a run that has failed keeps its own error
                if closed:
                    await self.end(so_far(), closed=True)
                else:
                    await self._run._tell_end("on_chain_error", error)

    async def tell(self, name: str, *args: Any, **details: Any) -> None:
        """Tell the run's handlers of something that happened in it."""
        if self._run is not None:
            await self._run._tell(name, *args, **details)

    def hears(self, name: str) -> bool:
        """Whether a handler listens to events of this name."""
        return self._run is not None and bool(self._run._listeners(name))

    @property
    def is_watched(self) -> bool:
        """Whether anybody hears of it."""
        return self._run is not None


class StreamObserver:
    """A sink that tells the handlers of a run of the pieces on their way, and keeps them for its end.

    Attributes:
        pieces: those that have come.
    """

    def __init__(self, run: ChainRun, sink: Sink[Any], *, cumulative: bool) -> None:
        self._run = run
        self._sink = sink
        self._tells = run.hears("on_chain_chunk")
        self.pieces = Accumulator(cumulative=cumulative)

    @property
    def closed(self) -> bool:
        """Whether the consumer has left."""
        return self._sink.closed

    def put(self, item: Any) -> Awaitable[None] | None:
        """Hand over a piece."""
        self.pieces.add(item)
        return self._told(item) if self._tells else self._sink.put(item)

    async def _told(self, item: Any) -> None:
        await self._run.tell("on_chain_chunk", item)
        waiting = self._sink.put(item)
        if waiting is not None:
            await waiting


def _shown(value: Any) -> Any:
    """Return a copy of what goes in or out, for handlers: lists, dicts and messages, all the way down."""
    if isinstance(value, BaseMessage):
        return isolated(value)
    if value.__class__ is list or value.__class__ is tuple:
        return value.__class__(_shown(one) for one in value)
    if value.__class__ is dict:
        return {key: _shown(one) for key, one in value.items()}
    return value
