"""Functions as runnables."""

import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast, overload

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.errors import InvalidHook
from hocket.errors.hints import bridge_hint
from hocket.runnables.base import Runnable
from hocket.runnables.chain_run import get_run
from hocket.runnables.config import RunnableConfig, patch_config, refuse_config_keys, set_config_context
from hocket.runnables.folding import add
from hocket.runnables.stage import collect, drain, put_one
from hocket.runnables.with_run import RunnableWithRun

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Function", "RunnableLambda", "chain"]

Input = TypeVar("Input")
Output = TypeVar("Output")
Piece = TypeVar("Piece")

RECURSION_LIMIT = 25


class Function(NamedTuple):
    """A user's function in its sync form, its async form, or both.

    Attributes:
        sync, asynchronous: the forms; at least one.
        inline: whether the sync one takes microseconds, and is called in the event loop.
    """

    sync: Callable[..., object] | None
    asynchronous: Callable[..., object] | None
    inline: bool = False

    @classmethod
    def of(cls, function: object, async_function: object = None, *, inline: bool = False) -> "Function":
        """Return a function of these forms; a coroutine function may be given as either.

        Raises:
            InvalidHook: one of them is no function.
        """
        if not callable(function):
            raise InvalidHook(f"{function!r} is no function")
        if async_function is None:
            return cls(None, function) if _is_async(function) else cls(function, None, inline)
        if not callable(async_function) or not _is_async(async_function):
            raise InvalidHook(f"{async_function!r} is no async function; give it first, or define it with async def")
        return cls(function, async_function, inline)

    @property
    def name(self) -> str | None:
        """What the function is called; None for a lambda, and for objects that have no name."""
        name = getattr(self.sync or self.asynchronous, "__name__", None)
        return None if name == "<lambda>" else name

    def get_form(self, mode: Mode) -> Callable[..., object]:
        """Return the form for ``mode``: the async one under async verbs, if there is one."""
        chosen = (self.asynchronous or self.sync) if mode.is_async else (self.sync or self.asynchronous)
        assert chosen is not None
        return chosen

    def bind_arguments(self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object]) -> Callable[..., object]:
        """Return the form for ``mode``, as a function of its input alone."""
        form = self.get_form(mode)
        return functools.partial(form, **_collect_arguments(form, mode, config, kwargs))

    async def call(self, mode: Mode, input: object, config: RunnableConfig, kwargs: dict[str, object]) -> object:
        """Call it: with ``config`` and ``run_manager`` if it takes them, and in the context of ``config``.

        Returns:
            what it returns; of a generator function, the sum of what it yields.
        """
        form = self.get_form(mode)
        arguments = _collect_arguments(form, mode, config, kwargs)
        if form is not self.asynchronous:
            call = functools.partial(_call_sync, config, form, input, arguments)
            (returned,) = call() if self.inline else await mode.call_sync(call)
            if not inspect.iscoroutine(returned):
                return returned
            return await mode.call_async(_await_within, config, cast("Coroutine[object, object, object]", returned))
        if mode.is_async:
            with set_config_context(config):
                return await _call_async(form, input, arguments)
        return await mode.call_async(_call_async_within, config, form, input, arguments)

    async def stream_into(
        self, mode: Mode, input: object, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Any]
    ) -> bool:
        """Call it if it is a generator function, and push what it yields. Returns False if it is none."""
        form = self.get_form(mode)
        arguments = _collect_arguments(form, mode, config, kwargs)
        if inspect.isasyncgenfunction(form):
            if not mode.is_async:
                return False
            await drain(mode, _iterate_async_within(config, form(input, **arguments)), sink)
        elif inspect.isgeneratorfunction(form):
            in_thread = mode.is_async and not self.inline
            await drain(mode, _iterate_within(config, form(input, **arguments)), sink, in_thread=in_thread)
        else:
            return False
        return True

    @property
    def can_step(self) -> bool:
        """Whether sync code needs no event loop for it."""
        return self.sync is not None


@functools.lru_cache(maxsize=256)  # each output comes by
def _is_foreign_runnable(cls: type[object]) -> bool:
    """Whether a class is a runnable of LangChain's."""
    return any(
        (base.__module__, base.__qualname__) == ("langchain_core.runnables.base", "Runnable") for base in cls.__mro__
    )


