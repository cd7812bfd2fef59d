"""``@tool``: a function becomes a tool."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, cast, overload

from hocket.errors import InvalidInput
from hocket.runnables import Runnable
from hocket.runnables.base import AnyRunnable
from hocket.tools.arguments import ArgsSchema
from hocket.tools.base import BaseTool
from hocket.tools.from_runnable import convert_runnable_to_tool
from hocket.tools.signature import is_async
from hocket.tools.simple import Tool
from hocket.tools.structured import StructuredTool, get_docstring, get_function_name

__all__ = ["tool"]

Function = Callable[..., object]


class _Options(TypedDict, total=False):
    name: str | None
    description: str | None
    return_direct: bool
    args_schema: ArgsSchema | None
    response_format: Literal["content", "content_and_artifact"]
    parse_docstring: bool
    error_on_invalid_docstring: bool
    extras: dict[str, object] | None
    timeout: float | None
    tags: list[str] | None
    metadata: dict[str, object] | None


@overload
def tool(name_or_callable: Function, /, **options: Unpack[_Options]) -> StructuredTool: ...
@overload
def tool(
    name_or_callable: str | None = None, /, *, infer_schema: Literal[True] = True, **options: Unpack[_Options]
) -> Callable[[Function], StructuredTool]: ...
@overload
def tool(
    name_or_callable: str | None = None, /, *, infer_schema: bool, **options: Unpack[_Options]
) -> Callable[[Function], BaseTool]: ...
@overload
def tool(name_or_callable: str, runnable: AnyRunnable, /, **options: Unpack[_Options]) -> BaseTool: ...
def tool(
    name_or_callable: str | Function | None = None,
    runnable: AnyRunnable | None = None,
    /,
    *,
    infer_schema: bool = True,
    **options: Unpack[_Options],
) -> Any:
    """Make a tool from a function: its name, its docstring and its signature say what a model needs to know.

        @tool
        async def search(query: str, limit: Annotated[int, "at most 50"] = 10) -> list[str]:
            '''Search the archive.'''

    Args:
        name_or_callable: the function, where the decorator is used bare; or the name of the tool.
        name: of the tool, another way to give it; default: the function's.
        runnable: made a tool instead of a function; needs a name.
        description: default: the function's docstring, or else that of ``args_schema``.
        return_direct: whether an agent is to end with the tool's result.
        args_schema: default: inferred from the signature.
        infer_schema: False, without ``args_schema``: the tool takes one text, and is a `Tool`.
        response_format: "content_and_artifact" if the function returns both, as a tuple.
        parse_docstring: read the descriptions of parameters off the docstring (Google's, NumPy's or Sphinx's style); needs
            the extra ``tools``. Without it the model is shown the docstring as it is.
        error_on_invalid_docstring: whether a docstring that describes no parameter is an error then; by default it is.
        extras: further fields of the tool for a provider.
        timeout: seconds that a call may take.
        tags, metadata: of every run.

    Returns:
        the tool, or, where no function was given, a decorator.

    Raises:
        InvalidInput: there is no description, or two names; or name, signature, docstring or schema will not do.
        MissingDependency: ``parse_docstring``, and the library that reads docstrings is not installed.

    Examples:
        >>> from hocket import tool
        >>> @tool
        ... def add(a: int, b: int) -> int:
        ...     '''Add two numbers.'''
        ...     return a + b
        >>> add.name, add.description, add.invoke({"a": 2, "b": 3})
        ('add', 'Add two numbers.', 5)
    """
    name = options.pop("name", None)
    if isinstance(name_or_callable, str):
        if name not in (None, name_or_callable):
            raise InvalidInput(f"the tool has two names, {name_or_callable!r} and {name!r}; give one: tool({name!r})")
        name, name_or_callable = name_or_callable, None
    if runnable is not None:
        if name is None or name_or_callable is not None:
            raise InvalidInput("a runnable becomes a tool under a name: tool('name', runnable)")
        return _make_tool(runnable, name, infer_schema, options)
    if name_or_callable is not None:
        if not callable(name_or_callable):
            raise InvalidInput(f"tool takes a function, or a name, not {type(name_or_callable).__name__}")
        return _make_tool(name_or_callable, name, infer_schema, options)
    return partial(_decorate, name=name, infer_schema=infer_schema, options=options)


def _decorate(function: Function, *, name: str | None, infer_schema: bool, options: _Options) -> BaseTool:
    return _make_tool(function, name, infer_schema, options)


def _make_tool(function: Function | AnyRunnable, name: str | None, infer_schema: bool, options: _Options) -> BaseTool:
    fields = cast("dict[str, Any]", dict(options))
    if isinstance(function, Runnable):
        runnable: AnyRunnable = function  # pyright: ignore[reportUnknownVariableType]  # `isinstance` forgets its types
        schema = fields.pop("args_schema", None)
        for key in ("parse_docstring", "error_on_invalid_docstring"):
            fields.pop(key, None)
        return convert_runnable_to_tool(runnable, schema, name=name, **fields)
    func, coroutine = (None, function) if is_async(function) else (function, None)
    if infer_schema or fields.get("args_schema") is not None:
        fields.setdefault("error_on_invalid_docstring", True)
        return StructuredTool.from_function(func, coroutine, name, infer_schema=infer_schema, **fields)
    description = fields.pop("description", None) or get_docstring(function)
    if description is None:
        raise InvalidInput(
            f"{function!r} has no docstring, and needs a description where infer_schema=False: tool(description='...')"
        )
    for key in ("parse_docstring", "error_on_invalid_docstring", "args_schema"):
        fields.pop(key, None)
    return Tool(get_function_name(function) if name is None else name, func, description, coroutine=coroutine, **fields)
