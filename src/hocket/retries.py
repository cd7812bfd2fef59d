"""How often a call may be tried, and when: the policy, as data; the budget that nested policies share; and the one loop
that tries again, for a model's pipeline and for `Runnable.with_retry` alike.

What is tried again is decided in `RetryPolicy.allows`: an error of hocket's own that says ``retryable``, and whatever
else the caller names. What already reached somebody is never made again; that is for the loop's callers to say.

A budget counts attempts that have failed, each once, where it failed: by the innermost of nested loops. Every loop asks
all around it before it goes round again, so that together they never make more attempts than the outermost one allows, and
none takes what is meant for a fallback.
"""

import math
import random
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeAlias, TypeVar, cast

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError

from hocket._runtime import clock
from hocket._runtime.fork import free_at_fork
from hocket._runtime.mode import Mode
from hocket.errors import BudgetError, InvalidHook, InvalidInput, LLMError
from hocket.load.serializable import Serializable

__all__ = ["BudgetScope", "Failure", "RetryPolicy", "RetryPolicyLike", "retry_async", "retry_budget", "seconds"]

T = TypeVar("T")

_WHAT_IT_IS = "it is a RetryPolicy, or a number of attempts (at least 1), or None"

_random = random.SystemRandom()  # a seeded one would be the same in every process that a server forks


class RetryPolicy(Serializable):
    """When a failed attempt is followed by another.

    Args:
        max_attempts: in all, the first included. 1: never again.
        first_pause: seconds before the second attempt; each further pause is twice as long.
        longest_pause: seconds, at most. What the server asks for (``Retry-After`` and its kin) counts instead, however
            long.
        jitter: the part of a pause that is left to chance, so that many who failed together do not come back together.
        also: further exceptions to try again after. An error that says for itself whether that helps (`LLMError`) is
            believed, unless a class of its own kind is named: ``Exception`` does not bring authentication back.

    Examples:
        >>> from hocket import FakeListChatModel, RetryPolicy
        >>> model = FakeListChatModel(responses=["Hello."], retry=RetryPolicy(max_attempts=5, first_pause=1))
        >>> model.invoke("Hi", retry=1).text
        'Hello.'
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    max_attempts: int = Field(default=3, ge=1, strict=True)
    first_pause: float = Field(default=0.5, ge=0, allow_inf_nan=False)
    longest_pause: float = Field(default=8.0, ge=0, allow_inf_nan=False)
    jitter: float = Field(default=0.25, ge=0, le=1)
    also: tuple[type[Exception], ...] = Field(default=(), exclude=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, but for the exceptions in ``also``."""
        return True

    def allows(self, error: BaseException) -> bool:
        """Whether another attempt may go well."""
        if isinstance(error, LLMError) and error.retryable:
            return True
        named = self.also
        for own in (LLMError, InvalidInput, InvalidHook, BudgetError):
            if isinstance(error, own):
                named = tuple(cls for cls in named if issubclass(cls, own))
        return isinstance(error, named)

    def pause(self, attempt: int, error: BaseException) -> float:
        """Return the seconds to wait after ``attempt``, counted from 1, has failed with ``error``."""
        asked = error.retry_after if isinstance(error, LLMError) else None
        return self._backoff(attempt) if asked is None else asked

    def _backoff(self, attempt: int) -> float:
        from tenacity import wait_exponential  # not with the module: most processes never need it

        whole = seconds(wait_exponential(multiplier=self.first_pause, max=self.longest_pause), attempt)
        return whole * (1 - self.jitter * _random.random())

    @classmethod
    def of(cls, value: "RetryPolicy | int") -> "RetryPolicy":
        """Return ``value``; a number is a ``max_attempts``.

        Raises:
            InvalidInput: it is neither, or below 1.
        """
        if isinstance(value, RetryPolicy):
            return value
        try:
            return cls(max_attempts=value)
        except ValidationError:
            raise InvalidInput(f"retry is {value!r}; {_WHAT_IT_IS}") from None


