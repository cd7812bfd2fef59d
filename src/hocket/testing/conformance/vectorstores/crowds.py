"""Many at once: tasks, threads, event loops, and those that are cancelled."""

import random
from collections import Counter
from collections.abc import Iterable
from functools import partial

import anyio
import anyio.lowlevel

from hocket.documents import Document
from hocket.testing.blocking import assert_no_blocking
from hocket.testing.conformance.cancelling import cancel_sooner_or_later
from hocket.testing.conformance.suite import BACKENDS
from hocket.testing.conformance.threads import run_in_threads
from hocket.testing.conformance.vectorstores.suite import ExamEmbeddings, VectorStoreSuite
from hocket.vectorstores import VectorStore

__all__ = ["Crowds"]

WRITERS = 50
BATCHES = 2  # of each writer
SIZE = 3  # documents of a batch
SEARCHES = 100
NUMBERS = 4 * len(BACKENDS)  # batches of one writer at most
CANCELLED = 34  # additions that are cancelled sooner or later
PAUSE = 0.05  # seconds in which what was left behind would be stored
MANY = 2_000
STALL = 1.0  # seconds for which an event loop may stand still; the machine may be busy


class Crowds(VectorStoreSuite):
    """Tests of many at once."""

    async def test_batches_of_many_tasks_stay_whole(self) -> None:
        """Fifty writers lose nothing; a search meanwhile never fails, and sees no part of a batch."""
        store = self.store()
        writing = WRITERS

        async def write(writer: int) -> None:
            nonlocal writing
            for number in range(BATCHES):
                await store.aadd_documents(_make_batch(writer, number))
            writing -= 1

        async def read() -> None:
            while writing:
                found = await store.asimilarity_search("batch 1 of writer 2", k=SIZE * WRITERS * BATCHES)
                if self.is_exhaustive:
                    _count_whole_batches(found)
                assert len({one.id for one in found}) == len(found)
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            for writer in range(WRITERS):
                group.start_soon(write, writer)
        assert await self._list_batches(store) == {(w, n) for w in range(WRITERS) for n in range(BATCHES)}

    async def test_searches_while_documents_come_and_go(self) -> None:
        """A hundred searches at once find what is there all the time, while other documents are added and deleted."""
        store = self.store()
        await store.aadd_documents([Document("the one that stays", id="stays")])
        done = 0

        async def search(number: int) -> None:
            nonlocal done
            for _ in range(3):
                (best, *_) = await store.asimilarity_search("the one that stays", k=1 + number % 5)
                assert (best.id, best.page_content) == ("stays", "the one that stays")
                if self.has_words and number % 10 == 0:
                    assert (await store.ahybrid_search("the one that stays", k=1))[0].id == "stays"
            done += 1

        async def write() -> None:
            number = 0
            while done < SEARCHES:
                batch = _make_batch(0, number)
                await store.aadd_documents(batch)
                await store.adelete([str(one.id) for one in batch])
                number += 1

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            for number in range(SEARCHES):
                group.start_soon(search, number)
        assert [one.id for one in await store.asimilarity_search("the one that stays", k=99)] == ["stays"]

    def test_batches_of_many_threads_stay_whole(self) -> None:
        """Threads that write at once lose nothing."""
        store = self.store()

        def write(writer: int) -> None:
            store.add_documents(_make_batch(writer, 0))
            store.similarity_search("batch")

        run_in_threads([partial(write, writer) for writer in range(20)])
        found = store.similarity_search("batch", k=SIZE * 20 + 1)
        assert _count_whole_batches(found) == {(writer, 0) for writer in range(20)}

    async def test_writers_of_one_id_leave_one_document(self) -> None:
        """Whichever write is the last, there is one document, whole."""
        store = self.store()

        async def write(writer: int) -> None:
            await store.aadd_documents([Document(f"writer {writer}", id="a", metadata={"writer": writer})])

        async with anyio.create_task_group() as group:
            for writer in range(20):
                group.start_soon(write, writer)
        (found,) = await store.asimilarity_search("writer", k=99)
        assert found.page_content == f"writer {found.metadata['writer']}"
        best = (await store.asimilarity_search(found.page_content))[0]
        assert best.score is not None
        assert best.score > 1 - 1e-5

    async def test_a_cancelled_addition_is_whole_or_not_at_all(self) -> None:
        """Cancelled sooner or later, a batch is stored whole or not; what was not cancelled is stored, and all goes on."""
        store = self.store()
        done = await cancel_sooner_or_later(lambda writer: store.aadd_documents(_make_batch(writer, 0)), CANCELLED)
        batches = await self._list_batches(store)
        assert {(writer, 0) for writer in done} <= batches
        await anyio.sleep(PAUSE)
        assert await self._list_batches(store) == batches, "documents were stored after they had been cancelled"
        await store.aadd_documents(_make_batch(CANCELLED, 0))
        assert await self._list_batches(store) == {*batches, (CANCELLED, 0)}

    async def test_a_caller_that_is_cancelled_already_stores_nothing(self) -> None:
        """Neither does one that is cancelled while its texts are embedded."""
        embedding = ExamEmbeddings()
        store = self.store(embedding)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await store.aadd_texts(["never"])
        embedding.delay = 30
        with anyio.move_on_after(0.02):
            await store.aadd_texts(["never"])
        await anyio.sleep(PAUSE)
        assert await store.asimilarity_search("never") == []

    def test_one_store_in_many_loops(self) -> None:
        """A store works in one event loop after the other, asyncio and trio, with sync calls in between."""
        store = self.store()
        for number, backend in enumerate(BACKENDS * 2):
            anyio.run(store.aadd_documents, _make_batch(0, 2 * number), backend=backend)
            store.add_documents(_make_batch(0, 2 * number + 1))
            found = anyio.run(self._list_batches, store, backend=backend)
            assert found == {(0, n) for n in range(2 * number + 2)}

    def test_one_store_in_many_loops_at_once(self) -> None:
        """A store works in several threads at once, each with a loop of its own."""
        store = self.store()

        def run(backend: str, writer: int) -> None:
            anyio.run(store.aadd_documents, _make_batch(writer, 0), backend=backend)
            anyio.run(store.asimilarity_search, "batch", backend=backend)

        run_in_threads([partial(run, backend, writer) for writer, backend in enumerate(BACKENDS * 3)])
        assert len(anyio.run(self._list_batches, store)) == len(BACKENDS) * 3

    async def test_many_documents_leave_the_loop_free(self) -> None:
        """Two thousand documents are added and searched, and the event loop has time for others meanwhile."""
        store = self.store()
        documents = [Document(f"document {n}", id=str(n), metadata={"n": n}) for n in range(MANY)]
        vectors = [[random.random() for _ in range(32)] for _ in range(MANY)]
        async with assert_no_blocking(limit=STALL):
            await store.aadd_vectors(documents, vectors)
            found = await store.asimilarity_search("document", k=MANY)
        assert len(await store.aget_by_ids([str(n) for n in range(MANY)])) == MANY
        numbers = {one.metadata["n"] for one in found}
        assert len(numbers) == len(found), "a document is found twice"
        assert numbers <= set(range(MANY))
        assert len(numbers) >= (MANY if self.is_exhaustive else 0.98 * MANY), "a search misses documents that are there"

    async def _list_batches(self, store: VectorStore) -> set[tuple[int, int]]:
        """Return the batches that are there; one that searches by an approximate index may not find all of them."""
        if self.is_exhaustive:
            found = await store.asimilarity_search("batch", k=SIZE * (WRITERS * BATCHES + CANCELLED))
        else:
            batches = [_make_batch(writer, number) for writer in range(WRITERS) for number in range(NUMBERS)]
            found = await store.aget_by_ids([str(one.id) for batch in batches for one in batch])
        return _count_whole_batches(found)


def _make_batch(writer: int, number: int) -> list[Document]:
    return [
        Document(
            f"part {part} of batch {number} of writer {writer}",
            id=f"{writer}-{number}-{part}",
            metadata={"writer": writer, "number": number},
        )
        for part in range(SIZE)
    ]


def _count_whole_batches(found: Iterable[Document]) -> set[tuple[int, int]]:
    """Return the batches, writer and number, of which all documents must be there."""
    parts = Counter((one.metadata["writer"], one.metadata["number"]) for one in found if "writer" in one.metadata)
    assert set(parts.values()) <= {SIZE}, "a batch is not whole"
    return set(parts)
