"""The streams of chat models: of chunks, with the message so far."""

from typing import cast

from hocket._pipeline.call import Call
from hocket._runtime.stream import Producer, Sink, Stream, SyncStream
from hocket.messages import AIMessage, AIMessageChunk

__all__ = ["ChatStream", "DiscardingSink", "SyncChatStream"]


class ChatStream(Stream[AIMessageChunk]):
    """An answer as it comes: an async iterator over its chunks, to be left at any point (see `Stream`)."""

    def __init__(self, call: Call, produce: Producer[AIMessageChunk]) -> None:
        super().__init__(produce)
        self._call = call

    @property
    def message(self) -> AIMessage:
        """What the model has said so far; the whole answer once the stream has ended.

        It may be ahead of the chunks that have been read, by up to 64: so many are fetched in advance.
        """
        return cast(AIMessage, self._call.delivery.fold.partial_message())


class SyncChatStream(SyncStream[AIMessageChunk]):
    """An answer as it comes: an iterator over its chunks (see `SyncStream`)."""

    def __init__(self, call: Call, produce: Producer[AIMessageChunk], *, stepped: bool) -> None:
        super().__init__(produce, stepped=stepped)
        self._call = call

    @property
    def message(self) -> AIMessage:
        """What the model has said so far; the whole answer once the stream has ended. May be ahead, as in `ChatStream`."""
        return cast(AIMessage, self._call.delivery.fold.partial_message())


class DiscardingSink:
    """A sink that keeps the chunks from a consumer who is to get the answer in one piece."""

    def __init__(self, sink: Sink[AIMessageChunk]) -> None:
        self._sink = sink

    @property
    def closed(self) -> bool:
        """Whether the consumer has left."""
        return self._sink.closed

    def put(self, item: AIMessageChunk) -> None:
        """Drop a chunk."""
