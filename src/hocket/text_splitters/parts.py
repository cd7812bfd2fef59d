"""The parts between the separators of a text.

A text may have a million words, so that nothing here looks at them one by one. Where lengths are characters and separators
stay, the few places that matter are searched for in the text itself (`SearchedParts`). Elsewhere parts are numbers in two
ascending lists, which the C code of Python makes, and windows are found in them by bisection (`ListedParts`).
"""

import itertools
import operator
import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from hocket.errors import InvalidInput

__all__ = ["KeepSeparator", "LengthFunction", "ListedParts", "Parts", "SearchedParts", "Separator", "split_at"]

KeepSeparator: TypeAlias = bool | Literal["start", "end"]
"""Whether a separator stays, and at the start (also if True) or the end of a part."""

LengthFunction: TypeAlias = Callable[[str], int]
"""Returns how long a text is: its characters, its tokens."""

_SPECIAL = frozenset(r"\.^$*+?{}[]|()")


class Separator:
    """What stands between the parts of a text.

    Args:
        text: the separator; "" stands between all characters.
        is_regex: whether it is a regular expression.

    Raises:
        InvalidInput: it is no regular expression, though it should be.
    """

    def __init__(self, text: str, *, is_regex: bool = False) -> None:
        self.literal: str | None = None if is_regex and _SPECIAL & set(text) else text
        # Whether two of it may share characters, as the blank lines of "\n\n\n": then only a walk from the start is right.
        self.meets_itself: bool = any(text.startswith(text[shift:]) for shift in range(1, len(text)))
        try:
            self._pattern = re.compile(re.escape(text) if self.literal is not None else text)
        except re.error as error:
            raise InvalidInput(f"the separator {text!r} is no regular expression: {error}") from error

    def is_in(self, text: str) -> bool:
        """Whether ``text`` can be split here."""
        return self.literal in text if self.literal is not None else self._pattern.search(text) is not None

    def find(self, text: str) -> tuple[list[int], list[int]]:
        """Return where it stands in ``text``: all starts, and all ends."""
        if self.literal is None or self.meets_itself:  # such as a blank line: re finds rare ones sooner than str.split
            spans = [match.span() for match in self._pattern.finditer(text)]
            return [start for start, _ in spans], [end for _, end in spans]
        width = len(self.literal)
        sizes = list(map(len, text.split(self.literal)))
        starts = list(map(operator.add, itertools.accumulate(sizes), range(0, len(sizes) * width, width)))
        starts.pop()  # the end of the text
        return starts, [start + width for start in starts]


class Parts(ABC):
    """Parts of a text in order, and how long any of them are together: by the sum of their lengths.

    What they really are when they are put together, `join` and a length function say. Indexes of parts ascend, but need
    not be one apart.

    Attributes:
        last: the index after the last part.
    """

    last: int

    @abstractmethod
    def reach(self, i: int, j: int, last: int, limit: int) -> int:
        """Return how far a piece from ``i`` reaches that is at most ``limit`` long: ``j`` and one part more at least."""

    @abstractmethod
    def repeat_from(self, i: int, j: int, limit: int, overlap: int) -> int:
        """Return where, in ``i`` to ``j``, the piece begins that goes on after ``j``.

        As early as it repeats at most ``overlap``, and has room for the part at ``j``.
        """

    @abstractmethod
    def find_long(self, limit: int) -> Iterator[tuple[int, int]]:
        """Find the parts that have at least this length; for each, its index and the next one."""

    @abstractmethod
    def join(self, i: int, j: int, *, strip: bool) -> tuple[int, str]:
        """Return where in the text parts ``i`` to ``j`` (without ``j``) begin, and what they are together."""


class SearchedParts(Parts):
    """Parts that follow one another without a gap, and are measured in characters. An index is a place in the text.

    Args:
        text: the whole text.
        separator: what parts begin or end with; no two of it share characters.
        shift: how far into the separator parts end: 0 if they begin with it.
    """

    def __init__(self, text: str, separator: str, shift: int) -> None:
        self.text: str = text
        self.last: int = len(text)
        self._separator, self._shift, self._rest = separator, shift, len(separator) - shift

    def _find_end(self, start: int) -> int:
        """Return the first place from ``start`` where a part ends."""
        shift = self._shift
        found = self.text.find(self._separator, start - shift if start > shift else 0)
        return self.last if found < 0 else found + shift

    def reach(self, i: int, j: int, last: int, limit: int) -> int:
        room = i + limit
        if room >= last:
            return last
        found = self.text.rfind(self._separator, max(0, j - self._shift + 1), room + self._rest)
        return found + self._shift if found >= 0 else self._find_end(j + 1)

    def repeat_from(self, i: int, j: int, limit: int, overlap: int) -> int:
        start = self._find_end(max(i, j - overlap))
        if start < j:  # else nothing is repeated
            room = self._find_end(j + 1) - limit
            if start < room:
                start = self._find_end(room)
        return start if start < j else j

    def find_long(self, limit: int) -> Iterator[tuple[int, int]]:
        text, separator, shift = self.text, self._separator, self._shift
        start, last = 0, self.last
        while last - start >= limit:
            found = text.rfind(separator, max(0, start - shift + 1), start + limit - 1 + self._rest)
            if found >= 0:
                start = found + shift
            else:
                end = self._find_end(start + 1)
                yield start, end
                start = end

    def join(self, i: int, j: int, *, strip: bool) -> tuple[int, str]:
        return _take(i, self.text[i:j], strip)


