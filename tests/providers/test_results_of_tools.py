"""What a tool returned is in the history for good: whatever it is, each provider's next request can be made."""

import json
from typing import Any

import pytest

from hocket.agents import create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    create_audio_block,
    create_file_block,
    create_image_block,
    create_text_block,
    create_video_block,
)
from hocket.remote import RemoteChatModel
from hocket.testing import Reply, serve
from tests.kit import Recorder
from tests.kit.providers import PROVIDERS

PNG = b"\x89PNG\r\n\x1a\n" + b"-" * 2000
BLOCKS: dict[str, Any] = {
    "image": create_image_block(base64=PNG, mime_type="image/png"),
    "image url": create_image_block(url="https://example.org/sky.png"),
    "image file": create_image_block(file_id="file-12345"),
    "audio": create_audio_block(base64=b"RIFF", mime_type="audio/wav"),
    "video": create_video_block(url="https://example.org/sea.mp4", mime_type="video/mp4"),
    "pdf": create_file_block(base64=b"%PDF-1.4", mime_type="application/pdf"),
    "document": {"type": "text-plain", "text": "of-a-document", "mime_type": "text/plain"},
    "chat completions": {"type": "image_url", "image_url": {"url": "https://example.org/sky.png"}},
    "messages": {"type": "image", "source": {"type": "url", "url": "https://example.org/sky.png"}},
    "unknown": {"type": "hologram", "size": 3},
    "malformed": {"type": "image", "base64": 5},
    "empty": {"type": "image"},
}
TRACES = {
    "image": ("iVBORw0KGgo", "image/png, 2 kB"),
    "image file": ("file-12345",),
    "audio": ("UklGRg", "audio/wav, 4 bytes"),
    "video": ("sea.mp4",),
    "pdf": ("JVBERi0xLjQ", "application/pdf, 8 bytes"),
    "document": ("of-a-document",),
    "unknown": ("hologram",),
    "malformed": ("[image: ", "base64"),
    "empty": ("[image: ", '"type":"image"'),
}


def model_of(name: str, url: str = "http://localhost:9", **fields: Any) -> RemoteChatModel:
    return PROVIDERS[name].make(model="test-model", base_url=url, api_key="k", **fields)


def conversation(*parts: Any) -> list[BaseMessage]:
    call: Any = {"name": "look", "args": {}, "id": "mark7id1a", "type": "tool_call"}
    result = ToolMessage([{"type": "text", "text": "here it is"}, *parts], tool_call_id="mark7id1a")
    return [HumanMessage("Show it."), AIMessage("", tool_calls=[call]), result, HumanMessage("So?")]


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_result_of_any_kind_is_told(name: str, kind: str) -> None:
    """As the provider has it, or as a text that says what it was. Of what became a text, handlers are told."""
    messages, events = conversation(BLOCKS[kind]), Recorder("on_downgrade")
    async with serve(PROVIDERS[name].format, ["ok"]) as server:
        model = model_of(name, server.url, callbacks=[events], retry=1)
        assert (await model.ainvoke(messages)).text == "ok"
        written = json.dumps(server.requests[0].json, ensure_ascii=False, separators=(",", ":"))
    assert "here it is" in written
    assert any(trace in written for trace in TRACES.get(kind, ("sky.png",))), written
    is_replaced = "this server does not take it" in written
    assert is_replaced == bool(events.events), events.events
    assert model.render(messages).json == server.requests[0].json
    assert messages == conversation(BLOCKS[kind])  # the history keeps what the tool returned


@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_agent_goes_on_after_a_picture(name: str) -> None:
    def draw() -> list[Any]:
        """Draw."""
        return [BLOCKS["image"], BLOCKS["image url"], BLOCKS["audio"]]

    history = InMemoryChatMessageHistory()
    script = [Reply(tool_calls=[{"name": "draw", "args": {}, "id": "mark7id1a"}]), "Drawn.", "Four."]
    async with serve(PROVIDERS[name].format, script) as server:
        agent = create_agent(model_of(name, server.url), [draw])
        assert (await agent.ainvoke("Draw!", history=history)).output == "Drawn."
        assert (await agent.ainvoke("What is 2+2?", history=history)).output == "Four."


def test_a_text_stands_in_the_place_of_what_cannot_be_sent() -> None:
    """With its type, its size or its address; what can be sent stays beside it."""
    body = model_of("ollama").render(conversation(BLOCKS["image"], BLOCKS["image url"])).json
    [result] = [message for message in body["messages"] if message["role"] == "tool"]
    assert result["content"].endswith(
        "[image, https://example.org/sky.png: this server does not take it in the result of a tool]"
    )
    assert len(result["images"]) == 1
    [told] = [part for part in model_of("openai").render(conversation(BLOCKS["image"])).json["messages"][2:3]]
    assert told["content"] == "here it is[image/png, 2 kB: this server does not take it in the result of a tool]"


def test_a_model_that_reads_no_pictures_is_given_words() -> None:
    """Its profile says so, and the server would take the picture."""
    model = model_of("anthropic", profile={"image_inputs": False})
    written = json.dumps(model.render(conversation(BLOCKS["image"])).json)
    assert "image/png, 2 kB" in written and "iVBORw0KGgo" not in written


def test_a_request_that_is_refused_for_something_else_says_so() -> None:
    """A model that cannot be asked at all does not turn its tools' results into words."""
    model = model_of("openai", n=2)
    with pytest.raises(Exception, match="n=2"):
        model.render(conversation(BLOCKS["image"]), stream=True)


HALF = b"caf\xe9.txt".decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("name", PROVIDERS)
async def test_half_of_a_surrogate_pair_is_sent_as_the_replacement_character(name: str) -> None:
    """In a question, a result, the arguments of a call; the messages keep it."""
    call: Any = {"name": "look", "args": {"path": HALF, HALF: 1}, "id": "mark7id1a", "type": "tool_call"}
    messages = [
        HumanMessage(f"What is {HALF}?"),
        AIMessage(HALF, tool_calls=[call]),
        ToolMessage(f"see {HALF} \ud83d\ude00", tool_call_id="mark7id1a"),
        HumanMessage([create_text_block("And? \ud83d")]),
    ]
    async with serve(PROVIDERS[name].format, ["ok"]) as server:
        assert (await model_of(name, server.url, retry=1).ainvoke(messages)).text == "ok"
        written = server.requests[0].body.decode()
    assert written.count("caf\ufffd.txt") == 5 and "And? \ufffd" in written
    assert "\U0001f600" in written  # two halves side by side are one character
    assert messages[0].content == f"What is {HALF}?"
