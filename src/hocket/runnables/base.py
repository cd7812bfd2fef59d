"""`Runnable`: what can be called, composed and configured.

The verbs are in `hocket.runnables.verbs`. Here are the operators, which make a runnable of others. The classes that they
make are built on `Runnable`, so this module cannot import them: a `RunnableFactory`, which the package sets, makes them.
"""

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, overload

from pydantic import ConfigDict

from hocket.load.serializable import Serializable
from hocket.runnables.config import RunnableConfig, merge_configs
from hocket.runnables.description import RunnableDescription, WrapperDescription

if TYPE_CHECKING:
    from hocket.runnables.config_fields import AnyConfigurableField, ConfigurableField
    from hocket.runnables.jitter import ExponentialJitterParams
    from hocket.runnables.run_record import AsyncListener, Listener

__all__ = [
    "AnyRunnable",
    "Input",
    "Other",
    "Output",
    "Runnable",
    "RunnableFactory",
    "RunnableLike",
    "RunnableSerializable",
    "RunnableWrapper",
    "StepFunction",
    "get_factory",
    "set_factory",
]

Input = TypeVar("Input")
Output = TypeVar("Output")
Other = TypeVar("Other")
NewInput = TypeVar("NewInput")
NewOutput = TypeVar("NewOutput")


