"""The runnables that the operators of `Runnable` make: each class is imported when the first of it is made."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from hocket.runnables.base import (
    AnyRunnable,
    Runnable,
    RunnableFactory,
    RunnableLike,
    RunnableSerializable,
    RunnableWrapper,
)
from hocket.runnables.config import RunnableConfig

if TYPE_CHECKING:
    from hocket.runnables.config_fields import AnyConfigurableField, ConfigurableField
    from hocket.runnables.jitter import ExponentialJitterParams
    from hocket.runnables.run_record import AsyncListener, Listener

__all__ = ["ImportingFactory"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class ImportingFactory(RunnableFactory):
    """Imports a class when it is first needed."""

    def make_sequence(self, *steps: object, name: str | None = None) -> "RunnableSerializable[Any, Any]":
        from hocket.runnables.sequence import RunnableSequence

        return RunnableSequence(*steps, name=name)

    def make_parallel(self, branches: Mapping[str, RunnableLike]) -> "RunnableSerializable[Any, dict[str, Any]]":
        from hocket.runnables.parallel import RunnableParallel

        return RunnableParallel(branches)

    def make_function(self, function: Callable[..., object]) -> AnyRunnable:
        from hocket.runnables.function import RunnableLambda
        from hocket.runnables.generator import RunnableGenerator

        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            return RunnableGenerator(function)
        return RunnableLambda(function)

    def make_pick(self, keys: str | list[str]) -> "RunnableSerializable[Any, Any]":
        from hocket.runnables.passthrough import RunnablePick

        return RunnablePick(keys)

    def make_assign(self, branches: Mapping[str, RunnableLike]) -> "RunnableSerializable[Any, dict[str, Any]]":
        from hocket.runnables.parallel import RunnableParallel
        from hocket.runnables.passthrough import RunnableAssign

        return RunnableAssign(RunnableParallel(branches))

    def make_each(self, bound: Runnable[Input, Output]) -> "RunnableSerializable[Iterable[Input], list[Output]]":
        from hocket.runnables.each import RunnableEach

        return RunnableEach(bound=bound)

    def make_binding(
        self,
        bound: Runnable[Input, Output],
        *,
        kwargs: dict[str, object] | None = None,
        config: RunnableConfig | None = None,
        input_type: type[object] | None = None,
        output_type: type[object] | None = None,
    ) -> "RunnableWrapper[Input, Output]":
        from hocket.runnables.proxy import RunnableBinding

        return RunnableBinding(
            bound=bound,
            kwargs=kwargs or {},
            config=config or {},
            custom_input_type=input_type,
            custom_output_type=output_type,
        )

    def make_listened(
        self,
        bound: Runnable[Input, Output],
        on_start: "Listener | AsyncListener | None",
        on_end: "Listener | AsyncListener | None",
        on_error: "Listener | AsyncListener | None",
    ) -> "RunnableWrapper[Input, Output]":
        from hocket.runnables.listeners import RunnableListened

        return RunnableListened(bound=bound, on_start=on_start, on_end=on_end, on_error=on_error)

    def make_retry(
        self,
        bound: Runnable[Input, Output],
        exception_types: tuple[type[Exception], ...] | Callable[[Exception], bool],
        has_jitter: bool,
        jitter: "ExponentialJitterParams | None",
        attempts: int | None,
    ) -> "RunnableWrapper[Input, Output]":
        from hocket.runnables.retry import RunnableRetry

        return RunnableRetry(
            bound=bound,
            retry_exception_types=exception_types,
            wait_exponential_jitter=has_jitter,
            exponential_jitter_params=jitter,
            max_attempt_number=attempts,
        )

    def make_fallbacks(
        self,
        first: Runnable[Input, Output],
        fallbacks: Sequence[Runnable[Input, Output]],
        exceptions_to_handle: tuple[type[Exception], ...],
        exception_key: str | None,
    ) -> "RunnableWrapper[Input, Output]":
        from hocket.runnables.fallbacks import RunnableWithFallbacks

        return RunnableWithFallbacks(
            runnable=first,
            fallbacks=fallbacks,
            exceptions_to_handle=exceptions_to_handle,
            exception_key=exception_key,
        )

    def make_configurable_fields(
        self, default: Runnable[Input, Output], fields: "Mapping[str, AnyConfigurableField]"
    ) -> "RunnableWrapper[Input, Output]":
        from hocket.runnables.configurable import RunnableConfigurableFields

        return RunnableConfigurableFields(default=default, fields={}).configurable_fields(**fields)

    def make_configurable_alternatives(
        self,
        which: "ConfigurableField",
        default: Runnable[Input, Output],
        alternatives: Mapping[str, Runnable[Input, Output] | Callable[[], Runnable[Input, Output]]],
        default_key: str,
        prefix_keys: bool,
    ) -> "RunnableWrapper[Input, Output]":
        from hocket.runnables.configurable import RunnableConfigurableAlternatives

        return RunnableConfigurableAlternatives(
            which=which,
            default=default,
            alternatives={**alternatives},
            default_key=default_key,
            prefix_keys=prefix_keys,
        )
