"""PDF: a document is a page. The package pypdf reads the format; hocket holds it to errors that say where.

pypdf mends what it can, in silence: a file that was cut gives the pages that are left, a page whose text is gone gives
none. An index made of that would have gaps that nobody sees. So the end of the file, the number of pages and the content of
each page are looked at here.
"""

import io
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hocket.document_loaders.files import MAX_BYTES, FileLoader, FilePath, check_limit, describe, name_title
from hocket.documents import Document
from hocket.errors import DocumentError, InvalidInput, MissingDependency

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

__all__ = ["MAX_PAGES", "PyPDFLoader"]

MAX_PAGES = 10_000
"""How many pages a file may have, by default."""

MAX_PAGE_BYTES = 10_000_000
"""How long the content of a page may be, unpacked, by default: pypdf takes some 20 times its memory."""

_DAMAGED = "it is cut or damaged"
_REMEDY = "download it again, or save it again from a PDF viewer"
_HEADER_WITHIN = 1024  # bytes, as viewers have it
_END_WITHIN = 8192  # bytes: some servers append to what they send


class PyPDFLoader(FileLoader):
    """Loads a PDF, a page a document; needs ``pip install 'hocket[documents]'``.

    ``page`` counts from 1, ``total_pages`` says how many there are, and ``title`` is the file's, else its name without the
    suffix. A page without text is a document without text; if that is true of all of them, the last is followed by an error.
    A page most of whose characters its fonts do not name (U+FFFD) is an error.

    Args:
        file_path: the file.
        password: of an encrypted file.
        max_bytes: the largest file that is taken; None: any.
        max_pages: how many pages it may have; None: any number.
        max_page_bytes: how long the content of a page may be, unpacked from text; None: any length.

    Raises:
        InvalidInput: an option no file could be read with.
        MissingDependency: by the verbs: pypdf is not installed.
        DocumentError: by the verbs: the file is no PDF, cut, damaged or too large, needs another password, or has no text.
    """

    def __init__(
        self,
        file_path: FilePath,
        password: str | None = None,
        *,
        max_bytes: int | None = MAX_BYTES,
        max_pages: int | None = MAX_PAGES,
        max_page_bytes: int | None = MAX_PAGE_BYTES,
    ) -> None:
        super().__init__(file_path, max_bytes=max_bytes)
        if password is not None and not isinstance(password, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"password is a str or None, not {type(password).__name__}")
        self.password: str | None = password
        self.max_pages: int | None = check_limit(max_pages, "max_pages")
        self.max_page_bytes: int | None = check_limit(max_page_bytes, "max_page_bytes")

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the documents of an open file."""
        _check_ends(file, self.file_path)
        with self._refuse_damage(None):
            reader = self._open(file)
            total = self._count_pages(reader)
            title = (reader.metadata.title if reader.metadata else None) or name_title(self.file_path)
        has_text = False
        for number in range(1, total + 1):
            place = f"page {number}"
            with self._refuse_damage(place):
                page = reader.pages[number - 1]
                self._check_content(page, place)
                text = _mend_characters(page.extract_text())
            if text.count("\ufffd") * 2 > len(text):
                problem = "its fonts do not say which characters its text has; run OCR over it first"
                raise DocumentError(self.file_path, problem, place)
            has_text = has_text or bool(text.strip())
            facts = {"source": self.file_path, "page": number, "total_pages": total, "title": str(title)}
            yield Document(text, metadata=facts)
        if not has_text:
            raise DocumentError(self.file_path, "none of its pages has text; if they are images, run OCR over it first")

    def _open(self, file: io.BufferedReader) -> "PdfReader":
        try:
            from pypdf import PdfReader
        except ImportError:
            raise MissingDependency("PDF files are read by pypdf; run `pip install 'hocket[documents]'`") from None
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt("") and not (self.password and reader.decrypt(self.password)):
            problem = "the password is wrong" if self.password else "it is encrypted"
            raise DocumentError(self.file_path, f"{problem}; give its own by password=")
        return reader

    def _count_pages(self, reader: "PdfReader") -> int:
        from pypdf.generic import DictionaryObject

        pages = reader.root_object["/Pages"].get_object()
        count: object = pages.get("/Count") if isinstance(pages, DictionaryObject) else None
        declared = count if isinstance(count, int) else 0
        if self.max_pages is not None and declared > self.max_pages:
            problem = (
                f"it has {declared:,} pages, and at most {self.max_pages:,} are read; raise max_pages=, or split it"
            )
            raise DocumentError(self.file_path, problem)
        total = len(reader.pages)
        if total < declared or not total:
            raise DocumentError(self.file_path, f"{_DAMAGED}: {total} of its {declared} pages are there; {_REMEDY}")
        return total

    def _check_content(self, page: "PageObject", place: str) -> None:
        """Refuse a page whose content is not there, is too long, or cannot be expanded to its end."""
        from pypdf.generic import ArrayObject, StreamObject

        if "/Contents" not in page:
            return
        content = page["/Contents"].get_object()
        streams = [one.get_object() for one in content] if isinstance(content, ArrayObject) else [content]
        length = 0
        for stream in streams:
            if not isinstance(stream, StreamObject):
                raise DocumentError(self.file_path, f"{_DAMAGED}: its content is not there; {_REMEDY}", place)
            data = stream._data  # pyright: ignore[reportPrivateUsage]
            length += len(data) + 3 * data.count(b"z")  # in ASCII85 one for four bytes; the rest pypdf bounds
            if self.max_page_bytes is not None and length > self.max_page_bytes:
                problem = f"its content may have {length:,} bytes, and at most {self.max_page_bytes:,} are read"
                raise DocumentError(self.file_path, f"{problem}; raise max_page_bytes=", place)
            if stream.get("/Filter") in ("/FlateDecode", ["/FlateDecode"]):
                zlib.decompressobj().decompress(data, 1_000_000)

    @contextmanager
    def _refuse_damage(self, place: str | None) -> Generator[None]:
        """Turn whatever pypdf raises into one error; its own exceptions are not all that damaged files make it raise."""
        try:
            yield
        except (DocumentError, MissingDependency):
            raise
        except Exception as error:
            if type(error).__name__ == "DependencyError":
                problem = f"it is encrypted with AES, for which pypdf needs a package ({describe(error)})"
                raise DocumentError(self.file_path, f"{problem}; run `pip install 'pypdf[crypto]'`", place) from error
            raise DocumentError(self.file_path, f"{_DAMAGED} ({describe(error)}); {_REMEDY}", place) from error


def _mend_characters(text: str) -> str:
    """Join the halves of surrogate pairs, which pypdf takes over from fonts, and drop NUL, its sign for no character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "")


def _check_ends(file: io.BufferedReader, path: str) -> None:
    """Refuse a file that does not begin or end as a PDF does."""
    if b"%PDF-" not in file.read(_HEADER_WITHIN):
        raise DocumentError(path, "it is no PDF; open_documents() picks the loader by content")
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END_WITHIN))
    if b"%%EOF" not in file.read():
        raise DocumentError(path, f"{_DAMAGED}: its end is missing; {_REMEDY}")
    file.seek(0)
