"""Splitters as users write them, for type checkers only: nothing here is run."""

# pyright: strict

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from hocket import BaseChatModel
from hocket.documents import Document
from hocket.text_splitters import (
    CharacterTextSplitter,
    Language,
    MarkdownHeaderTextSplitter,
    PythonCodeTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
    TokenTextSplitter,
)
from hocket.tokens import Tokenizer, get_encoding


class Sentences(TextSplitter):
    """A custom splitter: one method."""

    def split_text(self, text: str) -> list[str]:
        return text.split(". ")


def words(text: str) -> int:
    return len(text.split())


def make(model: BaseChatModel, tokenizer: Tokenizer) -> list[TextSplitter]:
    """Options are checked, and class methods return the class they are called on."""
    by_language = RecursiveCharacterTextSplitter.from_language(Language.PYTHON, chunk_size=500, chunk_overlap=0)
    assert_type(by_language, RecursiveCharacterTextSplitter)
    assert_type(CharacterTextSplitter.from_tokenizer(model, chunk_size=500), CharacterTextSplitter)
    assert_type(RecursiveCharacterTextSplitter.from_tokenizer(tokenizer), RecursiveCharacterTextSplitter)
    assert_type(TokenTextSplitter.from_tokenizer(get_encoding("cl100k_base")), TokenTextSplitter)
    return [
        by_language,
        Sentences(chunk_size=500, chunk_overlap=0, add_start_index=True),
        CharacterTextSplitter(" ", keep_separator="end", length_function=words),
        RecursiveCharacterTextSplitter(["\n", ""], keep_separator=False, strip_whitespace=False),
        TokenTextSplitter(model_name="gpt-4o", chunk_size=256, chunk_overlap=32),
        PythonCodeTextSplitter(chunk_size=1_000),
    ]


async def split(splitter: TextSplitter, documents: list[Document], stream: AsyncIterator[Document]) -> None:
    """Lists, iterators and streams of documents."""
    assert_type(splitter.split_text("a b"), list[str])
    assert_type(splitter.split_documents(documents), list[Document])
    assert_type(splitter.create_documents(["a", "b"], [{"source": "a.txt"}, {"page": 2}]), list[Document])
    lazily: Iterator[Document] = splitter.lazy_split_documents(iter(documents))
    for piece in lazily:
        assert_type(piece, Document)
    async with splitter.alazy_split_documents(stream) as pieces:
        async for piece in pieces:
            assert_type(piece.page_content, str)
    for piece in MarkdownHeaderTextSplitter([("#", "title")]).split_text("# A"):
        assert_type(piece, Document)
