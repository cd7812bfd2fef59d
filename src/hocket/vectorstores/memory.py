"""A vector store in the memory of this process, under LangChain's name.

Beside the vectors it knows which documents have which words, and scores them by BM25, as SQLite's FTS5 counts it. A word
counts more the fewer documents have it, and less for each further time that it is in one; long documents have to have it
more often. A store in memory and one in SQLite so find the same, with the same scores but for some millionths. Documents
have numbers and never change; the index follows the growing list of them, and is built when words are first searched for. A
search begins with the rarest word, and looks a common one up in the documents that it has found already, as soon as no
other can be among the best.
"""

import heapq
import math
import threading
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors.hints import explain_arguments
from hocket.messages.pieces import copy_containers
from hocket.vectorstores.base import VectorStore
from hocket.vectorstores.columns import MISSING, Columns, join_masks
from hocket.vectorstores.filters import Condition, Filter, check_size, parse_filter
from hocket.vectorstores.matrix import make_rows
from hocket.vectorstores.ranking import Match
from hocket.vectorstores.rows import Row, Rows, normalize
from hocket.vectorstores.words import split_query, split_words

__all__ = ["InMemoryVectorStore", "WordIndex"]


class InMemoryVectorStore(VectorStore):
    """Keeps documents in this process; they are gone with it. Any number of tasks and threads may use it at once.

    Searches are exact. With numpy (``pip install 'hocket[vectors]'``) one takes some 10 ms over 100,000 documents; without
    it, it is fine for 5,000.

    Args:
        embedding: the model whose vectors it holds.
    """

    @explain_arguments(embedding_function="embedding", embeddings="embedding")
    def __init__(self, embedding: Embeddings) -> None:
        super().__init__(embedding)
        self._lock = threading.Lock()
        self._table = _Table()

    def __len__(self) -> int:
        return len(self._table.numbers)

    def __repr__(self) -> str:
        return f"InMemoryVectorStore({type(self.embeddings).__name__}, {len(self)} documents)"

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        """Store documents with their vectors."""

        def add() -> None:
            rows = [normalize(vector) for vector in vectors]
            with self._lock:
                self._table.append(documents, rows)

        await finish_write(lambda: ASYNC.call_sync(add))

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        """Return the nearest documents."""
        condition = _parse(filter)

        def search() -> list[Match]:
            row = normalize(vector)
            table, _, wanted = self._choose(condition)
            return table.search(row, k, wanted)

        return await ASYNC.call_sync(search)

    async def asearch_words(self, query: str, k: int, filter: Filter | None = None) -> list[Match]:
        """Return the documents that have words of ``query``, best first by BM25."""
        condition, words = _parse(filter), split_query(query)

        def search() -> list[Match]:
            table, alive, wanted = self._choose(condition)
            return table.search_words(words, k, alive, wanted)

        return await ASYNC.call_sync(search)

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        """Delete the documents with these ids; None: all documents."""

        def delete() -> None:
            with self._lock:
                if ids is not None:
                    self._table.remove(ids)
                if ids is None or self._table.is_mostly_dead:
                    self._table = self._table.compact() if ids is not None else _Table()

        await finish_write(lambda: ASYNC.call_sync(delete))

    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids."""
        with self._lock:
            table = self._table
            return [_copy(table.documents[table.numbers[one]]) for one in ids if one in table.numbers]

    async def afind_vectors(self, texts: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Return the vectors of texts that are in the store."""
        with self._lock:
            table = self._table
            return {text: table.rows.read(table.texts[text]) for text in texts if table.rows and text in table.texts}

    async def alist_ids(self, filter: Filter | None = None) -> list[str]:
        """Return the ids of the documents that match a filter."""
        condition = _parse(filter)

        def list_ids() -> list[str]:
            table, _, wanted = self._choose(condition)
            return [str(document.id) for document, one in zip(table.documents, wanted, strict=False) if one]

        return await ASYNC.call_sync(list_ids)

    def _choose(self, condition: Condition | None) -> "tuple[_Table, bytes, bytes]":
        """Return the table, and a byte for each of its documents: 1 if it is alive; and 1 if it also matches."""
        with self._lock:
            table, alive = self._table, bytes(self._table.alive)
        return table, alive, alive if condition is None else table.keep(alive, condition)


def _parse(filter: Filter | None) -> Condition | None:
    return None if filter is None else parse_filter(filter)


