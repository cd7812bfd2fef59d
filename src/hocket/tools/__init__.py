"""Tools: what a model may ask to have run. LangChain's names, and `arun_tool_calls`."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.errors import RetryTool, StopRun, ToolException, ToolTimeout

if TYPE_CHECKING:
    from hocket.tools.arguments import ArgsSchema
    from hocket.tools.base import BaseTool, BaseToolkit
    from hocket.tools.calls import arun_tool_calls, run_tool_calls
    from hocket.tools.decorator import tool
    from hocket.tools.from_retriever import RetrieverInput, create_retriever_tool
    from hocket.tools.from_runnable import convert_runnable_to_tool
    from hocket.tools.function_calling import (
        FunctionDescription as FunctionDescription,
        ToolDescription as ToolDescription,
        convert_to_json_schema,
        convert_to_openai_function,
        convert_to_openai_tool,
        convert_to_openai_tools,
    )
    from hocket.tools.inferred import create_schema_from_function
    from hocket.tools.injected import InjectedToolArg, InjectedToolCallId
    from hocket.tools.render import ToolsRenderer, render_text_description, render_text_description_and_args
    from hocket.tools.runtime import Runtime, ToolRuntime
    from hocket.tools.signature import FILTERED_ARGS
    from hocket.tools.simple import Tool
    from hocket.tools.structured import StructuredTool

_LATER = {
    "arguments": "ArgsSchema",
    "base": "BaseTool BaseToolkit",
    "calls": "arun_tool_calls run_tool_calls",
    "decorator": "tool",
    "from_retriever": "RetrieverInput create_retriever_tool",
    "from_runnable": "convert_runnable_to_tool",
    "function_calling": "FunctionDescription ToolDescription convert_to_json_schema convert_to_openai_function "
    "convert_to_openai_tool convert_to_openai_tools",
    "inferred": "create_schema_from_function",
    "injected": "InjectedToolArg InjectedToolCallId",
    "render": "ToolsRenderer render_text_description render_text_description_and_args",
    "runtime": "Runtime ToolRuntime",
    "signature": "FILTERED_ARGS",
    "simple": "Tool",
    "structured": "StructuredTool",
}

__all__ = [
    "FILTERED_ARGS",
    "ArgsSchema",
    "BaseTool",
    "BaseToolkit",
    "InjectedToolArg",
    "InjectedToolCallId",
    "RetrieverInput",
    "RetryTool",
    "Runtime",
    "StopRun",
    "StructuredTool",
    "Tool",
    "ToolException",
    "ToolRuntime",
    "ToolTimeout",
    "ToolsRenderer",
    "arun_tool_calls",
    "convert_runnable_to_tool",
    "convert_to_json_schema",
    "convert_to_openai_function",
    "convert_to_openai_tool",
    "convert_to_openai_tools",
    "create_retriever_tool",
    "create_schema_from_function",
    "render_text_description",
    "render_text_description_and_args",
    "run_tool_calls",
    "tool",
]

__getattr__: Loader = loader(__name__, _LATER)
