"""Every recorded stream over a connection that ends at every event boundary: closed properly, closed, and reset."""

import re
from typing import Any

from hocket.errors import LLMError, StreamTruncated
from hocket.messages import AIMessage
from hocket.providers.openai import ChatOpenAI
from hocket.testing import Cut, Events, OpenAIFormat, serve

ENDS = ("end", "eof", "reset")
FINISH = re.compile(rb'"finish_reason": "(?!error)|"error": \{')


async def test_a_cut_connection_is_never_an_answer(chat_stream: dict[str, Any]) -> None:
    """Up to the finish reason it is an error with what came, streamed and folded; from there on it is the answer."""
    body = chat_stream["response"]["sse"].encode()
    cuts = [found.end() for found in re.finditer(rb"\n\n", body)]
    finish = FINISH.search(body)
    finished = body.index(b"\n\n", finish.start()) + 2 if finish else len(body) + 1
    script = [Cut(Events([body]), at_byte=cut, how=how) for cut in (0, *cuts) for how in ENDS for _ in range(2)]

    async with serve(OpenAIFormat(), script) as server:
        model = ChatOpenAI(model="m", base_url=server.url, dialect="openai", api_key="k", retry=None)
        for cut in (0, *cuts):
            for how in ENDS:
                streamed, text = await outcome(model, streaming=False)
                folded, _ = await outcome(model, streaming=True)
                if cut < finished:
                    assert isinstance(streamed, StreamTruncated) and isinstance(folded, StreamTruncated), (cut, how)
                    assert (streamed.partial.text if streamed.partial else "") == text
                    assert (folded.partial.text if folded.partial else "") == text
                else:
                    assert type(streamed) is type(folded), (cut, how)
                    assert not isinstance(streamed, StreamTruncated)
                    if isinstance(streamed, AIMessage) and isinstance(folded, AIMessage):
                        assert streamed.text == folded.text == text
        assert server.problems == []
        assert len(server.requests) == len(script)


async def outcome(model: ChatOpenAI, *, streaming: bool) -> tuple[AIMessage | LLMError, str]:
    """Return how a call ends, and the text that was handed out on the way."""
    text = ""
    try:
        if streaming:
            return await model.ainvoke("hi", stream=True), text
        stream = model.astream("hi")
        async for chunk in stream:
            text += chunk.text
        return stream.message, text
    except LLMError as error:
        return error, text
