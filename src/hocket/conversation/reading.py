"""The streams of a conversation. They know how far they have been read.

When a reader leaves a stream early, only the part that it has read is stored. So the history never holds text that nobody
has seen. Other streams make chunks ahead of their readers. Here the producer waits until each chunk has been read, so
that the turn ends, and is stored, only after its last chunk.
"""

from collections.abc import Awaitable

import anyio

from hocket._runtime.mode import ASYNC
from hocket._runtime.sinks import RelaySink, Sink
from hocket._runtime.stream import Producer, Stream, SyncStream
from hocket._runtime.wait_queue import Waiter
from hocket.messages import AIMessage, AIMessageChunk, Collector

__all__ = ["ConversationStream", "Reading", "SyncConversationStream"]


class Reading:
    """How far an answer has been read, and the task that reads it.

    Attributes:
        reader: the id of the task that waits for the answer, or that read the last chunk; None: no task reads it.
    """

    def __init__(self) -> None:
        self.reader: int | None = None
        self._chunks = Collector()
        self._waiter: Waiter | None = None

    @property
    def message(self) -> AIMessage:
        """The answer so far."""
        return self._chunks.message()

    def add_chunk(self, chunk: AIMessageChunk) -> None:
        """Add a chunk that was read, and let the producer make the next one."""
        self._chunks.add(chunk)
        if self._waiter is not None:
            self._waiter.admitted = True
            self._waiter.wake()

    def expect_reader(self) -> Waiter:
        """Return what the producer waits for on an event loop: that the reader takes the next chunk."""
        self._waiter = Waiter(ASYNC)
        return self._waiter

    def wrap_sink(self, sink: Sink[AIMessageChunk]) -> Sink[AIMessageChunk]:
        """Return a sink in front of ``sink``, for event loops: its producer waits until each chunk has been read."""
        return _SinkOfReader(self, sink)


class _SinkOfReader(RelaySink[AIMessageChunk]):
    """A sink whose producer waits after each chunk until it has been read."""

    def __init__(self, reading: Reading, sink: Sink[AIMessageChunk]) -> None:
        super().__init__(sink)
        self._reading = reading

    def put(self, item: AIMessageChunk) -> Awaitable[None]:
        """Hand over a chunk; await the result to wait until the chunk is read."""
        return _wait_until_read(self._reading.expect_reader(), self._sink.put(item))


async def _wait_until_read(waiter: Waiter, waiting: Awaitable[None] | None) -> None:
    if waiting is not None:
        await waiting
    while not waiter.admitted:
        await waiter.wait()


class ConversationStream(Stream[AIMessageChunk]):
    """An answer as it comes: an async iterator over its chunks, to be left at any point (see `Stream`)."""

    def __init__(self, reading: Reading, produce: Producer[AIMessageChunk]) -> None:
        super().__init__(produce)
        self._reading = reading

    async def __anext__(self) -> AIMessageChunk:
        self._reading.reader = anyio.get_current_task().id
        chunk = await super().__anext__()
        self._reading.add_chunk(chunk)
        return chunk

    def __del__(self) -> None:
        self._reading.reader = None
        super().__del__()

    @property
    def message(self) -> AIMessage:
        """What has been read of the answer so far; all of it once the stream has ended."""
        return self._reading.message


class SyncConversationStream(SyncStream[AIMessageChunk]):
    """An answer as it comes: an iterator over its chunks (see `SyncStream`)."""

    def __init__(self, reading: Reading, produce: Producer[AIMessageChunk], *, stepped: bool) -> None:
        super().__init__(produce, stepped=stepped)
        self._reading = reading

    def __next__(self) -> AIMessageChunk:
        chunk = super().__next__()
        self._reading.add_chunk(chunk)
        return chunk

    @property
    def message(self) -> AIMessage:
        """What has been read of the answer so far; all of it once the stream has ended."""
        return self._reading.message
