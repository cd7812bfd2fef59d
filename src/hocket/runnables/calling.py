"""How functions are called: which arguments they take, in which thread, how many at once. LangChain's names.

They are for programs that have their own helpers around runnables; runnables themselves do not need them.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from hocket._runtime.mode import ASYNC
from hocket.callbacks import AsyncCallbackManager, CallbackManager
from hocket.errors import InvalidInput
from hocket.runnables.config import RunnableConfig, ensure_config
from hocket.runnables.config_fields import ConfigurableFieldSpec

__all__ = [
    "accepts_config",
    "accepts_run_manager",
    "aidentity",
    "gather_with_concurrency",
    "get_async_callback_manager_for_config",
    "get_callback_manager_for_config",
    "get_unique_config_specs",
    "identity",
    "is_async_callable",
    "is_async_generator",
    "run_in_executor",
]

T = TypeVar("T")


def identity(x: T) -> T:
    """Return ``x``."""
    return x


async def aidentity(x: T) -> T:
    """Return ``x``, to who awaits."""
    return x


def accepts_config(callable: Callable[..., object]) -> bool:  # LangChain's name
    """Whether a function has a parameter ``config``."""
    return _has_parameter(callable, "config")


def accepts_run_manager(callable: Callable[..., object]) -> bool:  # LangChain's name
    """Whether a function has a parameter ``run_manager``."""
    return _has_parameter(callable, "run_manager")


def is_async_callable(func: object) -> bool:
    """Whether a function, or an object that can be called, is to be awaited."""
    return any(map(inspect.iscoroutinefunction, (func, getattr(func, "__call__", None))))  # noqa: B004  # the method


def is_async_generator(func: object) -> bool:
    """Whether a function, or an object that can be called, is an async generator function."""
    return any(map(inspect.isasyncgenfunction, (func, getattr(func, "__call__", None))))  # noqa: B004  # the method


async def run_in_executor(executor_or_config: object, func: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Return what a sync function returns, called in a worker thread with a copy of the context variables.

    Args:
        executor_or_config: taken for LangChain's sake and not used: the threads are hocket's.
        func, args, kwargs: the function, and what it is called with.
    """
    return await ASYNC.call_sync(func, *args, **kwargs)


async def gather_with_concurrency(n: int | None, *coros: Awaitable[T]) -> list[T]:
    """Return what awaitables return, in their order, at most ``n`` at once; the first to fail cancels the others.

    Raises:
        BaseException: what the first to fail raised, as itself.
        InvalidInput: ``n`` is below 1.
    """
    if n is not None and n < 1:
        raise InvalidInput(f"n is {n}; at least one runs at once, or None: all")
    found: dict[int, T] = {}
    failures: list[Exception] = []
    places = anyio.CapacityLimiter(n or max(len(coros), 1))

    async def wait(place: int, coro: Awaitable[T]) -> None:
        async with places:
            try:
                found[place] = await coro
            except Exception as error:
                failures.append(error)
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for place, coro in enumerate(coros):
            group.start_soon(wait, place, coro)
    if failures:
        raise failures[0]
    return [found[place] for place in range(len(coros))]


def get_callback_manager_for_config(config: RunnableConfig) -> CallbackManager:
    """Return the manager that tells the handlers of a config, in sync code."""
    merged = ensure_config(config)
    tags, metadata = merged.get("tags"), merged.get("metadata")
    return CallbackManager.configure(merged.get("callbacks"), inheritable_tags=tags, inheritable_metadata=metadata)


def get_async_callback_manager_for_config(config: RunnableConfig) -> AsyncCallbackManager:
    """Return the manager that tells the handlers of a config, under an event loop."""
    merged = ensure_config(config)
    tags, metadata = merged.get("tags"), merged.get("metadata")
    return AsyncCallbackManager.configure(merged.get("callbacks"), inheritable_tags=tags, inheritable_metadata=metadata)


def get_unique_config_specs(specs: list[ConfigurableFieldSpec]) -> list[ConfigurableFieldSpec]:
    """Return each of ``specs`` once, sorted by their ids.

    Raises:
        InvalidInput: two that differ have one id.
    """
    unique: dict[str, ConfigurableFieldSpec] = {}
    for spec in specs:
        if unique.setdefault(spec.id, spec) != spec:
            raise InvalidInput(f"two different specs have the id {spec.id!r}: {unique[spec.id]} and {spec}")
    return [unique[key] for key in sorted(unique)]


def _has_parameter(function: Callable[..., object], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin, which does not say
        return False
