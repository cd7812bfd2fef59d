"""JSON and JSON lines: a document is a record, an element of the list that a file is.

Values are found by plain dotted paths, where LangChain's loader runs jq programs.
"""

import io
import json
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import cast

from hocket._json import JSON
from hocket.document_loaders.files import MAX_BYTES, FileLoader, FilePath, check_file_path, describe
from hocket.document_loaders.text_files import check_encoding, open_text
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["JSONLoader", "has_json_lines"]

MAX_LINE = 100_000_000  # characters
_SPACE = re.compile(r"[ \t\n\r]*")
_LINES = (".jsonl", ".ndjson")


class JSONLoader(FileLoader):
    """Loads JSON, a record a document: each element of a list, or the whole of anything else; in JSON lines each line.

    The text is the record, or what ``content_key`` finds in it: a string as it is, null as no text, anything else
    as JSON. ``row`` counts
    records from 1. JSON lines are read as the documents are, so that the file's size does not matter.

    A path is keys with dots between them, and positions in lists, from 0: ``"choices.0.text"``. A key that has dots itself
    is found where the whole rest of the path is that key.

    Args:
        file_path: the file.
        content_key: the path, in a record, of the text.
        metadata_keys: paths, in a record, of what becomes metadata, under the same names, unless these are
            ``source`` or ``row``. What a record lacks is left out.
        records: the path, in the file, of the list of records; None: the file is the list.
        json_lines: whether each line is a record; None: if the file is called ``.jsonl`` or ``.ndjson``.
        encoding: of a file that has no byte order mark and is not UTF-8.
        max_bytes: the largest file that is taken, unless it is JSON lines; None: any.

    Raises:
        InvalidInput: Python knows no such encoding, or a path is empty.
        DocumentError: by the verbs: the file cannot be read, is no JSON, or a record lacks its text.
    """

    def __init__(
        self,
        file_path: FilePath,
        *,
        content_key: str | None = None,
        metadata_keys: Sequence[str] = (),
        records: str | None = None,
        json_lines: bool | None = None,
        encoding: str | None = None,
        max_bytes: int | None = MAX_BYTES,
    ) -> None:
        if json_lines is None:
            json_lines = has_json_lines(check_file_path(file_path))
        super().__init__(file_path, max_bytes=None if json_lines else max_bytes)
        self.json_lines: bool = json_lines
        self.content_key: str | None = content_key
        self.metadata_keys: list[str] = list(metadata_keys)
        self.records: str | None = records
        self.encoding: str | None = check_encoding(encoding)

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the documents of an open file."""
        for row, (place, record) in enumerate(self._read_lines(file) if self.json_lines else self._read_whole(file), 1):
            metadata: dict[str, object] = {"source": self.file_path, "row": row}
            for key in self.metadata_keys:
                with suppress(LookupError):
                    metadata.setdefault(key, _find(record, key))
            content = self._make_text(record, place)
            try:
                content.encode()
                if self.metadata_keys:
                    json.dumps(metadata, ensure_ascii=False).encode()
            except UnicodeEncodeError as error:
                problem = "it has half of a surrogate pair (\\ud800 to \\udfff), which is no character; mend it"
                raise DocumentError(self.file_path, problem, place) from error
            yield Document(content, metadata=metadata)

    def _make_text(self, record: JSON, place: str) -> str:
        value = record
        if self.content_key is not None:
            try:
                value = _find(record, self.content_key)
            except LookupError as error:
                raise DocumentError(
                    self.file_path, f"it has nothing under {self.content_key!r} (content_key=)", place
                ) from error
        if isinstance(value, str | None):
            return value or ""
        return json.dumps(value, ensure_ascii=False)

    def _read_lines(self, file: io.BufferedReader) -> Iterator[tuple[str, JSON]]:
        text = open_text(file, self.file_path, self.encoding, max_line=MAX_LINE)
        for number, line in enumerate(text, 1):
            if line.strip():
                place = f"line {number}"
                with self._refuse_bad_json(place):
                    record = cast(JSON, json.loads(line))
                yield place, record

    def _read_whole(self, file: io.BufferedReader) -> Iterator[tuple[str, JSON]]:
        text = open_text(file, self.file_path, self.encoding).read()
        found = _iterate(text) if self.records is None else iter(self._find_records(text))
        number = 0
        while True:
            with self._refuse_bad_json(None):
                try:
                    record = next(found)
                except StopIteration:
                    return
            number += 1
            yield f"record {number}", record

    def _find_records(self, text: str) -> list[JSON]:
        assert self.records is not None
        with self._refuse_bad_json(None):
            whole = cast(JSON, json.loads(text))
        try:
            records = _find(whole, self.records)
        except LookupError as error:
            raise DocumentError(self.file_path, f"it has nothing under {self.records!r} (records=)") from error
        return records if isinstance(records, list) else [records]

    @contextmanager
    def _refuse_bad_json(self, place: str | None) -> Generator[None]:
        try:
            yield
        except json.JSONDecodeError as error:
            what = f"it is no JSON ({error.msg} at character {error.colno})"
            remedy = "mend it" if place else "mend it, or give json_lines=True if each line is a record"
            raise DocumentError(self.file_path, f"{what}; {remedy}", place or f"line {error.lineno}") from error
        except (ValueError, RecursionError) as error:  # a number of thousands of digits; nested too deep
            problem = f"it is JSON that is not read ({describe(error)}); mend it"
            raise DocumentError(self.file_path, problem, place) from error


def has_json_lines(name: str) -> bool:
    """Whether a file of this name has a record in each line."""
    return name.lower().endswith(_LINES)


def _iterate(text: str) -> Iterator[JSON]:
    """Yield the elements of a JSON list, each parsed when it is asked for; of any other value that value.

    To parse all of it at once would keep every other thread waiting.
    """
    decoder = json.JSONDecoder()
    at = _skip_space(text, 0)
    if text[at : at + 1] != "[":
        yield cast(JSON, json.loads(text))
        return
    at = _skip_space(text, at + 1)
    while text[at : at + 1] != "]":
        value, at = decoder.raw_decode(text, at)
        yield cast(JSON, value)
        at = _skip_space(text, at)
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
            if text[at : at + 1] == "]":
                raise json.JSONDecodeError("Expecting value", text, at)
        elif text[at : at + 1] != "]":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    at = _skip_space(text, at + 1)
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def _find(value: JSON, path: str) -> JSON:
    """Return what a dotted path finds; nothing raises `LookupError`."""
    while True:
        if isinstance(value, dict) and path in value:
            return value[path]
        key, _, rest = path.partition(".")
        if isinstance(value, dict):
            value = value[key]
        elif isinstance(value, list) and key.isdecimal():
            value = value[int(key)]
        else:
            raise LookupError(key)
        if not rest:
            return value
        path = rest


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
