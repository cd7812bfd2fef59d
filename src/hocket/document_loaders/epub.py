"""EPUB: a chapter is a document."""

import io
import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from hocket.document_loaders.files import name_title
from hocket.document_loaders.html import read_page
from hocket.document_loaders.packages import Package, PackageLoader
from hocket.document_loaders.xml_events import Attributes, XMLEvents, strip_namespace
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["EpubLoader"]


class EpubLoader(PackageLoader):
    """Loads a book, a file of it, which is mostly a chapter, a document: its text, as `HTMLLoader` reads it, with headings
    that begin with ``#``.

    ``part`` counts these files from 1, in the order of the book, and those without text are left out. ``title`` is the
    book's, else the name of the file. A book that is protected from copying cannot be read.
    """

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield a document for each part that has a text."""
        package = self._open_package(file)
        book = _find_book(package)
        if book is None:
            raise self._refuse_kind("EPUB book")
        self._check_count(len(book.spine), "chapters")
        title = " ".join(book.title.split()) or name_title(self.file_path)
        has_text = False
        for number, id in enumerate(book.spine, 1):
            name = book.pages.get(id)
            if name is None:  # a picture, or of a kind that readers pass over
                continue
            data = package.read(name)
            if data is None:
                raise DocumentError(self.file_path, "a chapter is not there; download it again", name)
            if not data.strip():
                continue
            try:
                text = read_page(io.BufferedReader(io.BytesIO(data)), self.file_path, None, marks_headings=True).text
            except DocumentError as error:
                problem = f"it is damaged, or protected from copying ({error.problem})"
                raise DocumentError(self.file_path, problem, name) from None
            if text:
                has_text = True
                yield Document(text, metadata={"source": self.file_path, "part": number, "title": title})
        if not has_text:
            raise DocumentError(self.file_path, "none of its chapters has a text; run OCR over it, or leave it out")


def _find_book(package: Package) -> "_Book | None":
    container = _Container()
    if not package.parse("META-INF/container.xml", container):
        return None
    book = _Book(posixpath.dirname(container.path))
    return book if package.parse(container.path, book) and book.is_package else None


class _Container(XMLEvents):
    """Where the book's own list of its files is."""

    def __init__(self) -> None:
        self.path = ""

    def start(self, name: str, attributes: Attributes) -> None:
        if strip_namespace(name) == "rootfile":
            self.path = self.path or attributes.get("full-path", "")


class _Book(XMLEvents):
    """Title, pages by id, and the order in which they are read."""

    def __init__(self, folder: str) -> None:
        self.title = ""
        self.pages: dict[str, str] = {}
        self.spine: list[str] = []
        self.is_package = False
        self._folder = folder
        self._in_title = False

    def start(self, name: str, attributes: Attributes) -> None:
        name = strip_namespace(name)
        self.is_package = self.is_package or name == "package"
        self._in_title = name == "title" and not self.title
        if name == "itemref":
            self.spine.append(attributes.get("idref", ""))
        elif name == "item" and attributes.get("media-type") in ("application/xhtml+xml", "text/html"):
            if "nav" in attributes.get("properties", "").split():  # its table of contents
                return
            href = unquote(attributes.get("href", "").partition("#")[0])
            self.pages[attributes.get("id", "")] = posixpath.normpath(posixpath.join(self._folder, href))

    def end(self, name: str) -> None:
        self._in_title = False

    def characters(self, text: str) -> None:
        if self._in_title:
            self.title += text
