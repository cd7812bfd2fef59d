"""Exchanges recorded with the official SDKs: what each sent, what it was answered, and what it made of that.

A recording is a JSON file in `tests/fixtures`, in a folder for each format. Its ``request`` is what the SDK sent, its
``response`` what a server answered (``body``, ``sse`` or ``ndjson``), and ``sdk_parsed`` what the SDK read in it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from hocket.errors import LLMError, StreamTruncated
from hocket.http.request import HTTPReply
from hocket.messages import AIMessage
from hocket.messages.ai import Collector
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.remote.stream_decoder import StreamDecoder

__all__ = [
    "Reader",
    "Recording",
    "load_recordings",
    "make_reply",
    "parametrize_by",
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


KINDS: dict[str, Callable[[Recording], bool]] = {
    "chat_stream": lambda case: "sse" in case["response"],
    "failure": lambda case: "status" in case["response"] and case["response"]["status"] >= 400,
}
"""What a format's own kinds are beside."""


def parametrize_by(
    recordings: Mapping[str, Recording], **kinds: Callable[[Recording], bool]
) -> Callable[[pytest.Metafunc], None]:
    """Return a `pytest_generate_tests` that runs a test with each recording of the kind that it takes as an argument.

    Args:
        recordings: those of a format.
        kinds: whether a recording is of a kind; `KINDS` are there by themselves.
    """

    def generate_tests(metafunc: pytest.Metafunc) -> None:
        for kind, belongs in (KINDS | kinds).items():
            if kind in metafunc.fixturenames:
                cases = {name: case for name, case in recordings.items() if belongs(case)}
                metafunc.parametrize(kind, cases.values(), ids=cases.keys())

    return generate_tests


def make_reply(data: object) -> HTTPReply:
    """Return a whole reply whose body is this data."""
    return HTTPReply(200, {}, json.dumps(data).encode())


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


class Reader(NamedTuple):
    """How a provider reads what its server sends.

    Attributes:
        decode_reply: reads a whole reply.
        make_decoder: returns a decoder for one stream.
    """

    decode_reply: Callable[[HTTPReply], ChatResult]
    make_decoder: Callable[[], Decoder]

    def read(self, reply: HTTPReply) -> AIMessage:
        """Return the message of a whole reply, the first one if there are several."""
        message = self.decode_reply(reply).generations[0].message
        assert isinstance(message, AIMessage)
        return message

    def decode_stream(self, pieces: Iterable[bytes]) -> list[ChatGenerationChunk]:
        """Return the chunks of a stream that comes in these pieces, and then ends."""
        decoder = self.make_decoder()
        chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
        return [*chunks, *decoder.close()]

    def fold_stream(self, *pieces: bytes) -> AIMessage:
        """Return the message that the chunks of a stream make."""
        collector = Collector()
        for chunk in self.decode_stream(pieces):
            collector.add(chunk.message)  # type: ignore[arg-type]
        return collector.message()

    def outcome_of(self, body: bytes) -> AIMessage | LLMError:
        """Return the message that a stream makes, or the error that it ends in."""
        try:
            return self.fold_stream(body)
        except LLMError as error:
            return error

    def check_bytes(self, body: bytes) -> None:
        """Fail if a stream that comes byte by byte is not read as if it had come at once."""
        assert self.decode_stream(body[at : at + 1] for at in range(len(body))) == self.decode_stream([body])

    def check_cuts(self, body: bytes, whole_at: int) -> None:
        """Cut a stream at every byte: before ``whole_at`` it must be truncated, from there on its content is all there.

        Args:
            body: of the stream.
            whole_at: how many bytes of it make the answer whole; more than there are: it fails, and never becomes so.
        """
        whole = self.outcome_of(body)
        for cut in range(len(body) + 1):
            made = self.outcome_of(body[:cut])
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
