"""The room reads streams of any format: three others than OpenAI's, by decoders of a few lines, fed with recordings."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket.errors import (
    InvalidReply,
    LLMError,
    Overloaded,
    ProviderUnavailable,
    RateLimitError,
    StreamTruncated,
)
from hocket.http import JSONLines
from hocket.messages import AIMessage, AIMessageChunk
from hocket.messages.tool_calls import tool_call_chunk
from hocket.outputs import ChatGenerationChunk
from hocket.remote import StreamDecoder, count_of, make_usage, normalize_finish

FIXTURES = Path(__file__).parents[1] / "fixtures"


def chunk(content: Any = "", **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=content, **fields))


class NamedEvents(StreamDecoder[ChatGenerationChunk]):
    """Anthropic's: events have names, and the last one is called message_stop."""

    def read(self, data: dict[str, Any], event: str) -> ChatGenerationChunk | None:
        index = data.get("index")
        if event == "content_block_start":
            block = data["content_block"]
            if block["type"] == "tool_use":
                return chunk(
                    tool_call_chunks=[tool_call_chunk(name=block["name"], id=block["id"], index=index, args="")]
                )
        elif event == "content_block_delta":
            return self.read_delta(data["delta"], index)
        elif event == "message_delta":
            usage = make_usage(0, count_of(data["usage"]["output_tokens"]))
            finish = normalize_finish(data["delta"]["stop_reason"], {"end_turn": "stop", "tool_use": "tool_calls"})
            return chunk(response_metadata=finish, usage_metadata=usage)
        elif event == "message_stop":
            self.done = self.ended = True
        return None

    def read_delta(self, delta: dict[str, Any], index: Any) -> ChatGenerationChunk | None:
        match delta["type"]:
            case "text_delta":
                return chunk(delta["text"])
            case "thinking_delta":
                return chunk(additional_kwargs={"reasoning_content": delta["thinking"]})
            case "input_json_delta":
                return chunk(tool_call_chunks=[tool_call_chunk(args=delta["partial_json"], index=index)])
            case _:
                return None


class NoMarker(StreamDecoder[ChatGenerationChunk]):
    """Gemini's: each event is a reply of its own, and the last one has a finish reason."""

    def read(self, data: dict[str, Any], event: str) -> ChatGenerationChunk:
        candidate = data["candidates"][0]
        parts = candidate.get("content", {}).get("parts", [])
        finish = normalize_finish(candidate.get("finishReason"), {"STOP": "stop"})
        self.ended = self.ended or bool(finish)
        text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        thought = "".join(part.get("text", "") for part in parts if part.get("thought"))
        return chunk(
            text, additional_kwargs={"reasoning_content": thought} if thought else {}, response_metadata=finish
        )


class Lines(StreamDecoder[ChatGenerationChunk]):
    """Ollama's: JSON lines, of which the last one says that it is."""

    framing = JSONLines

    def read(self, data: dict[str, Any], event: str) -> ChatGenerationChunk:
        self.done = self.ended = data["done"]
        message = data["message"]
        calls = [
            tool_call_chunk(
                name=call["function"]["name"],
                args=json.dumps(call["function"]["arguments"]),
                id=call["id"],
                index=call["function"]["index"],
            )
            for call in message.get("tool_calls", ())
        ]
        return chunk(
            message["content"],
            tool_call_chunks=calls,
            response_metadata=normalize_finish(data.get("done_reason"), {"stop": "stop"}),
        )


def recorded(name: str) -> bytes:
    """Return the body of a recorded stream."""
    response = json.loads((FIXTURES / f"{name}.json").read_text())["response"]
    body: str = response.get("sse") or response["ndjson"]
    return body.encode()


