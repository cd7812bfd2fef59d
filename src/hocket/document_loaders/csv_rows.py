"""CSV: a document is a row. The file is read as the documents are, so that its size does not matter."""

import csv
import io
import re
from collections.abc import Iterator, Sequence

from hocket.document_loaders.files import FileLoader, FilePath, check_limit, describe
from hocket.document_loaders.text_files import check_encoding, open_text
from hocket.documents import Document
from hocket.errors import DocumentError, InvalidInput

__all__ = ["CSVLoader"]

MAX_LINE = 10_000_000  # characters
MAX_COLUMNS = 20_000
"""How many columns a file may have, by default: Excel has 16,384."""

_DELIMITERS = ",;\t|"
_QUOTED = re.compile(r'"[^"]*"?')


class CSVLoader(FileLoader):
    """Loads a CSV file, a row a document: a line ``column: value`` for each column.

    The first row names the columns. ``row`` counts the others from 1; empty lines are no rows. White space around names
    and values goes. A row that is too short lacks its last columns, a longer one is an error, as are quotes that do not
    match. A field may have as many characters as ``csv.field_size_limit()`` says (131,072), a line 10 million.

    Args:
        file_path: the file.
        columns: which columns make the text, in this order; None: all but those that become metadata.
        metadata_columns: which columns become metadata, as text, under their names, unless these are ``source`` or ``row``.
        delimiter: between fields; None: the one of ``, ; |`` and the tab that the first line has most of.
        encoding: of a file that has no byte order mark and is not UTF-8.
        max_bytes: the largest file that is taken; None: any.
        max_columns: how many columns it may have; None: any number.

    Raises:
        InvalidInput: an option no file could be read with.
        DocumentError: by the verbs: the file cannot be read, is damaged, or lacks a column that is asked for.
    """

    def __init__(
        self,
        file_path: FilePath,
        columns: Sequence[str] | None = None,
        *,
        metadata_columns: Sequence[str] = (),
        delimiter: str | None = None,
        encoding: str | None = None,
        max_bytes: int | None = None,
        max_columns: int | None = MAX_COLUMNS,
    ) -> None:
        super().__init__(file_path, max_bytes=max_bytes)
        if isinstance(columns, str) or isinstance(metadata_columns, str):
            raise InvalidInput("columns and metadata_columns are sequences of names, not one str")
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise InvalidInput(f"delimiter is one character, no quote and no end of a line, not {delimiter!r}")
        self.columns: list[str] | None = None if columns is None else list(columns)
        self.metadata_columns: list[str] = list(metadata_columns)
        self.delimiter: str | None = delimiter
        self.max_columns: int | None = check_limit(max_columns, "max_columns")
        self.encoding: str | None = check_encoding(encoding)

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the documents of an open file."""
        text = open_text(file, self.file_path, self.encoding, newline="", max_line=MAX_LINE)
        first = text.readline()
        while first and not first.strip():
            first = text.readline()
        delimiter = self.delimiter or max(_DELIMITERS, key=_QUOTED.sub("", first).count)
        rows = _number_rows(self.file_path, first, text, delimiter)
        _, header = next(rows, (0, None))
        if header is None:
            raise DocumentError(self.file_path, "it has nothing but empty lines; leave it out, or download it again")
        if self.max_columns is not None and len(header) > self.max_columns:
            problem = f"it has {len(header):,} columns, and at most {self.max_columns:,} are read; raise max_columns="
            raise DocumentError(self.file_path, problem, "line 1")
        names = [name.strip() or f"column {at}" for at, name in enumerate(header, 1)]
        if self.columns is None:
            shown = [at for at, name in enumerate(names) if name not in self.metadata_columns]
        else:
            shown = self._find_columns(names, self.columns)
        labels = [(at, f"{names[at]}: ") for at in shown]
        facts = list(zip(self.metadata_columns, self._find_columns(names, self.metadata_columns), strict=True))
        for number, (line, values) in enumerate(rows, 1):
            count = len(values)
            if count > len(names) and any(values[len(names) :]):
                raise DocumentError(
                    self.file_path,
                    f"row {number} has {count} values for {len(names)} columns; quote values that hold {delimiter!r}",
                    f"line {line}",
                )
            content = "\n".join([label + values[at].strip() for at, label in labels if at < count])
            metadata: dict[str, str | int] = {name: values[at].strip() for name, at in facts if at < count}
            yield Document(content, metadata={**metadata, "source": self.file_path, "row": number})

    def _find_columns(self, names: list[str], wanted: list[str]) -> list[int]:
        missing = [name for name in wanted if name not in names]
        if missing:
            raise DocumentError(
                self.file_path, f"it has no column {missing[0]!r}; it has {', '.join(map(repr, names))[:300]}", "line 1"
            )
        return [names.index(name) for name in wanted]


def _number_rows(path: str, first: str, rest: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not empty, with the number of the line that it ends in."""

    def lines() -> Iterator[str]:
        yield first
        yield from rest

    rows = csv.reader(lines(), delimiter=delimiter, strict=True)
    try:
        for row in rows:
            if row:
                yield rows.line_num, row
    except csv.Error as error:
        raise DocumentError(
            path, f"it is no CSV there ({describe(error)}); mend it", f"line {rows.line_num}"
        ) from error
