"""`examples/chat_service`, behind uvicorn, with a model's server that does as it is told, and a real PostgreSQL.

Here the service is asked as its page asks it; `test_chat_page.py` has a browser show the page.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from hocket.testing import OpenAIFormat, Reply, Stream, serve
from hocket.testing.server import Server
from tests.examples.conftest import EXAMPLES, WITHIN, Service
from tests.kit.notebooks import require_packages
from tests.kit.stores import postgres_schema

CALL = {"name": "book_table", "args": {"people": 4, "time": "19:00"}, "id": "call_1"}
ANSWERS: dict[str, str | Reply] = {
    "I am Ada.": "Hello, Ada!",
    "Who am I?": "Your name is Ada.",
    "Talk on.": Stream("Light is scattered by the air", every=0.02, then="ping"),  # and then pings, for ever
    "Fall silent.": Stream("Light", every=0.02, then="stall"),
    "Book a table.": Reply(tool_calls=[CALL]),
    "A table for 4 at 19:00 is booked.": "Until tonight!",
}


@pytest.fixture(scope="module")
def provider() -> Iterator[Server]:
    """The model's server, which answers each question in its way."""
    with serve(OpenAIFormat(), lambda request: ANSWERS[request.json["messages"][-1]["content"]]) as server:
        yield server


StartChat = Callable[..., Service]


@pytest.fixture
def start_chat(provider: Server, start_service: Callable[..., Service]) -> Iterator[StartChat]:
    """Start the service, again and again, with the same database."""
    require_packages("fastapi")
    with postgres_schema() as database:

        def start(**variables: str) -> Service:
            return start_service(
                EXAMPLES / "chat_service",
                "service:app",
                CHAT_DATABASE=database,
                HOCKET_MODEL="openai:small",
                OPENAI_BASE_URL=provider.url,
                OPENAI_API_KEY="a-key",
                **variables,
            )

        yield start


class Reader:
    """Somebody with a page, who is known by a cookie, or by what a proxy says."""

    def __init__(self, service: Service, user: str = "ada", **headers: str) -> None:
        self.url = service.url
        self.headers = {"cookie": f"user={user}", **headers}

    def request(self, method: str, path: str) -> httpx.Response:
        return httpx.request(method, self.url + path, headers=self.headers, timeout=60)

    def stream(self, method: str, path: str, *, after: str = "", **request: Any) -> Any:
        headers = self.headers | ({"last-event-id": after} if after else {})
        return httpx.stream(method, self.url + path, headers=headers, timeout=60, **request)

    def send(self, part: Any, role: str = "user") -> Any:
        message = {"id": "m", "role": role, "parts": [part]}
        return self.stream("POST", "/chat/", json={"id": "c1", "messages": [message]})

    def ask(self, text: str) -> Any:
        return self.send({"type": "text", "text": text})

    def read(self, reply: Any) -> list[Any]:
        """Return the events of a whole answer."""
        with reply as body:
            lines = [line.removeprefix("data: ") for line in body.iter_lines() if line.startswith("data: ")]
            assert body.status_code == 200 and lines.pop() == "[DONE]"
        return [json.loads(line) for line in lines]

    def open(self) -> Any:
        """Return what a page is told that opens the chat."""
        return self.request("GET", "/history/c1").json()

    def show(self) -> list[Any]:
        """Return what was said."""
        found: list[Any] = self.open()["messages"]
        return found

    def stop(self) -> bool:
        stopped: bool = self.request("POST", "/chat/c1/stop").json()["stopped"]
        return stopped


def read_until(reply: Any, word: str) -> str:
    """Return the id of the event that has a word, and leave."""
    with reply as body:
        lines = body.iter_lines()
        assert any(word in line for line in lines)
        return str(next(lines)).removeprefix("id: ")


def texts(events: list[Any]) -> str:
    return "".join(event.get("delta", "") for event in events)


def test_a_talk(start_chat: StartChat, provider: Server):
    """Each user has talks, which the model sees, which outlive the service, and which are forgotten when that is wanted."""
    service = start_chat()
    ada, bob = Reader(service), Reader(service, "bob")
    assert texts(ada.read(ada.ask("I am Ada."))) == "Hello, Ada!"
    service = start_chat()  # another process; a deploy, or a second one behind a proxy
    ada, bob = Reader(service), Reader(service, "bob")
    assert texts(ada.read(ada.ask("Who am I?"))) == "Your name is Ada."
    asked = [message["content"] for message in provider.requests[-1].json["messages"]]
    assert asked[1:] == ["I am Ada.", "Hello, Ada!", "Who am I?"]
    assert texts(bob.read(bob.ask("Who am I?"))) == "Your name is Ada."
    assert len(provider.requests[-1].json["messages"]) == 2
    assert [one["text"] for one in ada.show()] == [*asked[1:], "Your name is Ada."]
    facts = json.loads(service.wait_for('"kind": "chat"'))["hocket"]
    assert facts["deployment"].endswith(":small") and facts["output_tokens"] > 0
    assert re.fullmatch("[0-9a-f]{32}", facts["metadata"]["user_id"])  # the cookie is a secret

    assert ada.request("DELETE", "/history/c1").status_code == 204
    assert ada.show() == [] and len(bob.show()) == 2
    for method, path in (
        ("GET", "/history/c1"),
        ("DELETE", "/history/c1"),
        ("POST", "/chat/"),
        ("POST", "/chat/c1/stop"),
    ):
        assert httpx.request(method, service.url + path).status_code == 401


