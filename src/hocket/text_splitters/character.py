"""Splitting at separators: one, or one after another until the pieces are short enough. The cuts are LangChain's."""

from collections.abc import Iterator, Sequence
from typing import Self, Unpack

from hocket.errors import InvalidInput
from hocket.text_splitters.base import SplitterOptions, TextSplitter, require_text
from hocket.text_splitters.languages import Language, separators_of
from hocket.text_splitters.packing import Packer
from hocket.text_splitters.parts import KeepSeparator, Parts, Separator, split_at

__all__ = [
    "CharacterTextSplitter",
    "MarkdownTextSplitter",
    "PythonCodeTextSplitter",
    "RecursiveCharacterTextSplitter",
]

_BRIEF = 10_000
_FEW = 25
"""Characters, and pieces, of a text that is split on the loop: it takes no longer than a thread does to answer."""


class _SeparatorSplitter(TextSplitter):
    """Cuts pieces out at separators, and so knows where they begin."""

    def __init__(
        self,
        separators: Sequence[str],
        keep_separator: KeepSeparator,
        is_separator_regex: bool,
        options: SplitterOptions,
    ) -> None:
        super().__init__(keep_separator=keep_separator, **options)
        for one in separators:
            require_text(one)
        self._marks: list[Separator] = [Separator(one, is_regex=is_separator_regex) for one in separators]
        self._packer: Packer = Packer(
            self._chunk_size, self._chunk_overlap, self._length_function, strip=self._strip_whitespace
        )

    def split_text(self, text: str) -> list[str]:
        """Return the pieces of a text, in order.

        Raises:
            InvalidInput: it is no text.
        """
        require_text(text)
        return [piece for _, piece in self._cut(text)]

    def _locate(self, text: str) -> Iterator[tuple[int, str]]:
        if type(self).split_text is not _SeparatorSplitter.split_text:  # a subclass has its own idea of pieces
            return super()._locate(text)
        return self._cut(text)

    def _cut(self, text: str) -> Iterator[tuple[int, str]]:
        """Cut out the pieces, each with its place."""
        raise NotImplementedError

    def _split_at(self, mark: Separator, text: str) -> Parts:
        return split_at(mark, text, self._length_function, self._keep_separator, cut_only=self._add_start_index)

    def _is_quick(self, text: str) -> bool:
        is_known = self._length_function is len and all(mark.literal is not None for mark in self._marks)
        return is_known and len(text) <= min(_BRIEF, _FEW * (self._chunk_size - self._chunk_overlap))


class CharacterTextSplitter(_SeparatorSplitter):
    r"""Splits at a separator, and puts the parts together to pieces of at most ``chunk_size``.

    Args:
        separator: where texts are split.
        is_separator_regex: whether it is a regular expression.
        keep_separator: whether it stays, at the "start" (as if True) or the "end" of a part.
        options: as of `TextSplitter`.

    Raises:
        InvalidInput: one of them is out of its range.

    Examples:
        >>> CharacterTextSplitter(", ", chunk_size=10, chunk_overlap=0).split_text("one, two, three, four")
        ['one, two', 'three', 'four']
    """

    def __init__(
        self,
        separator: str = "\n\n",
        is_separator_regex: bool = False,
        *,
        keep_separator: KeepSeparator = False,
        **options: Unpack[SplitterOptions],
    ) -> None:
        super().__init__([separator], keep_separator, is_separator_regex, options)

    def _cut(self, text: str) -> Iterator[tuple[int, str]]:
        parts = self._split_at(self._marks[0], text)
        return self._packer.pack(parts, 0, parts.last)


