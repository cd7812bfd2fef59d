"""One verb makes a loader, the others follow; a stream of documents closes its file wherever it is left."""

import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import anyio
import pytest

from hocket._runtime.stream import Stream
from hocket.document_loaders import BaseLoader, CSVLoader, open_documents
from hocket.documents import Document
from hocket.errors import DocumentError, InvalidHook
from tests.document_loaders.files import TEXT_DATA, list_open, make_docx, make_pdf, paragraph, write

pytestmark = pytest.mark.anyio

DOCUMENTS = [Document(str(number)) for number in range(200)]


class Numbers(BaseLoader):
    """Defines the sync verb, as LangChain's docs have it."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.closed = 0

    def lazy_load(self) -> Iterator[Document]:
        try:
            yield from DOCUMENTS[: self.count]
        finally:
            self.closed += 1


class AsyncNumbers(Numbers):
    """Defines the async one."""

    lazy_load = BaseLoader.lazy_load

    async def alazy_load(self) -> AsyncIterator[Document]:
        try:
            for document in DOCUMENTS[: self.count]:
                await anyio.lowlevel.checkpoint()
                yield document
        finally:
            self.closed += 1


class Failing(BaseLoader):
    """Fails after some documents."""

    def lazy_load(self) -> Iterator[Document]:
        yield from DOCUMENTS[:10]
        raise DocumentError("x.txt", "it is broken", "line 11")


KINDS = pytest.mark.parametrize("kind", [Numbers, AsyncNumbers])


@KINDS
@pytest.mark.parametrize("count", [0, 1, 64, 65, 200])
async def test_one_verb_is_enough(kind: type[Numbers], count: int) -> None:
    loader = kind(count)
    assert await loader.aload() == DOCUMENTS[:count]
    assert [document async for document in loader.alazy_load()] == DOCUMENTS[:count]
    assert loader.closed == 2


@KINDS
def test_the_sync_verbs_follow(kind: type[Numbers]) -> None:
    loader = kind(200)
    assert loader.load() == DOCUMENTS == list(loader.lazy_load())
    assert loader.closed == 2


def test_a_loader_without_a_verb_is_refused() -> None:
    with pytest.raises(InvalidHook, match="does nothing: define alazy_load"):
        type("Empty", (BaseLoader,), {})()


async def test_what_came_before_an_error_is_delivered() -> None:
    """The error is raised by the pull that reaches it, not by an earlier one of its batch."""
    seen: list[Document] = []
    with pytest.raises(DocumentError, match=r"x\.txt, line 11: it is broken"):
        async for document in Failing().alazy_load():
            seen.append(document)
    assert seen == DOCUMENTS[:10]


async def test_documents_are_made_in_worker_threads() -> None:
    """The loop has other work to do."""
    threads: set[int] = set()

    class Watching(BaseLoader):
        def lazy_load(self) -> Iterator[Document]:
            for document in DOCUMENTS:
                threads.add(threading.get_ident())
                yield document

    assert len(await Watching().aload()) == len(DOCUMENTS)
    assert threading.get_ident() not in threads


async def test_no_thread_waits_for_a_slow_reader() -> None:
    """More readers than there are worker threads, each in the middle of a file, do not block each other."""
    streams = [Numbers(200).alazy_load() for _ in range(300)]
    with anyio.fail_after(30):
        for _ in range(2):
            for stream in streams:
                await anext(stream)
    for stream in streams:
        assert isinstance(stream, Stream)
        await stream.aclose()


async def test_the_first_document_does_not_wait_for_the_second() -> None:
    """A slow document keeps nobody from the one before it."""
    release = threading.Event()

    class Slow(BaseLoader):
        def lazy_load(self) -> Iterator[Document]:
            yield DOCUMENTS[0]
            threading.Event().wait(0.03)
            yield DOCUMENTS[1]
            release.wait(20)
            yield DOCUMENTS[2]

    stream = Slow().alazy_load()
    with anyio.fail_after(10):
        assert [await anext(stream), await anext(stream)] == DOCUMENTS[:2]
    release.set()
    assert await anext(stream) == DOCUMENTS[2]


async def test_the_reader_of_large_documents_is_not_overrun() -> None:
    """Each may be a whole file of 100 MB: only a few wait to be read."""
    made = 0

    class Large(BaseLoader):
        def lazy_load(self) -> Iterator[Document]:
            nonlocal made
            for _ in range(100):
                made += 1
                yield Document("x" * 100_000)

    stream = Large().alazy_load()
    await anext(stream)
    await anyio.sleep(0.2)
    assert made < 8
    assert isinstance(stream, Stream)
    await stream.aclose()


DATA = {
    **TEXT_DATA,
    "f.html": b"<p>One.",
    "g.pdf": make_pdf(["One.", "Two.", "Three."]),
    "h.docx": make_docx(paragraph("One.")),
}


@pytest.fixture(params=sorted(DATA))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A file of each format."""
    return write(tmp_path / request.param, DATA[request.param])


