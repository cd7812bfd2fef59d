"""`open_documents`: paths in, a loader of whatever they hold out. The format of a file is that of its content."""

import functools
from collections.abc import Sequence

from hocket.document_loaders.base import BaseLoader
from hocket.document_loaders.choosing import Chooser
from hocket.document_loaders.files import MAX_BYTES, FilePath, is_address
from hocket.document_loaders.folders import FilesLoader, OnError, PathFacts
from hocket.document_loaders.packages import MAX_EXPANDED_BYTES
from hocket.document_loaders.pdf import MAX_PAGES
from hocket.document_loaders.web import WebBaseLoader

__all__ = ["open_documents"]


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
    metadata: PathFacts | None = None,
) -> FilesLoader:
    """Return a loader of files, folders and pages on the web, each file in the format that its content has.

    PDF, DOCX, ODT, EPUB and gzip are known by their first bytes, text by the lack of NUL characters. Which kind of text it
    is (Markdown, CSV, JSON, HTML, XML, an e-mail, a Jupyter notebook), or of an office document (PPTX, XLSX), its name
    says. A name that says PDF, DOCX or another binary format must be right.

    Args:
        paths: files, folders and addresses (``https://…``); `FilesLoader` says in which order a folder is read, and
            `WebBaseLoader` which addresses are asked.
        glob: which files of a folder are loaded.
        exclude: which files and folders below it are left out after all: ``"**/*.log"``, ``["drafts", "**/*.tmp"]``.
        encoding: of text that has no byte order mark and is not UTF-8.
        on_error: what becomes of a file that cannot be read: "raise", "skip", or a function that gets the error.
        max_bytes: the largest file that is read; None: any. CSV and JSON lines are read in pieces, and have no limit.
        max_expanded_bytes: how large what is read of an office document, or a compressed file, may be when it is expanded;
            None: any size.
        max_pages: how many pages a PDF may have; None: any number.
        password: of encrypted PDFs.
        metadata: a function of a file's path that returns what goes over the metadata of its documents:
            ``lambda path: {"team": path.parts[1]}``. See `FilesLoader`.

    Raises:
        InvalidInput: an argument that nothing could be loaded with.
        DocumentError: by the verbs of the loader: a path is not there, and more: see `FilesLoader`.
    """
    chooser = Chooser(encoding, max_bytes, max_expanded_bytes, max_pages, password)

    for path in paths:
        if isinstance(path, str) and is_address(path):
            WebBaseLoader(path)  # it refuses what cannot be fetched
    make_loader = functools.partial(_choose, chooser)
    return FilesLoader(paths, make_loader, glob=glob, exclude=exclude, on_error=on_error, metadata=metadata)


def _choose(chooser: Chooser, path: str) -> BaseLoader:
    if not is_address(path):
        return chooser.choose(path)
    page = WebBaseLoader(path)
    page.chooser = chooser
    return page
