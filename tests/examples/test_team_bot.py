"""`examples/team_bot`, with a model's server that does as it is told; a process for each day."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket.testing import OpenAIFormat, Reply, serve
from hocket.testing.server import ReceivedRequest
from tests.examples.conftest import CopyProject, run

CALLS = {
    "find_order": Reply(tool_calls=[{"name": "find_order", "args": {"number": 7}, "id": "call_1"}]),
    "refund": Reply(tool_calls=[{"name": "refund", "args": {"number": 7, "amount": 30}, "id": "call_2"}]),
}


def answer(request: ReceivedRequest) -> Reply | str:
    """Look the order up, pay it back, and tell."""
    last = request.json["messages"][-1]
    if last["role"] == "user":
        return CALLS["find_order"] if "7" in last["content"] else "Good morning."
    return CALLS["refund"] if "Ada" in last["content"] else f"Done: {last['content']}"


@pytest.fixture
def model() -> Iterator[dict[str, str]]:
    with serve(OpenAIFormat(), answer) as server:
        yield {"HOCKET_MODEL": "openai:small", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-key"}


def day(folder: Path, model: dict[str, str], *events: dict[str, str]) -> list[Any]:
    """Run the bot over some events, and return what it has posted, by thread."""
    printed = run(folder, "bot.py", stdin="\n".join(map(json.dumps, events)), **model)
    return sorted(map(json.loads, printed.splitlines()), key=lambda one: one["thread"])


def test_nothing_is_paid_back_before_a_person_approves(copy_project: CopyProject, model: dict[str, str]):
    """Another one than who asked; once; and the bot was another process when it asked."""
    folder = copy_project("team_bot")
    refunds = folder / "refunds.jsonl"
    question = {"thread": "1", "user": "ada", "text": "Refund order 7, please."}
    asked, hello = day(folder, model, question, {"thread": "2", "user": "alan", "text": "Hello."})
    assert asked["buttons"] == ["approve", "reject"] and asked["call"] == "call_2" and "30" in asked["text"]
    assert hello["text"] == "Good morning." and not refunds.exists()

    press = {"thread": "1", "call": asked["call"], "decision": "approve"}
    (refused,) = day(folder, model, {**press, "user": "ada"})
    assert refused["text"] == "ada may not decide that; grace may." and not refunds.exists()

    (done,) = day(folder, model, {**press, "user": "grace"})
    assert done["text"] == "Done: Paid back 30.0."
    (late,) = day(folder, model, {**press, "user": "grace"})
    assert late["text"].startswith("Sorry, that did not work: ")
    assert refunds.read_text() == '{"order": 7, "amount": 30.0}\n'


def test_a_person_says_no(copy_project: CopyProject, model: dict[str, str]):
    """The model is told, and nothing is paid back."""
    folder = copy_project("team_bot")
    (asked,) = day(folder, model, {"thread": "1", "user": "ada", "text": "Refund order 7, please."})
    (told,) = day(folder, model, {"thread": "1", "user": "grace", "call": asked["call"], "decision": "reject"})
    assert told["text"].startswith("Done: ") and not (folder / "refunds.jsonl").exists()
