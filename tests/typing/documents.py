"""Loaders as their users write them, for type checkers only: see `snippets.py`."""

# pyright: strict

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import assert_type

from hocket._runtime.stream import Stream
from hocket.document_loaders import BaseLoader, CSVLoader, DirectoryLoader, JSONLoader, PyPDFLoader, open_documents
from hocket.documents import Document
from hocket.errors import DocumentError


async def stream() -> None:
    loader = open_documents("rules.pdf", Path("handbook"), glob="**/*.md", on_error="skip")
    assert_type(loader.alazy_load(), Stream[Document])
    async with loader.alazy_load() as documents:
        async for document in documents:
            assert_type(document, Document)
    assert_type(await loader.aload(), list[Document])
    assert_type(loader.load(), list[Document])
    assert_type(loader.skipped, list[DocumentError])


def each_kind() -> list[BaseLoader]:
    errors: list[DocumentError] = []
    return [
        CSVLoader("a.csv", ["name"], metadata_columns=["year"]),
        JSONLoader("a.json", content_key="text", metadata_keys=["author.name"]),
        PyPDFLoader("a.pdf", "sesame", max_pages=None),
        DirectoryLoader("folder", loader_cls=PyPDFLoader, metadata=lambda path: {"team": path.parts[0]}),
        open_documents("folder", metadata=lambda path: {"changed": path.stat().st_mtime}),
        DirectoryLoader("folder", loader_cls=lambda path: CSVLoader(path, delimiter=";"), on_error=errors.append),
    ]


class Numbers(BaseLoader):
    """A loader of one's own, in sync code."""

    def lazy_load(self) -> Iterator[Document]:
        yield Document("1")


class AsyncNumbers(BaseLoader):
    """And in async code, as LangChain's docs write it."""

    async def alazy_load(self) -> AsyncIterator[Document]:
        yield Document("1")


async def own() -> None:
    for loader in (Numbers(), AsyncNumbers()):
        assert_type(loader.load(), list[Document])
        assert_type(await loader.aload(), list[Document])
        assert_type(loader.lazy_load(), Iterator[Document])
        assert_type(loader.alazy_load(), AsyncIterator[Document])
