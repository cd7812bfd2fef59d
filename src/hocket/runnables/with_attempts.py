"""What `RunnableRetry` and `RunnableWithFallbacks` have in common: a call of theirs is made of calls of other runnables.

What those hand out piece by piece goes straight to the consumer, and from the first piece on nothing is tried again.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Self, TypeVar, cast

from pydantic import ConfigDict

from hocket._runtime import clock
from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.retries import Failure
from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.chain_run import get_run
from hocket.runnables.config import RunnableConfig
from hocket.runnables.with_run import RunnableWithRun
from hocket.timeouts import Timeout

__all__ = ["Attempts", "RunnableWithAttempts"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class Attempts:
    """One call on its way: what is asked, until when, and whether anything has come of it. It is the sink of its attempts.

    Attributes:
        input, config, params: of the call; the config is that of runs inside it.
        ends_at: the deadline, by the clock; None: it has none.
        has_handed_out: whether a piece of an answer has reached the consumer.
    """

    def __init__(
        self, runtime: Runtime, input: Any, config: RunnableConfig, params: dict[str, Any], sink: Sink[Any] | None
    ) -> None:
        self.runtime = runtime
        self.input = input
        self.config = config
        self.params = params
        self.has_handed_out = False
        self._sink = sink
        given = params.get("timeout")
        self._timeout = None if given is None else Timeout.of(given)
        total = None if self._timeout is None else self._timeout.total
        self.ends_at = None if total is None else clock.current().now() + total

    @property
    def is_late(self) -> bool:
        """Whether there is no time left."""
        return self.ends_at is not None and clock.current().now() >= self.ends_at

    @property
    def closed(self) -> bool:
        """Whether the consumer of the pieces has left."""
        return self._sink is not None and self._sink.closed

    def put(self, item: Any) -> Awaitable[None] | None:
        """Hand over a piece."""
        self.has_handed_out = True
        return cast(Sink[Any], self._sink).put(item)

    async def ask(
        self, runnable: Runnable[Any, Any], input: Any, config: RunnableConfig, params: dict[str, Any]
    ) -> Any:
        """Make one attempt, in what is left of the time, and return what comes of it; nothing, if that is streamed."""
        if self._timeout is not None and self.ends_at is not None:
            left = max(self.ends_at - clock.current().now(), 1e-3)
            params = {**params, "timeout": Timeout(total=left).over(self._timeout)}
        if self._sink is None:
            return await runnable._invoke(self.runtime, input, config, params)
        return await runnable._produce(self.runtime, input, config, params, self)

    async def tell(self, failure: Failure) -> None:
        """Tell the handlers of the call's run of an attempt that failed and is followed by another."""
        run = get_run(self.config, self.runtime)
        if run.handlers:
            state, facts = failure.told
            await run._tell("on_retry", state, **facts)


class RunnableWithAttempts(
    RunnableWithRun[Input, Output], RunnableSerializable[Input, Output], ABC, Generic[Input, Output]
):
    """A runnable that may ask others more than once.

    A method of what it asks that returns a runnable (``bind_tools``) is called on each, and gives one like this of the
    results; its other attributes are those of the first.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @abstractmethod
    async def _run_attempts(self, call: Attempts) -> Any:
        """Make the attempts of one call, and return what the last gave."""

    @abstractmethod
    def _get_candidates(self) -> Sequence[Runnable[Input, Output]]:
        """Return the runnables that may be asked, in order."""

    @abstractmethod
    def _map_each(self, change: Callable[[Any], Any]) -> Self:
        """Return one like this, of what ``change`` makes of the runnables that it asks."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in type(self).__pydantic_fields__:
            raise AttributeError(name)
        attribute = getattr(self._get_candidates()[0], name)
        if not callable(attribute):
            return attribute

        @functools.wraps(attribute)
        def call(*args: Any, **kwargs: Any) -> Any:
            made = attribute(*args, **kwargs)
            if not isinstance(made, Runnable):
                return made
            return self._map_each(lambda one: getattr(one, name)(*args, **kwargs))

        return call

    @property
    def _can_step(self) -> bool:
        return all(one._can_step for one in self._get_candidates())

    async def _run_whole(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any]
    ) -> Output:
        return cast(Output, await self._run_attempts(Attempts(runtime, input, config, kwargs, None)))

    async def _run_streamed(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> None:
        await self._run_attempts(Attempts(runtime, input, config, kwargs, sink))
