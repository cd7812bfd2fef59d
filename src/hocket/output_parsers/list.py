"""Lists in an answer.

Each parser reads pieces and whole answers with the same reader. It hands out an item as soon as the end of the item has
come, and reads no character twice.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Annotated, ClassVar, Protocol

from pydantic import AfterValidator

from hocket.output_parsers.accumulation import get_piece_text
from hocket.output_parsers.base import BaseTransformOutputParser, ParserInput
from hocket.runnables.with_run import Incremental

__all__ = [
    "CommaSeparatedListOutputParser",
    "ListOutputParser",
    "MarkdownListOutputParser",
    "NumberedListOutputParser",
    "Regex",
]


def _check_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return pattern


Regex = Annotated[str, AfterValidator(_check_pattern)]
"""A regular expression, as text."""


class _Reader(Protocol):
    """Finds the items of one text."""

    def feed(self, text: str) -> Iterator[str]:
        """Return the items that ``text``, the next piece, completes."""
        ...

    def close(self) -> Iterator[str]:
        """Return the items that the end of the text completes."""
        ...


class ListOutputParser(BaseTransformOutputParser[list[str]], ABC):
    """Returns the items of a list. In pieces: lists of one item each, which add up to the whole."""

    @abstractmethod
    def _reader(self) -> _Reader:
        """Return what finds the items of one text."""

    def parse(self, text: str) -> list[str]:
        """Return the items of the list in ``text``, those of several lists together."""
        reader = self._reader()
        return [*reader.feed(text), *reader.close()]

    def _incremental(self) -> Incremental[ParserInput, list[str]]:
        return _Items(self._reader())


class _Items:
    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._is_empty = True

    def feed(self, piece: ParserInput, /) -> list[list[str]]:
        return self._pieces(self._reader.feed(get_piece_text(piece)))

    def close(self) -> list[list[str]]:
        pieces = self._pieces(self._reader.close())
        return [[]] if self._is_empty else pieces

    def _pieces(self, items: Iterator[str]) -> list[list[str]]:
        pieces = [[item] for item in items]
        self._is_empty = self._is_empty and not pieces
        return pieces


class CommaSeparatedListOutputParser(ListOutputParser):
    """Returns items that stand between commas or in lines, without the space around them.

    An item in double quotes may contain commas, line breaks, and double quotes written twice, as in CSV.
    """

    _type_name: ClassVar[str] = "comma-separated-list"

    def _reader(self) -> _Reader:
        return _Commas()

    def get_format_instructions(self) -> str:
        """Return words that ask for such a list."""
        return "Answer with a list of values separated by commas, and with nothing else. For example: red, green, blue"


_MARK = re.compile(r'[",\n]')


class _Commas:
    def __init__(self) -> None:
        self._is_first = True  # in its line
        self._reset()

    def _reset(self) -> None:
        self._pieces: list[str] = []
        self._closed_at = 0  # how many of them stand in the quotes
        self._is_blank = True
        self._is_inside = self._has_just_closed = False

    def feed(self, text: str) -> Iterator[str]:
        start = 0
        for match in _MARK.finditer(text):
            self._take(text[start : match.start()])
            start = match.end()
            if match[0] == '"':
                self._quote()
            elif self._is_inside:
                self._take(match[0])
            else:
                yield from self._end(in_line=match[0] == ",")
        self._take(text[start:])

    def close(self) -> Iterator[str]:
        yield from self._end(in_line=False)

    def _take(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self._is_blank = self._is_blank and text.isspace()
            self._has_just_closed = False

    def _quote(self) -> None:
        if self._is_blank:
            self._pieces.clear()
            self._is_inside, self._is_blank = True, False
        elif self._is_inside:
            self._is_inside, self._has_just_closed = False, True
            self._closed_at = len(self._pieces)
        else:
            self._is_inside = self._has_just_closed  # two in a row are one of the item's own
            self._take('"')

    def _end(self, *, in_line: bool) -> Iterator[str]:
        quoted = "" if self._is_inside else "".join(self._pieces[: self._closed_at])
        others = "".join(self._pieces[0 if self._is_inside else self._closed_at :])
        if in_line or not self._is_first or not self._is_blank:  # an empty line has no item
            yield quoted + (others.rstrip() if quoted else others.strip())
        self._is_first = not in_line
        self._reset()


class _LineListOutputParser(ListOutputParser, ABC):
    """Returns what a pattern finds in each line: its first group, if it has one."""

    pattern: Regex

    def _reader(self) -> _Reader:
        return _Lines(re.compile(self.pattern))


class _Lines:
    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._pieces: list[str] = []

    def feed(self, text: str) -> Iterator[str]:
        first, *rest = text.split("\n")
        self._pieces.append(first)
        for piece in rest:
            yield from self.close()
            self._pieces.append(piece)

    def close(self) -> Iterator[str]:
        line = "".join(self._pieces).removesuffix("\r")
        self._pieces.clear()
        group = 1 if self._pattern.groups else 0
        return (match[group] for match in self._pattern.finditer(line))


class NumberedListOutputParser(_LineListOutputParser):
    """Returns the items of a numbered list (``1. first``), one a line; other lines are passed over.

    Args:
        pattern: finds the item in a line.
    """

    pattern: Regex = r"(?<!\d)\d+\.\s(.+)"
    _type_name: ClassVar[str] = "numbered-list"

    def get_format_instructions(self) -> str:
        """Return words that ask for such a list."""
        return "Answer with a numbered list, one item a line, and with nothing else. For example:\n\n1. red\n2. green"


class MarkdownListOutputParser(_LineListOutputParser):
    """Returns the items of a Markdown list (``- first`` or ``* first``), one a line; other lines are passed over.

    Args:
        pattern: finds the item in a line.
    """

    pattern: Regex = r"^\s*[-*]\s(.+)$"
    _type_name: ClassVar[str] = "markdown-list"

    def get_format_instructions(self) -> str:
        """Return words that ask for such a list."""
        return "Answer with a Markdown list, one item a line, and with nothing else. For example:\n\n- red\n- green"
