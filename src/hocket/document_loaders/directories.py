"""Folders as such: of any files, and of what Notion has exported."""

import functools
import os
import re
from collections.abc import Callable, Generator, Sequence

from hocket.document_loaders.base import BaseLoader
from hocket.document_loaders.choosing import Chooser
from hocket.document_loaders.files import MAX_BYTES, FilePath
from hocket.document_loaders.folders import FilesLoader, OnError, PathFacts
from hocket.document_loaders.text import MarkdownLoader
from hocket.document_loaders.text_files import check_encoding
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["DirectoryLoader", "NotionDirectoryLoader"]

_NOTION_ID = re.compile(r"[ -]?[0-9a-f]{32}$")


class DirectoryLoader(FilesLoader):
    """Loads the files in a folder and in the folders below it, in the order of their names.

    Args:
        path: the folder.
        glob: which files are loaded: see `FilesLoader`.
        exclude: which files and folders are left out after all: see `FilesLoader`.
        loader_cls: makes the loader of a file from its path, a class or a function; None: as `open_documents` does, by
            content.
        max_depth: how many folders deep a file may be, 1: in the folder itself; None: any.
        load_hidden: whether names that begin with a dot are loaded, too.
        encoding: of text that has no byte order mark and is not UTF-8; for loaders that are chosen by content.
        on_error: what becomes of a file that cannot be read: "raise", "skip" (it is logged and kept in ``skipped``), or a
            function that gets the error.
        max_bytes: the largest file that is read; for loaders that are chosen by content.
        metadata: a function of a file's path that returns metadata of its documents: see `FilesLoader`.

    Raises:
        InvalidInput: an argument that nothing could be loaded with.
        DocumentError: by the verbs: there is no such folder; if ``on_error`` is "raise", a file cannot be read.
    """

    def __init__(
        self,
        path: FilePath,
        glob: str | Sequence[str] = "**/*",
        *,
        exclude: str | Sequence[str] = (),
        loader_cls: Callable[[str], BaseLoader] | None = None,
        max_depth: int | None = None,
        load_hidden: bool = False,
        encoding: str | None = None,
        on_error: OnError = "raise",
        max_bytes: int | None = MAX_BYTES,
        metadata: PathFacts | None = None,
    ) -> None:
        make_loader = loader_cls or Chooser(encoding=encoding, max_bytes=max_bytes).choose
        super().__init__(
            [path],
            make_loader,
            glob=glob,
            exclude=exclude,
            max_depth=max_depth,
            load_hidden=load_hidden,
            on_error=on_error,
            metadata=metadata,
        )

    def lazy_load(self) -> Generator[Document]:
        """Yield the documents of every file; the file that they come from is open meanwhile."""
        (path,) = self.paths
        if not os.path.isdir(path):
            what = "it is no directory, and one is wanted" if os.path.exists(path) else "there is no such directory"
            raise DocumentError(path, f"{what}; check the path")
        yield from super().lazy_load()


class NotionDirectoryLoader(DirectoryLoader):
    """Loads what Notion exports as "Markdown & CSV", unpacked: each page is a document, its properties in its text.

    ``title`` is that of the page. The CSV files are left out: what they list are pages of their own.

    Args:
        path: the folder that the export was unpacked into.
        encoding: of pages that are not UTF-8, as Notion writes them.
        on_error: what becomes of a page that cannot be read: "raise", "skip", or a function that gets the error.

    Raises:
        DocumentError: by the verbs: there is no such folder; if ``on_error`` is "raise", a page cannot be read.
    """

    def __init__(self, path: FilePath, encoding: str | None = None, *, on_error: OnError = "raise") -> None:
        make_loader = functools.partial(_NotionPageLoader, encoding=check_encoding(encoding))
        super().__init__(path, "**/*.md", loader_cls=make_loader, on_error=on_error)


class _NotionPageLoader(MarkdownLoader):
    """Loads a page, whose file is called by its title and an id of 32 digits."""

    def _find_title(self, text: str) -> str:
        return _NOTION_ID.sub("", super()._find_title(text))
