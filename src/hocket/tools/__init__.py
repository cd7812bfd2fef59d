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
        FunctionDescription,
        ToolDescription,
        convert_to_json_schema,
        convert_to_openai_function,
        convert_to_openai_tool,
        convert_to_openai_tools,
    )
    from hocket.tools.inferred import create_schema_from_function
    from hocket.tools.injected import InjectedToolArg, InjectedToolCallId
    from hocket.tools.render import ToolsRenderer, render_text_description, render_text_description_and_args
    from hocket.tools.signature import FILTERED_ARGS
    from hocket.tools.simple import Tool
    from hocket.tools.structured import StructuredTool

_LATER = {
    "ArgsSchema": "arguments",
    "BaseTool": "base",
    "BaseToolkit": "base",
    "FILTERED_ARGS": "signature",
    "FunctionDescription": "function_calling",
    "InjectedToolArg": "injected",
    "InjectedToolCallId": "injected",
    "RetrieverInput": "from_retriever",
    "StructuredTool": "structured",
    "Tool": "simple",
    "ToolDescription": "function_calling",
    "ToolsRenderer": "render",
    "arun_tool_calls": "calls",
    "convert_runnable_to_tool": "from_runnable",
    "convert_to_json_schema": "function_calling",
    "convert_to_openai_function": "function_calling",
    "convert_to_openai_tool": "function_calling",
    "convert_to_openai_tools": "function_calling",
    "create_retriever_tool": "from_retriever",
    "create_schema_from_function": "inferred",
    "render_text_description": "render",
    "render_text_description_and_args": "render",
    "run_tool_calls": "calls",
    "tool": "decorator",
}

__all__ = [
    "FILTERED_ARGS",
    "ArgsSchema",
    "BaseTool",
    "BaseToolkit",
    "FunctionDescription",
    "InjectedToolArg",
    "InjectedToolCallId",
    "RetrieverInput",
    "RetryTool",
    "StopRun",
    "StructuredTool",
    "Tool",
    "ToolDescription",
    "ToolException",
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
