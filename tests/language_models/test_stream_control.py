"""Who watches a stream may stop it: a handler by an error, its consumer by leaving; reasoning is never in the text."""

from typing import Any

import pytest

from hocket import ScriptedChatModel, Turn
from tests.kit import Event, Recorder

WORDS = ["one ", "two ", "three ", "four"]


async def test_a_handler_that_raises_stops_the_stream(recorder: Any) -> None:
    """Its error reaches the caller, no further chunk is told or handed out, and the run ends once, with what had come."""

    def stop_at_the_second(event: Event) -> None:
        if handler.count("on_llm_new_token") == 2:
            raise RuntimeError("enough")

    handler = Recorder("on_llm_new_token", do=stop_at_the_second, raise_error=True)
    model = ScriptedChatModel(script=[Turn(text=WORDS)] * 2)
    seen: list[str] = []
    stream = model.astream("hi", {"callbacks": [recorder, handler]})
    with pytest.raises(RuntimeError, match="enough"):
        async for chunk in stream:
            seen.append(chunk.text)

    assert handler.tokens == WORDS[:2] and seen == WORDS[:1]
    recorder.assert_every_run_ended_once()
    assert recorder.only("on_llm_error").details["response"].generations[0][0].text.startswith("one ")

    handler.events.clear()
    with pytest.raises(RuntimeError, match="enough"):
        await model.ainvoke("hi", {"callbacks": [handler]}, stream=True)
    assert handler.tokens == WORDS[:2]


async def test_a_consumer_that_has_enough_keeps_what_came(recorder: Any) -> None:
    """Leaving the loop is no error: the run ends well, and the message so far is there."""
    model = ScriptedChatModel(script=[Turn(text=WORDS, pause=0.001)])
    async with model.astream("hi", {"callbacks": [recorder]}) as stream:
        async for chunk in stream:
            if chunk.text == "two ":
                break

    assert stream.message is not None and stream.message.text == "one two "
    assert recorder.only("on_llm_end").details["closed"] is True
    recorder.assert_every_run_ended_once()


async def test_reasoning_and_answer_come_apart(recorder: Any) -> None:
    """Reasoning has blocks of its own, in chunks and for handlers; it is in no text."""
    model = ScriptedChatModel(script=[Turn(text=WORDS, reasoning="let me think")])
    texts: list[str] = []
    thoughts: list[str] = []
    async for chunk in model.astream("hi", {"callbacks": [recorder]}):
        texts.append(chunk.text)
        thoughts += [block.get("reasoning", "") for block in chunk.content_blocks if block["type"] == "reasoning"]

    assert "".join(texts) == "".join(WORDS) and "".join(thoughts) == "let me think"
    told = recorder.named("on_llm_new_token")
    assert "".join(recorder.tokens) == "".join(WORDS)
    shown = [block for *_, details in told for block in details["chunk"].message.content_blocks]
    assert "".join(block.get("reasoning", "") for block in shown if block["type"] == "reasoning") == "let me think"
