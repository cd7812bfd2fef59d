"""The text of an office document, from the events of an XML parser: paragraphs and tables as blocks.

Paragraphs are set apart by empty lines. Headings begin with ``#`` as in Markdown, paragraphs of lists with ``-``. A row of a
table is a line, its cells set apart by `` | ``. Word's and PowerPoint's elements have the same names; another format says
which of its own are which.
"""

from collections.abc import Callable
from typing import ClassVar

from hocket.document_loaders.xml_events import Attributes, XMLEvents, strip_namespace

__all__ = ["BlockText"]


class _Paragraph:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.level = 0
        self.is_item = False


class _Table:
    def __init__(self) -> None:
        self.rows: list[str] = []
        self.row: list[str] = []
        self.cell: list[str] | None = None


class BlockText(XMLEvents):
    """Collects the text of a part.

    Attributes:
        left_out: names of elements that are left out, with what is in them.
        starts: what is done at the start of elements, by local name; what is not named has no meaning.
        ends: what is done at their ends.
        blocks: paragraphs and tables.
        heading: the first heading; "": it has none.
    """

    left_out: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.heading: str = ""
        self._paragraphs: list[_Paragraph] = []
        self._tables: list[_Table] = []
        self._left_out = 0  # depth within an element that is left out
        self._in_run = self._in_text = False
        self.starts: dict[str, Callable[[Attributes], None]] = {
            "p": self.start_paragraph,
            "r": lambda attributes: self._set_run(True),
            "t": lambda attributes: self._set_text(True),
            "tab": lambda attributes: self.add("\t"),
            "br": lambda attributes: self.add("\n"),
            "cr": lambda attributes: self.add("\n"),
            "noBreakHyphen": lambda attributes: self.add("-"),
            "tbl": self.start_table,
            "tc": self.start_cell,
        }
        self.ends: dict[str, Callable[[], None]] = {
            "p": self.end_paragraph,
            "r": lambda: self._set_run(False),
            "t": lambda: self._set_text(False),
            "tc": self.end_cell,
            "tr": self.end_row,
            "tbl": self.end_table,
        }

    def find_local_name(self, name: str) -> str:
        """Return the name by which an element is known here."""
        return strip_namespace(name)

    def start(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element."""
        name = self.find_local_name(name)
        if self._left_out or name in self.left_out:
            self._left_out += 1
        elif (handle := self.starts.get(name)) is not None:
            handle(attributes)

    def end(self, name: str) -> None:
        """Take the end of an element."""
        if self._left_out:
            self._left_out -= 1
        elif (handle := self.ends.get(self.find_local_name(name))) is not None:
            handle()

    def characters(self, text: str) -> None:
        """Take characters."""
        if self._in_text and not self._left_out:
            self.add(text)

    def add(self, text: str) -> None:
        """Add text to the paragraph; a tab outside of its runs is where one stops."""
        if self._in_run and self._paragraphs:
            self._paragraphs[-1].pieces.append(text)

    def _set_run(self, inside: bool) -> None:
        self._in_run = inside

    def _set_text(self, inside: bool) -> None:
        self._in_text = inside

    def set_level(self, level: int) -> None:
        """Make the paragraph a heading of a level, from 1."""
        if self._paragraphs and level:
            self._paragraphs[-1].level = level

    def set_item(self, is_item: bool) -> None:
        """Make the paragraph one of a list."""
        if self._paragraphs and is_item:
            self._paragraphs[-1].is_item = True

    def start_paragraph(self, attributes: Attributes) -> None:
        """Begin a paragraph."""
        self._paragraphs.append(_Paragraph())

    def end_paragraph(self) -> None:
        """End a paragraph."""
        if not self._paragraphs:
            return
        paragraph = self._paragraphs.pop()
        self._in_run = bool(self._paragraphs)  # a box with text stands within a run
        text = "".join(paragraph.pieces).strip()
        if not text:
            return
        if paragraph.level:
            self.heading = self.heading or " ".join(text.split())
            text = f"{'#' * min(paragraph.level, 6)} {text}"
        elif paragraph.is_item:
            text = f"- {text}"
        self._emit(text)

    def _emit(self, text: str) -> None:
        cell = self._tables[-1].cell if self._tables else None
        if cell is not None:
            cell.append(" ".join(text.split()))
        else:
            self.blocks.append(text)

    def start_table(self, attributes: Attributes) -> None:
        """Begin a table."""
        self._tables.append(_Table())

    def start_cell(self, attributes: Attributes) -> None:
        """Begin a cell."""
        if self._tables:
            self._tables[-1].cell = []

    def end_cell(self) -> None:
        """End a cell."""
        if self._tables and (cell := self._tables[-1].cell) is not None:
            self._tables[-1].row.append(" ".join(cell))
            self._tables[-1].cell = None

    def end_row(self) -> None:
        """End a row."""
        if self._tables:
            table = self._tables[-1]
            if any(table.row):
                table.rows.append(" | ".join(table.row))
            table.row = []

    def end_table(self) -> None:
        """End a table."""
        if self._tables:
            table = self._tables.pop()
            if table.rows:
                self._emit("\n".join(table.rows))