class Runnable(RunnableDescription[Input, Output], ABC, Generic[Input, Output]):
    """Something that turns an input into an output, once, many times at once, or piece by piece.

    A subclass defines `ainvoke` (or `invoke`); every other verb follows from it.
    """

    # -- one behind the other

    @overload
    def __or__(self, other: "Runnable[Any, Other]") -> "RunnableSerializable[Input, Other]": ...
    @overload
    def __or__(self, other: Callable[[Any], AsyncIterator[Other]]) -> "RunnableSerializable[Input, Other]": ...
    @overload
    def __or__(self, other: Callable[[Any], Iterator[Other]]) -> "RunnableSerializable[Input, Other]": ...
    @overload
    def __or__(self, other: Callable[[Any], Awaitable[Other]]) -> "RunnableSerializable[Input, Other]": ...
    @overload
    def __or__(self, other: Callable[[Any], Other]) -> "RunnableSerializable[Input, Other]": ...
    @overload
    def __or__(self, other: Mapping[str, Any]) -> "RunnableSerializable[Input, dict[str, Any]]": ...
    def __or__(self, other: object) -> "RunnableSerializable[Input, Any]":
        """Return a chain: this runnable, and ``other`` behind it, which gets its output.

        ``other`` is a runnable, a function (`RunnableLambda`), a generator function (`RunnableGenerator`), or a mapping
        of these (`RunnableParallel`).

        Raises:
            TypeError: ``other`` is none of these.
        """
        return get_factory().make_sequence(self, other)

    @overload
    def __ror__(self, other: Callable[[Any], Any]) -> "RunnableSerializable[Any, Output]": ...
    @overload
    def __ror__(self, other: Mapping[str, Any]) -> "RunnableSerializable[Any, Output]": ...
    def __ror__(self, other: object) -> "RunnableSerializable[Any, Output]":
        """Return a chain: ``other``, and this runnable behind it."""
        return get_factory().make_sequence(other, self)

    @overload
    def pipe(
        self, other: "Runnable[Any, Other]", /, *, name: str | None = None
    ) -> "RunnableSerializable[Input, Other]": ...
    @overload
    def pipe(self, *others: object, name: str | None = None) -> "RunnableSerializable[Input, Any]": ...
    def pipe(self, *others: object, name: str | None = None) -> "RunnableSerializable[Input, Any]":
        """Return a chain: this runnable, and ``others`` behind it, in order. See ``|``."""
        return get_factory().make_sequence(self, *others, name=name)

    def pick(self, keys: str | list[str]) -> "RunnableSerializable[Input, Any]":
        """Return a chain that takes one key's value, or a mapping of several keys, out of this runnable's output."""
        return self | get_factory().make_pick(keys)

    def assign(self, **kwargs: "RunnableLike") -> "RunnableSerializable[Input, dict[str, Any]]":
        """Return a chain that adds to this runnable's output, a mapping, the outputs of others, each under its name."""
        return self | get_factory().make_assign(kwargs)

    def map(self) -> "RunnableSerializable[Iterable[Input], list[Output]]":
        """Return a runnable that takes a list, and calls this one with each of its items, at once."""
        return get_factory().make_each(self)

    # -- with something fixed

    def bind(self, **kwargs: Any) -> "RunnableWrapper[Input, Output]":
        """Return this runnable with arguments for every call; a call's own arguments win."""
        return get_factory().make_binding(self, kwargs=kwargs)

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> "RunnableWrapper[Input, Output]":
        """Return this runnable with a config for every call; a call's own config is merged over it."""
        return get_factory().make_binding(self, config=merge_configs(config, kwargs))

    @overload
    def with_types(
        self, *, input_type: type[NewInput], output_type: type[NewOutput]
    ) -> "RunnableWrapper[NewInput, NewOutput]": ...
    @overload
    def with_types(
        self, *, input_type: type[NewInput], output_type: None = None
    ) -> "RunnableWrapper[NewInput, Output]": ...
    @overload
    def with_types(
        self, *, input_type: None = None, output_type: type[NewOutput]
    ) -> "RunnableWrapper[Input, NewOutput]": ...
    def with_types(
        self, *, input_type: type[Any] | None = None, output_type: type[Any] | None = None
    ) -> "RunnableWrapper[Any, Any]":
        """Return this runnable with more precise types for type checkers and readers. Nothing is converted or checked."""
        return get_factory().make_binding(self, input_type=input_type, output_type=output_type)

    def with_listeners(
        self,
        *,
        on_start: "Listener | None" = None,
        on_end: "Listener | None" = None,
        on_error: "Listener | None" = None,
    ) -> "RunnableWrapper[Input, Output]":
        """Return this runnable with functions that are called when a run of it starts, ends or fails.

        Args:
            on_start, on_end, on_error: take the `Run`, and the config, if they have a second parameter; not for runs inside.
        """
        return get_factory().make_listened(self, on_start, on_end, on_error)

    def with_alisteners(
        self,
        *,
        on_start: "AsyncListener | None" = None,
        on_end: "AsyncListener | None" = None,
        on_error: "AsyncListener | None" = None,
    ) -> "RunnableWrapper[Input, Output]":
        """Return this runnable with coroutine functions that are called for its runs. See `with_listeners`."""
        return get_factory().make_listened(self, on_start, on_end, on_error)

    # -- more than once

    def with_retry(
        self,
        *,
        retry_if_exception_type: tuple[type[Exception], ...] | Callable[[Exception], bool] = (),
        wait_exponential_jitter: bool = True,
        exponential_jitter_params: "ExponentialJitterParams | None" = None,
        stop_after_attempt: int | None = None,
    ) -> "RunnableWrapper[Input, Output]":
        """Return this runnable, tried again when it fails: called, streamed (until the first piece is out), or in batches.

        Args:
            retry_if_exception_type: exceptions to try again after, beside hocket's that are ``retryable``. One that says it
                is useless (a wrong key) is believed. Or a function, which alone says after which: ``lambda error: True``.
            wait_exponential_jitter: whether to pause in between, longer each time; what a server asks for is kept.
            exponential_jitter_params: how long, in seconds; by default 1, then 2, then 4, each plus a random time up to 1.
            stop_after_attempt: attempts in all, those of models inside included; default: 3, or what they may, if more.

        A call's ``retry=`` replaces all of this, and its ``timeout=`` is for all attempts together.

        Examples:
            >>> from hocket import FakeListChatModel
            >>> FakeListChatModel(responses=["Hi."]).with_retry(stop_after_attempt=5).invoke("Hello").text
            'Hi.'
        """
        return get_factory().make_retry(
            self, retry_if_exception_type, wait_exponential_jitter, exponential_jitter_params, stop_after_attempt
        )

    def with_fallbacks(
        self,
        fallbacks: "Sequence[Runnable[Input, Output]]",
        *,
        exceptions_to_handle: tuple[type[Exception], ...] = (Exception,),
        exception_key: str | None = None,
    ) -> "RunnableWrapper[Input, Output]":
        """Return this runnable with others, called in order when it fails: a call, a stream without a piece yet, a batch.

        What was bound to this one, but for the name of its model, holds for the others too; what is bound to them wins.

        Args:
            fallbacks: at least one.
            exceptions_to_handle: exceptions after which the next one is called. A cancellation is none of them.
            exception_key: the key, in an input that is a dict, under which a fallback finds the error before it.

        A call's ``retry=`` is how many attempts all may make together (default: the sum of what each may), its
        ``timeout=`` is for all together. If all fail, the error of the first is raised, with notes of the others.

        Examples:
            >>> from hocket import FakeListChatModel
            >>> other = FakeListChatModel(responses=["Hi."])
            >>> FakeListChatModel(responses=[]).with_fallbacks([other]).invoke("Hello").text
            'Hi.'
        """
        return get_factory().make_fallbacks(self, fallbacks, exceptions_to_handle, exception_key)


