"""The tools that come with hocket are tools like any: described, called in every way, and their errors are texts."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import SafetyManager, calculator_tool, create_agent, search_tool, sql_tool
from hocket.messages import ToolMessage
from hocket.tools import BaseTool, arun_tool_calls, convert_to_openai_tool


class Case(NamedTuple):
    """A tool, with an input that it answers, and one that it refuses."""

    make: Callable[[str], BaseTool]
    name: str
    argument: str
    good: str
    answer: str
    bad: str
    refusal: str


CASES = [
    Case(lambda url: calculator_tool, "calculator", "expression", "6*7", "42", "1/0", "divides by zero"),
    Case(
        lambda url: search_tool(lambda query: [f"about {query}"]), "search", "query", "tea", "1. about tea", " ", "1 to"
    ),
    Case(sql_tool, "sql", "query", "SELECT a FROM t", '["a"]\n[1]', "DROP TABLE t", "Not allowed"),
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with a table of one row."""
    connection = sqlite3.connect(tmp_path / "data.db")
    connection.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    connection.close()
    return f"sqlite:///{tmp_path}/data.db"


def make_call(tool: BaseTool, **args: str) -> Any:
    return {"type": "tool_call", "name": tool.name, "args": args, "id": "call_1"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
class TestEachTool:
    def test_it_says_what_a_model_needs_to_know(self, case: Case, url: str) -> None:
        """One text is all that it takes."""
        tool = case.make(url)
        function = convert_to_openai_tool(tool)["function"]
        assert (function["name"], tool.is_single_input) == (case.name, True)
        assert len(function["description"]) > 20
        assert function["parameters"]["properties"] == {case.argument: {"type": "string"}}
        assert function["parameters"]["required"] == [case.argument]

    async def test_it_is_called_in_every_way(self, case: Case, url: str) -> None:
        """With a text, its argument by name, or a model's call."""
        tool = case.make(url)
        assert await tool.ainvoke(case.good) == case.answer
        assert await tool.ainvoke({case.argument: case.good}) == case.answer
        message = await tool.ainvoke(make_call(tool, **{case.argument: case.good}))
        assert (message.content, message.status) == (case.answer, "success")

    def test_it_is_called_from_sync_code(self, case: Case, url: str) -> None:
        """With the same answer."""
        assert case.make(url).invoke(case.good) == case.answer

    async def test_what_it_refuses_is_told_as_a_text(self, case: Case, url: str) -> None:
        """The model can do better next time, and the run goes on."""
        tool = case.make(url)
        assert case.refusal in await tool.ainvoke(case.bad)
        (message,) = await arun_tool_calls([make_call(tool, **{case.argument: case.bad})], [tool])
        assert isinstance(message, ToolMessage)
        assert message.status == "error"
        assert case.refusal in message.text

    async def test_wrong_arguments_are_told_as_a_text(self, case: Case, url: str) -> None:
        """A number, or another name."""
        tool = case.make(url)
        for args in ({case.argument: 5}, {"other": "x"}, {}):
            (message,) = await arun_tool_calls([make_call(tool, **args)], [tool])  # type: ignore[arg-type]  # what a model may send
            assert message.status == "error"


async def test_an_agent_works_with_them() -> None:
    """What is 3 pm of China in New York: the difference is searched for, the hour computed, and nothing else is allowed."""
    search = search_tool(lambda query: [{"title": "Time zones", "snippet": "New York is 13 hours behind China."}])
    script = [
        Turn(tool_calls=[make_call(search, query="time difference China New York")]),
        Turn(tool_calls=[make_call(calculator_tool, expression="（15 − 13 ＋ 24）% 24")]),  # noqa: RUF001
        "It is 2 am.",
    ]
    safety = SafetyManager(["search", "calculator"], max_execution_time=10)
    agent = create_agent(ScriptedChatModel(script=script), [search, calculator_tool], middleware=[safety])

    result = await agent.ainvoke("What is 3 pm in China in New York?")

    assert (result.output, result.stop) == ("It is 2 am.", "done")
    assert [step.observation for step in result.steps] == ["1. Time zones\nNew York is 13 hours behind China.", "2"]
