"""Embeddings that are kept, under LangChain's name: a text is embedded once, also over processes, if its cache lasts."""

import hashlib
import math
import re
import sys
import threading
from array import array
from collections.abc import Iterable, MutableMapping, Sequence
from typing import Protocol, Self, runtime_checkable

from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket.embeddings.base import Embeddings, check_vectors
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint

__all__ = ["ByteCache", "CacheBackedEmbeddings"]

_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_.-]")
_MOST = 100  # characters of a namespace in a key, which may name a file


@runtime_checkable
class ByteCache(Protocol):
    """What a cache needs of LangChain's byte stores (``InMemoryByteStore``, ``LocalFileStore``, ``RedisStore`` …)."""

    def mget(self, keys: Sequence[str], /) -> Sequence[bytes | None]:
        """Return the value of each key; None: there is none."""
        ...

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]], /) -> object:
        """Keep values by their keys."""
        ...


class CacheBackedEmbeddings(Embeddings):
    """Asks a model for the vectors that a cache does not have, and keeps them there.

        model = CacheBackedEmbeddings(OpenAIEmbeddings(), dbm.dumb.open("vectors"))

    What has come is kept at once, batch by batch: a run that breaks off goes on where it was. A damaged entry is a miss.

    Args:
        embedding: the model.
        cache: a mapping from texts to bytes (a ``dict``, a file of ``dbm.dumb``), or a byte store of LangChain's. It is
            used in worker threads, one at a time, which ``shelve.open`` does not allow from Python 3.13 on: there it is
            SQLite, bound to the thread that opened it.
        namespace: what keys begin with, so that vectors of two models in one cache are told apart. Default: the model's
            ``model_id``. Characters that LangChain's ``LocalFileStore`` refuses in a key are written as ``_``; the digest
            behind them tells the namespaces apart.
        batch_size: texts that the model is asked for at once. Default: all.
        cache_queries: keep the vectors of questions, too. They often come only once.

    Raises:
        InvalidInput: an argument cannot be used.
        InvalidHook: by the verbs: the model returned too few vectors.
    """

    def __init__(
        self,
        embedding: Embeddings,
        cache: MutableMapping[str, bytes] | ByteCache,
        *,
        namespace: str | None = None,
        batch_size: int | None = None,
        cache_queries: bool = False,
    ) -> None:
        if not isinstance(embedding, Embeddings):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            hint = bridge_hint(embedding) or ": OpenAIEmbeddings(...)"
            raise InvalidInput(f"embedding is {type(embedding).__name__}; it is an embedding model{hint}")
        if not isinstance(cache, MutableMapping | ByteCache):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"cache is {type(cache).__name__}; it is a mapping, or a store with mget and mset")
        if batch_size is not None and batch_size < 1:
            raise InvalidInput(f"batch_size is {batch_size!r}; it is a number above 0, or None")
        self._embedding = embedding
        self._cache = cache
        self._namespace = embedding.model_id if namespace is None else namespace
        self._prefix = _NOT_IN_KEYS.sub("_", self._namespace)[:_MOST]
        self._batch_size = batch_size
        self._cache_queries = cache_queries
        self._turn = threading.Lock()

    @classmethod
    def from_bytes_store(
        cls,
        underlying_embeddings: Embeddings,
        document_embedding_cache: MutableMapping[str, bytes] | ByteCache,
        *,
        namespace: str | None = None,
        batch_size: int | None = None,
        query_embedding_cache: bool = False,
    ) -> Self:
        """Do as the constructor, under LangChain's names of its arguments. Its caches are not read: their keys differ."""
        return cls(
            underlying_embeddings,
            document_embedding_cache,
            namespace=namespace,
            batch_size=batch_size,
            cache_queries=query_embedding_cache,
        )

    @property
    def model_id(self) -> str:
        """That of the model: the vectors are its own."""
        return self._embedding.model_id

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order; equal texts are embedded once."""
        keys = {text: self._make_key("document", text) for text in texts}
        vectors = await self._read(keys)
        missing = [text for text in keys if text not in vectors]
        size = self._batch_size or len(missing) or 1
        for start in range(0, len(missing), size):
            batch = missing[start : start + size]
            made = await self._embedding.aembed_documents(batch)
            await ASYNC.call_sync(check_vectors, made, len(batch), self._embedding)
            vectors.update(zip(batch, made, strict=True))
            await self._write({keys[text]: vectors[text] for text in batch})
        return [vectors[text] for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a text that others are searched with."""
        if not self._cache_queries:
            return await self._embedding.aembed_query(text)
        key = self._make_key("query", text)
        found = await self._read({text: key})
        if text not in found:
            found[text] = await self._embedding.aembed_query(text)
            check_vectors([found[text]], 1, self._embedding)
            await self._write({key: found[text]})
        return found[text]

    def _make_key(self, kind: str, text: str) -> str:
        named = f"{self._namespace}\0{kind}\0{text}"
        return f"{self._prefix}-{hashlib.sha256(named.encode('utf-8', 'surrogatepass')).hexdigest()}"

    async def _read(self, keys: dict[str, str]) -> dict[str, list[float]]:
        """Return the vectors that the cache has, by text."""
        cache = self._cache

        def read() -> Iterable[bytes | None]:
            with self._turn:
                if isinstance(cache, MutableMapping):
                    return [cache.get(key) for key in keys.values()]
                return cache.mget(list(keys.values()))

        values: Iterable[bytes | None] = await ASYNC.call_sync(read) if keys else ()
        vectors = {text: _decode(value) for text, value in zip(keys, values, strict=True) if value}
        return {text: vector for text, vector in vectors.items() if vector}

    async def _write(self, vectors: dict[str, list[float]]) -> None:
        cache = self._cache

        def write() -> None:
            pairs = [(key, _encode(vector)) for key, vector in vectors.items()]
            with self._turn:
                if isinstance(cache, MutableMapping):
                    cache.update(pairs)
                else:
                    cache.mset(pairs)

        await finish_write(lambda: ASYNC.call_sync(write))


def _encode(vector: Sequence[float]) -> bytes:
    """Return a vector as little-endian 64-bit floats: what the model said, to the last bit."""
    numbers = array("d", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _decode(value: bytes) -> list[float] | None:
    """Return the vector; None: the entry is damaged."""
    numbers = array("d")
    if len(value) % numbers.itemsize:
        return None
    numbers.frombytes(value)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist() if math.isfinite(math.fsum(numbers)) else None