AnyRunnable = Runnable[Any, Any]
"""A runnable of any types: the steps of a chain, for one."""


class StepFunction(Protocol):
    """A function of the input that may take more: the config, a run manager."""

    def __call__(self, input: Any, /, *args: Any, **kwargs: Any) -> object: ...


RunnableLike = AnyRunnable | Callable[[Any], object] | StepFunction | Mapping[str, object]
"""What `coerce_to_runnable` takes: a runnable, a function, a mapping of these."""


class RunnableSerializable(Serializable, Runnable[Input, Output]):
    """A runnable whose configuration is data.

    Args:
        name: of its runs, for handlers; default: that of its class.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    name: str | None = None

    def configurable_fields(self, **kwargs: "AnyConfigurableField") -> "RunnableWrapper[Input, Output]":
        """Return this runnable with fields that a call may set, under ``config["configurable"]``.

        Args:
            kwargs: the fields by their names, each a `ConfigurableField`, or one with options.

        Raises:
            InvalidInput: there is no such field.
        """
        return get_factory().make_configurable_fields(self, kwargs)

    def configurable_alternatives(
        self,
        which: "ConfigurableField",
        *,
        default_key: str = "default",
        prefix_keys: bool = False,
        **kwargs: "Runnable[Input, Output] | Callable[[], Runnable[Input, Output]]",
    ) -> "RunnableWrapper[Input, Output]":
        """Return a runnable that is this one or another, as a call says under ``config["configurable"]``.

        Args:
            which: the key of the choice.
            default_key: the name of this one.
            prefix_keys: whether the keys of fields inside an alternative start with ``"<which>==<name>/"``.
            kwargs: the others by their names; or functions that make them, called when they are chosen.
        """
        return get_factory().make_configurable_alternatives(which, self, kwargs, default_key, prefix_keys)


class RunnableWrapper(
    WrapperDescription[Input, Output], RunnableSerializable[Input, Output], ABC, Generic[Input, Output]
):
    """A runnable around others. An attribute that it does not have is looked up on the one that a call would go to.

    A method that returns a runnable (``bind_tools``) is called on each of them, and the results are wrapped in the same
    way. Methods that start runs of their own (``generate``) get what is bound, or are refused: they cannot be retried.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @abstractmethod
    def _get_wrapped(self) -> Sequence[Runnable[Input, Output]]:
        """Return the runnables inside; the first stands for all."""

    @abstractmethod
    def _map_wrapped(self, change: Callable[[Runnable[Input, Output]], AnyRunnable]) -> AnyRunnable:
        """Return a wrapper like this one around what ``change`` returns for each runnable inside."""

    def _wrap_call(self, name: str, verb: Callable[..., object]) -> Callable[..., object]:
        """Return ``verb``, a method of the first runnable inside that takes the arguments of a call, for callers of this.

        Raises:
            AttributeError: it would go round what the wrapper does.
        """
        return verb

    def _is_call_verb(self, name: str) -> bool:
        first = self._get_wrapped()[0]
        return first._is_call_verb(name) if isinstance(first, RunnableWrapper) else name in first._call_verbs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in type(self).__pydantic_fields__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        first = self._get_chosen()
        attribute: object = getattr(first, name)
        if not inspect.isroutine(attribute):
            return attribute
        if self._is_call_verb(name):
            return self._wrap_call(name, attribute)

        @functools.wraps(attribute)
        def call(*args: object, **kwargs: object) -> object:
            result: object = attribute(*args, **kwargs)
            if not isinstance(result, Runnable):
                return result
            return self._map_wrapped(lambda one: result if one is first else getattr(one, name)(*args, **kwargs))  # pyright: ignore[reportUnknownLambdaType]  # a Runnable of anything

        return call


