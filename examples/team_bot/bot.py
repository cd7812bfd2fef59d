"""A bot in a team's chat: it answers in threads, uses tools, and asks before it pays anything back.

Events are lines of JSON on standard input, what it posts are lines on standard output. To put Slack or Discord behind it,
replace `read_events` and `post`; the buttons under a message carry the id of the call, as here.
"""

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
from pydantic import BaseModel

from hocket import AgentLimits, HocketError, Resume, create_agent, init_chat_model, open_history, tool

DATABASE = os.environ.get("BOT_DATABASE", "sqlite:///bot.db")
APPROVERS = {"grace"}
ORDERS = {7: ("Ada", 30.0), 8: ("Alan", 12.5)}  # who has made them, and what was paid


@tool
def find_order(number: int) -> str:
    """Look up an order: who has made it, and what was paid."""
    if number not in ORDERS:
        return f"There is no order {number}."
    customer, paid = ORDERS[number]
    return f"{customer} paid {paid}."


@tool
def refund(number: int, amount: float) -> str:
    """Pay money back to the customer of an order."""
    if number not in ORDERS or not 0 < amount <= ORDERS[number][1]:
        return "That is more than was paid, or there is no such order. Nothing was paid back."
    with Path("refunds.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"order": number, "amount": amount}) + "\n")
    return f"Paid back {amount}."


agent = create_agent(
    init_chat_model(os.environ.get("HOCKET_MODEL", "local")),
    [find_order, refund],
    system_prompt="You help a support team. Look an order up before you speak of it. Be brief.",
    interrupt_on={"refund"},
    limits=AgentLimits(model_calls=8, seconds=120),
)


class Event(BaseModel):
    """A message in a thread, or a press on a button under one."""

    thread: str
    user: str
    text: str = ""
    call: str | None = None
    decision: str = ""


async def read_events() -> AsyncIterator[Event]:
    """Yield what happens in the chat."""
    async for line in anyio.wrap_file(sys.stdin):
        if line.strip():
            yield Event.model_validate_json(line)


def post(thread: str, text: str, **more: object) -> None:
    """Say something in a thread."""
    print(json.dumps({"thread": thread, "text": text, **more}, ensure_ascii=False), flush=True)


async def handle(event: Event) -> None:
    """Answer an event. What a thread waits for is in its history: a restart forgets nothing."""
    question = event.text if event.call is None else Resume({event.call: event.decision})
    if event.call is not None and event.user not in APPROVERS:
        post(event.thread, f"{event.user} may not decide that; {', '.join(sorted(APPROVERS))} may.")
        return
    try:
        result = await agent.ainvoke(question, history=open_history(DATABASE, event.thread))
    except HocketError as error:  # of the model, the store, or a decision that nothing waits for
        post(event.thread, f"Sorry, that did not work: {error}")
        return
    if result.stop != "paused":
        post(event.thread, result.output or "I have no answer.")
    for call in result.pending:
        post(event.thread, f"May I {call['name']} {call['args']}?", call=call["id"], buttons=["approve", "reject"])


async def main() -> None:
    """Answer all threads at once; events of one thread come one after another, for each run has its history alone."""
    async with anyio.create_task_group() as group:
        async for event in read_events():
            group.start_soon(handle, event)


if __name__ == "__main__":
    anyio.run(main)
