"""Which rows go into one batch: requests of one URL, one set of headers, one model and one key, as many as it may hold.

A row that asks the same as another one in a batch goes into none where a cache will have the answer.
"""

import hashlib
import secrets
from collections.abc import Iterator

from hocket._pipeline.cache import choose_cache
from hocket.batch.results import NumberedRow
from hocket.batch.wire import RequestTaken
from hocket.errors import InvalidInput, Unsupported
from hocket.remote.batch_client import BatchClient

__all__ = ["Chunk", "Chunks"]

MOST_BYTES = 32_000_000
"""Bytes of a batch, though some providers take more: it is in memory once, and what fails costs less."""


class Chunk:
    """Rows that will be a batch.

    Attributes:
        client: asks its endpoint.
        provider: the provider's name.
        key: hocket's name for the batch.
        rows: each with its line.
    """

    def __init__(self, client: BatchClient, provider: str) -> None:
        self.client = client
        self.provider = provider
        self.key: str = f"hk{secrets.token_hex(6)}"
        self.rows: list[tuple[NumberedRow, bytes]] = []
        self._size = 0

    def add(self, one: NumberedRow, content: bytes) -> bool:
        """Add a row with the body of its request; whether there was room.

        Raises:
            InvalidInput: no batch has room for it.
        """
        api = self.client.api
        line, most = api.encode_line(f"{self.key}-{one.number}", content), min(api.max_bytes, MOST_BYTES)
        if len(line) > most:
            raise InvalidInput(
                f"the row's request has {len(line)} bytes, and a batch takes {most}: make it shorter, or ask it live"
            )
        if len(self.rows) >= api.max_rows or self._size + len(line) > most:
            return False
        self.rows.append((one, line))
        self._size += len(line)
        return True


class Chunks:
    """The batches that are being filled."""

    def __init__(self) -> None:
        self._open: dict[object, Chunk] = {}
        self._asked: dict[bytes, str] = {}  # in which batch a request is, by what it asks
        self._equal: dict[str, list[NumberedRow]] = {}  # rows that ask the same as one in that batch

    def defer(self, one: NumberedRow, taken: RequestTaken) -> bool:
        """Whether a row waits, since it asks the same as one in a batch, and a cache will have the answer.

        Raises:
            Unsupported: its model has no batch endpoint.
        """
        if choose_cache(taken.model.cache) is None:
            return False
        group = _find_group(taken)
        key = (self._open.get(group) or self._begin(group, taken)).key
        return self._is_asked(one, key, repr(group).encode() + taken.request.content)

    def add(self, one: NumberedRow, taken: RequestTaken) -> Chunk | None:
        """Add a row; return a batch that has no room for it, and is full.

        Raises:
            InvalidInput: no batch has room for it.
            Unsupported: its model has no batch endpoint.
        """
        group = _find_group(taken)
        chunk = self._open.get(group) or self._begin(group, taken)
        if chunk.add(one, taken.request.content):
            return None
        self._begin(group, taken).add(one, taken.request.content)
        return chunk

    def take_all(self) -> Iterator[Chunk]:
        """Yield the batches as they are."""
        while self._open:
            yield self._open.pop(next(iter(self._open)))

    def release(self, key: str) -> list[NumberedRow]:
        """Return the rows that ask the same as one in a batch, which has ended."""
        return self._equal.pop(key, [])

    def _begin(self, group: object, taken: RequestTaken) -> Chunk:
        model = taken.model
        provider, api = model._provider, model._batch_api(taken.request)  # pyright: ignore[reportPrivateUsage]  # hooks
        if api is None:
            raise Unsupported(
                f"{type(model).__name__} has no batch endpoint; leave via out: rows are then asked live",
                provider=provider,
            )
        chunk = self._open[group] = Chunk(BatchClient(model, api), provider)
        return chunk

    def _is_asked(self, one: NumberedRow, key: str, request: bytes) -> bool:
        """Whether an equal row is in a batch that has not ended; this one then waits for it."""
        name = hashlib.sha256(request).digest()[:16]
        equal = self._equal.get(self._asked.get(name, ""))
        if equal is None:
            self._asked[name] = key
            self._equal.setdefault(key, [])
            return False
        equal.append(one)
        return True


def _find_group(taken: RequestTaken) -> object:
    """Return what the rows of a batch have in common."""
    request = taken.request
    return request.url, tuple(sorted(request.headers.items())), taken.name, taken.model.api_key
