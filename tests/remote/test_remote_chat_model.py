"""What a chat model behind HTTP says of what its provider does not: the model's name, and whose mistake an odd shape is."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from hocket.agents import create_agent
from hocket.callbacks import get_usage_metadata_callback
from hocket.errors import InvalidInput, InvalidReply, Unsupported
from hocket.http import HTTPRequest, JSONLines
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from hocket.outputs import ChatGenerationChunk
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.cohere import ChatCohere
from hocket.providers.google import ChatGoogleGenerativeAI
from hocket.providers.ollama import ChatOllama
from hocket.providers.openai import ChatOpenAI
from hocket.remote import Endpoint, RemoteChatModel, StreamDecoder
from hocket.testing import (
    AnthropicFormat,
    Body,
    CohereFormat,
    Events,
    GoogleFormat,
    OllamaFormat,
    OpenAIFormat,
    Reply,
    serve,
)

TEXT = {"type": "text", "text": "hi"}
PICTURE = {"type": "image", "url": "https://e.x/i.png"}
ODD = {"type": "text", "text": 7}


async def test_a_reply_that_names_no_model_is_of_the_one_that_was_asked() -> None:
    """Cohere's never do. Whole and streamed, and so usage is counted under a name."""
    async with serve(CohereFormat(), [Reply("yes", usage={"input_tokens": 3, "output_tokens": 1})] * 3) as server:
        model = ChatCohere(model="command-a", base_url=server.url, api_key="k")
        with get_usage_metadata_callback() as usage:
            whole = await model.ainvoke("hi")
            chunks = [chunk async for chunk in model.astream("hi")]
            other = await model.ainvoke("hi", model="command-r")
    streamed = sum(chunks[1:], chunks[0])
    names = [message.response_metadata["model_name"] for message in (whole, streamed, other)]
    assert names == ["command-a", "command-a", "command-r"]
    assert usage.usage_metadata.keys() == {"command-a", "command-r"}


