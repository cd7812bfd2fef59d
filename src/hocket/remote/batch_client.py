"""Sends the requests of a batch endpoint, with the key, the client, the limits on time and the retries of a model."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic_core import from_json

from hocket.http.json_lines import JSONLines
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages.content import FieldsView
from hocket.remote.batch_api import BatchAPI, BatchState
from hocket.remote.chat_model import RemoteChatModel
from hocket.remote.stream_decoder import StreamDecoder

__all__ = ["BatchClient", "ResultLine"]

T = TypeVar("T")

ResultLine = bytes | FieldsView
"""A line of results, as it came, or read from JSON."""


class BatchClient:
    """Asks a batch endpoint. Each method raises an `LLMError` where the server failed or refused, after the model's retries.

    Args:
        model: whose key and connections are used.
        api: the endpoint.
    """

    def __init__(self, model: RemoteChatModel, api: BatchAPI) -> None:
        self.api = api
        self._model = model

    async def upload(self, key: str, lines: Sequence[bytes]) -> str | None:
        """Bring the lines of a batch to the server; return the file's name there, or None, where it takes none."""
        api = self.api
        step: HTTPRequest | str | None = api.upload(key, lines)
        while isinstance(step, HTTPRequest):
            step = await self._send(
                step, lambda reply: api.read_upload(reply, from_json(reply.content or b"null"), lines)
            )
        return step

    async def create(self, key: str, lines: Sequence[bytes], file: str | None) -> BatchState:
        """Make a batch: one request, which is never repeated here, for there may be a batch whatever its reply."""
        return await self._read(self.api.create(key, lines, file), self.api.read_state, is_repeatable=False)

    async def get(self, id: str) -> BatchState:
        """Return how far a batch is."""
        return await self._read(self.api.get(id), self.api.read_state)

    async def cancel(self, id: str) -> None:
        """Ask the server to cancel a batch."""
        await self._send(self.api.cancel(id), lambda reply: None)

    async def list(self, since: float) -> list[BatchState]:
        """Return the batches made since then, in seconds since 1970, and some older ones."""
        found: list[BatchState] = []
        cursor: str | None = None
        while True:
            at = cursor
            states, cursor = await self._read(self.api.list(at), lambda data: self.api.read_list(data, at))  # noqa: B023  # awaited here
            found += states
            if cursor is None or cursor == at or (states and 0 < states[-1].created_at < since):
                return found

    def fetch(self, place: str) -> AsyncGenerator[ResultLine, None]:
        """Yield the lines of results as they come, however many they are."""
        sender = replace(self._model._sender, max_bytes=None)  # pyright: ignore[reportPrivateUsage]  # a model's own room
        provider = sender.provider
        return sender.receive(
            self.api.fetch(place), lambda headers: _ResultLines(provider, headers), self._read_document
        )

    def _read_document(self, reply: HTTPReply) -> Iterable[ResultLine]:
        return self.api.read_results(reply.content)

    async def _read(self, request: HTTPRequest, read: Callable[[FieldsView], T], *, is_repeatable: bool = True) -> T:
        # Not `read_reply`: a batch that has failed says so in the words of a call that has.
        return await self._send(request, lambda reply: read(from_json(reply.content)), is_repeatable=is_repeatable)

    async def _send(self, request: HTTPRequest, read: Callable[[HTTPReply], T], *, is_repeatable: bool = True) -> T:
        model = self._model

        async def send(ends_at: float | None) -> T:
            if is_repeatable:
                return await model._send_again(lambda: request, read, ends_at)  # pyright: ignore[reportPrivateUsage]
            return await model._sender.send(request, read)  # pyright: ignore[reportPrivateUsage]

        return await model._run_in_time(send, "a request about a batch")  # pyright: ignore[reportPrivateUsage]


class _ResultLines(StreamDecoder[ResultLine]):
    """Yields the lines of a body as they are: one that is no JSON is to cost no other."""

    framing = JSONLines

    def read(self, data: FieldsView, event: str) -> None:
        """Read nothing: lines are handed out as they are."""

    def feed(self, data: bytes) -> Iterable[bytes]:  # type: ignore[override]
        """Return the lines that these bytes complete."""
        if self._start is not None:
            self._start += data
            self._refuse_page(self._start)
            self._start = None if self._start.strip() else b""
        return [line for line in self._framing.feed(data) if isinstance(line, bytes)]

    def close(self) -> Iterable[bytes]:
        """Return the last line, where no line end has closed it."""
        assert isinstance(self._framing, JSONLines)
        return self._framing.close()
