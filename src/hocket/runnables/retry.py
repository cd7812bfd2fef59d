"""A runnable that is tried again when it fails, and when that may help."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Generic, Self, TypeVar

from pydantic import Field, SkipValidation
from typing_extensions import TypedDict

from hocket.retries import RetryPolicy, retry_async, seconds
from hocket.runnables.base import Runnable
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.with_attempts import Attempts, RunnableWithAttempts

__all__ = ["ExponentialJitterParams", "RunnableRetry"]

Input = TypeVar("Input")
Output = TypeVar("Output")

ATTEMPTS = 3


class ExponentialJitterParams(TypedDict, total=False):
    """How long the pauses are, in seconds: ``initial`` (1) · ``exp_base`` (2) ** n + chance up to ``jitter`` (1), at
    most ``max`` (60). LangChain's words.
    """

    initial: float
    max: float
    exp_base: float
    jitter: float


class _Policy(RetryPolicy):
    """A policy with LangChain's pauses."""

    pauses: ExponentialJitterParams | None = None

    def _backoff(self, attempt: int) -> float:
        if self.pauses is None:
            return 0.0
        from tenacity import wait_exponential, wait_random

        longest = self.pauses.get("max", 60.0)
        growing = wait_exponential(self.pauses.get("initial", 1.0), longest, self.pauses.get("exp_base", 2.0))
        return min(longest, seconds(growing + wait_random(0, self.pauses.get("jitter", 1.0)), attempt))


class RunnableRetry(RunnableWithAttempts[Input, Output], Generic[Input, Output]):
    """Tries a runnable again. Made by `Runnable.with_retry`, which see.

    A call's ``retry=`` counts instead of what was said here; ``timeout=`` is for all attempts together. Handlers see a
    run of a chain, an attempt being a run inside it, and are told ``on_retry`` between two.
    """

    bound: SkipValidation[Runnable[Input, Output]]
    retry_exception_types: tuple[type[Exception], ...] = ()
    wait_exponential_jitter: bool = True
    exponential_jitter_params: ExponentialJitterParams | None = None
    max_attempt_number: int | None = Field(default=None, ge=1, strict=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if what it tries again does; exception types do not."""
        return True

    def _get_candidates(self) -> list[Runnable[Input, Output]]:
        return [self.bound]

    def _map_each(self, change: Callable[[Any], Any]) -> Self:
        return self.model_copy(update={"bound": change(self.bound)})

    def _get_max_attempts(self, params: Mapping[str, Any]) -> float:
        if "retry" in params:
            return self._policy(params["retry"]).max_attempts
        if self.max_attempt_number is not None:
            return self.max_attempt_number
        inside = self.bound._get_max_attempts(params)
        return ATTEMPTS if inside == math.inf else max(ATTEMPTS, inside)

    def _policy(self, given: Any) -> RetryPolicy:
        """Return what a call's ``retry`` stands for."""
        return RetryPolicy(max_attempts=1) if given is None else RetryPolicy.of(given)

    def _own_policy(self) -> RetryPolicy:
        pauses = (self.exponential_jitter_params or {}) if self.wait_exponential_jitter else None
        return _Policy(max_attempts=self.max_attempt_number or ATTEMPTS, also=self.retry_exception_types, pauses=pauses)

    async def _run_attempts(self, call: Attempts) -> Any:
        params = {**call.params}
        limit = self._get_max_attempts(params)
        policy = self._policy(params["retry"]) if "retry" in params else self._own_policy()
        if params.get("retry") is not None:  # is for all of the call; what is inside keeps its own
            del params["retry"]

        async def attempt(number: int) -> Any:
            config = add_run_tag(call.config, "retry:attempt:{}", number) if number > 1 else call.config
            return await call.ask(self.bound, call.input, config, params)

        return await retry_async(
            attempt,
            policy,
            call.runtime,
            limit=limit,
            ends_at=lambda: call.ends_at,
            may_repeat=lambda: not call.has_handed_out,
            tell=call.tell,
        )
