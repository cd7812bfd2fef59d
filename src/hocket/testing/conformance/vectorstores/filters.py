"""Filters: a search finds what `hocket.vectorstores.filters.matches` says, whatever the store's own language says."""

from hocket.documents import Document
from hocket.testing.conformance.vectorstores.filter_table import FACTS, HOLDS, OTHERS
from hocket.testing.conformance.vectorstores.suite import VectorStoreSuite
from hocket.vectorstores import VectorStore
from hocket.vectorstores.filters import matches, parse_filter

__all__ = ["Filtering"]


class Filtering(VectorStoreSuite):
    """Tests of filters."""

    async def test_filters_mean_what_they_mean_everywhere(self) -> None:
        """Every condition of the table finds the documents for which it holds, and no other."""
        store = await self._fill()
        wrong: list[str] = []
        for filter, holds in HOLDS:
            expected = {str(n) for n, one in enumerate([FACTS, *OTHERS]) if matches(parse_filter(filter), one)}
            assert ("0" in expected) is holds
            found = {str(one.id) for one in await store.asimilarity_search("text", k=99, filter=filter)}
            if found != expected:
                wrong.append(f"{str(filter)[:100]}: found {sorted(found)} instead of {sorted(expected)}")
        assert wrong == []

    async def test_lists_of_ids_and_words_filter_as_searches_do(self) -> None:
        """`alist_ids` and `asearch_words` take the same filters."""
        store = await self._fill()
        for filter, _ in HOLDS[::5]:
            expected = {str(one.id) for one in await store.asimilarity_search("text", k=99, filter=filter)}
            if self.has_listing:
                assert set(await store.alist_ids(filter)) == expected
            if self.has_words:
                assert {str(one.document.id) for one in await store.asearch_words("text", 99, filter)} == expected

    async def test_filters_act_before_the_nearest_are_taken(self) -> None:
        """A document that is far, and the only one that matches, is found by k=1."""
        store = self.store()
        await store.aadd_texts(
            [f"near {number}" for number in range(300)] + ["far away, somewhere else"],
            [{"kind": "near", "number": number} for number in range(300)] + [{"kind": "far"}],
        )
        (found,) = await store.asimilarity_search("near 7", k=1, filter={"kind": "far"})
        assert found.page_content == "far away, somewhere else"
        found_near = await store.asimilarity_search("near 7", k=300, filter={"number": {"$lt": 20}})
        assert sorted(one.metadata["number"] for one in found_near) == list(range(20))

    async def _fill(self) -> VectorStore:
        """Return a store of the documents of the table, with their places in it as ids."""
        store = self.store()
        await store.aadd_documents(
            [Document(f"text {n}", id=str(n), metadata=one) for n, one in enumerate([FACTS, *OTHERS])]
        )
        return store
