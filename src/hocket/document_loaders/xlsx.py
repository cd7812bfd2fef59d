"""XLSX: a row is a document, as of CSV. Sheets are read as the documents are; empty cells and rows take no memory."""

import datetime
import io
import re
from collections.abc import Iterator

from hocket.document_loaders.files import name_title
from hocket.document_loaders.packages import Package, PackageLoader
from hocket.document_loaders.pptx import find_references
from hocket.document_loaders.xml_events import Attributes, XMLEvents, strip_namespace
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["XlsxLoader"]

_COLUMN = re.compile(r"([A-Z]{1,3})\d+")
_MAX_COLUMN = 16_384  # Excel's
_NOT_FORMAT = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_DATE_FORMATS = frozenset(map(str, (*range(14, 23), *range(45, 48))))  # built in: ECMA-376, part 1, 18.8.30


class XlsxLoader(PackageLoader):
    """Loads an Excel workbook, a row a document: a line ``column: value`` for each cell that has a value.

    The first row of a sheet that has values names its columns; if it is the only one, it is the document. ``sheet`` is the
    name of the sheet, ``row`` the number that Excel shows, and ``title`` the workbook's, else the name of the file. Dates
    are written as ISO 8601 has it, numbers as they are, formulas as their results, or as formulas where the program that
    wrote the file did not compute. Charts and comments are left out.
    """

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield a document for each row."""
        package = self._open_package(file)
        main = package.find_main_part("xl/workbook.xml")
        sheets = find_references(package, main, "sheet", "workbook")
        if sheets is None:
            raise self._refuse_kind("Excel workbook")
        self._check_count(len(sheets), "sheets")
        facts = {"source": self.file_path, "title": package.find_title() or name_title(self.file_path)}
        texts, styles = _read_texts_and_styles(package, main)
        has_text = False
        for name, part in sheets:
            if not package.has(part):
                raise DocumentError(self.file_path, "a sheet is not there; save it again", f"sheet {name}")
            sheet = _Sheet(texts, styles)
            for number, text in sheet.list_rows(package.iterate(part, sheet)):
                has_text = True
                package.count(len(text), part)  # a cell may name a long text, and so may the next million
                yield Document(text, metadata={**facts, "sheet": name, "row": number})
        if not has_text:
            raise DocumentError(self.file_path, "none of its sheets has a value; leave it out")


def _read_texts_and_styles(package: Package, main: str) -> tuple[list[str], "_Styles"]:
    texts, styles = _Texts(), _Styles()
    package.parse(main, styles)
    for relation in package.find_relations(main).values():
        if relation.kind == "sharedStrings":
            package.parse(relation.target, texts)
        elif relation.kind == "styles":
            package.parse(relation.target, styles)
    return texts.texts, styles


class _Texts(XMLEvents):
    """The texts that cells refer to by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._pieces: list[str] = []
        self._is_shown = False
        self._in_phonetic = False  # how Japanese is read, beside it

    def start(self, name: str, attributes: Attributes) -> None:
        name = strip_namespace(name)
        self._in_phonetic = self._in_phonetic or name == "rPh"
        self._is_shown = name == "t" and not self._in_phonetic

    def end(self, name: str) -> None:
        self._is_shown = False
        name = strip_namespace(name)
        if name == "rPh":
            self._in_phonetic = False
        elif name == "si":
            self.texts.append("".join(self._pieces))
            self._pieces = []

    def characters(self, text: str) -> None:
        if self._is_shown:
            self._pieces.append(text)


