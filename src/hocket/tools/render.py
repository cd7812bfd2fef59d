"""Tools as plain text, for prompts of models that know no tools."""

import inspect
from collections.abc import Callable, Sequence

from hocket.tools.base import BaseTool

__all__ = ["ToolsRenderer", "render_text_description", "render_text_description_and_args"]

ToolsRenderer = Callable[[list[BaseTool]], str]
"""Turns tools into text."""


def render_text_description(tools: Sequence[BaseTool]) -> str:
    """Return a line for each tool: ``search(query: str) -> str - Search the archive.``"""
    return "\n".join(_describe(tool) for tool in tools)


def render_text_description_and_args(tools: Sequence[BaseTool]) -> str:
    """Return a line for each tool, with the JSON schemas of its arguments."""
    return "\n".join(f"{_describe(tool)}, args: {tool.args}" for tool in tools)


def _describe(tool: BaseTool) -> str:
    function = getattr(tool, "func", None)
    return f"{tool.name}{inspect.signature(function) if function else ''} - {tool.description}"
