"""A part is not an answer, whatever the format: not even where nothing in the format says that a stream is over."""

from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import pytest
from pydantic_core import from_json

from hocket.errors import StreamTruncated
from hocket.http import HTTPRequest, JSONLines
from hocket.http.request import json_request
from hocket.messages import AIMessageChunk
from hocket.outputs import ChatGenerationChunk
from hocket.remote.chat_model import RemoteChatModel
from hocket.testing import Body, Cut, Events, OpenAIFormat, serve

LINES = [b'{"text": "one"}\n', b'{"text": " two"}\n', b'{"text": " three"}\n']
WHOLE = b"".join(LINES)


class Lines:
    """Reads texts, one a line. It knows of no end, and takes what it gets."""

    done = ended = False

    def __init__(self) -> None:
        self._lines = JSONLines()

    def feed(self, data: bytes) -> Iterator[ChatGenerationChunk]:
        for line in self._lines.feed(data):
            yield ChatGenerationChunk(message=AIMessageChunk(from_json(line)["text"]))

    def close(self) -> Iterable[ChatGenerationChunk]:
        return ()


class Endless(RemoteChatModel):
    model: str = "m"

    def _request(self, messages: Any, options: Any, *, stream: bool) -> HTTPRequest:
        return json_request(f"{self.base_url}/talk", {})

    def _decode(self, reply: Any) -> Any:
        raise NotImplementedError

    def _decoder(self, headers: Any) -> Lines:
        return Lines()

    @property
    def _llm_type(self) -> str:
        return "endless"


async def outcome(model: Any, *, folded: bool) -> tuple[Any, str]:
    """Return how a call ends, and the text that was handed out on the way."""
    text = ""
    try:
        if folded:
            return await model.ainvoke("hi", stream=True), text
        stream = model.astream("hi")
        async for chunk in stream:
            text += chunk.text
        return stream.message, text
    except StreamTruncated as error:
        return error, text


FRAMED = {"by its length": lambda: Body(WHOLE), "in chunks": lambda: Events(LINES)}


@pytest.mark.parametrize("framed", FRAMED)
@pytest.mark.parametrize("how", ["eof", "reset"])
@pytest.mark.parametrize("injected", [False, True], ids=["hocket's client", "httpx's"])
async def test_a_connection_that_breaks(framed: str, how: Any, injected: bool) -> None:
    """At any byte, the last but one included: an error that has what had come, and may be tried again."""
    cuts = [0, 5, len(LINES[0]), len(LINES[0]) + 3, len(WHOLE) - len(LINES[2]), len(WHOLE) - 1]
    script = [Cut(FRAMED[framed](), at_byte=cut, how=how) for cut in cuts for _ in range(2)]
    async with serve(OpenAIFormat(), script) as server, httpx.AsyncClient() as client:
        model = Endless(base_url=server.url, http_client=client if injected else None, retry=None)
        for cut in cuts:
            came = "".join(from_json(line)["text"] for line in WHOLE[:cut].split(b"\n")[:-1])
            for folded in (False, True):
                error, text = await outcome(model, folded=folded)
                assert isinstance(error, StreamTruncated), cut
                assert error.retryable
                assert (error.partial.text if error.partial else "") == came
                assert text == ("" if folded else came)
        assert not server.problems


@pytest.mark.parametrize("framed", FRAMED)
async def test_a_body_that_ends_properly(framed: str) -> None:
    """Is all that there is."""
    async with serve(OpenAIFormat(), lambda _: FRAMED[framed]()) as server:
        model = Endless(base_url=server.url)
        for folded in (False, True):
            answer, _ = await outcome(model, folded=folded)
            assert answer.text == "one two three"
