"""The text of a Word document, from the events of an XML parser.

Paragraphs are set apart by empty lines. Headings, by the names or the levels of their styles, begin with ``#`` as in
Markdown, paragraphs of lists with ``-``. A row of a table is a line, its cells set apart by `` | ``. What was deleted or
moved away under "track changes" is left out, as are headers, footers, notes and comments.
"""

import functools
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["DocumentText", "Styles", "local_name"]

Attributes: TypeAlias = dict[str, str]

_NAMESPACES = frozenset(
    (
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
)
_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_LEFT_OUT = frozenset(("moveFrom", "del", "pPrChange", "rPrChange", "numberingChange"))


@functools.lru_cache(256)
def local_name(name: str) -> str:
    """Return the name of an element or attribute of Word's own, without its namespace; of others with it."""
    namespace, _, local = name.rpartition(" ")
    if namespace in _NAMESPACES:
        return local
    return "Fallback" if namespace == _COMPATIBILITY and local == "Fallback" else name


def _value(attributes: Attributes) -> str:
    return next((value for name, value in attributes.items() if local_name(name) == "val"), "")


class Styles:
    """Which styles are headings, and of which level: read from the part ``styles.xml``."""

    def __init__(self) -> None:
        self._levels: dict[str, int] = {}
        self._parents: dict[str, str] = {}
        self._style = ""

    def start(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element."""
        name = local_name(name)
        if name == "style":
            self._style = next((value for key, value in attributes.items() if local_name(key) == "styleId"), "")
        elif name == "name":
            words = _value(attributes).lower().split()
            if words == ["title"]:
                self._levels[self._style] = 1
            elif words[:1] == ["heading"] and words[1:] and words[1].isdecimal():
                self._levels[self._style] = int(words[1])
        elif name == "basedOn":
            self._parents[self._style] = _value(attributes)
        elif name == "outlineLvl" and _value(attributes).isdecimal():
            self._levels.setdefault(self._style, int(_value(attributes)) + 1)

    def level(self, style: str) -> int:
        """Return the level of a heading of this style, from 1; 0: it is none."""
        for _ in range(20):  # a style may be based on itself by mistake
            if style in self._levels:
                return self._levels[style]
            style = self._parents.get(style, "")
        return 0


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


class DocumentText:
    """Collects the text of ``document.xml``: `start`, `end` and `characters` are handlers of the parser.

    Attributes:
        blocks: its paragraphs and tables.
        heading: the first heading; "": it has none.
        root: the name of the outermost element; "document" in a Word document.
    """

    def __init__(self, styles: Styles) -> None:
        self.blocks: list[str] = []
        self.heading: str = ""
        self.root: str = ""
        self._styles = styles
        self._paragraphs: list[_Paragraph] = []
        self._tables: list[_Table] = []
        self._left_out = 0  # depth within an element that is left out
        self._in_run = self._in_text = False
        self._starts: dict[str, Callable[[Attributes], None]] = {
            "p": lambda attributes: self._paragraphs.append(_Paragraph()),
            "r": lambda attributes: self._set_run(True),
            "t": lambda attributes: self._set_text(True),
            "tab": lambda attributes: self._add("\t"),
            "br": lambda attributes: self._add("\n"),
            "cr": lambda attributes: self._add("\n"),
            "noBreakHyphen": lambda attributes: self._add("-"),
            "pStyle": lambda attributes: self._set_level(self._styles.level(_value(attributes))),
            "outlineLvl": self._start_outline,
            "numId": self._start_number,
            "tbl": lambda attributes: self._tables.append(_Table()),
            "tc": self._start_cell,
        }
        self._ends: dict[str, Callable[[], None]] = {
            "p": self._end_paragraph,
            "r": lambda: self._set_run(False),
            "t": lambda: self._set_text(False),
            "tc": self._end_cell,
            "tr": self._end_row,
            "tbl": self._end_table,
        }

    def start(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element."""
        name = local_name(name)
        self.root = self.root or name
        if self._left_out or name in _LEFT_OUT or name == "Fallback":
            self._left_out += 1
        elif (handle := self._starts.get(name)) is not None:
            handle(attributes)

    def end(self, name: str) -> None:
        """Take the end of an element."""
        if self._left_out:
            self._left_out -= 1
        elif (handle := self._ends.get(local_name(name))) is not None:
            handle()

    def characters(self, text: str) -> None:
        """Take characters."""
        if self._in_text and not self._left_out:
            self._add(text)

    def _add(self, text: str) -> None:
        if self._in_run and self._paragraphs:  # a tab elsewhere is where one stops
            self._paragraphs[-1].pieces.append(text)

    def _set_run(self, inside: bool) -> None:
        self._in_run = inside

    def _set_text(self, inside: bool) -> None:
        self._in_text = inside

    def _set_level(self, level: int) -> None:
        if self._paragraphs and level:
            self._paragraphs[-1].level = level

    def _start_outline(self, attributes: Attributes) -> None:
        level = _value(attributes)
        self._set_level(int(level) + 1 if level.isdecimal() and int(level) < 9 else 0)

    def _start_number(self, attributes: Attributes) -> None:
        if self._paragraphs and _value(attributes) != "0":
            self._paragraphs[-1].is_item = True

    def _end_paragraph(self) -> None:
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

    def _start_cell(self, attributes: Attributes) -> None:
        if self._tables:
            self._tables[-1].cell = []

    def _end_cell(self) -> None:
        if self._tables and (cell := self._tables[-1].cell) is not None:
            self._tables[-1].row.append(" ".join(cell))
            self._tables[-1].cell = None

    def _end_row(self) -> None:
        if self._tables:
            table = self._tables[-1]
            if any(table.row):
                table.rows.append(" | ".join(table.row))
            table.row = []

    def _end_table(self) -> None:
        if self._tables:
            table = self._tables.pop()
            if table.rows:
                self._emit("\n".join(table.rows))
