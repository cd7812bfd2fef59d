"""Files that are opened for reading, with everything that may be wrong with one said as a `DocumentError`."""

import io
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from hocket.document_loaders.base import StreamLoader
from hocket.documents import Document
from hocket.documents.blob import FilePath
from hocket.errors import DocumentError, InvalidInput

__all__ = [
    "MAX_BYTES",
    "FileLoader",
    "FilePath",
    "check_file_path",
    "check_limit",
    "describe",
    "is_address",
    "name_title",
    "open_file",
]

MAX_BYTES = 100_000_000
"""The largest file that is read whole, by default."""


class FileLoader(StreamLoader, ABC):
    """Loads one file.

    Args:
        file_path: the file. Documents name it as ``source``, as it is given here.
        max_bytes: the largest file that is taken; None: any.

    Raises:
        InvalidInput: an argument no file could be read with. By the verbs:
        DocumentError: it cannot be read, or is not in its format.
    """

    def __init__(self, file_path: FilePath, *, max_bytes: int | None = MAX_BYTES) -> None:
        self.file_path: str = check_file_path(file_path)
        self.max_bytes: int | None = check_limit(max_bytes, "max_bytes")

    def lazy_load(self) -> Generator[Document]:
        """Yield the documents of the file, which is open meanwhile."""
        with open_file(self.file_path, self.max_bytes) as file:
            yield from self.read(file)

    @abstractmethod
    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the documents of an open file; of one that was fetched, or unpacked, ``file_path`` is the address."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.file_path!r})"


@contextmanager
def open_file(path: str, max_bytes: int | None) -> Generator[io.BufferedReader]:
    """Open a regular file that is not empty and not too large.

    Raises:
        DocumentError: there is none, or it cannot be read, here or in the block.
    """
    try:
        path.encode()
    except UnicodeEncodeError as error:  # nothing that keeps documents could keep their source
        raise DocumentError(path, "its name is not UTF-8; rename it") from error
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe would wait for its writer
            what = "a directory" if os.path.isdir(path) else "no regular file"
            raise DocumentError(path, f"it is {what}, and a file is wanted; open_documents() reads directories")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if max_bytes is not None and size > max_bytes:
                raise DocumentError(
                    path, f"it has {size:,} bytes, and at most {max_bytes:,} are read; raise max_bytes=, or split it"
                )
            if not file.peek(1):
                raise DocumentError(path, "it is empty; leave it out, or download it again", is_empty=True)
            yield file
    except FileNotFoundError as error:
        raise DocumentError(path, "there is no such file; check the path") from error
    except OSError as error:
        raise DocumentError(
            path, f"it cannot be read ({error.strerror or error}); check its permissions, and the disk"
        ) from error


def check_file_path(path: FilePath) -> str:
    """Return a path as text; an object that is no path, or an empty one, raises `InvalidInput`."""
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a path is a str or an os.PathLike, not {type(path).__name__}")
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{text!r} is no path")
    return text


def check_limit(limit: int | None, name: str) -> int | None:
    """Return a limit; one that is no positive number raises `InvalidInput`."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} is a positive int, or None for no limit, not {limit!r}")
    return limit


def name_title(path: str) -> str:
    """Return the title of a file, or a page, that has none inside: its name without the suffix."""
    name = os.path.basename(urlsplit(path).path if is_address(path) else path)
    return os.path.splitext(name.removesuffix(".gz"))[0] or path


def is_address(path: str) -> bool:
    """Whether a path is the address of a page on the web."""
    return path[:8].lower().startswith(("http://", "https://"))


def describe(error: BaseException) -> str:
    """Return in one line what a library said is wrong."""
    return " ".join(str(error).split())[:200] or type(error).__name__
