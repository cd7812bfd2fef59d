"""What is kept, under which id, and what goes."""

from typing import Any

import pytest

from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.testing.conformance.vectorstores.suite import ExamEmbeddings, VectorStoreSuite

__all__ = ["Keeping"]

TEXTS = {
    "plain": "Bleed the boiler in May.",
    "empty": "",
    "spaces": "  two lines\r\n\tand a tab \n",
    "marks": '\'; DROP TABLE documents; -- "%s" {braces} $1 ? :name \\',
    "writing": "Zürich, 東京, हिन्दी, עברית, e\u0301 and é, 👩‍👩‍👧‍👦, \U0010ffff, \ufeff",
    "controls": "bell \x07, escape \x1b, delete \x7f, separator \u2028, nothing \u200b",
    "long": "a long text, " * 20_000,
}
FACTS: dict[str, Any] = {
    "source": "rules.pdf",
    "page": 2,
    "share": 0.1,
    "big": 2**53 + 1,
    "old": False,
    "note": None,
    "tags": ["a", {"b": [1, 2.0, None]}],
    "": "no key",
    "key with \"marks\" \\ and 'more'": "'\"\\",
    "größe": "東京\n",
    "$set": {"nested": {"deep": {}}},
}


class Keeping(VectorStoreSuite):
    """Tests of documents and ids."""

    async def test_what_goes_in_comes_out(self) -> None:
        """Texts of every kind, and metadata that JSON can say, come back as they were, without a score."""
        store = self.store()
        documents = [Document(text, id=name, metadata=FACTS) for name, text in TEXTS.items()]
        assert await store.aadd_documents(documents) == list(TEXTS)
        assert await store.aget_by_ids(list(TEXTS)) == documents
        (found,) = await store.aget_by_ids(["plain"])
        assert found.score is None
        assert [type(value) for value in found.metadata.values()] == [type(value) for value in FACTS.values()]

    async def test_ids_are_given_or_own_or_new(self) -> None:
        """An id that is given wins over the document's own; one that has none gets a new one."""
        store = self.store()
        documents = [Document("one", id="own"), Document("two", id="kept"), Document("three")]
        given, kept, new = await store.aadd_documents(documents, ids=["given", None, None])
        assert (given, kept) == ("given", "kept")
        assert await self.read(store, [new, "kept", "own", "given"]) == ["three", "two", "one"]
        first, second = await store.aadd_texts(["four", "four"])
        assert len({first, second, new}) == 3
        assert documents[2].id is None, "the caller's document was changed"

    @pytest.mark.parametrize("name", ["with spaces", "ключ", "'; --", "a/b?c=d#e%20", "x" * 500, "0"])
    async def test_any_text_is_an_id(self, name: str) -> None:
        """A document is found under its id, whatever characters are in it."""
        store = self.store()
        await store.aadd_documents([Document("other", id="other"), Document("this", id=name)])
        assert await self.read(store, [name]) == ["this"]
        await store.adelete([name])
        assert await self.read(store, [name, "other"]) == ["other"]

    async def test_of_two_with_one_id_the_later_one_counts(self) -> None:
        """Also within one call, which returns the id for both."""
        store = self.store()
        documents = [Document("first", id="a"), Document("b", id="b"), Document("second", id="a")]
        assert await store.aadd_documents(documents) == ["a", "b", "a"]
        assert await self.read(store, ["a", "b"]) == ["second", "b"]
        assert len(await store.asimilarity_search("first", k=9)) == 2

    async def test_a_document_takes_the_place_of_an_older_one(self) -> None:
        """One with an id that is there replaces text, metadata and vector: the old text is not found any more."""
        store = self.store()
        await store.aadd_documents([Document("bleed the boiler", id="a", metadata={"page": 1})])
        await store.aadd_documents([Document("feed the cat", id="a", metadata={"leaf": 2})])
        (found,) = await store.asimilarity_search("bleed the boiler", k=9)
        assert (found.id, found.page_content, found.metadata) == ("a", "feed the cat", {"leaf": 2})
        assert found.score is not None
        assert found.score < 0.9
        if self.has_words:
            assert await store.asearch_words("boiler", 9) == []
        assert await store.asimilarity_search("x", filter={"page": 1}) == []

    async def test_documents_come_in_the_order_of_their_ids(self) -> None:
        """Those that are not there are left out."""
        store = self.store()
        await store.aadd_texts(["one", "two", "three"], ids=["1", "2", "3"])
        assert await self.read(store, ["3", "missing", "1"]) == ["three", "one"]
        assert await self.read(store, []) == []

    async def test_delete_forgets(self) -> None:
        """Some documents, those that are there, or all of them; afterwards the store goes on."""
        store = self.store()
        await store.aadd_texts(["one", "two", "three"], ids=["1", "2", "3"])
        await store.adelete([])
        await store.adelete(["2", "missing", "2"])
        assert await self.read(store, ["1", "2", "3"]) == ["one", "three"]
        assert {one.id for one in await store.asimilarity_search("two", k=9)} == {"1", "3"}
        if self.has_words:
            assert await store.asearch_words("two", 9) == []
        await store.adelete()
        assert await store.asimilarity_search("two", k=9) == []
        await store.aadd_texts(["two again"], ids=["2"])
        assert await self.read(store, ["1", "2", "3"]) == ["two again"]
        assert [one.id for one in await store.asimilarity_search("two", k=9)] == ["2"]

    async def test_documents_are_copies(self) -> None:
        """Nobody changes the store by editing what was added to it, or what it returned."""
        store = self.store()
        given = Document("one", id="1", metadata={"tags": ["a"]})
        await store.aadd_documents([given])
        found = [given, *await store.aget_by_ids(["1"]), *await store.asimilarity_search("one")]
        for document in found:
            document.page_content = "edited"
            document.metadata["tags"].append("b")
            document.metadata["more"] = 1
        expected = Document("one", id="1", metadata={"tags": ["a"]})
        assert await store.aget_by_ids(["1"]) == [expected]
        assert await store.asimilarity_search("one") == [expected]

    async def test_ids_are_listed(self) -> None:
        """`alist_ids` gives the ids of all documents, or of those that match a filter."""
        store = self.store()
        if not self.has_listing:
            with pytest.raises(InvalidInput):
                await store.alist_ids()
            return
        assert await store.alist_ids() == []
        await store.aadd_texts(["one", "two", "three"], [{"n": 1}, {"n": 2}, {"n": 3}], ids=["1", "2", "3"])
        await store.adelete(["3"])
        assert sorted(await store.alist_ids()) == ["1", "2"]
        assert await store.alist_ids({"n": {"$gt": 1}}) == ["2"]

    async def test_a_text_is_embedded_once(self) -> None:
        """A text that the store has a vector of is not embedded again: not when its metadata change, nor under a new id."""
        embedding = ExamEmbeddings()
        store = self.store(embedding)
        await store.aadd_texts(["one", "two", "one"], ids=["1", "2", "3"])
        assert sorted(embedding.embedded) == ["one", "two"]
        vectors = await store.afind_vectors(["one", "missing"])
        if not self.keeps_vectors:
            assert vectors == {}
            return
        assert list(vectors) == ["one"]
        assert all(map(self.is_near, vectors["one"], await embedding.aembed_query("one")))
        await store.aadd_documents(
            [Document("one", id="1", metadata={"page": 2}), Document("two", id="4"), Document("new", id="5")]
        )
        assert sorted(embedding.embedded) == ["new", "one", "two"]
        (found,) = await store.asimilarity_search("one", k=1)
        assert self.is_near(found.score, 1)

    async def test_an_empty_store(self) -> None:
        """It finds nothing, and to add nothing, or to delete what is not there, is no error."""
        store = self.store()
        assert await store.aadd_documents([]) == []
        assert await store.asimilarity_search("anything") == []
        assert await store.amax_marginal_relevance_search("anything") == []
        assert await store.aget_by_ids(["1"]) == []
        await store.adelete(["1"])
        await store.adelete()
        if self.has_words:
            assert await store.asearch_words("anything", 4) == []
            assert await store.ahybrid_search("anything") == []

    async def test_a_closed_store_opens_again(self) -> None:
        """`aclose`, also at the end of ``async with``, gives back what is open; what was kept stays."""
        async with self.store() as store:
            await store.aadd_texts(["one"], ids=["1"])
        await store.aclose()
        assert [one.id for one in await store.asimilarity_search("one")] == ["1"]
        await store.aadd_texts(["two"], ids=["2"])
        assert await self.read(store, ["1", "2"]) == ["one", "two"]

    def test_sync_verbs_do_as_their_twins(self) -> None:
        """Every verb without an ``a`` in front does what the one with it does."""
        with self.store() as store:
            assert store.add_documents([Document("one", id="1")]) == ["1"]
            assert store.add_texts(["two"], [{"n": 2}], ids=["2"]) == ["2"]
            assert [one.page_content for one in store.get_by_ids(["2", "1"])] == ["two", "one"]
            ((first, score),) = store.similarity_search_with_score("one", k=1)
            assert first.id == "1"
            assert self.is_near(score, 1)
            vector = store.embeddings.embed_query("two")
            assert [one.id for one in store.similarity_search_by_vector(vector, k=1)] == ["2"]
            assert [one.id for one in store.similarity_search("one", filter={"n": 2})] == ["2"]
            assert [one.id for one in store.max_marginal_relevance_search("one", k=1)] == ["1"]
            if self.has_words:
                assert [one.id for one in store.hybrid_search("two", k=1)] == ["2"]
            store.delete(["1"])
            assert [one.id for one in store.similarity_search("one")] == ["2"]
