"""Documents in, pieces out: what pieces know, streams in constant memory, and what happens where a stream is left."""

import gc
import threading
import tracemalloc
from collections.abc import AsyncIterator, Generator, Iterable, Iterator
from typing import Any

import anyio
import pytest

from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.text_splitters import (
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
    SplitterByKind,
    TextSplitter,
)
from tests.text_splitters.lengths import LENGTHS

pytestmark = pytest.mark.anyio

SPLITTER = RecursiveCharacterTextSplitter(chunk_size=10, chunk_overlap=0, add_start_index=True)
BOILER = Document(
    "Bleed it in May.\n\nWait.", metadata={"source": "rules.pdf", "page": 2, "tags": ["a"]}, id="x", score=1
)
PIECES = [
    Document("Bleed it", metadata={"source": "rules.pdf", "page": 2, "tags": ["a"], "start_index": 0}),
    Document("in May.", metadata={"source": "rules.pdf", "page": 2, "tags": ["a"], "start_index": 9}),
    Document("Wait.", metadata={"source": "rules.pdf", "page": 2, "tags": ["a"], "start_index": 18}),
]


class Sentences(TextSplitter):
    """A custom splitter: pieces may be equal."""

    def split_text(self, text: str) -> list[str]:
        return [f"{sentence}." for sentence in text.split(".") if sentence]


def test_pieces_know_what_their_document_knew() -> None:
    """Each has a copy; a document's id and score are its own."""
    pieces = SPLITTER.split_documents([BOILER])
    assert pieces == PIECES
    assert [(piece.id, piece.score) for piece in pieces] == [(None, None)] * 3
    pieces[0].metadata["tags"].append("b")
    assert pieces[1].metadata["tags"] == BOILER.metadata["tags"] == ["a"]
    assert "start_index" not in BOILER.metadata


async def test_all_ways_give_the_same() -> None:
    assert list(SPLITTER.lazy_split_documents([BOILER])) == PIECES
    assert [piece async for piece in SPLITTER.alazy_split_documents([BOILER])] == PIECES
    assert SPLITTER.transform_documents([BOILER]) == PIECES
    assert await SPLITTER.atransform_documents([BOILER]) == PIECES
    assert SPLITTER.create_documents([BOILER.page_content], [BOILER.metadata]) == PIECES


def test_places_are_added_if_asked_for() -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=10, chunk_overlap=0)
    assert splitter.create_documents(["a b"]) == [Document("a b")]


def test_texts_and_metadatas_go_together() -> None:
    pieces = SPLITTER.create_documents(iter(["one", "two"]), [{"n": 1}, {"n": 2}])
    assert [(piece.page_content, piece.metadata["n"]) for piece in pieces] == [("one", 1), ("two", 2)]
    with pytest.raises(InvalidInput, match="1 metadatas for 2 texts"):
        SPLITTER.create_documents(["one", "two"], [{}])


def test_a_custom_splitter_needs_split_text_alone() -> None:
    """Its pieces are searched for, one after another; what stands nowhere in the text has no place."""
    pieces = Sentences(add_start_index=True).create_documents(["No.No.Yes."])
    places = [(piece.page_content, piece.metadata["start_index"]) for piece in pieces]
    assert places == [("No.", 0), ("No.", 3), ("Yes.", 6)]
    (unfinished,) = Sentences(add_start_index=True).create_documents(["No"])
    assert unfinished == Document("No.")


def test_a_subclass_of_a_splitter_may_change_the_pieces() -> None:
    class Louder(RecursiveCharacterTextSplitter):
        def split_text(self, text: str) -> list[str]:
            return [piece.upper() for piece in super().split_text(text)]

    assert Louder().create_documents(["a b"]) == [Document("A B")]


def test_headings_are_added_to_what_a_document_knows() -> None:
    splitter = MarkdownHeaderTextSplitter([("#", "title")])
    document = Document("# Boiler\nBleed it.", metadata={"source": "a.md"})
    expected = [Document("Bleed it.", metadata={"source": "a.md", "title": "Boiler"})]
    assert splitter.split_documents([document]) == splitter.transform_documents([document]) == expected


def test_a_fence_ends_where_it_is_closed() -> None:
    """By as many marks or more, and nothing behind them (CommonMark 4.5); LangChain ends it at the second line."""
    text = "# A\n````md\n```\n# code\n```py\n````\n# B\nend"
    pieces = MarkdownHeaderTextSplitter([("#", "title")]).split_text(text)
    assert [piece.metadata["title"] for piece in pieces] == ["A", "B"]


