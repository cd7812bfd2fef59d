"""What a chat service costs: a FastAPI route that streams an answer and keeps it in the user's history, as most have it.

The same route, written with each library, driven as a server drives it; the model is asked over HTTP, on this machine.
Part of the cost is FastAPI's, for both alike.
"""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

from .bench import Bench, Case
from .harness import Body, Target, measure
from .replies import CHUNKS
from .seats import Seat, serve_formats
from .table import Row, row_of

__all__ = ["CASES"]

QUESTION = json.dumps({"text": "hello there"}).encode()
SCOPE = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "method": "POST",
    "path": "/chat",
    "raw_path": b"/chat",
    "root_path": "",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/json")],
}


class Service:
    """An application with one route, which turns a question into the body of a reply.

    Args:
        answer: makes the body of a reply from a question.
        aclose: closes the model.
    """

    def __init__(self, answer: Any, aclose: Any) -> None:
        from fastapi import Body as Field, FastAPI
        from fastapi.responses import StreamingResponse

        self.aclose = aclose
        self._app = FastAPI()

        async def chat(text: str = Field(embed=True)) -> StreamingResponse:
            return StreamingResponse(answer(text), media_type="text/event-stream")

        self._app.post("/chat", response_model=None)(chat)

    async def call(self) -> None:
        """Ask once, as a server does, and read the reply to its end."""
        events = [{"type": "http.request", "body": QUESTION}]
        sent: list[Any] = []

        async def receive() -> Any:
            if events:
                return events.pop()
            await asyncio.Event().wait()

        async def send(event: Any) -> None:
            sent.append(event)

        await self._app(dict(SCOPE), receive, send)
        assert sent[0]["status"] == 200 and sum(b"word" in event.get("body", b"") for event in sent) >= CHUNKS


def make_hocket(url: str) -> Service:
    """A conversation for each question, whose stream is the body."""
    from hocket import ChatOpenAI, Conversation, InMemoryChatMessageHistory
    from hocket.serving import sse

    model = ChatOpenAI(model="m", base_url=f"{url}/v1", api_key="k")

    def answer(text: str) -> Any:
        return sse(Conversation(model, history=InMemoryChatMessageHistory()).astream(text))

    return Service(answer, model.aclose)


def make_langchain(url: str) -> Service:
    """A generator that asks the model, writes its chunks as events, and keeps the turn in a list.

    `RunnableWithMessageHistory` would cost more, and is deprecated there.
    """
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="m", base_url=f"{url}/v1", api_key="k", max_retries=0)  # type: ignore[arg-type]

    async def answer(text: str) -> Any:
        history: list[BaseMessage] = [HumanMessage(text)]
        pieces: list[str] = []
        async for chunk in model.astream(history):
            if chunk.content:
                pieces.append(str(chunk.content))
                yield f"data: {json.dumps({'text': chunk.content})}\n\n"
        history.append(AIMessage("".join(pieces)))

    return Service(answer, model.root_async_client.close)


def service(bench: Bench) -> Iterator[Row]:
    """A streamed answer of a chat service, its history included."""
    if find_spec("fastapi") is None:
        yield Row(bench.case, "a streamed answer of a FastAPI service", failure="fastapi is not installed")
        return
    makers: dict[str, Any] = {"hocket": make_hocket}
    if find_spec("langchain_openai") is not None:
        makers["langchain"] = make_langchain
    with serve_formats() as url:
        taken: dict[str, Seat] = {who: Seat(make, f"{url}/now/openai") for who, make in makers.items()}
        try:
            samples = measure({who: partial(_build, seat) for who, seat in taken.items()}, bench.plan)
        finally:
            for seat in taken.values():
                seat.close()
    yield row_of(bench.case, f"a streamed answer of {CHUNKS} tokens, FastAPI service", samples, Target(0.5))


def _build(seat: Seat) -> Body:
    site: Any = seat.sit()

    async def turn(count: int) -> None:
        for _ in range(count):
            await site.call()

    return lambda count: seat.run(turn(count))


CASES: dict[str, Case] = {"service": service}
