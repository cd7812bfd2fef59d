"""What a request to the gateway costs: `openai_app`, driven as a server drives it, beside the call of the model alone."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio

from .bench import Bench, Case, awaiting
from .harness import Body, Target
from .library import answering, library, streaming
from .table import Row

__all__ = ["CASES"]

CHUNKS = 26
SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/v1/chat/completions",
    "headers": [
        (b"host", b"127.0.0.1:8000"),
        (b"accept", b"application/json"),
        (b"content-type", b"application/json"),
        (b"authorization", b"Bearer a-long-key"),
    ],
}


def _requesting(model: Any, **fields: Any) -> Body:
    """Make a body of requests to a gateway in front of ``model``."""
    from hocket.serving import openai_app

    app = openai_app({"m": model}, keys="a-long-key")
    asked = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello there"}], **fields}).encode()

    async def request() -> None:
        events = [{"type": "http.request", "body": asked}]
        sent: list[Any] = []

        async def receive() -> Any:
            if events:
                return events.pop()
            await anyio.sleep_forever()

        async def send(event: Any) -> None:
            sent.append(event)

        await app(SCOPE, receive, send)
        assert sent[0]["status"] == 200

    return awaiting(request)


def gateway(bench: Bench) -> Iterator[Row]:
    """One answer and one stream; *bare* is the same model, asked in process."""
    lib = library("hocket")
    question = [lib.messages.HumanMessage("hello there")]
    model, talker = answering(lib), streaming(lib, CHUNKS)

    async def read() -> None:
        async for _ in talker.astream(question):
            pass

    compare: Callable[..., Row] = partial(bench.compare, libraries=["hocket"])
    yield compare(
        "gateway: a request",
        lambda _: _requesting(model),
        Target(15, over="bare"),
        bare=awaiting(lambda: model.ainvoke(question)),
    )
    yield compare(
        f"gateway: a stream of {CHUNKS} chunks",
        lambda _: _requesting(talker, stream=True),
        None,
        bare=awaiting(read),
    )


CASES: dict[str, Case] = {"gateway": gateway}
