"""Tools that are made from functions, and the one of a function with any number of arguments."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Self

from pydantic import SkipValidation

from hocket._runtime.definitions import find_newest
from hocket.errors import InvalidInput
from hocket.runnables import ensure_config
from hocket.tools.arguments import ArgsSchema
from hocket.tools.base import BaseTool, choose_hook
from hocket.tools.inferred import create_schema_from_function, infer_schema as make_schema
from hocket.tools.signature import read_signature

__all__ = ["FunctionTool", "StructuredTool", "get_docstring", "get_function_name"]


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


class StructuredTool(FunctionTool):
    """A tool that calls a function by the names of its arguments.

    Args:
        func: a sync function; may be left out if there is a ``coroutine``.
        coroutine: an async function; may be left out if there is a ``func``, which then runs in a worker thread.

    The rest is `BaseTool`'s.
    """

    @classmethod
    def from_function(
        cls,
        func: Callable[..., object] | None = None,
        coroutine: Callable[..., Awaitable[object]] | None = None,
        name: str | None = None,
        description: str | None = None,
        return_direct: bool = False,
        args_schema: ArgsSchema | None = None,
        infer_schema: bool = True,
        *,
        response_format: Literal["content", "content_and_artifact"] = "content",
        parse_docstring: bool = False,
        error_on_invalid_docstring: bool = False,
        **kwargs: Any,
    ) -> Self:
        """Make a tool from a function, or from a sync and an async one that take the same.

        Args:
            name: default: the function's.
            description: default: the function's docstring, or else that of ``args_schema``.
            args_schema: default: inferred from the signature.
            infer_schema: False, without ``args_schema``: LangChain's way to ask for it explicitly; it is inferred anyway.
            parse_docstring: read the descriptions of the parameters off the docstring, in Google's, NumPy's or Sphinx's
                style, and leave them out of the tool's; needs the extra ``tools``.
            error_on_invalid_docstring: whether a docstring that describes no parameter is an error then.
            kwargs: further fields of the tool.

        Raises:
            InvalidInput: there is no function, or no description; or name, signature, docstring or schema will not do.
            MissingDependency: the library that reads docstrings is not installed.
        """
        source = func or coroutine
        if source is None:
            raise InvalidInput("a tool is made from a function: give func, coroutine, or both")
        name = get_function_name(source) if name is None else name
        described = description if description is not None or parse_docstring else get_docstring(source)
        if args_schema is None and infer_schema:
            if parse_docstring:
                strict = error_on_invalid_docstring
                args_schema = create_schema_from_function(
                    name, source, parse_docstring=True, error_on_invalid_docstring=strict
                )
                described = args_schema.__doc__ if description is None else described
            else:
                args_schema = make_schema(name, source)
        if not described and description is None and args_schema is not None:
            described = args_schema.get("description") if isinstance(args_schema, dict) else _own_docstring(args_schema)
        if described is None:
            raise InvalidInput(
                f"{name} has no description: give its function a docstring, or the tool a description",
                page="tools.md#make-a-tool",
            )
        return cls(
            name=name,
            description=described.strip(),
            func=func,
            coroutine=coroutine,
            args_schema=args_schema,
            return_direct=return_direct,
            response_format=response_format,
            **kwargs,
        )


def _own_docstring(schema: type[object]) -> str | None:
    """A class's docstring, unless it is inherited, or dataclasses wrote it."""
    text = vars(schema).get("__doc__")
    return None if not text or text.startswith(f"{schema.__name__}(") else text


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
