"""How much of what an agent sends its provider has read before: a run of 60 steps with results of 2,100 characters.

Nothing is timed: what counts is the share of each request that begins the next one (`prefix_share`), and the bill of the
input, where what was read before costs a tenth and all else a quarter more (Anthropic's prices), in price of a million
characters. A run that reads a result again would have more calls; this one never does.
"""

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, create_agent
from hocket.message_toolkit.prefix import SentPrompt, measure_prefix
from hocket.stores import InMemoryStore
from hocket.testing import ScriptedRequest, prefix_share
from hocket.tools import tool

from .bench import Bench, Case
from .harness import Target
from .table import Row

__all__ = ["CASES"]

STEPS, RESULT = 60, 2_100
SHORT = 600
"""Characters of a result beyond which it is offloaded, where there is a store."""

FORMER = {20_000: 0.661, 8_000: 0.483}
"""The bills of the same runs when compaction went down to three quarters of the window, and nothing was offloaded."""

SHARES = {(20_000, False): 0.96, (8_000, True): 0.95}


def prefix(bench: Bench) -> Iterator[Row]:
    """Shares and bills, by window, with a store for results and without."""
    for window, former in FORMER.items():
        for is_offloaded in (False, True):
            requests = asyncio.run(_run(window, is_offloaded=is_offloaded))
            what = f"window of {window:,}{', offload' if is_offloaded else ''}"
            least = SHARES.get((window, is_offloaded))
            target = None if least is None else Target(least, over=None, at_least=True)
            yield Row(bench.case, f"{what}: prefix_share", "share", prefix_share(requests), target=target, rounds=1)
            bill = _compute_bill(requests)
            yield Row(bench.case, f"{what}: bill", "price", bill, rounds=1)
            over = Target(0.75, over=None)
            yield Row(bench.case, f"{what}: bill over that of before", "ratio", bill / former, target=over, rounds=1)


@tool
def look(n: int) -> str:
    """Look something up."""
    return (f"result {n}: " + "lorem ipsum dolor sit amet " * 90)[:RESULT]


async def _run(window: int, *, is_offloaded: bool) -> list[ScriptedRequest]:
    script: list[Any] = [
        Turn(tool_calls=[{"type": "tool_call", "name": "look", "args": {"n": n}, "id": f"c{n}"}]) for n in range(STEPS)
    ]
    model = ScriptedChatModel(script=[*script, "done"], profile={"max_input_tokens": window, "max_output_tokens": 500})
    limits = AgentLimits(result_chars=SHORT if is_offloaded else 50_000, model_calls=None, repeats=None)
    agent = create_agent(model, [look], limits=limits, offload=InMemoryStore() if is_offloaded else None)
    await agent.ainvoke("Find it all.")
    return model.requests


def _compute_bill(requests: list[ScriptedRequest]) -> float:
    prompts = [SentPrompt(messages=one.messages, tools=one.params["tools"], options=one.params) for one in requests]
    measured = [measure_prefix(before, after) for before, after in pairwise(prompts)]
    read = sum(kept for kept, _ in measured)
    sent = sum(length for _, length in measured) + measure_prefix(prompts[-1], prompts[-1])[1]
    return (0.1 * read + 1.25 * (sent - read)) / 1e6


CASES: dict[str, Case] = {"prefix": prefix}