class _Styles(XMLEvents):
    """Which styles of cells are dates, and when days begin to count."""

    def __init__(self) -> None:
        self._formats: dict[str, bool] = {}
        self._are_dates: list[bool] = []
        self._in_cells = False
        self._first = datetime.datetime(1899, 12, 30)

    def start(self, name: str, attributes: Attributes) -> None:
        name = strip_namespace(name)
        if name == "numFmt":
            shown = _NOT_FORMAT.sub("", attributes.get("formatCode", "")).lower()
            self._formats[attributes.get("numFmtId", "")] = any(letter in shown for letter in "ymdhs")
        elif name == "cellXfs":
            self._in_cells = True
        elif name == "xf" and self._in_cells:
            id = attributes.get("numFmtId", "")
            self._are_dates.append(self._formats.get(id, id in _DATE_FORMATS))
        elif name == "workbookPr" and attributes.get("date1904") in ("1", "true"):
            self._first = datetime.datetime(1904, 1, 1)

    def end(self, name: str) -> None:
        if strip_namespace(name) == "cellXfs":
            self._in_cells = False

    def show_number(self, text: str, style: str) -> str:
        """Return a number as a person would write it: a date, if its style is one."""
        number = float(text)
        if style.isdecimal() and int(style) < len(self._are_dates) and self._are_dates[int(style)]:
            try:
                date = self._first + datetime.timedelta(days=number + (0 <= number < 60), milliseconds=1)
            except OverflowError:
                return text
            if 0 <= number < 1:
                return str(date.time().replace(microsecond=0))
            return str(date.replace(microsecond=0)).removesuffix(" 00:00:00")
        return f"{number:.15g}" if text.strip("-0123456789") else text


class _Sheet(XMLEvents):
    """The rows of a sheet that have values."""

    def __init__(self, texts: list[str], styles: _Styles) -> None:
        self._texts, self._styles = texts, styles
        self._rows: list[tuple[int, dict[int, str]]] = []
        self._row: dict[int, str] = {}
        self._number = self._column = 0
        self._kind = self._style = self._inside = self._value = self._formula = ""

    def list_rows(self, blocks: Iterator[None]) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each row, as the blocks of the sheet are read."""
        head: tuple[int, dict[int, str]] | None = None
        is_alone = True
        for _ in blocks:
            rows, self._rows = self._rows, []
            for number, row in rows:
                if head is None:
                    head = number, row
                    continue
                is_alone = False
                names = [head[1].get(at) or f"column {_name_column(at)}" for at in row]
                yield number, "\n".join(f"{name}: {value}" for name, value in zip(names, row.values(), strict=True))
        if head is not None and is_alone:
            yield head[0], " | ".join(head[1].values())

    def start(self, name: str, attributes: Attributes) -> None:
        name = strip_namespace(name)
        self._inside = name
        if name == "row":
            self._number = int(attributes.get("r") or self._number + 1)
            self._row, self._column = {}, 0
        elif name == "c":
            place = _COLUMN.fullmatch(attributes.get("r", ""))
            self._column = _count_column(place[1]) if place else self._column + 1
            if self._column > _MAX_COLUMN:
                raise ValueError(f"a cell in column {self._column:,}, and Excel has {_MAX_COLUMN:,}")
            self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._value = self._formula = ""
        elif name == "rPh":
            self._kind = "phonetic"

    def end(self, name: str) -> None:
        name = strip_namespace(name)
        self._inside = ""
        if name == "c" and (value := self._show().strip()):
            self._row[self._column] = value
        elif name == "row" and self._row:
            self._rows.append((self._number, self._row))

    def characters(self, text: str) -> None:
        if self._inside == "v" or (self._inside == "t" and self._kind == "inlineStr"):
            self._value += text
        elif self._inside == "f":
            self._formula += text

    def _show(self) -> str:
        """Return what a cell shows."""
        if not self._value:
            return f"={self._formula}" if self._formula else ""
        if self._kind == "s":
            return self._texts[int(self._value)]
        if self._kind == "b":
            return "TRUE" if self._value == "1" else "FALSE"
        return self._styles.show_number(self._value, self._style) if self._kind == "n" else self._value


def _count_column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _name_column(number: int) -> str:
    name = ""
    while number:
        number, letter = divmod(number - 1, 26)
        name = chr(65 + letter) + name
    return name
