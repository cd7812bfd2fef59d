"""What makes a tool of a runnable, and what a tool is. It lives above, with the tools.

`Runnable.as_tool` returns a `BaseTool`, and a `BaseTool` is a `Runnable`: names of LangChain's, by which each of the two
rooms has to know the other. All that this room knows is here; it is imported when a tool is asked for.
"""

from hocket.tools import ArgsSchema, BaseTool, convert_runnable_to_tool

__all__ = ["ArgsSchema", "BaseTool", "convert_runnable_to_tool"]
