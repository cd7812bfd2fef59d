"""Files that gzip has compressed: what is in one is unpacked into a file of its own, as far as it may."""

import gzip
import io
import tempfile
import zlib
from collections.abc import Callable, Iterator

from hocket.document_loaders.files import MAX_BYTES, FileLoader, describe
from hocket.document_loaders.formats import HEAD
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["GzipLoader"]

_BLOCK = 1_048_576


class GzipLoader(FileLoader):
    """Loads what is in a file that gzip has compressed, as if it were not; ``source`` is the compressed file.

    Args:
        file_path: the file.
        choose: returns the loader of what is in it, by its first bytes.
        max_bytes: the largest file that is taken; None: any.
        max_expanded_bytes: how large what is in it may be; None: any size.
    """

    def __init__(
        self,
        file_path: str,
        choose: Callable[[bytes], FileLoader],
        *,
        max_bytes: int | None = MAX_BYTES,
        max_expanded_bytes: int | None = None,
    ) -> None:
        super().__init__(file_path, max_bytes=max_bytes)
        self._choose, self._max_expanded = choose, max_expanded_bytes

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the documents of what is in the file."""
        with tempfile.TemporaryFile() as unpacked:
            size = 0
            try:
                with gzip.GzipFile(fileobj=file) as packed:
                    while block := packed.read(_BLOCK):
                        size += len(block)
                        if self._max_expanded is not None and size > self._max_expanded:
                            what = f"it expands to more than the {self._max_expanded:,} bytes that are read"
                            raise DocumentError(self.file_path, f"{what}; raise max_expanded_bytes= if you trust it")
                        unpacked.write(block)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                problem = f"it is cut or damaged ({describe(error)}); download it again"
                raise DocumentError(self.file_path, problem) from error
            if not size:
                problem = "what is in it is empty; leave it out, or download it again"
                raise DocumentError(self.file_path, problem, is_empty=True)
            unpacked.flush()
            unpacked.raw.seek(0)
            content: io.BufferedReader = io.BufferedReader(unpacked.raw)
            yield from self._choose(content.peek(HEAD)[:HEAD]).read(content)
