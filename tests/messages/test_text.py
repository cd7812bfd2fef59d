"""The text of a message, whichever provider's words its content is in."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.messages import AIMessage, AIMessageChunk, HumanMessage, convert_to_openai_messages
from hocket.outputs import ChatGeneration, ChatGenerationChunk
from hocket.providers.openai import ChatOpenAI
from tests.messages.test_content_view import NATIVE

FIXTURES = Path(__file__).parent.parent / "fixtures"

CONTENTS: dict[str, tuple[list[Any], str]] = {
    "standard": ([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "a"}, "b"], "ab"),
    "gemini": ([{"text": "hm", "thought": True}, {"text": "a"}, {"text": "b", "thoughtSignature": "Q"}], "ab"),
    "gemini's other parts": ([{"inlineData": {"mimeType": "image/png", "data": "AA=="}}, {"text": "a"}], "a"),
    "responses": (
        [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "a", "annotations": []},
                    {"type": "refusal", "refusal": "no"},
                    {"type": "output_text", "text": "b", "annotations": []},
                ],
            },
        ],
        "ab",
    ),
    "responses, parts alone": ([{"type": "output_text", "text": "a", "annotations": []}], "a"),
    "responses, input": ([{"type": "input_text", "text": "a"}, {"type": "input_image", "file_id": "f"}], "a"),
    "anthropic": (
        [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "a", "citations": [{"type": "char_location", "cited_text": "t"}]},
            {"type": "tool_use", "id": "1", "name": "f", "input": {"text": "no"}},
        ],
        "a",
    ),
    "mistral": (
        [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "a"},
            {"type": "reference", "reference_ids": [1]},
        ],
        "a",
    ),
    "cohere": ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}], "a"),
    "none": ([{"type": "text"}, {"type": "text", "text": None}, {"type": ["text"], "text": "a"}, {}], ""),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_the_text_of_every_provider(name: str) -> None:
    """What the model says to the user, and nothing of what it thinks or asks for; of messages, chunks and candidates."""
    content, text = CONTENTS[name]
    assert AIMessage(content).text == HumanMessage(content).text == text
    assert AIMessageChunk(content=content).text == text
    assert ChatGeneration(message=AIMessage(content)).text == text
    assert ChatGenerationChunk(message=AIMessageChunk(content=content)).text == text


@pytest.mark.parametrize("name", CONTENTS)
def test_the_text_of_a_sum(name: str) -> None:
    """Chunks fold to a message of the same text."""
    content, text = CONTENTS[name]
    first, *more = [AIMessageChunk(content=[block]) for block in content]
    assert (first + more).text == text
    assert "".join(chunk.text for chunk in (first, *more)) == text


@given(st.lists(NATIVE | st.text(max_size=2), max_size=3))
def test_the_text_is_that_of_the_blocks(content: list[Any]) -> None:
    """Whatever the shape, where the texts of blocks are well-formed."""
    message = AIMessage(content)
    blocks = [block for block in message.content_blocks if block["type"] == "text"]
    if all(isinstance(block.get("text"), str) for block in blocks):
        assert message.text == "".join(block["text"] for block in blocks)


def test_gemini_streams_thoughts_and_then_its_answer() -> None:
    """Each fragment brings parts without an index; only the answer is text."""
    exchange = json.loads((FIXTURES / "gemini/stream_text_thought.json").read_text())["response"]
    events = [json.loads(line.removeprefix("data: ")) for line in exchange["sse"].splitlines() if line.strip()]
    parts = [part for event in events for part in event["candidates"][0].get("content", {}).get("parts", [])]
    first, *more = [AIMessageChunk(content=[part]) for part in parts]
    assert any(part.get("thought") for part in parts)
    assert (first + more).text == "".join(part["text"] for part in parts if not part.get("thought"))


def test_a_citation_without_a_text() -> None:
    """LangChain's fold of a streamed, cited answer of Claude has one: its citation is kept, and it can be sent on."""
    location = {"type": "char_location", "cited_text": "t", "document_index": 0, "start_char_index": 0}
    message = AIMessage([{"type": "text", "text": "a"}, {"type": "text", "citations": [location]}])
    assert message.text == "a"
    block: Any = message.content_blocks[1]
    assert block["text"] == "" and block["annotations"][0]["cited_text"] == "t"
    body: Any = ChatOpenAI(model="m", api_key="k").render([HumanMessage("q"), message]).json
    assert body["messages"][1]["content"] == "a"
    assert convert_to_openai_messages([message]) == [{"role": "assistant", "content": "a"}]


def test_cohere_cites_beside_its_content() -> None:
    """Each source of a citation is one, on the part whose characters it counts."""
    reply = json.loads((FIXTURES / "cohere_v2/full_conversation.json").read_text())["response"]["body"]["message"]
    message = AIMessage(reply["content"], additional_kwargs={"citations": reply["citations"], "tool_plan": "I look."})
    plan, text = message.content_blocks
    assert plan == {"type": "reasoning", "reasoning": "I look."}
    assert text["type"] == "text"
    citations: Any = text["annotations"]
    assert [(each["start_index"], each["end_index"]) for each in citations] == [(0, 4), (0, 4)]
    assert citations[0]["extras"]["source"]["id"] == "get_weather_1:0"