class Source:
    """Documents of a loader: made one by one, and closed at the end."""

    def __init__(self, count: int, length: int = 30) -> None:
        self.count, self.length = count, length
        self.made = 0
        self.closed = False

    def _make(self) -> Iterator[Document]:
        for number in range(self.count):
            self.made += 1
            yield Document("word " * (self.length // 5), metadata={"row": number})

    def lazily(self) -> Iterator[Document]:
        try:
            yield from self._make()
        finally:
            self.closed = True

    async def alazily(self) -> AsyncIterator[Document]:
        try:
            for document in self._make():
                yield document
        finally:
            self.closed = True


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("length", [30, 30_000], ids=["short", "long"])
async def test_leaving_the_stream_closes_the_source(kind: str, length: int) -> None:
    source = Source(10_000, length)
    documents = source.lazily() if kind == "sync" else source.alazily()
    async with SPLITTER.alazy_split_documents(documents) as pieces:
        async for piece in pieces:
            assert piece.metadata == {"row": 0, "start_index": 0}
            break
    with anyio.fail_after(10):
        while not source.closed:  # noqa: ASYNC110 - a thread is asked to stop, and nothing tells when it has
            await anyio.sleep(0.001)
    assert source.made < 200


def test_leaving_the_iterator_closes_the_source() -> None:
    source = Source(10)
    pieces = SPLITTER.lazy_split_documents(source.lazily())
    next(pieces)
    pieces.close()
    assert source.closed
    assert source.made == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_an_error_of_the_source_comes_after_its_documents(kind: str) -> None:
    def lazily() -> Iterator[Document]:
        yield Document("one")
        raise OSError("the disk is gone")

    async def alazily() -> AsyncIterator[Document]:
        for document in lazily():
            yield document

    seen: list[str] = []
    with pytest.raises(OSError, match="the disk is gone"):
        async for piece in SPLITTER.alazy_split_documents(lazily() if kind == "sync" else alazily()):
            seen.append(piece.page_content)
    assert seen == ["one"]


async def test_what_is_no_document_is_refused_by_the_stream() -> None:
    async def texts() -> AsyncIterator[Any]:
        yield "text"

    with pytest.raises(InvalidInput, match="is no Document"):
        await anext(SPLITTER.alazy_split_documents(texts()))


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_long_document_is_split_in_a_thread(kind: str) -> None:
    """And so is any, if nobody knows how long its length function takes."""
    threads = set[threading.Thread]()

    def length(text: str) -> int:
        threads.add(threading.current_thread())
        return len(text)

    async def documents() -> AsyncIterator[Document]:
        yield BOILER

    splitter = RecursiveCharacterTextSplitter(chunk_size=10, chunk_overlap=0, length_function=length)
    source: Any = [BOILER] if kind == "sync" else documents()
    assert len([piece async for piece in splitter.alazy_split_documents(source)]) == 3
    assert threads
    assert threading.current_thread() not in threads


async def test_a_cancelled_reader_leaves_at_once() -> None:
    """While the thread is in the middle of a document that takes for ever."""
    entered, release = threading.Event(), threading.Event()

    def length(text: str) -> int:
        entered.set()
        release.wait(30)
        returned.append(text)
        return len(text)

    splitter = RecursiveCharacterTextSplitter(chunk_size=10, chunk_overlap=0, length_function=length)
    returned: list[str] = []
    try:
        async with anyio.create_task_group() as group:

            async def read() -> None:
                async for _ in splitter.alazy_split_documents([BOILER]):
                    pass

            group.start_soon(read)
            while not entered.is_set():  # noqa: ASYNC110 - set by a thread
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
        assert returned == []
    finally:
        release.set()


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_memory_does_not_grow_with_the_source(kind: str) -> None:
    """6 MB of documents go through less than 1 MB."""
    source = Source(2_000, 3_000)
    splitter = RecursiveCharacterTextSplitter(chunk_size=1_000, chunk_overlap=0)
    stream = splitter.alazy_split_documents(source.lazily() if kind == "sync" else source.alazily())
    first = await anext(stream)
    gc.collect()
    tracemalloc.start()
    try:
        count = 1
        async for piece in stream:
            count += 1
            assert len(piece.page_content) <= 1_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert first.metadata == {"row": 0}
    assert source.made == 2_000
    assert count == 2_000 * 3
    assert peak < 1_000_000


async def test_many_tasks_share_a_splitter() -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=10, chunk_overlap=4, length_function=LENGTHS["bytes"])
    expected = splitter.split_documents([BOILER])
    results: list[list[Document]] = []

    async def split() -> None:
        results.append([piece async for piece in splitter.alazy_split_documents([BOILER])])

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(split)
    assert results == [expected] * 50


@pytest.mark.parametrize("base", [RecursiveCharacterTextSplitter, SplitterByKind])
async def test_every_verb_sees_pieces_as_a_subclass_makes_them(base: type[TextSplitter]) -> None:
    """Whoever overrides `lazy_split_documents` is asked by all; before, a stream of short documents passed it over."""

    class OfATeam(base):  # type: ignore[misc,valid-type]  # a class that is chosen
        def lazy_split_documents(self, documents: Iterable[Document]) -> Generator[Document, None, None]:
            for piece in super().lazy_split_documents(documents):
                piece.metadata["team"] = "red"
                yield piece

    async def load() -> AsyncIterator[Document]:
        yield BOILER

    splitter = OfATeam(chunk_size=10, chunk_overlap=0)
    streamed = [piece async for piece in splitter.alazy_split_documents(load())]
    assert streamed == splitter.split_documents([BOILER])
    assert all(piece.metadata["team"] == "red" for piece in streamed)
