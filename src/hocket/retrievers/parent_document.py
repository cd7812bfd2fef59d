"""Small pieces are found, and the large ones that they are from are returned."""

import functools
import threading
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Protocol
from uuid import uuid4

from pydantic import Field, PrivateAttr, SkipValidation

from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket._runtime.portal import run_in_portal
from hocket.callbacks import AsyncCallbackManagerForRetrieverRun
from hocket.documents import BaseDocumentTransformer, Document
from hocket.errors import InvalidInput
from hocket.retrievers.base import BaseRetriever
from hocket.stores import BaseStore

__all__ = ["ChildStore", "ParentDocumentRetriever"]


class ChildStore(Protocol):
    """What is needed of a vector store; see `hocket.vectorstores.VectorStore`."""

    def as_retriever(self, *, search_type: Any, search_kwargs: Mapping[str, Any] | None) -> BaseRetriever:
        """Return a retriever over the store."""
        ...

    async def aadd_documents(self, /, documents: Sequence[Document]) -> list[str]:
        """Embed documents and store them by their ids."""
        ...

    async def alist_ids(self, filter: Mapping[str, object] | None) -> list[str]:
        """Return the ids of the documents that match a filter."""
        ...

    async def adelete(self, /, ids: Sequence[str]) -> None:
        """Delete documents."""
        ...