class RunnableFactory(ABC):
    """Makes the runnables that the operators return."""

    @abstractmethod
    def make_sequence(self, *steps: object, name: str | None = None) -> "RunnableSerializable[Any, Any]": ...
    @abstractmethod
    def make_parallel(self, branches: Mapping[str, RunnableLike]) -> "RunnableSerializable[Any, dict[str, Any]]": ...
    @abstractmethod
    def make_function(self, function: Callable[..., object]) -> AnyRunnable: ...
    @abstractmethod
    def make_pick(self, keys: str | list[str]) -> "RunnableSerializable[Any, Any]": ...
    @abstractmethod
    def make_assign(self, branches: Mapping[str, RunnableLike]) -> "RunnableSerializable[Any, dict[str, Any]]": ...
    @abstractmethod
    def make_each(self, bound: Runnable[Input, Output]) -> "RunnableSerializable[Iterable[Input], list[Output]]": ...
    @abstractmethod
    def make_binding(
        self,
        bound: Runnable[Input, Output],
        *,
        kwargs: dict[str, object] | None = None,
        config: RunnableConfig | None = None,
        input_type: type[object] | None = None,
        output_type: type[object] | None = None,
    ) -> "RunnableWrapper[Input, Output]": ...
    @abstractmethod
    def make_listened(
        self,
        bound: Runnable[Input, Output],
        on_start: "Listener | AsyncListener | None",
        on_end: "Listener | AsyncListener | None",
        on_error: "Listener | AsyncListener | None",
    ) -> "RunnableWrapper[Input, Output]": ...
    @abstractmethod
    def make_retry(
        self,
        bound: Runnable[Input, Output],
        exception_types: tuple[type[Exception], ...] | Callable[[Exception], bool],
        has_jitter: bool,
        jitter: "ExponentialJitterParams | None",
        attempts: int | None,
    ) -> "RunnableWrapper[Input, Output]": ...
    @abstractmethod
    def make_fallbacks(
        self,
        first: Runnable[Input, Output],
        fallbacks: Sequence[Runnable[Input, Output]],
        exceptions_to_handle: tuple[type[Exception], ...],
        exception_key: str | None,
    ) -> "RunnableWrapper[Input, Output]": ...
    @abstractmethod
    def make_configurable_fields(
        self, default: Runnable[Input, Output], fields: "Mapping[str, AnyConfigurableField]"
    ) -> "RunnableWrapper[Input, Output]": ...
    @abstractmethod
    def make_configurable_alternatives(
        self,
        which: "ConfigurableField",
        default: Runnable[Input, Output],
        alternatives: Mapping[str, Runnable[Input, Output] | Callable[[], Runnable[Input, Output]]],
        default_key: str,
        prefix_keys: bool,
    ) -> "RunnableWrapper[Input, Output]": ...


_factory: RunnableFactory | None = None


def set_factory(factory: RunnableFactory) -> None:
    """Let the operators make runnables through ``factory``. The package does this when it is imported."""
    global _factory
    _factory = factory


def get_factory() -> RunnableFactory:
    """Return the factory of the operators."""
    assert _factory is not None
    return _factory
