"""Indexing and retrievers as their users write them, for type checkers only: see `snippets.py`."""

# pyright: strict

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import assert_type

from hocket import BaseChatModel
from hocket.callbacks import AsyncCallbackManagerForRetrieverRun
from hocket.callbacks.base_manager import Callbacks
from hocket.document_loaders import open_documents
from hocket.documents import BaseDocumentCompressor, Document
from hocket.embeddings import Embeddings
from hocket.indexing import IndexingResult, aindex, index
from hocket.prompts import PromptTemplate
from hocket.providers.cohere import CohereRerank
from hocket.retrievers import (
    BaseRetriever,
    ContextualCompressionRetriever,
    DocumentCompressorPipeline,
    EmbeddingsFilter,
    EnsembleRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
    create_retriever_tool,
)
from hocket.runnables import RunnableLambda
from hocket.text_splitters import RecursiveCharacterTextSplitter
from hocket.tools import StructuredTool
from hocket.vectorstores import InMemoryVectorStore, VectorStore


class Notes(BaseRetriever):
    notes: list[str]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(note) for note in self.notes if query in note]


class Shortest(BaseDocumentCompressor):
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        return sorted(documents, key=lambda one: len(one.page_content))[:1]


class Feed:
    async def alazy_load(self) -> AsyncIterator[Document]:
        yield Document("x")


def rows() -> Iterator[Document]:
    yield Document("x")


def find(query: str) -> list[Document]:
    return [Document(query)]


# -- whatever gives documents is indexed


async def bring_up_to_date(store: VectorStore) -> None:
    result = await aindex(open_documents("handbook"), store, cleanup="full")
    assert_type(result, IndexingResult)
    assert_type(result["num_added"], int)
    await aindex([Document("x")], store, cleanup="incremental", source_id_key="file", batch_size=10)
    await aindex(rows(), store)
    await aindex(Feed(), store)
    await aindex(Feed().alazy_load(), store)
    pieces = RecursiveCharacterTextSplitter().alazy_split_documents(open_documents("handbook").alazy_load())
    await aindex(pieces, store)
    assert_type(index(rows(), store), IndexingResult)


# -- retrievers of retrievers


async def find_in_several(store: VectorStore, model: BaseChatModel, embeddings: Embeddings) -> None:
    both = EnsembleRetriever(
        retrievers=[store.as_retriever(), Notes(notes=[]), RunnableLambda(find)], weights=[1, 1, 2], method="scores"
    )
    assert_type(await both.ainvoke("x"), list[Document])
    worded = MultiQueryRetriever.from_llm(both, model, include_original=True)
    assert_type(worded, MultiQueryRetriever)
    pipeline = DocumentCompressorPipeline(
        [RecursiveCharacterTextSplitter(), EmbeddingsFilter(embeddings, k=3), CohereRerank(top_n=2), Shortest()]
    )
    short = ContextualCompressionRetriever(base_compressor=pipeline, base_retriever=worded)
    assert_type(short.invoke("x"), list[Document])
    prompt = PromptTemplate.from_template("{source}: {page_content}")
    tool = create_retriever_tool(short, "search", "Searches.", document_prompt=prompt)
    assert_type(tool, StructuredTool)


async def find_parents(embeddings: Embeddings, parents: dict[str, Document]) -> None:
    retriever = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(embeddings),
        docstore=parents,
        child_splitter=RecursiveCharacterTextSplitter(chunk_size=400),
    )
    assert_type(await retriever.aadd_documents([Document("x")], ids=["1"]), list[str])
    assert_type(retriever.add_documents([Document("x")]), list[str])
    assert_type(await retriever.ainvoke("x"), list[Document])