class ParentDocumentRetriever(BaseRetriever):
    """Splits documents into small pieces, whose vectors are sharp; finds these, and returns what they are pieces of.

        retriever = ParentDocumentRetriever(
            vectorstore=store,
            docstore=shelve.Shelf(dbm.dumb.open("parents")),
            child_splitter=RecursiveCharacterTextSplitter(chunk_size=400),
        )
        await retriever.aadd_documents(documents)

    A parent comes once, where its best piece is, with the score of that piece.

    Args:
        vectorstore: keeps the small pieces and their vectors.
        docstore: keeps the parents, by id: any mapping, or a `BaseStore`. A ``dict`` lasts as long as the process, a
            ``Shelf`` as long as its file; one of one's own may ask a database. It is used in worker threads, one at a time,
            which ``shelve.open`` does not allow from Python 3.13 on: there it is SQLite, bound to the thread that opened it.
        child_splitter: splits a parent into the pieces that are searched.
        parent_splitter: splits a document into parents. Default: the document is the parent.
        id_key: what a piece's metadata call the id of its parent.
        search_type, search_kwargs: of the search for pieces, as in `VectorStore.as_retriever`; ``k`` counts pieces.

    Raises:
        InvalidInput: a search found pieces, and the docstore has the parents of none of them.
        Exception: what the stores and splitters raise.
    """

    vectorstore: SkipValidation[ChildStore]
    docstore: SkipValidation[MutableMapping[str, Document] | BaseStore[str, Document]]
    child_splitter: SkipValidation[BaseDocumentTransformer]
    parent_splitter: SkipValidation[BaseDocumentTransformer | None] = None
    id_key: str = "doc_id"
    search_type: str = "similarity"
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    _turn: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        search_kwargs = {**self.search_kwargs, **kwargs}
        search = self.vectorstore.as_retriever(search_type=self.search_type, search_kwargs=search_kwargs)
        pieces = await search.ainvoke(query, {"callbacks": run_manager.get_child()})
        best: dict[str, Document] = {}
        for piece in pieces:
            best.setdefault(str(piece.metadata.get(self.id_key)), piece)
        parents = await ASYNC.call_sync(self._read, list(best))
        if pieces and not parents:
            raise InvalidInput(
                f"pieces were found, and the docstore has none of what they are from: {list(best)[:3]}. Is it the one "
                "that add_documents wrote to? A dict is gone with its process"
            )
        return [parent.model_copy(update={"score": best[key].score}) for key, parent in parents.items()]

    async def aadd_documents(self, documents: Sequence[Document], *, ids: Sequence[str] | None = None) -> list[str]:
        """Store documents and their pieces. One whose id is there takes the place of the old one and of its pieces.

        Args:
            documents: of any length.
            ids: one for each. Default: their own; one that has none gets a new one.

        Returns:
            the ids of the parents. With a ``parent_splitter`` those of document "a" are "a/0", "a/1" and so on.
        """
        if ids is not None and len(ids) != len(documents):
            raise InvalidInput(f"there are {len(ids)} ids for {len(documents)} documents; give one for each")
        given = ids or [document.id or str(uuid4()) for document in documents]
        named = dict(zip(given, documents, strict=True))
        parents: dict[str, Document] = {}
        for key, document in named.items():
            parents |= await _split(self.parent_splitter, key, document)
        pieces: list[Document] = []
        for key, parent in parents.items():
            for name, piece in (await _split(self.child_splitter, key, parent)).items():
                facts = {**piece.metadata, self.id_key: key}
                pieces.append(piece.model_copy(update={"id": name, "metadata": facts}))
        former = await ASYNC.call_sync(self._list_parents, list(named))
        await finish_write(
            lambda: ASYNC.call_sync(self._write, parents)
        )  # first, so that no piece is found whose parent is not there
        await self.vectorstore.aadd_documents(pieces)
        if former:
            await self._delete_all_but(former, pieces, parents)
        return list(parents)

    def add_documents(self, documents: Sequence[Document], *, ids: Sequence[str] | None = None) -> list[str]:
        """Store documents and their pieces: the sync face of `aadd_documents`."""
        return run_in_portal(functools.partial(self.aadd_documents, documents, ids=ids))

    async def adelete(self, ids: Sequence[str]) -> None:
        """Delete documents, their parents and their pieces, by the ids of the documents. Unknown ones are no error."""
        former = await ASYNC.call_sync(self._list_parents, list(ids))
        if former:
            await self._delete_all_but(former, [], {})

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents, their parents and their pieces: the sync face of `adelete`."""
        run_in_portal(functools.partial(self.adelete, ids))

    async def _delete_all_but(
        self, former: Sequence[str], pieces: Sequence[Document], parents: Mapping[str, Document]
    ) -> None:
        kept = {piece.id for piece in pieces}
        found = await self.vectorstore.alist_ids({self.id_key: {"$in": list(former)}})
        if stale := [one for one in found if one not in kept]:
            await self.vectorstore.adelete(stale)
        gone = [one for one in former if one not in parents]
        await finish_write(lambda: ASYNC.call_sync(self._remove, gone))

    # -- the docstore, in worker threads

    @property
    def _parents(self) -> MutableMapping[str, Document]:
        return _StoreMapping(self.docstore) if isinstance(self.docstore, BaseStore) else self.docstore

    def _read(self, ids: Sequence[str]) -> dict[str, Document]:
        with self._turn:
            kept = self._parents
            return {one: kept[one] for one in ids if one in kept}

    def _write(self, parents: Mapping[str, Document]) -> None:
        with self._turn:
            self._parents.update(parents)

    def _remove(self, ids: Sequence[str]) -> None:
        with self._turn:
            for one in ids:
                self._parents.pop(one, None)

    def _list_parents(self, ids: Sequence[str]) -> list[str]:
        """Return the parents of documents that are there: a document itself, or its parts, whose numbers have no gap."""
        found: list[str] = []
        with self._turn:
            kept = self._parents
            for one in ids:
                found += [one] if one in kept else []
                number = 0
                while (part := f"{one}/{number}") in kept:
                    found.append(part)
                    number += 1
        return found


class _StoreMapping(MutableMapping[str, Document]):
    """A store of keys and values as a mapping."""

    def __init__(self, store: BaseStore[str, Document]) -> None:
        self._store = store

    def __getitem__(self, key: str) -> Document:
        [found] = self._store.mget([key])
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: str, value: Document) -> None:
        self._store.mset([(key, value)])

    def __delitem__(self, key: str) -> None:
        self._store.mdelete([key])

    def __iter__(self) -> Iterator[str]:
        return self._store.yield_keys()

    def __len__(self) -> int:
        return sum(1 for _ in self)


async def _split(splitter: BaseDocumentTransformer | None, key: str, document: Document) -> dict[str, Document]:
    """Return the parts of a document by their ids; without a splitter, the document itself."""
    if splitter is None:
        return {key: document.model_copy(update={"id": key})}
    parts = await splitter.atransform_documents([document])
    return {f"{key}/{number}": part.model_copy(update={"id": f"{key}/{number}"}) for number, part in enumerate(parts)}
