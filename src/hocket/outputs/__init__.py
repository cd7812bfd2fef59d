"""Results as data: candidates, chunks of them, and what a call returns."""

from hocket.outputs.generation import Generation, GenerationChunk
from hocket.outputs.results import (
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    LLMResult,
    RunInfo,
    merge_chat_generation_chunks as merge_chat_generation_chunks,
)

__all__ = [
    "ChatGeneration",
    "ChatGenerationChunk",
    "ChatResult",
    "Generation",
    "GenerationChunk",
    "LLMResult",
    "RunInfo",
]
