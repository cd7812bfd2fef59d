"""Chunks of llama.cpp's answer, an OpenAI chat completion stream, read as chunks of a message. Pure functions."""

from collections.abc import Mapping
from typing import Any

from hocket.messages import AIMessageChunk, UsageMetadata
from hocket.messages.tool_calls import ToolCallChunk, tool_call_chunk

__all__ = ["decode_chunk"]


def decode_chunk(chunk: Mapping[str, Any]) -> AIMessageChunk | None:
    """Return what a chunk says, or None if it says nothing.

    Text, reasoning (``additional_kwargs["reasoning_content"]``) and pieces of tool calls come one by one; the chunk
    with the finish reason, and after it the last one, with usage, model name and timings, have no content.
    """
    if usage := chunk.get("usage"):
        return AIMessageChunk(
            content="",
            id=chunk.get("id"),
            usage_metadata=_decode_usage(usage, chunk.get("timings") or {}),
            response_metadata={"model_name": chunk.get("model"), "timings": chunk.get("timings") or {}},
            chunk_position="last",
        )
    choices: list[dict[str, Any]] = chunk.get("choices") or []
    if not choices:
        return None
    reason = choices[0].get("finish_reason")
    delta: dict[str, Any] = choices[0].get("delta") or {}
    content, calls, reasoning = delta.get("content"), delta.get("tool_calls"), delta.get("reasoning_content")
    if not (content or calls or reasoning or reason):
        return None
    return AIMessageChunk(
        content=content or "",
        id=chunk.get("id"),
        additional_kwargs={"reasoning_content": reasoning} if reasoning else {},
        tool_call_chunks=[_decode_call(call) for call in calls or ()],
        response_metadata={"finish_reason": reason} if reason else {},
    )


def _decode_call(call: Mapping[str, Any]) -> ToolCallChunk:
    function: dict[str, Any] = call.get("function") or {}
    return tool_call_chunk(
        name=function.get("name"), args=function.get("arguments"), id=call.get("id"), index=call.get("index")
    )


def _decode_usage(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> UsageMetadata:
    counted: UsageMetadata = {
        "input_tokens": usage["prompt_tokens"],
        "output_tokens": usage["completion_tokens"],
        "total_tokens": usage["total_tokens"],
    }
    if "cache_n" in timings:
        counted["input_token_details"] = {"cache_read": timings["cache_n"]}
    return counted
