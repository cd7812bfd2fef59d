"""Small pieces are found, and the large ones that they are from are returned."""

import dbm.dumb
import functools
import shelve
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hocket.documents import BaseDocumentTransformer, Document
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import InvalidInput
from hocket.retrievers import ParentDocumentRetriever
from hocket.stores import InMemoryStore
from hocket.vectorstores import InMemoryVectorStore
from tests.retrievers.kit import Runs, texts

pytestmark = pytest.mark.anyio

DOCUMENTS = [Document("bleed. valve. May", id="boiler"), Document("feed. bowl", id="cat")]


class SplitAt(BaseDocumentTransformer):
    """Splits at a separator, and nowhere else."""

    def __init__(self, separator: str) -> None:
        self.separator = separator

    def transform_documents(self, documents: Sequence[Document], **kwargs: object) -> Sequence[Document]:
        return [
            Document(part, metadata=one.metadata)
            for one in documents
            for part in one.page_content.split(self.separator)
        ]


@pytest.fixture
def store() -> InMemoryVectorStore:
    return InMemoryVectorStore(DeterministicFakeEmbedding(size=16))


@pytest.fixture
def make(store: InMemoryVectorStore) -> Any:
    return functools.partial(
        ParentDocumentRetriever, vectorstore=store, docstore={}, child_splitter=SplitAt(". "), search_kwargs={"k": 1}
    )


async def test_the_whole_document_is_returned(make: Any, store: InMemoryVectorStore) -> None:
    retriever = make()
    assert await retriever.aadd_documents(DOCUMENTS) == ["boiler", "cat"]
    assert len(store) == 5
    (found,) = await retriever.ainvoke("valve")
    assert found == DOCUMENTS[0]
    assert found.score == pytest.approx(1)
    assert await retriever.ainvoke("bowl") == [DOCUMENTS[1]]


async def test_a_parent_comes_once_where_its_best_piece_is(make: Any) -> None:
    retriever = make(search_kwargs={"k": 5})
    await retriever.aadd_documents(DOCUMENTS)
    found = await retriever.ainvoke("bowl")
    assert [one.id for one in found] == ["cat", "boiler"]
    assert await retriever.ainvoke("bowl", k=1) == [DOCUMENTS[1]]


async def test_parents_may_be_parts(make: Any) -> None:
    retriever = make(parent_splitter=SplitAt("\n"))
    assert await retriever.aadd_documents([Document("a. b\nc. d", id="x")]) == ["x/0", "x/1"]
    assert texts(await retriever.ainvoke("d")) == ["c. d"]


async def test_documents_get_ids(make: Any) -> None:
    retriever = make()
    first, second = await retriever.aadd_documents([Document("one"), Document("two")])
    assert first != second
    assert await retriever.aadd_documents([Document("three")], ids=["own"]) == ["own"]
    assert [one.id for one in await retriever.ainvoke("three")] == ["own"]
    with pytest.raises(InvalidInput, match="2 ids for 1 documents"):
        await retriever.aadd_documents([Document("x")], ids=["a", "b"])


@pytest.mark.parametrize("parents", [None, SplitAt("\n")])
async def test_a_document_takes_the_place_of_the_old_one(
    make: Any, store: InMemoryVectorStore, parents: BaseDocumentTransformer | None
) -> None:
    """With all its pieces, and all its parts."""
    retriever = make(parent_splitter=parents, search_kwargs={"k": 10})
    await retriever.aadd_documents([Document("old. valve\nmore. pieces", id="x"), DOCUMENTS[1]])
    await retriever.aadd_documents([Document("new", id="x")])
    found = await retriever.ainvoke("valve")
    assert sorted(texts(found)) == sorted(["new", *texts([DOCUMENTS[1]])])
    assert len(store) == 3
    assert len(retriever.docstore) == 2


async def test_documents_are_deleted_with_their_pieces(make: Any, store: InMemoryVectorStore) -> None:
    retriever = make()
    await retriever.aadd_documents(DOCUMENTS)
    await retriever.adelete(["boiler", "unknown"])
    assert len(store) == 2
    assert list(retriever.docstore) == ["cat"]


async def test_a_file_keeps_the_parents(make: Any, tmp_path: Path) -> None:
    with shelve.Shelf(dbm.dumb.open(str(tmp_path / "parents"))) as parents:
        await make(docstore=parents).aadd_documents(DOCUMENTS)
    with shelve.Shelf(dbm.dumb.open(str(tmp_path / "parents"))) as parents:
        assert await make(docstore=parents).ainvoke("valve") == [DOCUMENTS[0]]


async def test_a_docstore_that_was_lost_is_told(make: Any) -> None:
    await make().aadd_documents(DOCUMENTS)
    with pytest.raises(InvalidInput, match="the docstore has none of what they are from"):
        await make(docstore={}).ainvoke("valve")
    assert await make(docstore={"cat": DOCUMENTS[1]}, search_kwargs={"k": 5}).ainvoke("valve") == [DOCUMENTS[1]]


async def test_nothing_found(make: Any) -> None:
    assert await make().ainvoke("valve") == []


async def test_the_search_is_a_child(make: Any) -> None:
    runs = Runs()
    await make().ainvoke("valve", {"callbacks": [runs]})
    assert [one[:2] for one in runs.children] == [
        (None, "ParentDocumentRetriever"),
        ("ParentDocumentRetriever", "VectorStoreRetriever"),
    ]


def test_and_for_sync_code(make: Any) -> None:
    retriever = make()
    assert retriever.add_documents(DOCUMENTS, ids=["a", "b"]) == ["a", "b"]
    assert texts(retriever.invoke("valve")) == texts(DOCUMENTS[:1])
    retriever.delete(["a", "b"])
    assert retriever.invoke("valve") == []


def test_a_store_of_keys_and_values_keeps_the_parents(make: Any, store: InMemoryVectorStore) -> None:
    """As in LangChain, whose docstore is a `BaseStore`."""
    parents = InMemoryStore()
    retriever = make(docstore=parents)
    retriever.add_documents(DOCUMENTS)
    assert list(parents.yield_keys()) == ["boiler", "cat"]
    assert retriever.invoke("valve") == [DOCUMENTS[0]]
    retriever.add_documents([Document("new", id="boiler")])
    retriever.delete(["cat"])
    assert list(parents.yield_keys()) == ["boiler"]
    assert (texts(retriever.invoke("valve")), len(store)) == (["new"], 1)
