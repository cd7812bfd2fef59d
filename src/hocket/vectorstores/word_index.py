"""Which documents have which words, in memory, and how well they answer a question: BM25, as SQLite's FTS5 counts it.

A word counts more the fewer documents have it, and less for each further time that it is in one; long documents have to
have it more often. A store in memory and one in SQLite so find the same, in the same order, with the same scores.
Documents have numbers and never change; the index follows the growing list of them, and is built when words are first
searched for.
"""

import heapq
import math
import threading
from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import compress

from hocket.documents import Document
from hocket.vectorstores.words import split_words

__all__ = ["WordIndex"]

_K1 = 1.2
_B = 0.75
_LEAST_WEIGHT = 1e-6
"""Of a word that more than half of the documents have."""


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
        scores: dict[int, float] = {}
        for word in words:
            numbers, counts = self._places.get(word, ((), ()))
            have = [(number, count) for number, count in zip(numbers, counts, strict=False) if number < len(alive)]
            have = [(number, count) for number, count in have if alive[number]]
            rarity = math.log((there - len(have) + 0.5) / (len(have) + 0.5))
            weight = rarity if rarity > 0 else _LEAST_WEIGHT
            for number, count in have:
                if wanted[number]:
                    length = _K1 * (1 - _B + _B * self._lengths[number] / average)
                    scores[number] = scores.get(number, 0.0) + weight * count * (_K1 + 1) / (count + length)
        return heapq.nsmallest(k, scores.items(), key=lambda item: (-item[1], item[0]))
