"""`open_documents`: paths in, a loader of whatever they hold out. The format of a file is that of its content."""

import functools
from collections.abc import Sequence

from hocket.document_loaders.base import BaseLoader
from hocket.document_loaders.csv_rows import CSVLoader
from hocket.document_loaders.docx import MAX_EXPANDED_BYTES, DocxLoader
from hocket.document_loaders.files import MAX_BYTES, FilePath, check_limit, open_file
from hocket.document_loaders.folders import FilesLoader, OnError
from hocket.document_loaders.formats import HEAD, choose_format
from hocket.document_loaders.html import HTMLLoader
from hocket.document_loaders.json_records import JSONLoader
from hocket.document_loaders.jupyter import NotebookLoader
from hocket.document_loaders.pdf import MAX_PAGES, PyPDFLoader
from hocket.document_loaders.text import MarkdownLoader, TextLoader
from hocket.document_loaders.text_files import check_encoding
from hocket.errors import DocumentError

__all__ = ["choose_loader", "open_documents"]


def open_documents(
    *paths: FilePath,
    glob: str | Sequence[str] = "**/*",
    exclude: str | Sequence[str] = (),
    encoding: str | None = None,
    on_error: OnError = "raise",
    max_bytes: int | None = MAX_BYTES,
    max_expanded_bytes: int | None = MAX_EXPANDED_BYTES,
    max_pages: int | None = MAX_PAGES,
    password: str | None = None,
) -> FilesLoader:
    """Return a loader of files and folders, each file in the format that its content has.

    PDF and DOCX are known by their first bytes, text by the lack of NUL characters. Which kind of text it is (Markdown,
    CSV, JSON, HTML, a Jupyter notebook) its name says. A name that says PDF, DOCX or another binary format must be right.

    Args:
        paths: files and folders; `FilesLoader` says in which order a folder is read.
        glob: which files of a folder are loaded.
        exclude: which files and folders below it are left out after all: ``"**/*.log"``, ``["drafts", "**/*.tmp"]``.
        encoding: of text that has no byte order mark and is not UTF-8.
        on_error: what becomes of a file that cannot be read: "raise", "skip", or a function that gets the error.
        max_bytes: the largest file that is read; None: any. CSV and JSON lines are read in pieces, and have no limit.
        max_expanded_bytes: how large what is read of a DOCX may be when it is expanded; None: any size.
        max_pages: how many pages a PDF may have; None: any number.
        password: of encrypted PDFs.

    Raises:
        InvalidInput: an argument that nothing could be loaded with.
        DocumentError: by the verbs of the loader: a path is not there, and more: see `FilesLoader`.
    """
    make_loader = functools.partial(
        choose_loader,
        encoding=check_encoding(encoding),
        max_bytes=check_limit(max_bytes, "max_bytes"),
        max_expanded_bytes=check_limit(max_expanded_bytes, "max_expanded_bytes"),
        max_pages=check_limit(max_pages, "max_pages"),
        password=password,
    )
    return FilesLoader(paths, make_loader, glob=glob, exclude=exclude, on_error=on_error)


def choose_loader(
    path: str,
    *,
    encoding: str | None = None,
    max_bytes: int | None = MAX_BYTES,
    max_expanded_bytes: int | None = MAX_EXPANDED_BYTES,
    max_pages: int | None = MAX_PAGES,
    password: str | None = None,
) -> BaseLoader:
    """Return the loader of a file, by its content and its name. The options are those of `open_documents`.

    Raises:
        DocumentError: the file cannot be read, no loader reads it, or content and name contradict each other.
    """
    with open_file(path, None) as file:
        head = file.read(HEAD)
    try:
        kind = choose_format(path, head)
    except ValueError as error:
        raise DocumentError(path, str(error)) from None
    if kind == "PDF":
        return PyPDFLoader(path, password, max_bytes=max_bytes, max_pages=max_pages)
    if kind == "DOCX":
        return DocxLoader(path, max_bytes=max_bytes, max_expanded_bytes=max_expanded_bytes)
    if kind == "CSV":
        return CSVLoader(path, encoding=encoding)
    if kind == "JSON":
        return JSONLoader(path, encoding=encoding, max_bytes=max_bytes)
    kinds: dict[str, type[HTMLLoader | TextLoader]] = {
        "HTML": HTMLLoader,
        "Markdown": MarkdownLoader,
        "Jupyter": NotebookLoader,
    }
    return kinds.get(kind, TextLoader)(path, encoding, max_bytes=max_bytes)
