"""Markdown by its headings."""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hocket.documents import BaseDocumentTransformer, Document
from hocket.errors import InvalidInput
from hocket.text_splitters.base import require_text

__all__ = ["MarkdownHeaderTextSplitter"]

_FENCE = re.compile(r"(`{3,})[^`]*|(~{3,}).*")


@dataclass
class _Block:
    """Some lines without an empty one between them, and the headings that they stand under."""

    lines: list[str]
    headings: dict[str, str]


class MarkdownHeaderTextSplitter(BaseDocumentTransformer):
    r"""Splits Markdown at headings; each piece knows those it stands under.

    Lines lose the white space around them, and blocks are put together with two spaces and a line break, as by LangChain.
    What stands between fences (three or more backticks or tildes) is no heading, whatever it looks like.

    Args:
        headers_to_split_on: marks of headings, and under which name the metadata of a piece has their text, as
            ``[("#", "Title"), ("##", "Section")]``; None for a name: split there, and say nothing.
        return_each_line: whether each block is a piece, even if its neighbour stands under the same headings.
        strip_headers: whether headings are left out of the pieces.
        custom_header_patterns: marks around headings of another kind, and their levels: ``{"**": 1}`` for ``**Title**``.
            They must be in ``headers_to_split_on``, too.

    Raises:
        InvalidInput: ``headers_to_split_on`` is no list of pairs.

    Examples:
        >>> splitter = MarkdownHeaderTextSplitter([("#", "title")])
        >>> [(piece.page_content, piece.metadata) for piece in splitter.split_text("# Boiler\nBleed it.")]
        [('Bleed it.', {'title': 'Boiler'})]
    """

    def __init__(
        self,
        headers_to_split_on: Sequence[tuple[str, str | None]],
        return_each_line: bool = False,
        strip_headers: bool = True,
        custom_header_patterns: Mapping[str, int] | None = None,
    ) -> None:
        if isinstance(headers_to_split_on, str) or any(
            isinstance(pair, str) or len(pair) != 2 or not pair[0] for pair in headers_to_split_on
        ):
            raise InvalidInput(
                f"headers_to_split_on={headers_to_split_on!r}: give pairs of a mark and a name, as [('#', 'Title')]"
            )
        longest_first = sorted(headers_to_split_on, key=lambda pair: len(pair[0]), reverse=True)
        self._headings: list[tuple[str, str | None]] = longest_first
        self._each_block: bool = return_each_line
        self._strip_headers: bool = strip_headers
        self._levels: dict[str, int] = dict(custom_header_patterns or {})
        self._around: dict[str, re.Pattern[str]] = {mark: _compile_around(mark) for mark in self._levels}

    def split_text(self, text: str) -> list[Document]:
        """Return the pieces of a text as documents.

        Raises:
            InvalidInput: it is no text.
        """
        require_text(text)
        blocks = self._find_blocks(text)
        pieces = blocks if self._each_block else self._join_blocks(blocks)
        return [Document(page_content="\n".join(piece.lines), metadata=piece.headings) for piece in pieces]

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Return the pieces of some documents, with the metadata of these and their own headings."""
        return [
            Document(page_content=piece.page_content, metadata={**copy.deepcopy(document.metadata), **piece.metadata})
            for document in documents
            for piece in self.split_text(document.page_content)
        ]

    def transform_documents(self, documents: Sequence[Document], **kwargs: object) -> Sequence[Document]:
        """Return the pieces of some documents: `split_documents`, under the name that all transformers share."""
        return self.split_documents(documents)

    def _find_blocks(self, text: str) -> Iterator[_Block]:
        """Split a text at empty lines, outside of fences, and at headings."""
        above: list[tuple[int, str, str]] = []  # level, name and text of each heading that the next line stands under
        lines: list[str] = []
        headings: dict[str, str] = {}
        fence = ""
        for raw in text.removeprefix("\ufeff").split("\n"):
            line = raw.strip()
            if fence:
                lines.append(line)
                fence = "" if _closes(line, fence) else fence
                continue
            found = self._find_heading(line)
            if found is None and line:
                lines.append(line)
                opened = _FENCE.fullmatch(line)
                fence = (opened[1] or opened[2]) if opened else ""
                continue
            if lines:
                yield _Block(lines, headings)
            lines = []
            if found is not None:
                level, name, title = found
                if name is not None:
                    while above and above[-1][0] >= level:
                        above.pop()
                    above.append((level, name, title))
                if not self._strip_headers:
                    lines = [line]
                headings = {name: title for _, name, title in above}
        if lines:
            yield _Block(lines, headings)

    def _find_heading(self, line: str) -> tuple[int, str | None, str] | None:
        """Return level, name and text of the heading that a line is; None: it is none."""
        for mark, name in self._headings:
            if (around := self._around.get(mark)) is not None and (inner := _find_inner(around, mark, line)):
                return self._levels[mark], name, inner
            if line.startswith(mark) and line[len(mark) : len(mark) + 1] in ("", " "):
                return self._levels.get(mark, mark.count("#")), name, line[len(mark) :].strip()
        return None

    def _join_blocks(self, blocks: Iterable[_Block]) -> Iterator[_Block]:
        """Put neighbours under the same headings together; and headings, if they stay, with what they are of."""
        joined: _Block | None = None
        for block in blocks:
            if joined is None:
                joined = block
            elif block.headings == joined.headings or self._is_opened_by(block, joined):
                joined.lines[-1] += "  "
                joined.lines.extend(block.lines)
                joined.headings = block.headings
            else:
                yield joined
                joined = block
        if joined is not None:
            yield joined

    def _is_opened_by(self, block: _Block, before: _Block) -> bool:
        """Whether ``before`` ends with a heading that ``block`` stands a level below."""
        deeper = len(before.headings) < len(block.headings)
        return deeper and not self._strip_headers and before.lines[-1].startswith("#")


def _closes(line: str, fence: str) -> bool:
    """Whether a line closes a fence: as many of its characters or more, and nothing else (CommonMark, section 4.5)."""
    return len(line) >= len(fence) and not line.strip(fence[0])


def _compile_around(mark: str) -> re.Pattern[str]:
    quoted = re.escape(mark)
    return re.compile(f"{quoted}(?!{quoted})(.+?)(?<!{quoted}){quoted}")


def _find_inner(around: re.Pattern[str], mark: str, line: str) -> str:
    """Return what stands between two marks; "": nothing but marks, or the line is no such heading."""
    found = around.fullmatch(line)
    inner = found[1].strip() if found else ""
    return inner if set(inner) - set(mark) - {" "} else ""