class ListedParts(Parts):
    """Parts whose places and lengths stand in lists. An index is one in these.

    Args:
        text: the whole text.
        starts: where each part starts.
        ends: where each part ends.
        length: how long a text is.
        glue: what is put between parts that are joined; None: what stands there in the text.
    """

    def __init__(
        self,
        text: str,
        starts: Sequence[int],
        ends: Sequence[int],
        length: LengthFunction = len,
        glue: str | None = None,
    ) -> None:
        self.text: str = text
        self.last: int = len(starts)
        self._starts, self._ends, self._glue = starts, ends, glue
        # Parts i to j are until[j - 1] - since[i] long: the sum of their lengths, and of what stands between them.
        self._since, self._until = starts, ends
        if length is not len or glue is not None:
            sizes = list(map(length, self._texts(0, len(starts))))
            self._until = list(itertools.accumulate(map(operator.add, sizes, [0, *self._gaps(length)])))
            self._since = list(map(operator.sub, self._until, sizes))

    @classmethod
    def of_characters(cls, text: str, length: LengthFunction) -> "ListedParts":
        """Return the characters of ``text`` as parts."""
        return cls(text, range(len(text)), range(1, len(text) + 1), length)

    def _texts(self, i: int, j: int) -> Iterable[str]:
        return map(self.text.__getitem__, map(slice, self._starts[i:j], self._ends[i:j]))

    def _gaps(self, length: LengthFunction) -> Iterable[int]:
        """Return how long what stands between the parts is."""
        glue = self._glue
        if glue is None and self._starts[1:] == self._ends[:-1]:
            glue = ""  # which has a length, too, if the function counts the marks around a text
        if glue is not None:
            return itertools.repeat(length(glue), max(0, self.last - 1))
        gaps = list(map(self.text.__getitem__, map(slice, self._ends, self._starts[1:])))
        known = {gap: length(gap) for gap in set(gaps)}
        return map(known.__getitem__, gaps)

    def reach(self, i: int, j: int, last: int, limit: int) -> int:
        return bisect_right(self._until, self._since[i] + limit, j + 1, last)

    def repeat_from(self, i: int, j: int, limit: int, overlap: int) -> int:
        since, until = self._since, self._until
        repeats_little = bisect_left(since, until[j - 1] - overlap, i, j)
        return bisect_left(since, until[j] - limit, repeats_little, j)  # has room, too

    def find_long(self, limit: int) -> Iterator[tuple[int, int]]:
        if isinstance(self._since, range) and limit > 1:
            return  # characters
        sizes = list(map(operator.sub, self._until, self._since))
        if sizes and max(sizes) >= limit:
            yield from ((part, part + 1) for part, size in enumerate(sizes) if size >= limit)

    def join(self, i: int, j: int, *, strip: bool) -> tuple[int, str]:
        start = self._starts[i]
        piece = self.text[start : self._ends[j - 1]] if self._glue is None else self._glue.join(self._texts(i, j))
        return _take(start, piece, strip)


def _take(start: int, piece: str, strip: bool) -> tuple[int, str]:
    """Return a piece, and where it begins, without the white space around it if it is to be stripped."""
    if not strip:
        return start, piece
    bare = piece.lstrip()
    return start + len(piece) - len(bare), bare.rstrip()


def split_at(
    separator: Separator, text: str, length: LengthFunction, keep: KeepSeparator, *, cut_only: bool = False
) -> Parts:
    """Split a text into the parts that are not empty.

    Args:
        separator: where.
        text: the text.
        length: how long a text is.
        keep: whether separators are of the parts.
        cut_only: whether pieces have to stand in the text word for word. Where two separators meet, and are not kept,
            LangChain puts one of them between the neighbours; the text has two.
    """
    if separator.literal == "":
        return ListedParts.of_characters(text, length)
    if length is len and keep and separator.literal and not separator.meets_itself:
        return SearchedParts(text, separator.literal, len(separator.literal) if keep == "end" else 0)
    starts, ends = separator.find(text)
    if keep:
        marks = [0, *(ends if keep == "end" else starts), len(text)]
        starts, ends = marks[:-1], marks[1:]
    else:
        starts, ends = [0, *ends], [*starts, len(text)]
    sizes = list(map(operator.sub, ends, starts))
    glue: str | None = None
    if 0 in sizes:
        if not keep and not cut_only and 0 in sizes[1:-1]:
            glue = separator.literal
        starts, ends = list(itertools.compress(starts, sizes)), list(itertools.compress(ends, sizes))
    return ListedParts(text, starts, ends, length, glue)
