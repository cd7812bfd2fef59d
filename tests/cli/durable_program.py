"""A program with durable runs, as `hocket runs work durable_program:runs` takes it."""

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from hocket import AIMessage, create_agent
from hocket.durable import Runs, open_runs, wait_for
from hocket.language_models import BaseChatModel
from hocket.messages import BaseMessage
from hocket.outputs import ChatGeneration, ChatResult
from hocket.tools import tool

__all__ = ["clerk", "front", "make_runs", "none", "runs"]


@tool
async def refund(amount: int) -> str:
    """Pay back."""
    return f"{amount} is paid back"


class Clerk(BaseChatModel):
    """Calls the tool, and says what came of it."""

    @property
    def _llm_type(self) -> str:
        return "clerk"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Return the model: it knows its tool by heart."""
        return self

    async def _agenerate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        said = AIMessage(f"Done: {messages[-1].text}")
        if messages[-1].type != "tool":
            said = AIMessage(
                "", tool_calls=[{"name": "refund", "args": {"amount": 5}, "id": "call-1", "type": "tool_call"}]
            )
        return ChatResult(generations=[ChatGeneration(message=said)])


def make_runs(url: str, max_concurrency: int = 100) -> Runs:
    """Return runs of an agent that asks a person, and of functions: one waits, one fails, one blocks when it is told to."""
    runs = open_runs(url, max_concurrency=max_concurrency)
    runs.durable(create_agent(Clerk(), [refund], interrupt_on=["refund"]), name="clerk")

    @runs.durable
    async def report(topic: str) -> str:
        return f"{topic}: {await wait_for('release')}"

    @runs.durable
    async def failing(topic: str) -> str:
        raise ValueError(f"no {topic}")

    @runs.durable
    async def slow(topic: str) -> None:
        await wait_for("go")
        print("it blocks", file=sys.stderr, flush=True)
        time.sleep(600)  # noqa: ASYNC251  # that is the point

    return runs


runs = make_runs(os.environ.get("RUNS", "sqlite:///none.db"))
clerk = runs.durables[0]
none = open_runs("sqlite:///none.db")
front = make_runs("sqlite:///none.db", 0)
