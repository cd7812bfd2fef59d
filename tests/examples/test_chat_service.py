"""`examples/chat_service`, behind uvicorn, with a model's server that does as it is told, and a real PostgreSQL."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from hocket.testing import OpenAIFormat, Stream, serve
from hocket.testing.server import Server
from tests.examples.conftest import EXAMPLES, WITHIN, Service
from tests.kit.notebooks import require_packages
from tests.kit.stores import postgres_schema

pytestmark = pytest.mark.timeout(WITHIN)

ANSWERS: dict[str, str | Stream] = {
    "I am Ada.": "Hello, Ada!",
    "Who am I?": "Your name is Ada.",
    "Talk on.": Stream("Light is scattered by the air", every=0.02, then="ping"),  # and then pings, for ever
    "Fall silent.": Stream("Light", every=0.02, then="stall"),
}


@pytest.fixture(scope="module")
def provider() -> Iterator[Server]:
    """The model's server, which answers each question in its way."""
    with serve(OpenAIFormat(), lambda request: ANSWERS[request.json["messages"][-1]["content"]]) as server:
        yield server


@pytest.fixture
def service(provider: Server, start_service: Callable[..., Service]) -> Iterator[Service]:
    require_packages("fastapi")
    with postgres_schema() as database:
        yield start_service(
            EXAMPLES / "chat_service",
            "service:app",
            CHAT_DATABASE=database,
            CHAT_PAUSE="3",
            HOCKET_MODEL="openai:small",
            OPENAI_BASE_URL=provider.url,
            OPENAI_API_KEY="a-key",
        )


def ask(service: Service, text: str, user: str = "ada") -> list[str]:
    """Return the lines of an answer."""
    reply = httpx.post(f"{service.url}/chat", json={"text": text}, headers={"x-user": user}, timeout=60)
    assert reply.status_code == 200 and reply.headers["content-type"].startswith("text/event-stream")
    return reply.text.split("\n")


def read_history(service: Service, user: str = "ada") -> list[Any]:
    found: list[Any] = httpx.get(f"{service.url}/history", headers={"x-user": user}).json()
    return found


def test_a_talk(service: Service, provider: Server):
    """Answers come in pieces, each user has a talk, which the model sees, and each run is a line of the log."""
    assert ask(service, "I am Ada.")[:4] == ['data: {"text":"Hello,"}', "", 'data: {"text":" Ada!"}', ""]
    assert "event: end" in ask(service, "Who am I?")
    asked = [message["content"] for message in provider.requests[-1].json["messages"]]
    assert asked[1:] == ["I am Ada.", "Hello, Ada!", "Who am I?"]
    assert "event: end" in ask(service, "Who am I?", user="bob")
    assert len(provider.requests[-1].json["messages"]) == 2
    assert [one["text"] for one in read_history(service)] == [*asked[1:], "Your name is Ada."]
    assert len(read_history(service, "bob")) == 2
    facts = json.loads(service.wait_for('"kind": "chat"'))["hocket"]
    assert facts["model"] == "small" and facts["output_tokens"] > 0 and facts["metadata"] == {"user_id": "ada"}

    assert httpx.delete(f"{service.url}/history", headers={"x-user": "ada"}).status_code == 204
    assert read_history(service) == [] and len(read_history(service, "bob")) == 2
    assert httpx.get(f"{service.url}/history").status_code == 422
    assert httpx.get(f"{service.url}/history", headers={"x-user": "../bob"}).status_code == 422


def test_a_reader_who_leaves(service: Service, provider: Server):
    """Ends the model's call, which is no failure, and leaves the half that was said."""
    with httpx.stream("POST", f"{service.url}/chat", json={"text": "Talk on."}, headers={"x-user": "ada"}) as reply:
        for line in reply.iter_lines():
            if "scattered" in line:
                break
    facts = json.loads(service.wait_for('"kind": "chat"'))["hocket"]
    assert facts["closed"] is True and "error_type" not in facts
    assert facts["estimated"] is True and facts["output_tokens"] > 0
    provider.block_for(lambda server: server.open_connections == 0, within=60)
    while len(talk := read_history(service)) < 2:  # it is stored when the call has ended
        pass
    assert talk[1]["partial"] and talk[1]["text"].startswith("Light is scattered")


def test_a_model_that_falls_silent(service: Service):
    """Is an event, after what had come; nothing is stored."""
    lines = ask(service, "Fall silent.")
    assert 'data: {"text":"Light"}' in lines and "event: error" in lines and "event: end" not in lines
    assert "took too long" in lines[lines.index("event: error") + 1]
    assert read_history(service) == []
