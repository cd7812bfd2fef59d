"""Functions as runnables."""

import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from typing import Any, Generic, NamedTuple, TypeVar, overload

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.errors import InvalidHook
from hocket.runnables.base import Runnable
from hocket.runnables.chain_run import get_run
from hocket.runnables.config import RunnableConfig, patch_config, set_config_context
from hocket.runnables.folding import add
from hocket.runnables.stage import drain, put_one
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["Function", "RunnableLambda", "chain"]

Input = TypeVar("Input")
Output = TypeVar("Output")

RECURSION_LIMIT = 25

_END: Any = object()


class Function(NamedTuple):
    """A function of the user's, in the forms that there are of it.

    Attributes:
        sync, asynchronous: the forms; at least one.
        inline: whether the sync one takes no time, and is called in the event loop.
    """

    sync: Callable[..., Any] | None
    asynchronous: Callable[..., Any] | None
    inline: bool = False

    @classmethod
    def of(cls, function: Any, async_function: Any = None, *, inline: bool = False) -> "Function":
        """Return the forms that were given; a coroutine function may be given as either.

        Raises:
            InvalidHook: one of them is no function.
        """
        if not callable(function):
            raise InvalidHook(f"{function!r} is no function")
        if async_function is None:
            return cls(None, function) if _is_async(function) else cls(function, None, inline)
        if not _is_async(async_function):
            raise InvalidHook(f"{async_function!r} is no async function; give it first, or define it with async def")
        return cls(function, async_function, inline)

    @property
    def name(self) -> str | None:
        """What the function is called; None for a lambda, and for objects that have no name."""
        name = getattr(self.sync or self.asynchronous, "__name__", None)
        return None if name == "<lambda>" else name

    def form(self, runtime: Runtime) -> Callable[..., Any]:
        """Return the form that ``runtime`` prefers."""
        chosen = (self.asynchronous or self.sync) if runtime.is_async else (self.sync or self.asynchronous)
        assert chosen is not None
        return chosen

    def with_arguments(
        self, runtime: Runtime, config: RunnableConfig, kwargs: dict[str, object]
    ) -> Callable[[Any], Any]:
        """Return the form that ``runtime`` prefers, as a function of its input alone."""
        form = self.form(runtime)
        return functools.partial(form, **_arguments(form, runtime, config, kwargs))

    async def call(self, runtime: Runtime, input: Any, config: RunnableConfig, kwargs: dict[str, object]) -> Any:
        """Call it: with ``config`` and ``run_manager`` if it takes them, and in the context of ``config``.

        Returns:
            what it returns; of a generator function, the sum of what it yields.
        """
        form = self.form(runtime)
        arguments = _arguments(form, runtime, config, kwargs)
        if form is not self.asynchronous:
            call = functools.partial(_called, config, form, input, arguments)
            (returned,) = call() if self.inline else await runtime.call_sync(call)
            return await runtime.call_async(_settled, config, returned) if inspect.iscoroutine(returned) else returned
        if runtime.is_async:
            with set_config_context(config):
                return await _awaited(form, input, arguments)
        return await runtime.call_async(_awaited_within, config, form, input, arguments)

    async def pour(
        self, runtime: Runtime, input: Any, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Any]
    ) -> bool:
        """Call it if it is a generator function, and push what it yields. Returns False if it is none."""
        form = self.form(runtime)
        arguments = _arguments(form, runtime, config, kwargs)
        if inspect.isasyncgenfunction(form):
            if not runtime.is_async:
                return False
            await drain(runtime, _each_within(config, form(input, **arguments)), sink)
        elif inspect.isgeneratorfunction(form):
            in_thread = runtime.is_async and not self.inline
            await drain(runtime, _next_within(config, form(input, **arguments)), sink, in_thread=in_thread)
        else:
            return False
        return True

    @property
    def can_step(self) -> bool:
        """Whether sync code needs no event loop for it."""
        return self.sync is not None


