"""The verbs of an embedding model: one is written, the others follow."""

import math
import threading
from typing import ClassVar

import anyio
import pytest

from hocket.embeddings import DeterministicFakeEmbedding, Embeddings, FakeEmbeddings
from hocket.errors import BlockingCallWarning, InvalidHook


class InAsync(Embeddings):
    """Defines the async verb alone."""

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text))] for text in texts]


class InSync(Embeddings):
    """Defines the sync verb alone."""

    thread: threading.Thread

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.thread = threading.current_thread()
        return [[float(len(text))] for text in texts]


class AsyncQuery(InAsync):
    """Embeds queries in a way of their own, in async code."""

    async def aembed_query(self, text: str) -> list[float]:
        return [-float(len(text))]


class SyncQuery(InSync):
    """Embeds queries in a way of their own, in sync code."""

    def embed_query(self, text: str) -> list[float]:
        return [-float(len(text))]


QUERIES: dict[type[Embeddings], list[float]] = {InAsync: [3], InSync: [3], AsyncQuery: [-3], SyncQuery: [-3]}
every_model = pytest.mark.parametrize("cls", QUERIES)


@every_model
async def test_async_verbs(cls: type[Embeddings]) -> None:
    """Whatever a class defines, both async verbs answer, a query in the class's own way if it has one."""
    model = cls()

    assert await model.aembed_documents(["a", "bb"]) == [[1], [2]]
    assert await model.aembed_query("abc") == QUERIES[cls]


@every_model
def test_sync_verbs(cls: type[Embeddings]) -> None:
    """Whatever a class defines, both sync verbs answer."""
    model = cls()

    assert model.embed_documents(["a", "bb"]) == [[1], [2]]
    assert model.embed_query("abc") == QUERIES[cls]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_sync_verbs_of_async_code_in_a_loop(backend: str) -> None:
    """As in a notebook; elsewhere a warning says that the loop stands still."""

    async def main() -> tuple[list[list[float]], list[float]]:
        return InAsync().embed_documents(["a"]), AsyncQuery().embed_query("abc")

    with pytest.warns(BlockingCallWarning, match="await its async twin"):
        assert anyio.run(main, backend=backend) == ([[1]], [-3])


async def test_sync_code_runs_in_a_worker_thread() -> None:
    """An async verb does not hold up the loop for it."""
    model = InSync()
    await model.aembed_documents(["a"])

    assert model.thread is not threading.current_thread()


def test_a_class_without_a_verb_is_refused() -> None:
    """The error names what is missing, when the model is made."""

    class QueryOnly(Embeddings):
        def embed_query(self, text: str) -> list[float]:
            return []

    with pytest.raises(InvalidHook, match="QueryOnly does nothing: define aembed_documents"):
        QueryOnly()


class TestFake:
    """`DeterministicFakeEmbedding`."""

    model: ClassVar = DeterministicFakeEmbedding(size=16)

    async def test_equal_texts_have_equal_vectors(self) -> None:
        """On every verb."""
        apple, pear = await self.model.aembed_documents(["apple", "pear"])

        assert apple != pear
        assert [apple, pear] == self.model.embed_documents(["apple", "pear"])
        assert apple == await self.model.aembed_query("apple") == self.model.embed_query("apple")

    def test_vectors_do_not_change_between_processes(self) -> None:
        """A stored index stays good: the hash of a text is not the process's own."""
        vector = DeterministicFakeEmbedding(size=3).embed_query("apple")

        assert vector == pytest.approx([-0.368095, 0.577079, 0.729031], abs=1e-6)

    def test_vectors_have_the_size_and_length_one(self) -> None:
        """Their dot product is their cosine."""
        vector = self.model.embed_query("")

        assert (len(vector), round(math.hypot(*vector), 9)) == (16, 1)

    @pytest.mark.parametrize("options", [{"size": 0}, {"size": 3, "sizes": 4}, {}])
    def test_bad_options_are_refused(self, options: dict[str, int]) -> None:
        """A misspelt name too."""
        with pytest.raises(ValueError, match="size"):
            DeterministicFakeEmbedding(**options)


async def test_random_vectors_differ_each_time() -> None:
    """`FakeEmbeddings` has a size and nothing else that can be relied on."""
    model = FakeEmbeddings(size=4)
    one, other = await model.aembed_documents(["a", "a"])

    assert len(one) == len(other) == len(model.embed_query("a")) == 4
    assert one != other
    with pytest.raises(ValueError, match="size"):
        FakeEmbeddings(size=0)
