"""A runnable with others to ask when it fails."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Generic, Self, TypeVar

from pydantic import Field, SkipValidation, field_validator

from hocket.errors import InvalidInput
from hocket.retries import Failure, RetryPolicy, retry_budget
from hocket.runnables.base import Runnable
from hocket.runnables.binding import RunnableBinding
from hocket.runnables.config import RunnableConfig, merge_configs
from hocket.runnables.retry import RunnableRetry
from hocket.runnables.with_attempts import Attempts, RunnableWithAttempts

__all__ = ["RunnableWithFallbacks"]

Input = TypeVar("Input")
Output = TypeVar("Output")

_NAMES = ("model", "model_name")  # arguments that say which model is asked: a fallback is another one
_OWN = ("run_id", "run_name", "max_concurrency")  # keys of a bound config that are about one runnable


class RunnableWithFallbacks(RunnableWithAttempts[Input, Output], Generic[Input, Output]):
    """Asks a runnable, and others when it fails. Made by `Runnable.with_fallbacks`, which see.

    Handlers see a run of a chain, each runnable's being a run inside it, and are told ``on_retry`` between two.
    """

    runnable: SkipValidation[Runnable[Input, Output]]
    fallbacks: SkipValidation[Sequence[Runnable[Input, Output]]]
    exceptions_to_handle: tuple[type[Exception], ...] = Field(default=(Exception,), min_length=1)
    exception_key: str | None = None

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if what it asks does; exceptions to handle do not."""
        return True

    @field_validator("fallbacks")
    @classmethod
    def _check_fallbacks(cls, given: Any) -> Any:
        if not isinstance(given, Sequence) or not given or not all(isinstance(one, Runnable) for one in given):
            raise ValueError(f"fallbacks is {given!r}; it must be a list of runnables, with at least one")
        return given

    @property
    def runnables(self) -> Iterator[Runnable[Input, Output]]:
        """The runnables, in the order in which they are asked."""
        yield from self._get_candidates()

    async def aclose(self) -> None:
        """Close the connections of the running loop of each of the runnables that has any, also if one fails to."""
        async with AsyncExitStack() as stack:
            for one in self._get_candidates():
                if (close := getattr(one, "aclose", None)) is not None:
                    stack.push_async_callback(close)

    def _get_candidates(self) -> list[Runnable[Input, Output]]:
        return [self.runnable, *self.fallbacks]

    def _map_each(self, change: Callable[[Any], Any]) -> Self:
        made = [change(one) for one in self.fallbacks]
        return self.model_copy(update={"runnable": change(self.runnable), "fallbacks": made})

    def _get_max_attempts(self, params: Mapping[str, Any]) -> float:
        if params.get("retry") is not None:
            return RetryPolicy.of(params["retry"]).max_attempts
        return sum(one._get_max_attempts(self._params_of(one, params)) for one in self._get_candidates())

    def _params_of(self, runnable: Runnable[Any, Any], params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for one of the runnables: what is bound to the first under its own and the call's."""
        carried: Mapping[str, Any] = {}
        if runnable is not self.runnable:
            own = _bound_to(runnable)[0]
            given = _bound_to(self.runnable)[0]
            carried = {key: value for key, value in given.items() if key not in own and key not in _NAMES}
        merged = {**carried, **params}
        if params.get("retry") is not None:  # for all together; a model's own limit ends its turn
            policy, own_limit = RetryPolicy.of(params["retry"]), runnable._get_max_attempts(_without_retry(merged))
            limit = int(min(policy.max_attempts, own_limit))
            merged["retry"] = policy.model_copy(update={"max_attempts": limit})
        return merged

    def _config_of(self, runnable: Runnable[Any, Any], config: RunnableConfig) -> RunnableConfig:
        if runnable is self.runnable:
            return config
        given: Any = {key: value for key, value in _bound_to(self.runnable)[1].items() if key not in _OWN}
        return merge_configs(given, _bound_to(runnable)[1], config)

    async def _run_attempts(self, call: Attempts) -> Any:
        if self.exception_key is not None and not isinstance(call.input, dict):
            raise InvalidInput(
                f"If 'exception_key' is specified then input must be a dictionary: it is {type(call.input).__name__}, "
                f"and has no place for {self.exception_key!r}"
            )
        errors: list[Exception] = []
        try:
            with retry_budget(self._get_max_attempts(call.params)) as turn:
                for number, runnable in enumerate(self._get_candidates(), 1):
                    input = call.input
                    if errors:
                        await call.tell(Failure(number - 1, errors[-1], 0.0))
                        if self.exception_key is not None:
                            input = {**input, self.exception_key: errors[-1]}
                    config = self._config_of(runnable, call.config)
                    try:
                        return await call.ask(runnable, input, config, self._params_of(runnable, call.params))
                    except self.exceptions_to_handle as error:
                        turn.count()
                        if call.has_handed_out:
                            raise
                        errors.append(error)
                        if turn.is_spent or call.is_late:
                            break
                raise _noted(errors)
        finally:
            errors.clear()  # their tracebacks hold this frame


def _bound_to(runnable: Any) -> tuple[dict[str, Any], RunnableConfig]:
    """Return the arguments and the config that are bound to a runnable."""
    kwargs: dict[str, Any] = {}
    config: RunnableConfig = {}
    while isinstance(runnable, RunnableBinding | RunnableRetry):
        if isinstance(runnable, RunnableBinding):
            kwargs, config = {**runnable.kwargs, **kwargs}, merge_configs(runnable.config, config)
        runnable = runnable.bound
    return kwargs, config


def _without_retry(params: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key != "retry"}


def _noted(errors: Sequence[Exception]) -> Exception:
    """Return the first of the errors, with notes of the others."""
    first, *others = errors
    for number, error in enumerate(others, 1):
        note = f"fallback {number} failed, too: {type(error).__name__}: {error}"
        if note not in getattr(first, "__notes__", ()):  # equal calls in flight share their error
            first.add_note(note)
    return first
