"""What makes a tool of a runnable. It lives above, with the tools."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.tools.from_runnable import convert_runnable_to_tool

__all__ = ["convert_runnable_to_tool"]

__getattr__: Loader = loader("hocket.runnables", {"convert_runnable_to_tool": ".tools.from_runnable"})
