"""Which loader reads a file: its content says so, and its name."""

import functools
from dataclasses import dataclass

from hocket.document_loaders.csv_rows import CSVLoader
from hocket.document_loaders.docx import DocxLoader
from hocket.document_loaders.epub import EpubLoader
from hocket.document_loaders.files import MAX_BYTES, FileLoader, check_limit, open_file
from hocket.document_loaders.formats import HEAD, choose_format
from hocket.document_loaders.gzipped import GzipLoader
from hocket.document_loaders.html import HTMLLoader
from hocket.document_loaders.json_records import JSONLoader, has_json_lines
from hocket.document_loaders.jupyter import NotebookLoader
from hocket.document_loaders.mail import EmailLoader
from hocket.document_loaders.odt import OdtLoader
from hocket.document_loaders.packages import MAX_EXPANDED_BYTES, PackageLoader
from hocket.document_loaders.pdf import MAX_PAGES, PyPDFLoader
from hocket.document_loaders.pptx import PptxLoader
from hocket.document_loaders.text import MarkdownLoader, TextLoader
from hocket.document_loaders.text_files import check_encoding
from hocket.document_loaders.xlsx import XlsxLoader
from hocket.document_loaders.xml_text import XMLLoader
from hocket.errors import DocumentError

__all__ = ["Chooser"]

_PACKAGES: dict[str, type[PackageLoader]] = {
    "DOCX": DocxLoader,
    "PPTX": PptxLoader,
    "XLSX": XlsxLoader,
    "ODT": OdtLoader,
    "EPUB": EpubLoader,
}
_TEXTS: dict[str, type[HTMLLoader | TextLoader | EmailLoader]] = {
    "HTML": HTMLLoader,
    "Markdown": MarkdownLoader,
    "Jupyter": NotebookLoader,
    "e-mail": EmailLoader,
}


@dataclass(frozen=True)
class Chooser:
    """Chooses loaders; its fields are the options of `open_documents`."""

    encoding: str | None = None
    max_bytes: int | None = MAX_BYTES
    max_expanded_bytes: int | None = MAX_EXPANDED_BYTES
    max_pages: int | None = MAX_PAGES
    password: str | None = None

    def __post_init__(self) -> None:
        check_encoding(self.encoding)
        for name in ("max_bytes", "max_expanded_bytes", "max_pages"):
            check_limit(getattr(self, name), name)

    def choose(self, path: str) -> FileLoader:
        """Return the loader of a file.

        Raises:
            DocumentError: the file cannot be read, no loader reads it, or content and name contradict each other.
        """
        with open_file(path, None) as file:
            return self.choose_by_head(file.read(HEAD), path, path)

    def choose_by_head(self, head: bytes, path: str, name: str, *, is_inside: bool = False) -> FileLoader:
        """Return the loader of what begins so.

        Args:
            head: its first bytes.
            path: where it is, for documents and errors.
            name: what it is called: its kind may be told by that alone.
            is_inside: whether it comes out of a compressed file.

        Raises:
            DocumentError: no loader reads it, or content and name contradict each other.
        """
        try:
            kind = choose_format(name, head)
        except ValueError as error:
            raise DocumentError(path, str(error)) from None
        if kind == "gzip":
            if is_inside:
                raise DocumentError(path, "it is a gzip archive within another, which is not read; unpack it")
            inside = name[:-3] if name.lower().endswith(".gz") else name
            choose = functools.partial(self.choose_by_head, path=path, name=inside, is_inside=True)
            return GzipLoader(path, choose, max_bytes=self.max_bytes, max_expanded_bytes=self.max_expanded_bytes)
        if kind == "PDF":
            return PyPDFLoader(path, self.password, max_bytes=self.max_bytes, max_pages=self.max_pages)
        if (package := _PACKAGES.get(kind)) is not None:
            return package(path, max_bytes=self.max_bytes, max_expanded_bytes=self.max_expanded_bytes)
        if kind == "CSV":
            return CSVLoader(path, encoding=self.encoding)
        if kind == "JSON":
            is_lines = has_json_lines(name)
            return JSONLoader(path, json_lines=is_lines, encoding=self.encoding, max_bytes=self.max_bytes)
        if kind == "XML":
            return XMLLoader(path, max_bytes=self.max_bytes)
        return _TEXTS.get(kind, TextLoader)(path, self.encoding, max_bytes=self.max_bytes)
