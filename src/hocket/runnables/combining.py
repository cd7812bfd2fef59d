"""How a runnable is made of others: what `Runnable` has beside its verbs.

The classes that are made here are built on `Runnable`, so they are looked up when they are first needed.
"""

import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from hocket.runnables.config import RunnableConfig, merge_configs

if TYPE_CHECKING:
    from hocket.runnables.base import Runnable
    from hocket.runnables.binding import RunnableBinding
    from hocket.runnables.each import RunnableEach
    from hocket.runnables.fallbacks import RunnableWithFallbacks
    from hocket.runnables.listeners import AsyncListener, Listener
    from hocket.runnables.retry import ExponentialJitterParams, RunnableRetry
    from hocket.runnables.sequence import RunnableSequence

__all__ = ["Combining", "built"]

Input = TypeVar("Input")
Output = TypeVar("Output")
Other = TypeVar("Other")
NewInput = TypeVar("NewInput")
NewOutput = TypeVar("NewOutput")


def built(name: str) -> Any:
    """Return what ``hocket.runnables`` has under a name."""
    return getattr(importlib.import_module("hocket.runnables"), name)


class Combining(Generic[Input, Output]):
    """The ways to make one runnable of this one and others, or of this one and something fixed."""

    # -- one behind the other

    @overload
    def __or__(self, other: "Runnable[Any, Other]") -> "RunnableSequence[Input, Other]": ...
    @overload
    def __or__(self, other: Callable[[Any], AsyncIterator[Other]]) -> "RunnableSequence[Input, Other]": ...
    @overload
    def __or__(self, other: Callable[[Any], Iterator[Other]]) -> "RunnableSequence[Input, Other]": ...
    @overload
    def __or__(self, other: Callable[[Any], Awaitable[Other]]) -> "RunnableSequence[Input, Other]": ...
    @overload
    def __or__(self, other: Callable[[Any], Other]) -> "RunnableSequence[Input, Other]": ...
    @overload
    def __or__(self, other: Mapping[str, Any]) -> "RunnableSequence[Input, dict[str, Any]]": ...
    def __or__(self, other: Any) -> Any:
        """Return a chain: this runnable, and ``other`` behind it, which gets its output.

        ``other`` is a runnable, a function (`RunnableLambda`), a generator function (`RunnableGenerator`), or a mapping
        of these (`RunnableParallel`).
        """
        return built("RunnableSequence")(self, other) if built("is_runnable_like")(other) else NotImplemented

    @overload
    def __ror__(self, other: Callable[[Any], Any]) -> "RunnableSequence[Any, Output]": ...
    @overload
    def __ror__(self, other: Mapping[str, Any]) -> "RunnableSequence[Any, Output]": ...
    def __ror__(self, other: Any) -> Any:
        """Return a chain: ``other``, and this runnable behind it."""
        return built("RunnableSequence")(other, self) if built("is_runnable_like")(other) else NotImplemented

    @overload
    def pipe(
        self, other: "Runnable[Any, Other]", /, *, name: str | None = None
    ) -> "RunnableSequence[Input, Other]": ...
    @overload
    def pipe(self, *others: Any, name: str | None = None) -> "RunnableSequence[Input, Any]": ...
    def pipe(self, *others: Any, name: str | None = None) -> Any:
        """Return a chain: this runnable, and ``others`` behind it, in order. See ``|``."""
        return built("RunnableSequence")(self, *others, name=name)

    def pick(self, keys: str | list[str]) -> "RunnableSequence[Input, Any]":
        """Return a chain that gives, of this runnable's output, a mapping, the value of one key, or a mapping of some."""
        return self | built("RunnablePick")(keys)  # type: ignore[no-any-return]

    def assign(self, **kwargs: Any) -> "RunnableSequence[Input, dict[str, Any]]":
        """Return a chain that adds to this runnable's output, a mapping, what others make of it, each under its name."""
        return self | built("RunnableAssign")(built("RunnableParallel")(kwargs))  # type: ignore[no-any-return]

    def map(self) -> "RunnableEach[Input, Output]":
        """Return a runnable that takes a list, and calls this one with each of its items, at once."""
        return built("RunnableEach")(bound=self)  # type: ignore[no-any-return]

    # -- with something fixed

    def bind(self, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return this runnable with arguments that every call gets; those of a call come over them."""
        return built("RunnableBinding")(bound=self, kwargs=kwargs)  # type: ignore[no-any-return]

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return this runnable with a config that every call gets; that of a call comes over it."""
        return built("RunnableBinding")(bound=self, config=merge_configs(config, kwargs))  # type: ignore[no-any-return]

    @overload
    def with_types(
        self, *, input_type: type[NewInput], output_type: type[NewOutput]
    ) -> "RunnableBinding[NewInput, NewOutput]": ...
    @overload
    def with_types(
        self, *, input_type: type[NewInput], output_type: None = None
    ) -> "RunnableBinding[NewInput, Output]": ...
    @overload
    def with_types(
        self, *, input_type: None = None, output_type: type[NewOutput]
    ) -> "RunnableBinding[Input, NewOutput]": ...
    def with_types(self, *, input_type: Any = None, output_type: Any = None) -> Any:
        """Return this runnable with types that say more than its own do. Nothing is converted, or checked."""
        return built("RunnableBinding")(bound=self, custom_input_type=input_type, custom_output_type=output_type)

    def with_listeners(
        self,
        *,
        on_start: "Listener | None" = None,
        on_end: "Listener | None" = None,
        on_error: "Listener | None" = None,
    ) -> "RunnableBinding[Input, Output]":
        """Return this runnable with functions that are told when a run of it starts, ends or fails.

        Args:
            on_start, on_end, on_error: take the `Run`, and the config too, if they have a second parameter. The runs
                inside are not told.
        """
        listened = built("RunnableListened")
        return listened(bound=self, on_start=on_start, on_end=on_end, on_error=on_error)  # type: ignore[no-any-return]

    def with_alisteners(
        self,
        *,
        on_start: "AsyncListener | None" = None,
        on_end: "AsyncListener | None" = None,
        on_error: "AsyncListener | None" = None,
    ) -> "RunnableBinding[Input, Output]":
        """Return this runnable with coroutine functions that are told of its runs. See `with_listeners`."""
        listened = built("RunnableListened")
        return listened(bound=self, on_start=on_start, on_end=on_end, on_error=on_error)  # type: ignore[no-any-return]

    # -- more than once

    def with_retry(
        self,
        *,
        retry_if_exception_type: tuple[type[Exception], ...] = (),
        wait_exponential_jitter: bool = True,
        exponential_jitter_params: "ExponentialJitterParams | None" = None,
        stop_after_attempt: int | None = None,
    ) -> "RunnableRetry[Input, Output]":
        """Return this runnable, tried again when it fails: called, streamed (until the first piece is out), or in batches.

        Args:
            retry_if_exception_type: what to try again after, beside hocket's own errors that say ``retryable``. What says
                itself that it is useless (authentication, a bad request) is believed: see `RetryPolicy`. LangChain's
                default, ``(Exception,)``, tries everything again.
            wait_exponential_jitter: whether to pause in between, longer each time. What a server asks for is waited
                for anyway.
            exponential_jitter_params: how long; by default 1 s, then 2, then 4, and chance up to a second each time.
            stop_after_attempt: attempts in all, those that models and other policies inside make of themselves
                included. Default: 3, or as many as are allowed inside, if that is known and more.

        A call's ``retry=`` counts instead, and its ``timeout=`` is for all attempts together.
        """
        return built("RunnableRetry")(  # type: ignore[no-any-return]
            bound=self,
            retry_exception_types=retry_if_exception_type,
            wait_exponential_jitter=wait_exponential_jitter,
            exponential_jitter_params=exponential_jitter_params,
            max_attempt_number=stop_after_attempt,
        )

    def with_fallbacks(
        self,
        fallbacks: "Sequence[Runnable[Input, Output]]",
        *,
        exceptions_to_handle: tuple[type[Exception], ...] = (Exception,),
        exception_key: str | None = None,
    ) -> "RunnableWithFallbacks[Input, Output]":
        """Return this runnable with others that are asked, in order, when it fails: called, streamed (until the first
        piece is out), or in batches.

        What was bound to this one (arguments, tools, config) holds for the others too, under what is bound to them; but
        for the name of its model.

        Args:
            fallbacks: at least one.
            exceptions_to_handle: what another one is asked after. A cancellation is none of them.
            exception_key: the key, in an input that is a dict, under which a fallback finds the error before it.

        A call's ``retry=`` is how many attempts all of them may make together (default: as many as each may, added
        up), and its ``timeout=`` is for all of them together. If all fail, the error of the first is raised, with notes
        of the others.
        """
        return built("RunnableWithFallbacks")(  # type: ignore[no-any-return]
            runnable=self,
            fallbacks=fallbacks,
            exceptions_to_handle=exceptions_to_handle,
            exception_key=exception_key,
        )