@pytest.mark.nightly
def test_the_page_and_who_reads_it(start_chat: StartChat):
    """A browser gets a secret once; behind a proxy that logs people in, what the proxy says counts, and no cookie."""
    service = start_chat()
    page = httpx.get(service.url)
    assert "<title>Chat</title>" in page.text and "HttpOnly" in page.headers["set-cookie"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "set-cookie" not in httpx.get(service.url, headers={"cookie": "user=a-secret"}).headers
    service = start_chat(CHAT_USER_HEADER="x-user")
    assert "set-cookie" not in httpx.get(service.url).headers
    ada = Reader(service, "bob", **{"x-user": "ada@example.org/c1"})
    ada.read(ada.ask("I am Ada."))
    assert len(ada.show()) == 2 and Reader(service).request("GET", "/history/c1").status_code == 401


@pytest.mark.nightly
def test_a_reader_who_leaves_and_comes_back(start_chat: StartChat, provider: Server):
    """Finds the answer still running, in another process too; Stop there ends the model's call, and the half is kept."""
    first, second = start_chat(), start_chat()
    ada = Reader(first)
    last = read_until(ada.ask("Talk on."), "scattered")
    assert provider.open_connections == 1
    ada, bob = Reader(second), Reader(second, "bob")
    assert ada.open() == {"messages": [], "waiting": [], "before": 0, "question": "Talk on."}
    assert bob.request("GET", "/chat/c1/stream").status_code == 204 and bob.stop() is False
    read_until(ada.stream("GET", "/chat/c1/stream"), "scattered")
    with ada.stream("GET", "/chat/c1/stream", after=last) as rest:
        assert ada.stop() is True
        told = "".join(rest.iter_lines())
    assert "scattered" not in told and '"abort"' in told and told.count("[DONE]") == 1
    facts = json.loads(first.wait_for('"kind": "chat"'))["hocket"]
    assert facts["closed"] is True and "error_type" not in facts
    assert facts["estimated"] is True and facts["output_tokens"] > 0
    provider.block_for(lambda server: server.open_connections == 0, within=60)
    question, half = ada.show()
    assert question["text"] == "Talk on." and half["partial"] and half["text"].startswith("Light is scattered")
    assert ada.stop() is False


@pytest.mark.nightly
def test_one_answer_at_a_time(start_chat: StartChat):
    """A second question meanwhile is told so, and changes nothing of what a page is shown."""
    ada = Reader(start_chat())
    read_until(ada.ask("Talk on."), "scattered")
    with ada.ask("Who am I?") as reply:
        assert reply.status_code == 409
        reply.read()
    assert ada.open()["question"] == "Talk on."
    assert ada.request("DELETE", "/history/c1").status_code == 204  # stops it
    assert ada.show() == [] and ada.stop() is False


@pytest.mark.nightly
def test_a_call_waits_for_a_person(start_chat: StartChat):
    """Over a restart; and who decides twice is told that nothing waits."""
    ada = Reader(start_chat())
    told = ada.read(ada.ask("Book a table."))
    assert {"type": "tool-approval-request", "approvalId": "call_1", "toolCallId": "call_1"} in told
    ada = Reader(start_chat())
    assert ada.open()["waiting"] == ["call_1"]
    part = {"type": "tool-book_table", "toolCallId": "call_1", "state": "approval-responded"}
    decided = {**part, "approval": {"id": "call_1", "approved": True}}
    told = ada.read(ada.send(decided, "assistant"))
    assert texts(told) == "Until tonight!"
    result = ada.show()[2]
    assert (result["call"], result["text"]) == ("call_1", "A table for 4 at 19:00 is booked.")
    assert ada.open() | {"messages": []} == {"messages": [], "waiting": [], "before": 2, "question": ""}
    with ada.send(decided, "assistant") as again:
        assert again.status_code == 400


@pytest.mark.nightly
def test_a_model_that_falls_silent(start_chat: StartChat):
    """Is an event in words, after what had come, and the half is kept as one."""
    ada = Reader(start_chat(CHAT_PAUSE="2"))
    told = ada.read(ada.ask("Fall silent."))
    assert texts(told) == "Light" and "took too long" in told[-1]["errorText"]
    assert [one["partial"] for one in ada.show()] == [False, True]


def test_the_end_of_the_service(start_chat: StartChat, provider: Server):
    """Waits a second for whoever reads, and stops what runs, with the half in the history."""
    service = start_chat(UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN="1")
    with Reader(service).ask("Talk on.") as body:
        lines = body.iter_lines()
        assert any("scattered" in line for line in lines)
        service.process.terminate()
        service.process.wait(WITHIN)
    provider.block_for(lambda server: server.open_connections == 0, within=60)
    ada = Reader(start_chat())
    assert [one["partial"] for one in ada.show()] == [False, True] and ada.stop() is False
