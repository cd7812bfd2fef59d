"""A tool made from a function with any number of arguments."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, Self

from hocket.errors import InvalidInput
from hocket.tools.arguments import ArgsSchema
from hocket.tools.function_tool import FunctionTool, get_docstring, get_function_name
from hocket.tools.inferred import create_schema_from_function, infer_schema as make_schema

__all__ = ["StructuredTool"]


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
