"""Many tools: how much of a prompt they take when the model has to find them, and how well it finds them.

The tools are those of thirteen MCP servers, as their packages of npm and PyPI list them (``data/many_tools.json`` names the
packages, with versions and licences). The questions were written before the index was, in words that the tools do not
have: the first half has been looked at since, the held-out half has not. A question is answered if one of the tools that
do it is among the five that are found; with the names in view the model asks in the words of a tool's name.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .bench import Bench, Case, repeating
from .harness import Samples, Target, measure
from .table import Row, row_of

__all__ = ["CASES"]

_DATA = Path(__file__).with_name("data") / "many_tools.json"
K = 5

Questions = Sequence[tuple[str, Sequence[str]]]


def many_tools(bench: Bench) -> Iterator[Row]:
    """Tokens of the first request, and what is found, by words alone and by meaning; the CPU of a search."""
    from hocket.agents.tool_index import ToolIndex

    data = json.loads(_DATA.read_text(encoding="utf-8"))
    tools = _make_tools(data["servers"])
    share = Samples({"hocket": [_weigh_finder(tools) / _weigh(list(tools.values())) * 100]})
    yield row_of(bench.case, f"first request, of all {len(tools)} schemas", share, Target(5, over=None), "%")
    for way, embeddings, least in (("words", None, 0.45), ("meaning", "auto", 0.85)):
        index = ToolIndex(tools, embeddings)  # type: ignore[arg-type]  # of a loop
        for half in ("tuned", "held_out"):
            found = Samples({"hocket": [_recall(index, data["queries"][half])]})
            target = Target(least, over=None, at_least=True)
            yield row_of(bench.case, f"recall@{K} by {way}, half {half!r}", found, target, "share")
        in_view = [(_write_name(names[0]), names[:1]) for half in data["queries"].values() for _, names in half]
        found = Samples({"hocket": [_recall(index, in_view)]})
        yield row_of(bench.case, f"names in view, by {way}", found, Target(0.95, over=None, at_least=True), "share")
        questions = [query for query, _ in data["queries"]["tuned"]]

        def search(index: Any = index, questions: Sequence[str] = questions) -> None:
            async def ask() -> None:
                for question in questions:
                    await index.search(question, K)

            asyncio.run(ask())

        samples = measure({"hocket": lambda search=search: repeating(search)}, bench.plan, per=len(questions))
        yield row_of(bench.case, f"a search by {way}", samples, None)


def _make_tools(servers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    from hocket.tools import StructuredTool

    async def work(**arguments: object) -> str:
        return ""

    made: dict[str, Any] = {}
    for server in servers:
        for one in server["tools"]:
            name = f"{server['name']}_{one['name']}"
            made[name] = StructuredTool(
                name=name,
                description=one["description"],
                args_schema=one["parameters"],
                coroutine=work,
                metadata={"mcp_server": server["name"]},
            )
    return made


def _weigh(tools: Sequence[Any]) -> int:
    from hocket.tokens import count_tokens_approximately

    return count_tokens_approximately([], tools=tools)


def _weigh_finder(tools: Mapping[str, Any]) -> int:
    """Return the tokens of what is sent of the tools first."""
    from hocket import ScriptedChatModel
    from hocket.agents import create_agent

    model = ScriptedChatModel(script=["Done."])
    create_agent(model, list(tools.values()), defer=True).invoke("go")
    return _weigh(model.requests[0].params["tools"])


def _recall(index: Any, questions: Questions) -> float:
    async def ask() -> float:
        found = [set(await index.search(query, K)) & set(names) for query, names in questions]
        return sum(map(bool, found)) / len(questions)

    return asyncio.run(ask())


def _write_name(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").lower()


CASES: dict[str, Case] = {"many-tools": many_tools}