def pieces(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def fold(kind: type[StreamDecoder[ChatGenerationChunk]], body: bytes, size: int = 7) -> AIMessage:
    """Return the message that a stream folds to, fed in pieces."""
    decoder = kind("parlour")
    chunks = [item for piece in pieces(body, size) for item in decoder.feed(piece)]
    chunks += decoder.close()
    total = chunks[0]
    for item in chunks[1:]:
        total += item
    message: Any = total.message
    return message


WHOLE = [
    (NamedEvents, "anthropic/stream_parallel_tool_use", "Checking."),
    (NamedEvents, "anthropic/stream_thinking_text_citation", None),
    (NamedEvents, "anthropic/stream_tool_no_args_final", ""),
    (NoMarker, "gemini/stream_text_thought", None),
    (Lines, "ollama/stream_tool_calls", ""),
]


@pytest.mark.parametrize(("kind", "name", "text"), WHOLE, ids=[name for _, name, _ in WHOLE])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_whole_stream_folds(kind: Any, name: str, text: str | None, size: int) -> None:
    """However it is cut on the way, its text, calls and finish reason come out."""
    message = fold(kind, recorded(name), size)
    assert message.text == text if text is not None else message.text
    assert message.response_metadata["finish_reason"]
    if "tool" in name:
        assert message.tool_calls and not message.invalid_tool_calls
    if "thinking" in name or "thought" in name:
        assert message.additional_kwargs["reasoning_content"]


@pytest.mark.parametrize(("kind", "name", "text"), WHOLE, ids=[name for _, name, _ in WHOLE])
def test_a_stream_that_is_cut(kind: Any, name: str, text: str | None) -> None:
    """At a third it is truncated, and so it is anywhere before its end: no end is invented."""
    body = recorded(name)
    with pytest.raises(StreamTruncated, match="it ended before a finish reason") as caught:
        fold(kind, body[: len(body) // 3])
    assert caught.value.retryable and caught.value.provider == "parlour"
    for at in range(0, len(body) * 2 // 3, 97):
        decoder = kind("parlour")
        list(decoder.feed(body[:at]))
        with pytest.raises(StreamTruncated):
            decoder.close()


def test_a_stream_without_a_stop_reason() -> None:
    """A decoder's own word counts: this one ends with message_stop, and says nothing at all."""
    decoder = NamedEvents("parlour")
    assert list(decoder.feed(recorded("anthropic/stream_unknown_event_ignored"))) == []
    assert decoder.done and decoder.close() == []


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (NamedEvents, "anthropic/stream_error_midway", Overloaded),
        (NoMarker, "gemini/stream_error_midway", ProviderUnavailable),
        (Lines, "ollama/stream_error_midway", LLMError),
    ],
)
def test_an_error_in_mid_stream(kind: Any, name: str, error: type[LLMError]) -> None:
    """It is told as what it is, with the provider's name, whatever had come before."""
    with pytest.raises(error) as caught:
        fold(kind, recorded(name))
    assert caught.value.provider == "parlour"
    assert isinstance(caught.value, error) and not isinstance(caught.value, InvalidReply | StreamTruncated)


class Plain(StreamDecoder[str]):
    """As little as a format has."""

    end_marker = b"THE END"

    def read(self, data: dict[str, Any], event: str) -> str | None:
        self.ended = self.ended or "why" in data
        return f"{event}{data['text']}" if "text" in data else None

    def find_error(self, data: dict[str, Any]) -> object:
        return data.get("oops") or super().find_error(data)

    def read_end(self) -> list[str]:
        return [] if self.done else ["no marker"]


class PlainLines(Plain):
    framing = JSONLines


def read(body: bytes, kind: type[Plain] = Plain) -> list[str]:
    decoder = kind("parlour")
    return [*decoder.feed(body), *decoder.close()]


@pytest.mark.parametrize(
    ("kind", "body", "texts"),
    [
        (Plain, b'data: {"text":"a"}\n\ndata: {"why":1}\n\ndata: THE END\n\ndata: {"text":"b"}\n\n', ["a"]),
        (Plain, b'event: x\ndata: {"text":"a"}\n\ndata: {"why":1}\n\n', ["xa", "no marker"]),
        (PlainLines, b'{"text":"a"}\n{"why":1}\n', ["a", "no marker"]),
        (PlainLines, b'{"text":"a"}\n{"text":"b","why":1}', ["a", "b", "no marker"]),
    ],
)
def test_markers_names_and_ends(kind: type[Plain], body: bytes, texts: list[str]) -> None:
    """Nothing is read behind the end marker; a last line needs no line end; what is left is said at the end."""
    assert read(body, kind) == texts


@pytest.mark.parametrize(
    ("kind", "body", "error", "said"),
    [
        (Plain, b'data: {"text":"a"}\n\ndata: THE END\n\n', StreamTruncated, "its end marker came before"),
        (Plain, b"<html>sign in</html>", InvalidReply, "no stream of events: '<html>"),
        (PlainLines, b"<html>sign in</html>", InvalidReply, "no stream of events: '<html>"),
        (Plain, b'{"text":"a","why":1}', InvalidReply, "no stream of events"),
        (Plain, b'{"error":{"message":"slow down","code":429}}', RateLimitError, "slow down"),
        (PlainLines, b'{"error":{"message":"slow down","code":429}}', RateLimitError, "slow down"),
        (PlainLines, b'{"text":"a"}\n{"text":"b', StreamTruncated, "not whole"),
        (Plain, b"data: {nonsense\n\n", InvalidReply, "not JSON: '{nonsense'"),
        (Plain, b"event: error\ndata: rate limit reached\n\n", RateLimitError, "rate limit reached"),
        (Plain, b'data: {"oops":{"message":"slow","code":429}}\n\n', RateLimitError, "slow"),
        (Plain, b"data: [1]\n\n", InvalidReply, "another shape"),
        (Plain, b"data: 1e400\n\n", InvalidReply, "another shape"),
        (Plain, b"", StreamTruncated, "it ended"),
    ],
)
def test_what_is_no_stream(kind: type[Plain], body: bytes, error: type[LLMError], said: str) -> None:
    """Each comes out as one of hocket's errors, and as the one that it is."""
    with pytest.raises(error, match=said):
        read(body, kind)


class Careless(Plain):
    """Reads with the exceptions that Python has for odd values."""

    def read(self, data: dict[str, Any], event: str) -> str:
        return str(int(data["count"]))


@pytest.mark.parametrize("value", [b"1e400", b"Infinity", b"NaN", b"null", b'"x"', b"[]"])
def test_whatever_reading_raises(value: bytes) -> None:
    """Overflow included: a provider need not foresee each odd value."""
    with pytest.raises(InvalidReply, match="another shape"):
        read(b'data: {"count":' + value + b"}\n\n", Careless)
