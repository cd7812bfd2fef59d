"""A durable agent as a service has it: `hocket serve --agent clerk=tests.serving.durable_clerk:clerk`."""

import os
from collections.abc import Sequence
from typing import Any

import anyio

from hocket import AIMessage, create_agent, tool
from hocket.agents import Agent
from hocket.durable import open_runs
from hocket.language_models import BaseChatModel
from hocket.messages import BaseMessage
from hocket.outputs import ChatGeneration, ChatResult

__all__ = ["clerk", "make_agent", "runs"]

USAGE: Any = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}


@tool
async def refund(amount: int) -> str:
    """Pay back."""
    return f"{amount} is paid back"


class Clerk(BaseChatModel):
    """Calls the tool where it is asked to pay, and else says how many questions there were."""

    @property
    def _llm_type(self) -> str:
        return "clerk"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self

    async def _agenerate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        last, count = messages[-1], sum(one.type == "human" for one in messages)
        said = AIMessage(f"{last.text}, of {count}", usage_metadata=USAGE)
        if last.text == "fail":
            raise ValueError("secret")
        if last.text == "wait":
            await anyio.sleep(600)
        if last.text.startswith("pay"):
            call = {"name": "refund", "args": {"amount": 5}, "id": f"call-{count}", "type": "tool_call"}
            said = AIMessage("A moment.", tool_calls=[call], usage_metadata=USAGE)
        return ChatResult(generations=[ChatGeneration(message=said)])


def make_agent(*, asks: bool) -> Agent[str]:
    return create_agent(Clerk(), [refund], interrupt_on=["refund"] if asks else [], name="clerk")


runs = open_runs(os.environ.get("RUNS", "sqlite:///none.db"))
clerk = runs.durable(make_agent(asks=True))
