"""Which rows go into one batch: requests of one URL, one set of headers, one model and one key, as many as it may hold.

A row that asks the same as another one in a batch goes into none where a cache will have the answer.
"""

import hashlib
import secrets
from collections.abc import Hashable, Iterator

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
        rows: each with the digest of its request, its line, and what budgets hold for it.
    """

    def __init__(self, client: BatchClient, provider: str) -> None:
        self.client = client
        self.provider = provider
        self.key: str = f"hk{secrets.token_hex(6)}"
        self.rows: list[tuple[NumberedRow, int, bytes, int]] = []
        self._size = 0

    def add(self, one: NumberedRow, taken: RequestTaken, held: int) -> bool:
        """Add a row with its request; whether there was room.

        Raises:
            InvalidInput: no batch has room for it.
        """
        api = self.client.api
        line, most = api.encode_line(f"{self.key}-{one.number}", taken.request.content), min(api.max_bytes, MOST_BYTES)
        if len(line) > most:
            raise InvalidInput(
                f"the row's request has {len(line)} bytes, and a batch takes {most}: make it shorter, or ask it live"
            )
        if len(self.rows) >= api.max_rows or self._size + len(line) > most:
            return False
        self.rows.append((one, taken.digest, line, held))
        self._size += len(line)
        return True


class Chunks:
    """The batches that are being filled."""

    def __init__(self) -> None:
        self._open: dict[object, Chunk] = {}
        self._asked: dict[bytes, str] = {}  # in which batch a request is, by what it asks
        self._equal: dict[str, list[NumberedRow]] = {}  # rows that ask the same as one in that batch

    def add(self, one: NumberedRow, taken: RequestTaken, held: int) -> Chunk | None:
        """Add a row, for which budgets hold so many units; return a batch that has no room for it, and is full.

        Raises:
            InvalidInput: no batch has room for it.
            Unsupported: its model has no batch endpoint.
        """
        group = _find_group(taken)
        chunk, full = self._open.get(group) or self._begin(group, taken), None
        if not chunk.add(one, taken, held):
            chunk, full = self._begin(group, taken), chunk
            chunk.add(one, taken, held)
        if choose_cache(taken.model.cache) is not None:
            self._asked[_name_request(taken)] = chunk.key
            self._equal.setdefault(chunk.key, [])
        return full

    def set_aside(self, one: NumberedRow, taken: RequestTaken) -> bool:
        """Whether a row asks the same as one in a batch that has not ended, and a cache will have the answer.

        It then waits for that.
        """
        if choose_cache(taken.model.cache) is None:
            return False
        equal = self._equal.get(self._asked.get(_name_request(taken), ""))
        if equal is not None:
            equal.append(one)
        return equal is not None

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


def _find_group(taken: RequestTaken) -> Hashable:
    """Return what the rows of a batch have in common."""
    request = taken.request
    return request.url, tuple(sorted(request.headers.items())), taken.name, taken.model.api_key


def _name_request(taken: RequestTaken) -> bytes:
    return hashlib.sha256(repr(_find_group(taken)).encode() + taken.request.content).digest()[:16]