class _Table:
    """Documents and their vectors by number. What has a number keeps it: a search needs the lock only to begin.

    Attributes:
        documents: by number, those that were deleted included.
        alive: a byte for each: 0 for one that was deleted, or replaced by a later one.
        numbers: of the documents that are alive, by id.
        texts: a number for each text.
        rows: their vectors; None: there has been none yet.
        columns: of their metadata.
        words: of the documents.
    """

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.alive = bytearray()
        self.numbers: dict[str, int] = {}
        self.texts: dict[str, int] = {}
        self.rows: Rows | None = None
        self.columns = Columns()
        self.words = WordIndex()
        self._size = 0

    def append(self, documents: Sequence[Document], rows: Sequence[Row]) -> None:
        """Add documents; those with the same ids are deleted.

        Raises:
            EmbeddingMismatch: the vectors are of another size.
        """
        if not rows:
            return
        if self.rows is None:
            self._size = len(rows[0])
            self.rows = make_rows(self._size)
        check_size(len(rows[0]), self._size, "the store")
        self.rows.append(rows)
        self.remove([str(document.id) for document in documents])
        for number, document in enumerate(documents, len(self.documents)):
            self.numbers[str(document.id)] = number
            self.texts[document.page_content] = number
        self.documents.extend(documents)
        self.alive.extend(b"\1" * len(documents))

    def remove(self, ids: Iterable[str]) -> None:
        """Delete the documents with these ids, of those that are there."""
        for one in ids:
            number = self.numbers.pop(one, None)
            if number is not None:
                self.alive[number] = 0

    @property
    def is_mostly_dead(self) -> bool:
        """Whether most of its memory holds what was deleted."""
        return len(self.alive) > 2 * len(self.numbers) + 1_000

    def compact(self) -> "_Table":
        """Return a table of what is alive, in the same order."""
        made, numbers = _Table(), sorted(self.numbers.values())
        if self.rows is not None:
            rows = [array("f", self.rows.read(number)) for number in numbers]
            made.append([self.documents[number] for number in numbers], rows)
        return made

    def keep(self, alive: bytes, condition: Condition) -> bytes:
        """Return ``alive``, with 0 for documents that do not match."""

        def read(key: str, start: int) -> list[object]:
            return [document.metadata.get(key, MISSING) for document in self.documents[start : len(alive)]]

        return join_masks([alive, self.columns.find(condition, len(alive), read)])

    def search(self, row: Row, k: int, alive: bytes) -> list[Match]:
        """Return the nearest documents of those that are alive.

        Raises:
            EmbeddingMismatch: the vector is of another size.
        """
        rows = self.rows
        if rows is None:
            return []
        check_size(len(row), self._size, "the store")
        return [
            Match(_copy(self.documents[number]), score, rows.read(number))
            for number, score in rows.search(row, k, alive)
        ]

    def search_words(self, words: Sequence[str], k: int, alive: bytes, wanted: bytes) -> list[Match]:
        """Return the documents that have some of the words, of those that are wanted."""
        self.words.follow(self.documents, len(alive))
        return [
            Match(_copy(self.documents[number]), score, self.rows.read(number) if self.rows else None)
            for number, score in self.words.search(words, k, alive, wanted)
        ]


def _copy(document: Document) -> Document:
    """Return a copy that a caller may change."""
    return document.model_copy(update={"metadata": copy_containers(document.metadata)})


_K1 = 1.2
_B = 0.75
_LEAST_WEIGHT = 1e-6
"""Of a word that more than half of the documents have."""

_ALMOST = 1 - 1e-9
"""Sums of the same numbers in another order differ by less."""


class WordIndex:
    """The words of numbered documents. Any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[str, tuple[array[int], array[int]]] = {}  # numbers of documents, and how often each has it
        self._lengths: array[int] = array("L")

    def follow(self, documents: Sequence[Document], count: int) -> None:
        """Add those of the first ``count`` documents that it does not have yet."""
        with self._lock:
            for number in range(len(self._lengths), count):
                words = split_words(documents[number].page_content)
                for word, count in Counter(words).items():
                    numbers, counts = self._places.setdefault(word, (array("L"), array("L")))
                    numbers.append(number)
                    counts.append(count)
                self._lengths.append(len(words))

    def search(self, words: Sequence[str], k: int, alive: bytes, wanted: bytes) -> list[tuple[int, float]]:
        """Return the numbers and scores of the ``k`` best documents that have one of ``words``, best first, then by
        number.

        Args:
            words: to search for.
            k: documents at most.
            alive: a byte for each document: 1, or 0 for one that was deleted and counts no more.
            wanted: a byte for each document: 1 for one that may be found.
        """
        there = alive.count(1)
        if not there:
            return []
        average = sum(compress(self._lengths, alive)) / there
        weighed = [(self._weigh(word, alive, there), word) for word in words if word in self._places]
        rarest = sorted(weighed, reverse=True)
        scores: dict[int, float] = {}

        def add(weight: float, word: str, places: Iterable[int]) -> None:
            numbers, counts = self._places[word]
            for place in places:
                number, count = numbers[place], counts[place]
                if wanted[number]:
                    length = _K1 * (1 - _B + _B * self._lengths[number] / average)
                    scores[number] = scores.get(number, 0.0) + weight * count * (_K1 + 1) / (count + length)

        for turn, (weight, word) in enumerate(rarest):
            numbers = self._places[word][0]
            most = sum(other for other, _ in rarest[turn:]) * (_K1 + 1)  # more than all words from here on are worth
            has_enough = len(scores) >= k and heapq.nlargest(k, scores.values())[-1] > most
            add(weight, word, _find_places(numbers, scores) if has_enough else range(bisect_left(numbers, len(alive))))
        least = min(heapq.nlargest(k, scores.values()), default=0.0) * _ALMOST
        scores = {number: 0.0 for number, score in scores.items() if score >= least}
        for weight, word in weighed:  # once more, in the order of the words: a sum of floats depends on it
            add(weight, word, _find_places(self._places[word][0], scores))
        return heapq.nsmallest(k, scores.items(), key=lambda item: (-item[1], item[0]))

    def _weigh(self, word: str, alive: bytes, there: int) -> float:
        """Return what a word counts, by how few of the documents that are there have it."""
        numbers = self._places[word][0]
        have = bisect_left(numbers, len(alive))
        if there < len(alive):
            have = sum(map(alive.__getitem__, numbers[:have]))
        rarity = math.log((there - have + 0.5) / (have + 0.5))
        return rarity if rarity > 0 else _LEAST_WEIGHT


def _find_places(numbers: "array[int]", wanted: Iterable[int]) -> list[int]:
    """Return where those of the wanted numbers are that are among ``numbers``, which grow."""
    places = ((bisect_left(numbers, number), number) for number in wanted)
    return [place for place, number in places if place < len(numbers) and numbers[place] == number]
