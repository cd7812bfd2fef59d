"""What `RunnableRetry` and `RunnableWithFallbacks` have in common: a call of theirs is made of calls of other runnables.

The pieces that those push go straight to the consumer, and after the first piece nothing is tried again.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import ClassVar, Generic, TypeVar, cast

from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.retries import Failure
from hocket.runnables.base import Runnable, RunnableWrapper
from hocket.runnables.chain_run import get_run
from hocket.runnables.config import RunnableConfig
from hocket.runnables.with_run import RunnableWithRun
from hocket.timeouts import Timeout

__all__ = ["Attempts", "RunnableWithAttempts"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class Attempts(Generic[Input, Output]):
    """One call on its way: its input, its deadline, and whether it has handed anything out. The sink of its attempts.

    Attributes:
        input, config, params: of the call; the config is that of runs inside it.
        ends_at: the deadline, in seconds of the clock; None: it has none.
        has_handed_out: whether a piece of an answer has reached the consumer.
    """

    def __init__(
        self,
        mode: Mode,
        input: Input,
        config: RunnableConfig,
        params: dict[str, object],
        sink: Sink[Output] | None,
    ) -> None:
        self.mode = mode
        self.input = input
        self.config = config
        self.params = params
        self.has_handed_out: bool = False
        self._sink = sink
        timeout = params.get("timeout")
        self._timeout = None if timeout is None else Timeout.of(cast("Timeout | float", timeout))
        total = None if self._timeout is None else self._timeout.total
        self.ends_at: float | None = None if total is None else clock.current().now() + total

    @property
    def is_late(self) -> bool:
        """Whether there is no time left."""
        return self.ends_at is not None and clock.current().now() >= self.ends_at

    @property
    def closed(self) -> bool:
        """Whether the consumer of the pieces has left."""
        return self._sink is not None and self._sink.closed

    def put(self, item: Output) -> Awaitable[None] | None:
        """Hand over a piece."""
        assert self._sink is not None
        self.has_handed_out = True
        return self._sink.put(item)

    async def ask(
        self, runnable: Runnable[Input, Output], input: Input, config: RunnableConfig, params: dict[str, object]
    ) -> Output:
        """Make one attempt, in the time that is left, and return its output; if it is streamed, that is None."""
        if self._timeout is not None and self.ends_at is not None:
            seconds_left = max(self.ends_at - clock.current().now(), 1e-3)
            params = {**params, "timeout": Timeout(total=seconds_left).over(self._timeout)}
        if self._sink is None:
            return await runnable._invoke(self.mode, input, config, params)  # pyright: ignore[reportPrivateUsage]  # a runnable's hook for others
        await runnable._produce(self.mode, input, config, params, self)  # pyright: ignore[reportPrivateUsage]  # as above
        return cast(Output, None)

    async def tell(self, failure: Failure) -> None:
        """Tell the handlers of the call's run of an attempt that failed and is followed by another."""
        run = get_run(self.config, self.mode)
        if run.handlers:
            state, facts = failure.retry_event_args
            await run.emit("on_retry", state, **facts)


class RunnableWithAttempts(RunnableWithRun[Input, Output], RunnableWrapper[Input, Output], ABC, Generic[Input, Output]):
    """A runnable that may call others more than once."""

    _waits_for_input: ClassVar[bool] = True

    @abstractmethod
    async def _run_attempts(self, call: Attempts[Input, Output]) -> Output:
        """Make the attempts of one call, and return the output of the last."""

    def _wrap_call(self, name: str, verb: Callable[..., object]) -> Callable[..., object]:
        if "callbacks" in inspect.signature(verb).parameters:
            raise AttributeError(
                f"{type(self).__name__} has no {name}: it would be called once, on the first runnable inside. Use invoke, "
                "stream, batch or their async forms, which are tried again"
            )
        return verb  # it starts no run: `render` shows the first request

    @property
    def _can_step(self) -> bool:
        return all(one._can_step for one in self._get_wrapped())

    async def _run_whole(self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object]) -> Output:
        return await self._run_attempts(Attempts(mode, input, config, kwargs, None))

    async def _run_streamed(
        self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> None:
        await self._run_attempts(Attempts(mode, input, config, kwargs, sink))
