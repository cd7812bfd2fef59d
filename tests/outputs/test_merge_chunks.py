"""Chunks of a candidate as one."""

from hocket.messages import AIMessageChunk
from hocket.outputs import ChatGenerationChunk, merge_chat_generation_chunks


def test_chunks_are_merged() -> None:
    chunks = [ChatGenerationChunk(message=AIMessageChunk(text)) for text in ("a", "b", "c")]
    merged = merge_chat_generation_chunks(chunks)
    assert merged is not None and merged.text == "abc"
    assert merge_chat_generation_chunks(chunks[:1]) is chunks[0]
    assert merge_chat_generation_chunks([]) is None
