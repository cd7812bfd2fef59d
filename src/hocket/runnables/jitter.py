"""The pauses of `Runnable.with_retry`, in LangChain's words."""

from collections.abc import Callable

from pydantic import Field
from typing_extensions import TypedDict

from hocket.retries import RetryPolicy, seconds

__all__ = ["ExponentialJitterParams", "JitterPolicy"]


class ExponentialJitterParams(TypedDict, total=False):
    """How long the pauses are, in seconds: ``initial`` (1) · ``exp_base`` (2) ** n + chance up to ``jitter`` (1), at
    most ``max`` (60). LangChain's words.
    """

    initial: float
    max: float
    exp_base: float
    jitter: float


class JitterPolicy(RetryPolicy):
    """A policy with LangChain's pauses, and with its function that says after which exceptions to try again."""

    pauses: ExponentialJitterParams | None = None
    judge: Callable[[Exception], bool] | None = Field(default=None, exclude=True)

    def allows(self, error: BaseException) -> bool:
        """Whether another attempt may go well."""
        return super().allows(error) if self.judge is None else isinstance(error, Exception) and self.judge(error)

    def _backoff(self, attempt: int) -> float:
        if self.pauses is None:
            return 0.0
        from tenacity import wait_exponential, wait_random

        longest = self.pauses.get("max", 60.0)
        growing = wait_exponential(self.pauses.get("initial", 1.0), longest, self.pauses.get("exp_base", 2.0))
        return min(longest, seconds(growing + wait_random(0, self.pauses.get("jitter", 1.0)), attempt))
