"""Has two agents work: one knows the customer's orders, one the rules of the house."""

import asyncio
import os
import sys
from dataclasses import dataclass

from hocket import create_agent
from hocket.agents import Runtime

MODEL = os.environ.get("HOCKET_MODEL", "local")
ORDERS = {"ada": ["a lamp, on its way"], "alan": ["a clock, delivered"]}
RULES = {"retail": "Thirty days to give it back.", "trade": "No returns."}


@dataclass
class Customer:
    name: str
    kind: str = "retail"


def list_orders(runtime: Runtime[Customer]) -> list[str]:
    """List the customer's orders."""
    return ORDERS.get(runtime.context.name, [])


def read_rule(runtime: Runtime[str]) -> str:
    """Read what the house allows."""
    return RULES[runtime.context]


orders = create_agent(MODEL, [list_orders], context_schema=Customer, name="orders")
rules = create_agent(MODEL, [read_rule], context_schema=str, name="rules")
supervisor = create_agent(
    MODEL,
    [
        orders.as_tool(description="Knows the customer's orders."),
        rules.as_tool(description="Knows the rules.", context=lambda runtime: runtime.context.kind),
    ],
    context_schema=Customer,
    system_prompt="Answer the customer. Ask the others for what you do not know.",
)


async def main(question: str) -> None:
    async for event in supervisor.astream(question, context=Customer("ada"), subagents=True):
        if event.kind == "tool_start":
            print(f"{event.agent or 'supervisor'} calls {event.call['name']}", file=sys.stderr)
        elif event.kind == "end" and not event.path:
            print(event.result.output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
