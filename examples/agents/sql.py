"""Answers from a database, for one shop: its tool cannot see what others have sold."""

import asyncio
import os
import sqlite3
import sys
from dataclasses import dataclass

from hocket import create_agent
from hocket.agents import Runtime

DATABASE = os.environ.get("SHOPS_DATABASE", "shops.sqlite")


@dataclass
class Shop:
    id: int


def sales(item: str, runtime: Runtime[Shop], limit: int = 20) -> list[dict[str, object]]:
    """List the shop's latest sales of an item: day and price."""
    with sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True) as database:
        database.row_factory = sqlite3.Row
        query = "SELECT day, price FROM sales WHERE shop = ? AND item = ? ORDER BY day DESC LIMIT ?"
        return [dict(row) for row in database.execute(query, (runtime.context.id, item, limit))]


agent = create_agent(
    os.environ.get("HOCKET_MODEL", "local"),
    [sales],
    context_schema=Shop,
    system_prompt="Answer with numbers from the database, and nothing else.",
)

if __name__ == "__main__":
    print(asyncio.run(agent.ainvoke(sys.argv[1], context=Shop(id=int(os.environ.get("SHOP", "1"))))).output)
