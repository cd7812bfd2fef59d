"""A runnable that is tried again when it fails, and when that may help."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

from pydantic import Field, SkipValidation

from hocket.retries import RetryPolicy, retry_async
from hocket.runnables.base import AnyRunnable, Runnable
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.config import RunnableConfig
from hocket.runnables.jitter import ExponentialJitterParams, JitterPolicy
from hocket.runnables.with_attempts import Attempts, RunnableWithAttempts

if TYPE_CHECKING:
    from hocket.runnables.graph import Graph

__all__ = ["RunnableRetry"]

Input = TypeVar("Input")
Output = TypeVar("Output")

ATTEMPTS = 3


class RunnableRetry(RunnableWithAttempts[Input, Output], Generic[Input, Output]):
    """Tries a runnable again. Made by `Runnable.with_retry`, which see.

    A call's ``retry=`` replaces the policy here; its ``timeout=`` is for all attempts together. Handlers see a run of a
    chain with a run inside it for each attempt, and get ``on_retry`` between two.
    """

    bound: SkipValidation[Runnable[Input, Output]]
    retry_exception_types: tuple[type[Exception], ...] | Callable[[Exception], bool] = ()
    wait_exponential_jitter: bool = True
    exponential_jitter_params: ExponentialJitterParams | None = None
    max_attempt_number: int | None = Field(default=None, ge=1, strict=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if what it tries again does; exception types do not."""
        return True

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """Return the graph of what is tried again."""
        return self.bound.get_graph(config)

    def _get_wrapped(self) -> list[Runnable[Input, Output]]:
        return [self.bound]

    def _map_wrapped(self, change: Callable[[Runnable[Input, Output]], AnyRunnable]) -> Self:
        return self.model_copy(update={"bound": change(self.bound)})

    def _get_max_attempts(self, params: Mapping[str, object]) -> float:
        if "retry" in params:
            return self._read_policy(params["retry"]).max_attempts
        if self.max_attempt_number is not None:
            return self.max_attempt_number
        inside = self.bound._get_max_attempts(params)
        return ATTEMPTS if inside == math.inf else max(ATTEMPTS, inside)

    def _read_policy(self, retry: object) -> RetryPolicy:
        """Return the policy that a call's ``retry`` stands for; None: one attempt."""
        return RetryPolicy(max_attempts=1) if retry is None else RetryPolicy.of(cast("RetryPolicy | int", retry))

    def _make_policy(self) -> RetryPolicy:
        pauses = (self.exponential_jitter_params or {}) if self.wait_exponential_jitter else None
        given = self.retry_exception_types
        also, judge = ((), given) if callable(given) else (given, None)
        return JitterPolicy(max_attempts=self.max_attempt_number or ATTEMPTS, also=also, judge=judge, pauses=pauses)

    async def _run_attempts(self, call: Attempts[Input, Output]) -> Output:
        params = {**call.params}
        limit = self._get_max_attempts(params)
        policy = self._read_policy(params["retry"]) if "retry" in params else self._make_policy()
        if params.get("retry") is not None:  # is for all of the call; what is inside keeps its own
            del params["retry"]

        async def attempt(number: int) -> Output:
            config = add_run_tag(call.config, "retry:attempt:{}", number) if number > 1 else call.config
            return await call.ask(self.bound, call.input, config, params)

        return await retry_async(
            attempt,
            policy,
            call.mode,
            limit=limit,
            ends_at=lambda: call.ends_at,
            may_repeat=lambda: not call.has_handed_out,
            tell=call.tell,
        )
