"""A gateway as its clients see it: in this process, and behind a real server."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from hocket.serving import openai_app
from hocket.testing import OpenAIFormat, serve as start_server
from hocket.testing.server import Server
from tests.kit import RawClient, body

KEY = "a-key-of-a-client"
HEADERS = [(b"content-type", b"application/json")]


def question(text: str = "hi", **fields: Any) -> dict[str, Any]:
    """Return the fields of a request for an answer."""
    return {"model": "m", "messages": [{"role": "user", "content": text}], **fields}


def chat_client(*events: Any, **fields: Any) -> RawClient:
    """Return a client that asks for an answer, or sends ``events`` instead."""
    sent = events or (body(json.dumps(question(**fields)).encode()),)
    return RawClient(*sent, path="/v1/chat/completions", headers=HEADERS)


async def send(app: Any, method: str, url: str, **request: Any) -> httpx.Response:
    """Send a request through httpx, as a client would."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        return await client.request(method, url, **request)


async def ask(model: Any, **fields: Any) -> httpx.Response:
    """Ask a gateway in front of ``model``."""
    return await send(openai_app({"m": model}), "POST", "/v1/chat/completions", json=question(**fields))


def read_events(text: str) -> list[Any]:
    """Return the data of OpenAI's events; the text of one that is no JSON, and of comments."""
    parts = [part.removeprefix("data: ") for part in text.split("\n\n") if part]
    return [json.loads(part) if part.startswith("{") else part for part in parts]


@pytest.fixture
def gpt() -> Iterator[Server]:
    """A server that speaks chat completions."""
    with start_server(OpenAIFormat(), "Hello.") as server:
        yield server


Serve = Callable[[Any], str]


@contextlib.contextmanager
def run_server(app: Any) -> Iterator[str]:
    """Run an application behind uvicorn, on a port of its own, and return its address."""
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Run applications behind uvicorn, each on a port of its own, and return its address."""
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(run_server(app))
