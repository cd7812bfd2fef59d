"""Parts put together to pieces that are as long as allowed: LangChain's pieces, as long as those are no longer.

LangChain adds up the lengths of parts. Lengths need not add up: two words may be more tokens together than apart, or a
character a quarter of a token, which is none. So each piece is measured, and one that is too long is cut into less.
"""

from collections.abc import Callable, Generator, Iterator

from hocket.text_splitters.parts import LengthFunction, ListedParts, Parts

__all__ = ["Packer"]


class Packer:
    """Puts parts together.

    Args:
        limit: how long a piece is at most. A single character that is longer stands alone.
        overlap: how much of a piece, at most, the next one repeats.
        length: how long a text is.
        strip: whether white space around pieces is left out.
    """

    def __init__(self, limit: int, overlap: int, length: LengthFunction, *, strip: bool) -> None:
        self._limit, self._overlap, self._length, self._strip = limit, overlap, length, strip

    def pack(self, parts: Parts, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Return the pieces that parts ``first`` to ``last`` (without it) make, and where in the text each begins."""
        limit, strip, length = self._limit, self._strip, self._length
        i = j = first
        while j < last:
            j = parts.reach(i, j, last, limit)
            start, piece = parts.join(i, j, strip=strip)
            if piece and length(piece) > limit:
                i = yield from self._pack_less(parts, i, j, last)
            elif piece:
                yield start, piece
            if j < last:
                i = parts.repeat_from(i, j, limit, self._overlap)

    def cut_up(self, text: str, start: int) -> Iterator[tuple[int, str]]:
        """Return the pieces of a part of a text, which begins at ``start``, cut between any characters."""
        bare = text.lstrip() if self._strip else text
        start += len(text) - len(bare)
        bare = bare.rstrip() if self._strip else bare
        if len(bare) == 1 or (bare and self._length(bare) <= self._limit):
            yield start, bare
            return
        characters = ListedParts.of_characters(bare, self._length)
        for place, piece in self.pack(characters, 0, characters.last):
            yield start + place, piece

    def _pack_less(self, parts: Parts, i: int, j: int, last: int) -> Generator[tuple[int, str], None, int]:
        """Cut parts ``i`` to ``j``, which are too long together, by their real lengths.

        Returns:
            the first part that the next piece may repeat.
        """
        while True:
            end = self._reach(parts, i, j)
            start, piece = parts.join(i, end, strip=self._strip)
            yield from self.cut_up(piece, start)  # if it is a single part, and too long
            i = self._next_real_start(parts, i + 1, end, last)
            if end == j:
                return i

    def _reach(self, parts: Parts, i: int, j: int) -> int:
        return _gallop(i + 1, j, lambda end: self._measure(parts, i, end) <= self._limit)

    def _next_real_start(self, parts: Parts, earliest: int, end: int, last: int) -> int:
        """Return where the piece begins that follows one until ``end``: as early as real lengths allow."""

        def is_repeatable(back: int) -> bool:
            repeated = self._measure(parts, end - back, end)
            return repeated <= self._overlap and (
                end == last or self._measure(parts, end - back, end + 1) <= self._limit
            )

        return end - _gallop(0, end - earliest, is_repeatable) if self._overlap else end

    def _measure(self, parts: Parts, i: int, j: int) -> int:
        return self._length(parts.join(i, j, strip=self._strip)[1]) if i < j else 0


def _gallop(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """Return a large number up to ``most`` that fits, and the largest if all below it do; ``least`` if none is found.

    It asks for small ones first: what is much too large may take long to measure.
    """
    step = 1
    while least < most and fits(reach := min(least + step, most)):
        least, step = reach, step * 2
    beyond = min(least + step, most + 1)
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if fits(middle):
            least = middle
        else:
            beyond = middle
    return least
