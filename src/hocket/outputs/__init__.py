"""Results as data: candidates, chunks of them, and what a call returns."""

from hocket.outputs.chat_generation import ChatGeneration, ChatGenerationChunk, merge_chat_generation_chunks
from hocket.outputs.generation import Generation, GenerationChunk
from hocket.outputs.results import ChatResult, LLMResult, RunInfo

__all__ = [
    "ChatGeneration",
    "ChatGenerationChunk",
    "ChatResult",
    "Generation",
    "GenerationChunk",
    "LLMResult",
    "RunInfo",
    "merge_chat_generation_chunks",
]