def _coerce_policy(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return RetryPolicy(max_attempts=value)
    if isinstance(value, RetryPolicy | Mapping):
        return cast(object, value)
    raise ValueError(f"retry is {value!r}; {_WHAT_IT_IS}")


if TYPE_CHECKING:
    RetryPolicyLike: TypeAlias = RetryPolicy | int
    """A `RetryPolicy`; a number is its ``max_attempts``."""
else:
    RetryPolicyLike = Annotated[RetryPolicy, BeforeValidator(_coerce_policy)]  # a field holds a policy


_counting = free_at_fork(threading.Lock())  # the branches of a sync chain run in threads


class BudgetScope:
    """One retry loop. A failure inside counts in all loops around it, too. `retry_budget` opens it."""

    __slots__ = ("_failed", "_is_counted", "_limit", "_outer")

    def __init__(self, limit: float, outer: "BudgetScope | None") -> None:
        self._outer = outer
        self._limit = limit
        self._failed = 0
        self._is_counted = False

    def count(self) -> None:
        """Book an attempt that has failed, unless that was done further inside."""
        if not self._is_counted:
            with _counting:
                for scope in self._around():
                    scope._failed += 1
        self._is_counted = False

    def _around(self) -> Iterator["BudgetScope"]:
        scope: BudgetScope | None = self
        while scope is not None:
            yield scope
            scope = scope._outer

    @property
    def is_spent(self) -> bool:
        """Whether there may be no further attempt."""
        return any(scope._failed >= scope._limit for scope in self._around())

    @property
    def has_spare(self) -> bool:
        """Whether there may be another attempt beside the one that is under way."""
        return all(scope._failed + 1 < scope._limit for scope in self._around())

    def leave(self) -> None:
        """Note that the failure which ends this turn is booked."""
        if self._outer is not None:
            self._outer._is_counted = True


_turn: ContextVar[BudgetScope | None] = ContextVar("hocket_turn", default=None)


@contextmanager
def retry_budget(limit: float) -> Generator[BudgetScope]:
    """Have everything inside share one budget, which is part of those around it: none of them is exceeded.

    Not to be held across a yield.

    Args:
        limit: attempts in all. Infinite: none, and what is inside has budgets of its own.
    """
    outer = _turn.get()
    turn = BudgetScope(limit, outer)
    if outer is None and limit == math.inf:
        yield turn
        return
    token = _turn.set(turn)
    try:
        yield turn
    except Exception:
        turn.leave()
        raise
    finally:
        _turn.reset(token)


class Failure(NamedTuple):
    """An attempt that failed and will be followed by another.

    Attributes:
        attempt: its number, from 1.
        error: what it failed with.
        delay: seconds until the next.
    """

    attempt: int
    error: Exception
    delay: float

    @property
    def retry_event_args(self) -> tuple[Any, dict[str, Any]]:
        """What handlers are told in ``on_retry``: tenacity's state (LangChain's form), and what else they would dig for."""
        from tenacity import RetryAction

        state = _state(self.attempt)
        state.upcoming_sleep, state.next_action = self.delay, RetryAction(self.delay)
        state.set_exception((type(self.error), self.error, self.error.__traceback__))
        status = self.error.status if isinstance(self.error, LLMError) else None
        return state, {"attempt": self.attempt, "error": self.error, "delay": self.delay, "status": status}


def seconds(strategy: Callable[[Any], float], attempt: int) -> float:
    """Return how long one of tenacity's strategies waits after ``attempt``, counted from 1."""
    return strategy(_state(attempt))


def _state(attempt: int) -> Any:
    from tenacity import RetryCallState

    nobody: Any = None
    state = RetryCallState(nobody, None, (), {})
    state.attempt_number = attempt
    return state


async def retry_async(
    go: Callable[[int], Awaitable[T]],
    policy: RetryPolicy,
    mode: Mode,
    *,
    limit: float,
    ends_at: Callable[[], float | None],
    may_repeat: Callable[[], bool],
    tell: Callable[[Failure], Awaitable[None]],
) -> T:
    """Make attempts until one goes well.

    Args:
        go: makes one, given its number, from 1.
        policy: which errors are tried again, how often, and when.
        mode: where the pauses are spent.
        limit: of the budget, if this is the outermost loop.
        ends_at: returns the deadline, by the clock: a pause that would not end before it is not begun.
        may_repeat: whether another attempt would do no harm.
        tell: is called for each failure that is followed by another attempt.

    Raises:
        BaseException: of the last attempt. Only an ``Exception`` is ever followed by another.
    """
    with retry_budget(limit) as turn:
        number = 0
        while True:
            number += 1
            try:
                return await go(number)
            except Exception as error:
                turn.count()
                if number >= policy.max_attempts or turn.is_spent or not (may_repeat() and policy.allows(error)):
                    raise
                pause = policy.pause(number, error)
                deadline = ends_at()
                if deadline is not None and clock.current().now() + pause >= deadline:
                    error.add_note(f"not tried again: the pause of {pause:g} s would end after the call's deadline")
                    raise
                failure = Failure(number, error, pause)
            await tell(failure)
            del failure  # its traceback holds this frame
            await mode.sleep(pause)
