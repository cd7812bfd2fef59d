"""Exchanges recorded with the official SDKs: what each sent, what it was answered, and what it made of that.

A recording is a JSON file in `tests/fixtures`, in a folder for each format. Its ``request`` is what the SDK sent, its
``response`` what a server answered (``body``, ``sse`` or ``ndjson``), and ``sdk_parsed`` what the SDK read in it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from hocket.errors import LLMError, StreamTruncated
from hocket.http.request import HTTPReply
from hocket.messages import AIMessage
from hocket.messages.ai import Collector
from hocket.outputs import ChatGenerationChunk
from hocket.remote.stream_decoder import StreamDecoder

__all__ = [
    "Recording",
    "check_cuts",
    "decode_pieces",
    "fold_chunks",
    "load_recordings",
    "outcome_of",
    "parametrize",
    "reply_in",
    "stream_in",
    "without_index",
]

Recording: TypeAlias = dict[str, Any]
Decoder: TypeAlias = StreamDecoder[ChatGenerationChunk]

FIXTURES = Path(__file__).parents[1] / "fixtures"


def load_recordings(*folders: str) -> dict[str, Recording]:
    """Return the recordings of some folders of `tests/fixtures`, by ``folder/name``."""
    return {
        f"{folder}/{path.stem}": json.loads(path.read_text())
        for folder in folders
        for path in sorted((FIXTURES / folder).glob("*.json"))
    }


def parametrize(
    metafunc: pytest.Metafunc, recordings: Mapping[str, Recording], kinds: Mapping[str, Callable[[Recording], bool]]
) -> None:
    """Run a test that takes one of ``kinds`` with each recording of that kind. To be called by `pytest_generate_tests`."""
    for kind, belongs in kinds.items():
        if kind in metafunc.fixturenames:
            cases = {name: case for name, case in recordings.items() if belongs(case)}
            metafunc.parametrize(kind, cases.values(), ids=cases.keys())


def reply_in(recording: Recording) -> HTTPReply:
    """Return the whole reply of a recording."""
    response = recording["response"]
    body = response["body"]
    content = body if isinstance(body, str) else json.dumps(body)
    return HTTPReply(response.get("status", 200), response.get("headers") or {}, content.encode())


def stream_in(recording: Recording) -> bytes:
    """Return the body of the streamed reply of a recording; nothing, where it is none."""
    response = recording["response"]
    text = response.get("sse") or response.get("ndjson") or ""
    return "".join(text).encode()


def decode_pieces(decoder: Decoder, pieces: Iterable[bytes]) -> list[ChatGenerationChunk]:
    """Return the chunks that a stream's decoder makes of these bytes, and of their end."""
    chunks: list[ChatGenerationChunk] = []
    for piece in pieces:
        chunks += decoder.feed(piece)
    return [*chunks, *decoder.close()]


def fold_chunks(chunks: Iterable[ChatGenerationChunk]) -> AIMessage:
    """Return the message that chunks make."""
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk.message)  # type: ignore[arg-type]
    return collector.message()


def outcome_of(decoder: Decoder, body: bytes) -> AIMessage | LLMError:
    """Return the message that a stream makes, or the error that it ends in."""
    try:
        return fold_chunks(decode_pieces(decoder, [body]))
    except LLMError as error:
        return error


def check_cuts(make_decoder: Callable[[], Decoder], body: bytes, whole_at: int) -> None:
    """Cut a stream at every byte: before ``whole_at`` it must be truncated, from there on its content is all there.

    Args:
        make_decoder: returns a new decoder.
        body: of the stream.
        whole_at: how many bytes of it make the answer whole; more than there are: it fails, and never becomes so.
    """
    whole = outcome_of(make_decoder(), body)
    for cut in range(len(body) + 1):
        made = outcome_of(make_decoder(), body[:cut])
        if cut < whole_at:
            assert isinstance(made, StreamTruncated) or (type(made), str(made)) == (type(whole), str(whole)), cut
        else:
            assert isinstance(made, AIMessage) and isinstance(whole, AIMessage), (cut, made)
            assert (made.content, made.tool_calls) == (whole.content, whole.tool_calls), cut


def without_index(content: Any) -> Any:
    """Return a content without the places that its parts had in a stream."""
    if isinstance(content, list):
        return [without_index(part) for part in content]
    if isinstance(content, dict):
        return {key: without_index(value) for key, value in content.items() if key != "index"}
    return content
