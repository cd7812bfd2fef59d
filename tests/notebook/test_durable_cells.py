"""Durable runs in a real kernel, whose loop goes on from cell to cell."""

from pathlib import Path

import pytest

from tests.kit.notebooks import run_cells

CELLS = [
    """
from hocket import create_agent, ScriptedChatModel
from hocket.durable import open_runs, wait_for

runs = open_runs("sqlite:///runs.db")

@runs.durable
async def order(item: str) -> str:
    return f"{item}: {await wait_for('paid')}"

await runs.__aenter__()
run = await order.astart("tea", id="order-7")
""",
    "await run.asignal('paid', 3); print(await run.aresult())",
    "print((await run.ainfo()).status); await runs.__aexit__(None, None, None)",
    "async with runs:\n    print(await order.ainvoke('tea', id='order-7'))",
    "with runs:\n    print(order.invoke('tea', id='order-7'))",
]


@pytest.mark.nightly  # a kernel imports for seconds
def test_a_run_goes_on_from_cell_to_cell(tmp_path: Path):
    """Opened in one cell, signalled in the next; afterwards opened again, in a block, by await and without."""
    shown = run_cells(CELLS, tmp_path)
    texts = ["".join(output.get("text", "") for output in outputs) for outputs in shown]
    assert texts == ["", "tea: 3\n", "done\n", "tea: 3\n", "tea: 3\n"]