def _is_async(function: Callable[..., object]) -> bool:
    return any(
        check(one)
        for one in (function, getattr(function, "__call__", None))  # noqa: B004  # the method, not whether there is one
        for check in (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    )


def _collect_arguments(
    form: Callable[..., object], mode: Mode, config: RunnableConfig, kwargs: dict[str, object]
) -> dict[str, object]:
    """Return the arguments for a function, beside its input.

    Raises:
        InvalidInput: one is named like a key of a config, and the function has no such parameter.
    """
    names = _read_parameters(form)
    if kwargs:
        refuse_config_keys({name: value for name, value in kwargs.items() if name not in names})
    more: dict[str, object] = {}
    if "config" in names:
        more["config"] = config
    if "run_manager" in names:
        more["run_manager"] = get_run(config, mode)
    return {**kwargs, **more} if more else kwargs


def _read_parameters(function: Callable[..., object]) -> frozenset[str]:
    """Return the names of a function's parameters; none of a builtin that does not say."""
    try:
        return _read_parameters_cached(function)
    except TypeError:  # it cannot be hashed
        return _read_parameters_cached.__wrapped__(function)


@functools.lru_cache(maxsize=4096)
def _read_parameters_cached(function: Callable[..., object]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except ValueError:
        return frozenset()


def _call_sync(
    config: RunnableConfig, function: Callable[..., object], input: object, arguments: dict[str, object]
) -> tuple[object]:
    """Call a sync function. Its result is in a tuple: it may be a coroutine, and trio takes none out of a thread."""
    with set_config_context(config):
        try:
            returned = function(input, **arguments)
            return (add(cast("Generator[object]", returned)) if inspect.isgenerator(returned) else returned,)
        except StopIteration as stop:  # it must not end an iterator of the caller's
            raise RuntimeError(f"{function!r} raised StopIteration") from stop


async def _await_within(config: RunnableConfig, returned: Coroutine[object, object, object]) -> object:
    """Await what a sync function returned: it has called an async one."""
    with set_config_context(config):
        return await returned


async def _call_async(function: Callable[..., Any], input: object, arguments: dict[str, object]) -> object:
    returned = function(input, **arguments)
    if inspect.isasyncgen(returned):
        return add(await collect(cast("AsyncGenerator[object, None]", returned)))
    return cast(object, await returned)


async def _call_async_within(
    config: RunnableConfig, function: Callable[..., object], input: object, arguments: dict[str, object]
) -> object:
    with set_config_context(config):
        return await _call_async(function, input, arguments)


async def _iterate_async_within(config: RunnableConfig, pieces: AsyncGenerator[Piece, None]) -> AsyncIterator[Piece]:
    """Yield ``pieces``, each made in the context of ``config``, which is left before the consumer gets it."""
    try:
        while True:
            with set_config_context(config):
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
            yield piece
    finally:
        await pieces.aclose()


def _iterate_within(config: RunnableConfig, pieces: Generator[Piece, None, None]) -> Iterator[Piece]:
    """`_iterate_async_within`, for a sync generator."""
    try:
        while True:
            with set_config_context(config):
                try:
                    piece = next(pieces)
                except StopIteration:
                    return
            yield piece
    finally:
        pieces.close()


class RunnableLambda(RunnableWithRun[Input, Output], Generic[Input, Output]):
    """A function as a runnable.

    An async function is awaited in the event loop; a sync one runs in a worker thread under async verbs, and in the
    caller's own under sync ones. The items of a generator function are streamed. If the function returns a runnable, that
    is called with the same input, and its output is returned. Other runnables that the function calls are runs inside
    its own, on any thread; it need not pass a config on.

    Args:
        func: takes the input; and ``config`` and ``run_manager``, if it has such parameters.
        afunc: its async form, for async verbs. A function that is async may be given as ``func``.
        name: for handlers; by default that of the function.
        inline: call the sync function in the event loop: it never waits, and takes microseconds. No thread is involved.

    Raises:
        InvalidHook: ``func`` is no function, or ``afunc`` is not async; from its verbs: ``func`` returned a runnable of
            LangChain's, which ``from_langchain`` makes one of hocket's.

    Examples:
        >>> from hocket import FakeListChatModel, RunnableLambda
        >>> chain = FakeListChatModel(responses=["hello"]) | RunnableLambda(lambda reply: reply.text.upper())
        >>> chain.invoke("Hi")
        'HELLO'
    """

    @overload
    def __init__(
        self, func: Callable[..., AsyncIterator[Output]], afunc: None = None, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self,
        func: Callable[..., Iterator[Output]],
        afunc: Callable[..., object] | None = None,
        name: str | None = None,
        *,
        inline: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self, func: Callable[[Input], Awaitable[Output]], afunc: None = None, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self,
        func: Callable[[Input], Output],
        afunc: Callable[..., object] | None = None,
        name: str | None = None,
        *,
        inline: bool = False,
    ) -> None: ...
    @overload
    def __init__(self, func: Callable[..., Awaitable[Output]], afunc: None = None, name: str | None = None) -> None: ...
    @overload
    def __init__(
        self,
        func: Callable[..., Output],
        afunc: Callable[..., object] | None = None,
        name: str | None = None,
        *,
        inline: bool = False,
    ) -> None: ...
    def __init__(
        self,
        func: Callable[..., object],
        afunc: Callable[..., object] | None = None,
        name: str | None = None,
        *,
        inline: bool = False,
    ) -> None:
        self._function = Function.of(func, afunc, inline=inline)
        self.func: Callable[..., object] | None = self._function.sync
        self.afunc: Callable[..., object] | None = self._function.asynchronous
        self.name: str | None = name or self._function.name

    def __repr__(self) -> str:
        return f"RunnableLambda({self.name or '...'})"

    @property
    def InputType(self) -> object:
        """The type of an input, as the function is annotated."""
        from hocket.runnables.function_types import read_input_type

        return read_input_type(self.func or self.afunc)

    @property
    def OutputType(self) -> object:
        """The type of an output, as the function is annotated: of a generator, that of its items."""
        from hocket.runnables.function_types import read_output_type

        return read_output_type(self.func or self.afunc)

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input; of an `operator.itemgetter`, an object with these keys."""
        from hocket.runnables.function_types import read_item_keys
        from hocket.runnables.type_schemas import make_object_schema

        keys = read_item_keys(self.func)
        if not keys:
            return super().get_input_schema(config)
        return make_object_schema(self.get_name("Input"), {key: (Any, ...) for key in keys})

    async def _run_whole(self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object]) -> Output:
        output = await self._function.call(mode, input, config, kwargs)
        if isinstance(output, Runnable):
            runnable = cast("Runnable[Input, Output]", output)
            return await runnable._invoke(mode, input, self._descend(config), kwargs)
        self._check_value(output)
        return cast(Output, output)

    async def _run_streamed(
        self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> None:
        if await self._function.stream_into(mode, input, config, kwargs, sink):
            return
        output = await self._function.call(mode, input, config, kwargs)
        if not isinstance(output, Runnable):
            self._check_value(output)
            await put_one(sink, cast(Output, output))
            return
        runnable = cast("Runnable[Input, Output]", output)
        if mode.is_async or runnable._can_step:
            await runnable._produce(mode, input, self._descend(config), kwargs, sink)
        else:
            await drain(mode, runnable.stream(input, self._descend(config), **kwargs), sink)

    def _check_value(self, output: object) -> None:
        """Refuse a runnable of LangChain's, which the function means to have run, and which is none of ours."""
        if _is_foreign_runnable(type(output)):  # type: ignore[arg-type]  # mypy asks for the hash of an instance
            raise InvalidHook(
                f"{self.get_name()} returned {type(output).__name__}, which cannot be run here{bridge_hint(output)}",
                page="langchain.md",
            )

    def _descend(self, config: RunnableConfig) -> RunnableConfig:
        """Return the config for a runnable that the function returned, with one less of its ``recursion_limit``."""
        left = config.get("recursion_limit", RECURSION_LIMIT)
        if left < 1:
            raise RecursionError(
                f"{self.get_name()} returned a runnable once more than recursion_limit allows ({RECURSION_LIMIT} unless "
                "the config says otherwise); give a higher one in the config, or return a result at some point"
            )
        return patch_config(config, recursion_limit=left - 1)

    @property
    def _is_inline(self) -> bool:
        return self._function.inline

    @property
    def _can_step(self) -> bool:
        return self._function.can_step


@overload
def chain(func: Callable[[Input], AsyncIterator[Output]]) -> RunnableLambda[Input, Output]: ...
@overload
def chain(func: Callable[[Input], Iterator[Output]]) -> RunnableLambda[Input, Output]: ...
@overload
def chain(func: Callable[[Input], Awaitable[Output]]) -> RunnableLambda[Input, Output]: ...
@overload
def chain(func: Callable[[Input], Output]) -> RunnableLambda[Input, Output]: ...
def chain(func: Callable[..., object]) -> RunnableLambda[Any, Any]:
    """Make a runnable of a function: a decorator. See `RunnableLambda`."""
    return RunnableLambda(func)
