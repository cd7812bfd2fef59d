"""A program that works on durable runs, to be killed: every question and every call of a tool is a line of a log.

``python -m tests.durable.worker URL LOG SECONDS [ID...]``: SECONDS is how long an answer, a tool and a step take at most.
It starts the runs of these ids, unless they are there, and works until it is killed.
"""

import asyncio
import os
import random
import sys
from collections.abc import Sequence
from typing import Any

import anyio

from hocket import AIMessage, create_agent
from hocket.agents import Agent
from hocket.durable import Durable, Runs, current_run, dbos, open_runs, sleep, step, wait_for
from hocket.errors import OutcomeUnknown
from hocket.language_models import BaseChatModel
from hocket.messages import BaseMessage, ToolMessage
from hocket.outputs import ChatGeneration, ChatResult
from hocket.tools import BaseTool, tool

__all__ = ["LOG", "SECONDS", "make_runs"]

LOG, SECONDS = "DURABLE_LOG", "DURABLE_SECONDS"


def write(*words: object) -> None:
    """Append a line to the log, in one write."""
    run = current_run()
    line = " ".join(map(str, (os.getpid(), *words, "-" if run is None else run.id)))
    file = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


async def work() -> None:
    """Take a moment, in which a process may be killed."""
    await anyio.sleep(random.random() * float(os.environ[SECONDS]))


class Actor(BaseChatModel):
    """Plays a part: it looks how far the conversation is, and says what comes next. Each question is in the log."""

    part: str

    @property
    def _llm_type(self) -> str:
        return "actor"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Return the model: it knows its tools by heart."""
        return self

    async def _agenerate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        asked = f"{self.part}:{sum(isinstance(one, AIMessage) for one in messages)}:{messages[-1].text[:20]!r}"
        write("ask", asked.replace(" ", "_"))
        await work()
        write("answer", asked.replace(" ", "_"))
        reply = PARTS[self.part](messages)
        reply.usage_metadata = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _call(*names: str) -> list[Any]:
    return [
        {"name": name.split("-")[0], "args": {"what": name}, "id": f"call-{name}", "type": "tool_call"}
        for name in names
    ]


def _play_clerk(messages: Sequence[BaseMessage]) -> AIMessage:
    done = [one for one in messages if isinstance(one, ToolMessage)]
    if not done:
        return AIMessage("", tool_calls=_call("look-1", "look-2", "pay-1"))
    if len(done) == 3:
        return AIMessage("", tool_calls=_call("refund-1", "helper-1"))
    return AIMessage(f"clerk done: {len(done)}")


def _play_helper(messages: Sequence[BaseMessage]) -> AIMessage:
    done = [one for one in messages if isinstance(one, ToolMessage)]
    return AIMessage("helped") if done else AIMessage("", tool_calls=_call("look-3", "pay-2"))


def _play_echo(messages: Sequence[BaseMessage]) -> AIMessage:
    return AIMessage(f"echo {messages[-1].text}")


PARTS = {"clerk": _play_clerk, "helper": _play_helper, "echo": _play_echo}


async def _act(what: str) -> str:
    write("begin", what)
    await work()
    write("end", what)
    return f"{what} done"


@tool
async def look(what: str) -> str:
    """Look something up."""
    return await _act(what)


@tool
async def pay(what: str) -> str:
    """Pay."""
    return await _act(what)


@tool
async def refund(what: str) -> str:
    """Pay back."""
    return await _act(what)


async def mail(text: str) -> str:
    """Send a mail: a step that is made once."""
    return await _act(f"mail-{text}")


def make_agent() -> Agent[str]:
    """Return an agent with parallel tools, an approval, and an agent among its tools."""
    helper = create_agent(Actor(part="helper"), [look, pay], name="helper").as_tool("helper", "Helps.")
    tools: list[BaseTool] = [look, pay, refund, helper]
    return create_agent(Actor(part="clerk"), tools, interrupt_on=["refund"], name="clerk")


def make_runs(url: str, max_concurrency: int = 100) -> tuple[Runs, dict[str, Durable[str, Any]]]:
    """Return what the exam works on, and what its runs are runs of, by name."""
    runs = open_runs(url, max_concurrency=max_concurrency)
    clerk = runs.durable(make_agent(), name="clerk")

    @runs.durable
    async def report(topic: str) -> str:
        said = await clerk.ainvoke(topic)
        echo = Actor(part="echo")
        answers = await echo.abatch([f"{topic} {at}" for at in range(4)])
        await sleep(0.3)
        released = await wait_for("release", timeout=60)
        try:
            sent = await step(mail, topic)
        except OutcomeUnknown:
            sent = "unknown"
        return f"{said.output}; {len(answers)}; {released}; {sent}"

    return runs, {"clerk": clerk, "report": report}


async def main(url: str, ids: Sequence[str]) -> None:
    """Start runs, and work until killed."""
    dbos.EVERY = float(os.environ.get("DURABLE_EVERY", "0.2"))
    runs, targets = make_runs(url)
    async with runs:
        for id in ids:
            await targets[id.split("-")[0]].astart(f"of {id}", id=id)
        print("open", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    _, url, os.environ[LOG], os.environ[SECONDS], *ids = sys.argv
    asyncio.run(main(url, ids))
