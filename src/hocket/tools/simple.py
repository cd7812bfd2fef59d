"""A tool with one argument, a text."""

from collections.abc import Awaitable, Callable
from typing import Any, Self, cast

from hocket.errors import InvalidInput, ToolException
from hocket.tools.arguments import ArgsSchema, Arguments, make_arguments
from hocket.tools.signature import read_signature
from hocket.tools.structured import FunctionTool

__all__ = ["ONE_ARGUMENT", "Tool"]

ONE_ARGUMENT = "__arg1"
"""What the argument of a tool without a schema is called where it needs a name (LangChain's)."""


class Tool(FunctionTool):
    """A tool that calls a function with one argument: a text, unless ``args_schema``, with one field, says otherwise.

    Args:
        name, description, func, coroutine: as in `StructuredTool`; the first three may be given by position.
    """

    def __init__(
        self, name: str, func: Callable[..., object] | None = None, description: str = "", **kwargs: Any
    ) -> None:
        super().__init__(name=name, func=func, description=description, **kwargs)

    @property
    def args(self) -> dict[str, Any]:
        """The JSON schema of the argument, by its name."""
        return {"tool_input": {"type": "string"}} if self.args_schema is None else super().args

    def _make_arguments(self) -> Arguments:
        if self.args_schema is not None:
            return super()._make_arguments()
        properties = {ONE_ARGUMENT: {"type": "string"}}
        return make_arguments({"type": "object", "properties": properties, "required": [ONE_ARGUMENT]})

    def read_arguments(self, given: object, call_id: str | None) -> dict[str, object]:
        """Return the one argument, under the name of the function's first parameter.

        Raises:
            ValidationError: it does not fit the schema.
            ToolException: there are several arguments, or none.
            InvalidInput: the function takes no argument.
        """
        if self.args_schema is not None:
            given = super().read_arguments(given, call_id)
        values = list(cast("dict[str, object]", given).values()) if isinstance(given, dict) else [given]
        if len(values) != 1:
            raise ToolException(
                f"{self.name} takes one argument, and was given {len(values)}: {given!r}. Use StructuredTool for more"
            )
        parameters = read_signature(self._get_signature_source()).parameters
        if not parameters:
            raise InvalidInput(f"the function of {self.name} takes no argument; use StructuredTool")
        first = parameters[0]
        return {first.name: values if first.kind is first.kind.VAR_POSITIONAL else values[0]}

    @classmethod
    def from_function(
        cls,
        func: Callable[..., object] | None,
        name: str,
        description: str,
        return_direct: bool = False,
        args_schema: ArgsSchema | None = None,
        coroutine: Callable[..., Awaitable[object]] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a tool from a function with one argument.

        Raises:
            InvalidInput: there is no function, or the name or schema will not do.
        """
        if func is None and coroutine is None:
            raise InvalidInput("a tool is made from a function: give func, coroutine, or both")
        return cls(
            name=name,
            func=func,
            coroutine=coroutine,
            description=description,
            return_direct=return_direct,
            args_schema=args_schema,
            **kwargs,
        )
