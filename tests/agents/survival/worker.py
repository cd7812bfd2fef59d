"""What the tests run in processes of their own, which they kill: agents whose tools write down that they were run."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio

from hocket import ScriptedChatModel, Turn
from hocket._databases import redis_lock
from hocket.agents import Agent, AgentMiddleware, create_agent
from hocket.messages import AIMessage, ToolCall
from hocket.runnables import RunnableLambda
from hocket.tools import BaseTool, tool

__all__ = ["HangBeforeTools", "calls", "make_agent", "make_hanging_model", "make_tools", "shorten_leases"]


def shorten_leases() -> None:
    """Have a killed process's lock on Redis forgotten in a second, or the tests would wait for longer."""
    redis_lock.LEASE, redis_lock.INTERVAL = 1.0, 0.2


def calls(*names: str) -> Turn:
    """Return an answer that calls tools without arguments; the ids are the names."""
    return Turn(tool_calls=[ToolCall(type="tool_call", name=name, args={}, id=name) for name in names])


def say(word: str) -> None:
    """Tell the process that listens."""
    print(word, flush=True)


def make_tools(log: Path, *, hangs: bool = False, idempotent: bool = False) -> list[BaseTool]:
    """Return two tools, ``quick`` and ``slow``, that write their names into a file when they are run.

    Args:
        log: the file.
        hangs: whether ``slow`` says "runs", and never ends.
        idempotent: whether ``slow`` may be made again.
    """

    def note(name: str) -> None:
        with log.open("a") as file:
            file.write(f"{name}\n")

    @tool
    def quick() -> str:
        """Do something."""
        note("quick")
        return "quick is done"

    @tool
    async def slow() -> str:
        """Do something else."""
        await anyio.to_thread.run_sync(note, "slow")
        if hangs:
            say("runs")
            await anyio.sleep_forever()
        return "slow is done"

    slow.metadata = {"idempotent": True} if idempotent else None
    return [quick, slow]


def make_agent(log: Path, *script: Turn | str, tools: dict[str, Any] | None = None, **options: Any) -> Agent[Any]:
    """Return an agent that follows a script; ``tools`` are the options of `make_tools`."""
    return create_agent(ScriptedChatModel(script=script), make_tools(log, **(tools or {})), **options)


class HangBeforeTools(AgentMiddleware):
    """Says "waits" before a tool would be run, and never has it run."""

    async def wrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Hang."""
        say("waits")
        await anyio.sleep_forever()


def make_hanging_model(*answers: Turn) -> Any:
    """Return a model that gives these answers, then says "asked", and never answers."""
    script = ScriptedChatModel(script=answers)

    async def answer(messages: Sequence[Any]) -> AIMessage:
        if len(script.requests) == len(answers):
            say("asked")
            await anyio.sleep_forever()
        return await script.ainvoke(messages)

    class Model(RunnableLambda[Any, AIMessage]):
        def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
            return self

    return Model(answer)