def _is_async(function: Any) -> bool:
    return any(
        check(one)
        for one in (function, getattr(function, "__call__", None))  # noqa: B004  # the method, not whether there is one
        for check in (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    )


def _arguments(
    form: Callable[..., Any], runtime: Runtime, config: RunnableConfig, kwargs: dict[str, object]
) -> dict[str, Any]:
    """Return the arguments for a function, beside its input."""
    takes_config, takes_run = _takes(form)
    if not (takes_config or takes_run):
        return kwargs
    more: dict[str, Any] = {}
    if takes_config:
        more["config"] = config
    if takes_run:
        more["run_manager"] = get_run(config, runtime)
    return {**kwargs, **more}


def _takes(function: Callable[..., Any]) -> tuple[bool, bool]:
    """Whether a function has parameters ``config`` and ``run_manager``."""
    try:
        return _takes_cached(function)
    except TypeError:  # it cannot be hashed
        return _takes_cached.__wrapped__(function)


@functools.lru_cache(maxsize=4096)
def _takes_cached(function: Callable[..., Any]) -> tuple[bool, bool]:
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a builtin that does not say
        return False, False
    return "config" in parameters, "run_manager" in parameters


def _called(config: RunnableConfig, function: Callable[..., Any], input: Any, arguments: dict[str, Any]) -> tuple[Any]:
    """Call a sync function. What it returns is in a box: it may be a coroutine, and trio takes none out of a thread."""
    with set_config_context(config):
        try:
            returned = function(input, **arguments)
            return (add(returned) if inspect.isgenerator(returned) else returned,)
        except StopIteration as stop:  # it must not end somebody's iterator
            raise RuntimeError(f"{function!r} raised StopIteration") from stop


async def _settled(config: RunnableConfig, returned: Coroutine[Any, Any, Any]) -> Any:
    """Await what a function returned that is not async, and calls one that is."""
    with set_config_context(config):
        return await returned


async def _awaited(function: Callable[..., Any], input: Any, arguments: dict[str, Any]) -> Any:
    returned = function(input, **arguments)
    if inspect.isasyncgen(returned):
        return add([piece async for piece in returned])
    return await returned


async def _awaited_within(
    config: RunnableConfig, function: Callable[..., Any], input: Any, arguments: dict[str, Any]
) -> Any:
    with set_config_context(config):
        return await _awaited(function, input, arguments)


async def _each_within(config: RunnableConfig, pieces: AsyncGenerator[Any, None]) -> AsyncIterator[Any]:
    """Give ``pieces``, each made in the context of ``config``; nothing is held while the consumer has it."""
    try:
        while True:
            with set_config_context(config):
                piece = await anext(pieces, _END)
            if piece is _END:
                return
            yield piece
    finally:
        await pieces.aclose()


def _next_within(config: RunnableConfig, pieces: Generator[Any, None, None]) -> Iterator[Any]:
    """`_each_within`, for a sync generator."""
    try:
        while True:
            with set_config_context(config):
                piece = next(pieces, _END)
            if piece is _END:
                return
            yield piece
    finally:
        pieces.close()


class RunnableLambda(RunnableWithRun[Input, Output], Generic[Input, Output]):
    """A function as a runnable.

    An async function is awaited in the event loop; a sync one runs in a worker thread under async verbs, and in the
    caller's own under sync ones. What a generator function yields is streamed. A function that returns a runnable goes on
    with it: it gets the same input. Calls that the function makes of other runnables are runs inside its own, on any
    thread, without its handing on a config.

    Args:
        func: takes the input; and ``config`` and ``run_manager``, if it has such parameters.
        afunc: its async form, for async verbs. A function that is async may be given as ``func``.
        name: for handlers; by default that of the function.
        inline: call the sync function in the event loop: it never waits, and takes microseconds. No thread is involved.

    Raises:
        InvalidHook: ``func`` is no function, or ``afunc`` is not async.
    """

    @overload
    def __init__(
        self, func: Callable[..., AsyncIterator[Output]], afunc: None = None, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self,
        func: Callable[..., Iterator[Output]],
        afunc: Any = None,
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
        self, func: Callable[[Input], Output], afunc: Any = None, name: str | None = None, *, inline: bool = False
    ) -> None: ...
    @overload
    def __init__(self, func: Callable[..., Awaitable[Output]], afunc: None = None, name: str | None = None) -> None: ...
    @overload
    def __init__(
        self, func: Callable[..., Output], afunc: Any = None, name: str | None = None, *, inline: bool = False
    ) -> None: ...
    def __init__(self, func: Any, afunc: Any = None, name: str | None = None, *, inline: bool = False) -> None:
        self._function = Function.of(func, afunc, inline=inline)
        self.func = self._function.sync
        self.afunc = self._function.asynchronous
        self.name = name or self._function.name

    def __repr__(self) -> str:
        return f"RunnableLambda({self.name or '...'})"

    async def _run_whole(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, object]
    ) -> Output:
        output = await self._function.call(runtime, input, config, kwargs)
        if isinstance(output, Runnable):
            return await output._invoke(runtime, input, self._deeper(config), kwargs)  # type: ignore[no-any-return]
        return output  # type: ignore[no-any-return]

    async def _run_streamed(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> None:
        if await self._function.pour(runtime, input, config, kwargs, sink):
            return
        output = await self._function.call(runtime, input, config, kwargs)
        if not isinstance(output, Runnable):
            await put_one(sink, output)
        elif runtime.is_async or output._can_step:
            await output._produce(runtime, input, self._deeper(config), kwargs, sink)
        else:
            await drain(runtime, output.stream(input, self._deeper(config), **kwargs), sink)

    def _deeper(self, config: RunnableConfig) -> RunnableConfig:
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
def chain(func: Any) -> Any:
    """Make a runnable of a function: a decorator. See `RunnableLambda`."""
    return RunnableLambda(func)
