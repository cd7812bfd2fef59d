"""Works with the tools of MCP servers, which it is shown when it has found them."""

import asyncio
import os
import sys
from dataclasses import dataclass

from hocket import create_agent
from hocket.agents import Runtime, mcp_servers


@dataclass
class Customer:
    name: str


def greet(runtime: Runtime[Customer]) -> str:
    return f"You work for {runtime.context.name}. Find the tools that you need."


agent = create_agent(
    os.environ.get("HOCKET_MODEL", "local"), context_schema=Customer, system_prompt=greet, defer="auto"
)


async def main(question: str) -> None:
    async with mcp_servers("mcp.json") as servers:
        result = await agent.ainvoke(question, tools=servers.tools, context=Customer("Ada"))
        print(result.output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