class RecursiveCharacterTextSplitter(_SeparatorSplitter):
    r"""Splits at the first separator that a text has, and parts that are too long at the next one, until all are short.

    Args:
        separators: where texts are split, coarse ones first: blank lines, lines, words and characters unless given.
        keep_separator: whether they stay, at the "start" (as if True) or the "end" of a part.
        is_separator_regex: whether they are regular expressions.
        options: as of `TextSplitter`.

    Raises:
        InvalidInput: one of them is out of its range.

    Examples:
        >>> splitter = RecursiveCharacterTextSplitter(chunk_size=16, chunk_overlap=0, add_start_index=True)
        >>> for piece in splitter.create_documents(["Bleed the boiler in May.\n\nThen rest."]):
        ...     print(piece.metadata["start_index"], piece.page_content)
        0 Bleed the boiler
        17 in May.
        26 Then rest.
    """

    def __init__(
        self,
        separators: Sequence[str] | None = None,
        keep_separator: KeepSeparator = True,
        is_separator_regex: bool = False,
        **options: Unpack[SplitterOptions],
    ) -> None:
        _check_separators(separators)
        super().__init__(separators or ("\n\n", "\n", " ", ""), keep_separator, is_separator_regex, options)

    @classmethod
    def from_language(
        cls, language: Language | str, *, keep_separator: KeepSeparator = True, **options: Unpack[SplitterOptions]
    ) -> Self:
        """Return a splitter for the code of a language, such as ``Language.PYTHON`` or ``"python"``.

        Raises:
            InvalidInput: the language has no separators, or an option is out of its range.
        """
        return cls(separators_of(language), keep_separator, is_separator_regex=True, **options)

    @staticmethod
    def get_separators_for_language(language: Language | str) -> list[str]:
        """Return the separators of a language, as regular expressions.

        Raises:
            InvalidInput: it has none.
        """
        return separators_of(language)

    def _cut(self, text: str) -> Iterator[tuple[int, str]]:
        return self._cut_at(self._marks, text, 0)

    def _cut_at(self, marks: Sequence[Separator], text: str, offset: int) -> Iterator[tuple[int, str]]:
        """Cut a text, which begins at ``offset`` of the whole, at the first of ``marks`` that is in it."""
        level = next((level for level, mark in enumerate(marks) if mark.is_in(text)), len(marks) - 1)
        finer = () if marks[level].literal == "" else tuple(marks[level + 1 :])
        parts = self._split_at(marks[level], text)
        first = 0
        for long, after in (*parts.find_long(self._chunk_size), (parts.last, parts.last)):
            for place, piece in self._packer.pack(parts, first, long):
                yield offset + place, piece
            if long < after:
                place, part = parts.join(long, after, strip=False)
                if finer:
                    yield from self._cut_at(finer, part, offset + place)
                elif self._length_function(part) == self._chunk_size:  # LangChain leaves it its white space
                    yield offset + place, part
                else:
                    yield from self._packer.cut_up(part, offset + place)
            first = after


def _check_separators(separators: object) -> None:
    if isinstance(separators, str):
        raise InvalidInput(f"separators={separators!r} must be a list of texts; write [{separators!r}]")
    if not isinstance(separators, Sequence | None):
        raise InvalidInput(
            f"separators={separators!r} must be a list of texts; sizes are given by name: chunk_size=..."
        )


class PythonCodeTextSplitter(RecursiveCharacterTextSplitter):
    """Splits Python code at classes, functions, blank lines, lines and words."""

    def __init__(
        self,
        *,
        keep_separator: KeepSeparator = True,
        is_separator_regex: bool = False,
        **options: Unpack[SplitterOptions],
    ) -> None:
        super().__init__(separators_of(Language.PYTHON), keep_separator, is_separator_regex, **options)


class MarkdownTextSplitter(RecursiveCharacterTextSplitter):
    """Splits Markdown at headings, ends of code, rules, blank lines, lines and words.

    LangChain's class takes its patterns for literal text, and so never splits at a heading; ``is_separator_regex=False``
    gives its cuts.
    """

    def __init__(
        self,
        *,
        keep_separator: KeepSeparator = True,
        is_separator_regex: bool = True,
        **options: Unpack[SplitterOptions],
    ) -> None:
        super().__init__(separators_of(Language.MARKDOWN), keep_separator, is_separator_regex, **options)