async def leave_by_close(stream: Stream[Document]) -> None:
    await anext(stream)
    await stream.aclose()


async def leave_by_break(stream: Stream[Document]) -> None:
    async with stream:
        async for _ in stream:
            break


async def leave_by_error(stream: Stream[Document]) -> None:
    with pytest.raises(ZeroDivisionError):
        async with stream:
            async for _ in stream:
                raise ZeroDivisionError


async def leave_by_cancel(stream: Stream[Document]) -> None:
    with anyio.CancelScope() as scope:
        async with stream:
            await anext(stream)
            scope.cancel()
            await anyio.sleep_forever()


async def leave_cancelled_in_a_pull(stream: Stream[Document]) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        while True:
            await anext(stream)


async def leave_after_the_end(stream: Stream[Document]) -> None:
    assert [document async for document in stream]


LEAVE = [
    leave_by_close,
    leave_by_break,
    leave_by_error,
    leave_by_cancel,
    leave_cancelled_in_a_pull,
    leave_after_the_end,
]


@pytest.mark.parametrize("leave", LEAVE)
async def test_a_left_stream_has_closed_its_file(path: str, leave: Callable[[Stream[Document]], object]) -> None:
    """When the stream is left, not some time later."""
    await leave(open_documents(path).alazy_load())  # type: ignore[misc]
    assert list_open(path) == []


async def test_a_forgotten_stream_closes_its_file(path: str) -> None:
    """Garbage, too: within a moment."""
    stream = open_documents(path).alazy_load()
    await anext(stream)
    del stream
    gc.collect()
    with anyio.fail_after(10):
        while list_open(path):  # noqa: ASYNC110 - nothing tells when a file is closed
            await anyio.sleep(0.01)


async def test_a_stream_that_was_never_read_opens_nothing(path: str) -> None:
    stream = open_documents(path).alazy_load()
    assert list_open(path) == []
    await stream.aclose()


class SlowFile(BaseLoader):
    """Reads a file, for a moment each line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.reading = threading.Event()

    def lazy_load(self) -> Iterator[Document]:
        with open(self.path) as file:
            for line in file:
                self.reading.set()
                threading.Event().wait(0.1)
                yield Document(line)


async def test_a_pull_that_is_cancelled_while_a_thread_reads_closes_the_file(tmp_path: Path) -> None:
    """The thread cannot be stopped; its document is waited for."""
    loader = SlowFile(write(tmp_path / "a.txt", "line\n" * 1_000))
    stream = loader.alazy_load()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(anext, stream)
            while not loader.reading.is_set():  # noqa: ASYNC110 - set in a thread
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
    assert list_open(loader.path) == []


async def test_a_stream_may_be_closed_while_another_task_waits_for_it(tmp_path: Path) -> None:
    loader = SlowFile(write(tmp_path / "a.txt", "line\n" * 1_000))
    stream = loader.alazy_load()
    assert isinstance(stream, Stream)

    async def read() -> None:
        async for _ in stream:
            pass

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.sleep(0.15)
            await stream.aclose()
            assert list_open(loader.path) == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_end_of_the_event_loop_closes_files(path: str, backend: str) -> None:
    """A stream that a program still holds when its loop ends."""
    streams: list[AsyncIterator[Document]] = []

    async def main() -> None:
        streams.append(open_documents(path).alazy_load())
        await anext(streams[0])

    anyio.run(main, backend=backend)
    assert list_open(path) == []


@pytest.mark.parametrize("leave_at", [0, 1, 3, 64, 65, 1_000])
async def test_a_stream_may_be_left_at_any_document(tmp_path: Path, leave_at: int) -> None:
    """At the first of a batch, in its middle, between two."""
    path = write(tmp_path / "long.csv", "id\n" + "\n".join(map(str, range(5_000))))
    stream = CSVLoader(path).alazy_load()
    for _ in range(leave_at):
        await anext(stream)
    await stream.aclose()
    assert list_open(path) == []


@pytest.mark.parametrize("leave_at", [1, 2])
def test_a_left_iterator_has_closed_its_file(path: str, leave_at: int) -> None:
    documents = open_documents(path).lazy_load()
    for _ in range(leave_at):
        next(documents, None)
    documents.close()
    assert list_open(path) == []


def test_a_forgotten_iterator_closes_its_file(path: str) -> None:
    for _ in open_documents(path).lazy_load():
        break
    gc.collect()
    assert list_open(path) == []


async def test_several_loads_of_one_loader_do_not_disturb_each_other(path: str) -> None:
    loader = open_documents(path)
    one, two = loader.alazy_load(), loader.alazy_load()
    first = await anext(one)
    assert [document async for document in two] == [first, *[document async for document in one]]
