"""What tools that are made from functions have in common."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import SkipValidation

from hocket._runtime.definitions import find_newest
from hocket.errors import InvalidInput
from hocket.runnables import ensure_config
from hocket.tools.base import BaseTool, choose_hook
from hocket.tools.signature import read_signature

__all__ = ["FunctionTool", "get_docstring", "get_function_name"]


class FunctionTool(BaseTool):
    """A tool that calls functions: ``coroutine`` from async verbs, ``func`` from sync ones, or whichever there is."""

    description: str = ""
    func: SkipValidation[Callable[..., Any] | None] = None
    coroutine: SkipValidation[Callable[..., Awaitable[Any]] | None] = None

    def choose_function(self, prefer_async: bool) -> Callable[..., object]:
        if find_newest(type(self), FunctionTool, "_arun", "_run"):
            return super().choose_function(prefer_async)
        return choose_hook(self, (self.coroutine, self.func), prefer_async)

    def _get_signature_source(self) -> Callable[..., object]:
        return self.func or self.coroutine or self.choose_function(True)

    # for subclasses that wrap them

    def _run(self, *args: Any, config: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        if self.func is None:
            raise NotImplementedError(f"{self.name} has no sync function; give it func=, or call it by an async verb")
        return self.func(*args, **kwargs, **read_signature(self.func).fill(ensure_config(config), run_manager))

    async def _arun(self, *args: Any, config: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        if self.coroutine is None:
            return await super()._arun(*args, config=config, run_manager=run_manager, **kwargs)
        return await self.coroutine(
            *args, **kwargs, **read_signature(self.coroutine).fill(ensure_config(config), run_manager)
        )


def get_function_name(function: Callable[..., object]) -> str:
    """Return a function's name.

    Raises:
        InvalidInput: it has none, as a lambda; or it is a method that belongs to no object.
    """
    function = _unwrap_partial(function)
    name = getattr(function, "__name__", None) or type(function).__name__
    if name == "<lambda>":
        raise InvalidInput("a lambda has no name: give the tool one, with name=...")
    path = getattr(function, "__qualname__", "").split(".")
    if inspect.isfunction(function) and len(path) > 1 and path[-2] != "<locals>":
        first = next(iter(inspect.signature(function).parameters), None)
        if first in ("self", "cls"):
            raise InvalidInput(
                f"{function.__qualname__} is a method, and needs an object: make the tool of a bound one, "
                f"StructuredTool.from_function(an_object.{name})"
            )
    return str(name)


def get_docstring(function: Callable[..., object]) -> str | None:
    """Return a function's own docstring."""
    function = _unwrap_partial(function)
    if not inspect.isroutine(function) and not isinstance(function, type):
        return inspect.getdoc(type(function).__call__) or inspect.getdoc(type(function))
    return inspect.getdoc(function)


def _unwrap_partial(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function