async def test_a_server_knows_better_what_it_is() -> None:
    """What a reply says counts, and what the events of a stream say."""
    whole = {"choices": [{"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}]}
    events = [{"choices": [{"delta": {"content": "yes"}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    script = [Body({**whole, "model": "real"}), Events([{**event, "model": "real"} for event in events]), Body(whole)]
    async with serve(OpenAIFormat(), script) as server:
        model = ChatOpenAI(model="alias", base_url=server.url, api_key="k")
        first = await model.ainvoke("hi")
        chunks = [chunk async for chunk in model.astream("hi")]
        silent = await model.ainvoke("hi")
    replies = (first, sum(chunks[1:], chunks[0]), silent)
    assert [reply.response_metadata["model_name"] for reply in replies] == ["real", "real", "alias"]


class Clumsy(ChatOpenAI):
    """A provider that takes texts and pictures, and has made a mistake."""

    mistake: str = ""

    def _request(self, messages: Any, options: Any, *, stream: bool) -> Any:
        for message in messages:
            for part in [] if isinstance(message.content, str) else message.content:
                if part["type"] == "image" and self.mistake == "with pictures":
                    raise TypeError("a mistake")
                len(part.get("text", ""))
        if self.mistake == "always":
            raise TypeError("a mistake")
        return super()._request(messages, options, stream=stream)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("always", HumanMessage("hi")),
        ("always", HumanMessage([TEXT, PICTURE])),
        ("always", AIMessage("hi", additional_kwargs={"audio": {"id": 1}})),
        ("with pictures", HumanMessage([TEXT, PICTURE])),
    ],
)
def test_a_mistake_of_a_provider_is_its_own(mistake: str, message: Any) -> None:
    """Also where the conversation holds what nobody has checked: without that, it fails as well."""
    with pytest.raises(TypeError, match="a mistake"):
        Clumsy(model="m", api_key="k", mistake=mistake).render([message])


@pytest.mark.parametrize("parts", [[ODD], [TEXT, ODD, PICTURE]])
def test_a_part_that_is_not_what_it_says_is_the_conversations_fault(parts: list[Any]) -> None:
    """The way out names it, and what the provider met is the cause."""
    with pytest.raises(InvalidInput, match="a part of a message is not what its type says") as caught:
        Clumsy(model="m", api_key="k").render([HumanMessage(parts)])
    assert isinstance(caught.value.__cause__, TypeError)


class LineDecoder(StreamDecoder[ChatGenerationChunk]):
    """Reads lines with a piece, and a last one."""

    framing = JSONLines

    def read(self, data: dict[str, Any], event: str) -> ChatGenerationChunk:
        self.done = self.ended = data.get("done", False)
        return ChatGenerationChunk(message=AIMessageChunk(data.get("piece", "")))


class ChatLines(RemoteChatModel):
    """A provider whose server can only stream: it has no `_decode`."""

    _options = BaseModel
    _endpoint = Endpoint(name="lines", needs_key=False)

    def _request(self, messages: Sequence[BaseMessage], options: object, *, stream: bool) -> HTTPRequest:
        return self._post(self._url("talk"), {"text": messages[-1].text})

    def _decoder(self, headers: Mapping[str, str]) -> LineDecoder:
        return LineDecoder("lines", headers)

    @property
    def _llm_type(self) -> str:
        return "lines"


async def test_a_server_that_can_only_stream_needs_no_second_decoder() -> None:
    """A whole reply is read by the stream's; one that breaks off is none, and is asked for again."""
    lines = [b'{"piece": "Good "}', b'{"piece": "evening."}', b'{"done": true}']
    whole, cut = Body(b"\n".join(lines)), Body(b"\n".join(lines[:2]))
    script = [whole, cut, whole]
    async with serve(OpenAIFormat(), script) as server:
        model = ChatLines(base_url=server.url)
        reply = await model.ainvoke("hi")
        assert (reply.text, reply.response_metadata["model_name"]) == ("Good evening.", "lines")
        assert (await model.ainvoke("hi", retry=2)).text == "Good evening."
        assert len(server.requests) == 3


async def test_an_agent_in_text_sends_no_stop_words_to_a_provider_without_them() -> None:
    """Its options have no ``stop``, so that a call with one is refused before it is sent; an agent does without."""

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    said = b'{"piece": "Thought: easy\\nFinal Answer: 4"}\n{"done": true}'
    async with serve(OpenAIFormat(), Body(said)) as server:
        model = ChatLines(base_url=server.url)
        result = await create_agent(model, [double], style="react").ainvoke("2 + 2?")
        assert result.output == "4"
        with pytest.raises(Unsupported, match="lines takes no stop"):
            await model.ainvoke("hi", stop=["x"])
        assert len(server.requests) == 1


EMPTY_REPLIES: list[tuple[Any, Any, dict[str, Any]]] = [
    (ChatAnthropic, AnthropicFormat, {"content": [], "usage": None}),
    (ChatOpenAI, OpenAIFormat, {"choices": [{"message": {"role": "assistant", "content": None}}]}),
    (ChatGoogleGenerativeAI, GoogleFormat, {"candidates": [{"content": {"role": "model", "parts": []}}]}),
    (ChatOllama, OllamaFormat, {"message": {"role": "assistant", "content": ""}}),
]


@pytest.mark.parametrize(("kind", "form", "reply"), EMPTY_REPLIES, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_reply_that_says_nothing_and_not_why_is_none(kind: Any, form: Any, reply: dict[str, Any]) -> None:
    """Whichever server sends it: a stream without an end is no answer either."""
    async with serve(form(), [Body(reply)] * 3) as server:
        model = kind(model="m", base_url=server.url, api_key="k", retry=1)
        with pytest.raises(InvalidReply):
            await model.ainvoke("hi")
