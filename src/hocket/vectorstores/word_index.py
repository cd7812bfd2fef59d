"""Which documents have which words, in memory, and how well they answer a question: BM25, as SQLite's FTS5 counts it.

A word counts more the fewer documents have it, and less for each further time that it is in one; long documents have to
have it more often. A store in memory and one in SQLite so find the same, in the same order, with the same scores.
Documents have numbers and never change; the index follows the growing list of them, and is built when words are first
searched for. A search begins with the rarest word, and looks a common one up in the documents that it has found already,
as soon as no other can be among the best.
"""

import heapq
import math
import threading
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import compress

from hocket.documents import Document
from hocket.vectorstores.words import split_words

__all__ = ["WordIndex"]

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
