"""What ``hocket mcp serve`` serves in the tests."""

import os

import anyio

from hocket.tools import ToolException, tool

print("what a module prints is no part of a protocol")


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("nor what a tool prints")
    return a + b


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    begun.append(seconds)
    try:
        await anyio.sleep(seconds)
    except BaseException:
        stopped.append(seconds)
        raise
    return "waited"


@tool
def count_begun() -> int:
    """Count the calls of `wait` that have begun."""
    return len(begun)


@tool
def count_stopped() -> int:
    """Count the calls of `wait` that were cancelled."""
    return len(stopped)


@tool
def refuse() -> str:
    """Refuse."""
    raise ToolException("not today")


@tool
def crash() -> str:
    """End the whole process."""
    os._exit(3)


begun: list[float] = []
stopped: list[float] = []
tools = [add, wait, count_begun, count_stopped, refuse, crash]
