"""The streams of a conversation, which know how far they have been read.

What is stored of an answer that was left early is what its reader has got, so that the model does not believe to have
said what nobody heard. Other streams run ahead of their readers; the producer of one of these waits until each chunk has
been taken, and so has not ended, with its turn stored, before all of it has been read.
"""

from collections.abc import Awaitable
from typing import Any

import anyio

from hocket._runtime.runtime import ASYNC
from hocket._runtime.stream import Producer, Sink, Stream, SyncStream
from hocket._runtime.wait_queue import Waiter
from hocket.messages import AIMessage, AIMessageChunk, Collector

__all__ = ["ConversationStream", "Reading", "SyncConversationStream"]


class Reading:
    """What has been read of an answer, and by whom.

    Attributes:
        reader: the task that waits for the answer, or has read the last of it, by its id; None: none does any more.
    """

    def __init__(self) -> None:
        self.reader: int | None = None
        self._chunks = Collector()
        self._waiter: Waiter | None = None

    @property
    def message(self) -> AIMessage:
        """The answer so far."""
        return self._chunks.message()

    def took(self, chunk: AIMessageChunk) -> None:
        """Note that the reader has a chunk, and have the next one made."""
        self._chunks.add(chunk)
        if self._waiter is not None:
            self._waiter.admitted = True
            self._waiter.wake()

    def paced(self, sink: Sink[AIMessageChunk]) -> Sink[AIMessageChunk]:
        """Return a sink in front of ``sink`` that has its producer, on an event loop, wait until each chunk is taken."""
        return _Paced(self, sink)


class _Paced:
    def __init__(self, reading: Reading, sink: Sink[Any]) -> None:
        self._reading = reading
        self._sink = sink

    @property
    def closed(self) -> bool:
        """Whether the consumer has left."""
        return self._sink.closed

    def put(self, item: Any) -> Awaitable[None]:
        """Hand over a chunk."""
        waiter = self._reading._waiter = Waiter(ASYNC)
        return _until_taken(waiter, self._sink.put(item))


async def _until_taken(waiter: Waiter, waiting: Awaitable[None] | None) -> None:
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
        self._reading.took(chunk)
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
        self._reading.took(chunk)
        return chunk

    @property
    def message(self) -> AIMessage:
        """What has been read of the answer so far; all of it once the stream has ended."""
        return self._reading.message
