"""A runnable with others to ask when it fails."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Generic, NamedTuple, Self, TypeVar, cast

from pydantic import Field, SkipValidation, field_validator

from hocket.errors import InvalidInput
from hocket.retries import Failure, RetryPolicy, retry_budget
from hocket.runnables.base import AnyRunnable, Runnable
from hocket.runnables.config import RunnableConfig, merge_configs
from hocket.runnables.proxy import RunnableBinding
from hocket.runnables.retry import RunnableRetry
from hocket.runnables.with_attempts import Attempts, RunnableWithAttempts

__all__ = ["RunnableWithFallbacks"]

Input = TypeVar("Input")
Output = TypeVar("Output")

_NAMES = ("model", "model_name")  # arguments that say which model is asked: a fallback is another one
_OWN = ("run_id", "run_name", "max_concurrency")  # keys of a bound config that are about one runnable


class RunnableWithFallbacks(RunnableWithAttempts[Input, Output], Generic[Input, Output]):
    """Calls a runnable, and others when it fails. Made by `Runnable.with_fallbacks`, which see.

    Handlers see a run of a chain with a run inside it for each runnable called, and get ``on_retry`` between two.
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
    def _check_fallbacks(cls, fallbacks: object) -> object:
        if isinstance(fallbacks, Sequence) and fallbacks:
            runnables = cast("Sequence[object]", fallbacks)
            if all(isinstance(one, Runnable) for one in runnables):
                return runnables
        raise ValueError(f"fallbacks is {fallbacks!r}; it must be a list of runnables, with at least one")

    @property
    def runnables(self) -> Iterator[Runnable[Input, Output]]:
        """The runnables, in the order in which they are called."""
        yield from self._get_wrapped()

    async def aclose(self) -> None:
        """Close the connections of the running loop of each of the runnables that has any, also if one fails to."""
        async with AsyncExitStack() as stack:
            for one in self._get_wrapped():
                if (close := getattr(one, "aclose", None)) is not None:
                    stack.push_async_callback(close)

    def _get_wrapped(self) -> list[Runnable[Input, Output]]:
        return [self.runnable, *self.fallbacks]

    def _map_wrapped(self, change: Callable[[Runnable[Input, Output]], AnyRunnable]) -> Self:
        others = [change(one) for one in self.fallbacks]
        return self.model_copy(update={"runnable": change(self.runnable), "fallbacks": others})

    def _get_max_attempts(self, params: Mapping[str, object]) -> float:
        retry = params.get("retry")
        if retry is not None:
            return RetryPolicy.of(cast("RetryPolicy | int", retry)).max_attempts
        return sum(one._get_max_attempts(self._get_params(one, params)) for one in self._get_wrapped())

    def _get_params(self, runnable: AnyRunnable, params: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments for one of the runnables: what is bound to the first under its own and the call's."""
        inherited: dict[str, object] = {}
        if runnable is not self.runnable:
            own, first = _find_bound(runnable).kwargs, _find_bound(self.runnable).kwargs
            inherited = {key: value for key, value in first.items() if key not in own and key not in _NAMES}
        merged = {**inherited, **params}
        retry = params.get("retry")
        if retry is not None:  # for all together; a model's own limit ends its turn
            policy = RetryPolicy.of(cast("RetryPolicy | int", retry))
            own_limit = runnable._get_max_attempts(_without_retry(merged))
            limit = int(min(policy.max_attempts, own_limit))
            merged["retry"] = policy.model_copy(update={"max_attempts": limit})
        return merged

    def _get_config(self, runnable: AnyRunnable, config: RunnableConfig) -> RunnableConfig:
        if runnable is self.runnable:
            return config
        first = {key: value for key, value in _find_bound(self.runnable).config.items() if key not in _OWN}
        return merge_configs(first, _find_bound(runnable).config, config)

    async def _run_attempts(self, call: Attempts[Input, Output]) -> Output:
        original: object = call.input
        if self.exception_key is not None and not isinstance(original, dict):
            raise InvalidInput(
                f"If 'exception_key' is specified then input must be a dictionary: it is {type(original).__name__}, "
                f"and has no place for {self.exception_key!r}"
            )
        errors: list[Exception] = []
        try:
            with retry_budget(self._get_max_attempts(call.params)) as turn:
                for number, runnable in enumerate(self._get_wrapped(), 1):
                    input = call.input
                    if errors:
                        await call.tell(Failure(number - 1, errors[-1], 0.0))
                        await call.mode.sleep(0)  # one that fails at once may have waited for nothing
                        if self.exception_key is not None and isinstance(input, dict):
                            with_error = {**cast("dict[str, object]", input), self.exception_key: errors[-1]}
                            input = cast(Input, with_error)
                    config = self._get_config(runnable, call.config)
                    try:
                        return await call.ask(runnable, input, config, self._get_params(runnable, call.params))
                    except self.exceptions_to_handle as error:
                        turn.count()
                        if call.has_handed_out:
                            raise
                        errors.append(error)
                        if turn.is_spent or call.is_late:
                            break
                raise _note_others(errors)
        finally:
            errors.clear()  # their tracebacks hold this frame


class _Bound(NamedTuple):
    kwargs: dict[str, object]
    config: RunnableConfig


def _find_bound(runnable: AnyRunnable) -> _Bound:
    """Return the arguments and the config that are bound to a runnable, also inside a retry."""
    kwargs: dict[str, object] = {}
    config: RunnableConfig = {}
    while isinstance(runnable, RunnableBinding | RunnableRetry):
        if isinstance(runnable, RunnableBinding):
            kwargs, config = {**runnable.kwargs, **kwargs}, merge_configs(runnable.config, config)
        runnable = runnable.bound
    return _Bound(kwargs, config)


def _without_retry(params: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in params.items() if key != "retry"}


def _note_others(errors: Sequence[Exception]) -> Exception:
    """Return the first of the errors, with notes of the others."""
    first, *others = errors
    for number, error in enumerate(others, 1):
        note = f"fallback {number} failed, too: {type(error).__name__}: {error}"
        if note not in getattr(first, "__notes__", ()):  # equal calls in flight share their error
            first.add_note(note)
    return first
