"""`examples/agents`, with a model's server that does as it is told."""

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from hocket.testing import OpenAIFormat, Reply, serve
from hocket.testing.server import ReceivedRequest
from tests.examples.conftest import CopyProject, run

Ask = Callable[..., str]


def make_call(name: str, **arguments: Any) -> Reply:
    return Reply(tool_calls=[{"name": name, "args": arguments, "id": f"call_{name}"}])


@pytest.fixture
def ask(copy_project: CopyProject) -> Iterator[Ask]:
    """Run an agent in a copy of the folder over a model that calls what a table says, and return what it prints."""
    folder = copy_project("agents")
    table: dict[str, Reply] = {}

    def answer(request: ReceivedRequest) -> Reply | str:
        """Call the tool for which there is a call, or say what the last result is."""
        body = request.json
        last = body["messages"][-1]
        offered = [tool["function"]["name"] for tool in body.get("tools", ())]
        if last["role"] != "tool":
            return next(table[name] for name in offered if name in table)
        done = [message.get("tool_call_id") for message in body["messages"]]
        left = [table[name] for name in offered if name in table and f"call_{name}" not in done]
        return left[0] if left else str(last["content"])

    with serve(OpenAIFormat(), answer) as server:
        model = {"HOCKET_MODEL": "openai:small", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-key"}

        def start(*arguments: str, calls: dict[str, Reply], stdin: str | None = None, **variables: str) -> str:
            table.clear()
            table.update(calls)
            return run(folder, *arguments, stdin=stdin, **model, **variables)

        start.folder = folder  # type: ignore[attr-defined]
        yield start


def test_research_answers_from_the_notes_of_the_team(ask: Ask):
    """With an object, whose type is one of the answers."""
    found = make_call("Finding", answer="In October.", sources=["boiler.md"])
    printed = ask(
        "research.py", "When?", calls={"search_notes": make_call("search_notes", word="bled"), "Finding": found}
    )
    assert printed.strip() == "answer='In October.' sources=['boiler.md']"


def test_sql_sees_the_sales_of_its_shop_alone(ask: Ask):
    """Whatever the model asks for."""
    with closing(sqlite3.connect(ask.folder / "shops.sqlite")) as database, database:  # type: ignore[attr-defined]
        database.execute("CREATE TABLE sales (shop, item, day, price)")
        database.execute("INSERT INTO sales VALUES (1, 'lamp', '2026-01-01', 20), (2, 'lamp', '2026-01-02', 99)")
    printed = ask("sql.py", "Lamps?", calls={"sales": make_call("sales", item="lamp", shop=2, runtime={"id": 2})})
    assert "invalid" not in printed
    printed = ask("sql.py", "Lamps?", calls={"sales": make_call("sales", item="lamp", runtime={"id": 2})}, SHOP="1")
    assert json.loads(printed) == [{"day": "2026-01-01", "price": 20}]


def test_coding_writes_what_a_person_approves(ask: Ask):
    """Within its folder; a run that was left goes on when it is started again."""
    write = {"write_file": make_call("write_file", file="a.txt", text="Hello.")}
    printed = ask("coding.py", "Write it.", calls=write, stdin="approve\n")
    assert printed.endswith("a.txt has 6 characters now.\n")
    assert (ask.folder / "a.txt").read_text() == "Hello."  # type: ignore[attr-defined]
    (ask.folder / "talks.sqlite").unlink()  # type: ignore[attr-defined]
    outside = {"write_file": make_call("write_file", file="../b.txt", text="Hello.")}
    assert "is not in the folder" in ask("coding.py", "Write it.", calls=outside, stdin="approve\n")


def test_the_supervisor_asks_two_agents_each_for_its_own_context(ask: Ask):
    """Their tools see the customer, and the kind of the customer."""
    names = {"orders": {"question": "Which?"}, "rules": {"question": "What?"}, "list_orders": {}, "read_rule": {}}
    printed = ask("supervisor.py", "May I?", calls={name: make_call(name, **args) for name, args in names.items()})
    assert printed.strip() == "Thirty days to give it back."


@pytest.mark.nightly
def test_the_desk_finds_a_tool_of_a_server_and_calls_it(ask: Ask):
    """The server is another process; the model is shown one tool until it has asked for more."""
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    calls = {
        "find_tools": make_call("find_tools", names=["find_parcel"]),
        "shop_find_parcel": make_call("shop_find_parcel", number=7),
    }
    printed = ask("mcp_desk.py", "Where is parcel 7?", calls=calls, PYTHON=sys.executable)
    assert printed.strip() == "Parcel 7 is in Oslo."
