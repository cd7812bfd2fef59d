"""A tool made from a runnable: a chain that a model may ask to have run."""

from typing import Any

from typing_extensions import TypedDict

from hocket.errors import InvalidInput
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable
from hocket.tools.arguments import ArgsSchema
from hocket.tools.base import BaseTool
from hocket.tools.simple import Tool
from hocket.tools.structured import StructuredTool

__all__ = ["convert_runnable_to_tool"]


def convert_runnable_to_tool(
    runnable: AnyRunnable,
    args_schema: ArgsSchema | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    arg_types: dict[str, object] | None = None,
    **fields: Any,
) -> BaseTool:
    """Return a tool that calls ``runnable`` with a dict of its arguments, as a run inside its own.

    Args:
        args_schema: of the arguments; default: that of ``arg_types``, or else what the runnable says
            of its input: an object, or a text.
        name: default: the runnable's.
        description: default: that of the schema, or else the runnable's name.
        arg_types: the types of the arguments by name.
        fields: further fields of the tool.

    Raises:
        InvalidInput: nobody says what the arguments are; or the name or schema will not do.
    """
    name = runnable.get_name() if name is None else name
    if args_schema is None and arg_types is not None:
        make: Any = TypedDict  # past the type checkers, which want literal names
        args_schema = make(f"{name}_arguments", arg_types)
    if args_schema is None:
        said = runnable.get_input_jsonschema()
        if said.get("type") == "string":
            return _make_text_tool(runnable, name, description, fields)
        if said.get("type") != "object" or not said.get("properties"):
            raise InvalidInput(
                f"{name} does not say what its input is: give args_schema, or arg_types={{'name': type, ...}}"
            )
        args_schema = runnable.get_input_schema()

    async def acall(config: RunnableConfig, **arguments: object) -> object:
        return await runnable.ainvoke(arguments, config)

    def call(config: RunnableConfig, **arguments: object) -> object:
        return runnable.invoke(arguments, config)

    described = description or getattr(args_schema, "__doc__", None) or _describe(runnable)
    return StructuredTool.from_function(call, acall, name, described, args_schema=args_schema, **fields)


def _make_text_tool(runnable: AnyRunnable, name: str, description: str | None, fields: dict[str, Any]) -> BaseTool:
    """Return a tool of one argument, a text."""

    async def acall(text: str, config: RunnableConfig) -> object:
        return await runnable.ainvoke(text, config)

    def call(text: str, config: RunnableConfig) -> object:
        return runnable.invoke(text, config)

    return Tool(name, call, description or _describe(runnable), coroutine=acall, **fields)


def _describe(runnable: AnyRunnable) -> str:
    return f"Runs {runnable.get_name()}."
