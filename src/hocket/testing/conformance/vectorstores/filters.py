"""Filters: a search finds what `hocket.vectorstores.filters.is_met` says, whatever the store's own language says.

A table has what filters mean: conditions, and whether they hold for `FACTS`.
"""

from typing import Any

from hocket.documents import Document
from hocket.testing.conformance.vectorstores.suite import VectorStoreSuite
from hocket.vectorstores import VectorStore
from hocket.vectorstores.filters import is_met, parse_filter

__all__ = ["FACTS", "HOLDS", "OTHERS", "Filtering"]


class Filtering(VectorStoreSuite):
    """Tests of filters."""

    async def test_filters_mean_what_they_mean_everywhere(self) -> None:
        """Every condition of the table finds exactly the documents for which it holds."""
        store = await self._fill()
        wrong: list[str] = []
        for filter, holds in HOLDS:
            expected = {str(n) for n, one in enumerate([FACTS, *OTHERS]) if is_met(parse_filter(filter), one)}
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


FACTS: dict[str, Any] = {
    "lang": "de",
    "year": 2021,
    "price": 2.5,
    "old": False,
    "note": None,
    "tags": ["a"],
    "origin": {"city": "Zürich"},
    "a.b": 1,
    "with \"marks\" \\ and 'more'": "x'y\"z",
    "größe": "Ünïcode 東京 🎈",
    "": "",
    "digits": "10",
    "big": 2**53 + 1,
}
"""The metadata of the document that the filters are asked of."""


def _nest(filter: dict[str, Any], levels: int) -> dict[str, Any]:
    """Return a filter that means the same, among many others, some levels deeper."""
    for _ in range(levels):
        filter = {"$and": [{"lang": {"$ne": "?"}}] * 40 + [{"$or": [{"year": {"$gt": 3_000}}] * 40 + [filter]}]}
    return filter


HOLDS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"lang": "de"}, True),
    ({"lang": "DE"}, False),
    ({"lang": "de "}, False),
    ({"lang": "de", "year": 2020}, False),
    ({"year": {"$gte": 2020, "$lt": 2022}}, True),
    ({"year": {"$gt": 2021}}, False),
    ({"year": {"$lte": 2021.0}}, True),
    ({"year": 2021.0}, True),
    ({"year": "2021"}, False),
    ({"year": {"$gt": "2020"}}, False),
    ({"price": {"$gt": 2}}, True),
    ({"price": 2}, False),
    ({"big": 2**53 + 1}, True),
    ({"big": 2**53}, False),
    ({"big": {"$gt": 2**53}}, True),
    ({"lang": {"$gt": "a"}}, True),
    ({"lang": {"$gt": "Z"}}, True),
    ({"lang": {"$gt": "é"}}, False),
    ({"lang": {"$gt": 1}}, False),
    ({"lang": {"$lt": 1}}, False),
    ({"digits": {"$lt": "9"}}, True),
    ({"digits": {"$lt": 9}}, False),
    ({"digits": 10}, False),
    ({"größe": "Ünïcode 東京 🎈"}, True),
    ({"größe": {"$lt": "🎈"}}, True),
    ({"größe": {"$gt": "\uffff"}}, False),
    ({"with \"marks\" \\ and 'more'": "x'y\"z"}, True),
    ({"with 'marks' OR 1=1 --": "x"}, False),
    ({"lang": "' OR 1=1 --"}, False),
    ({"": ""}, True),
    ({"": {"$gte": ""}}, True),
    ({"old": False}, True),
    ({"old": 0}, False),
    ({"old": {"$ne": True}}, True),
    ({"old": {"$in": [0, "false"]}}, False),
    ({"note": None}, True),
    ({"note": {"$ne": None}}, False),
    ({"note": {"$ne": 1}}, True),
    ({"missing": None}, False),
    ({"missing": {"$ne": None}}, True),
    ({"missing": {"$ne": 3}}, True),
    ({"missing": {"$gt": 3}}, False),
    ({"missing": {"$not": {"$gt": 3}}}, True),
    ({"missing": {"$nin": [1, 2]}}, True),
    ({"missing": {"$exists": False}}, True),
    ({"missing": {"$exists": True}}, False),
    ({"note": {"$exists": True}}, True),
    ({"tags": {"$exists": True}}, True),
    ({"lang": {"$in": ["en", "de"]}}, True),
    ({"lang": {"$in": ["en", 3, None, True]}}, False),
    ({"year": {"$in": [1, "x", 2021]}}, True),
    ({"note": {"$in": ["x", None]}}, True),
    ({"lang": {"$in": []}}, False),
    ({"lang": {"$nin": []}}, True),
    ({"lang": {"$nin": ["de", "en"]}}, False),
    ({"year": {"$in": [*range(5_000)]}}, True),
    ({"year": {"$nin": [*range(2_022, 7_000), "x"]}}, True),
    ({"tags": "a"}, False),
    ({"tags": {"$ne": "a"}}, True),
    ({"tags": {"$gt": ""}}, False),
    ({"origin": '{"city":"Zürich"}'}, False),
    ({"origin.city": "Zürich"}, False),
    ({"a.b": 1}, True),
    ({"tags[0]": "a"}, False),
    ({"$or": [{"lang": "en"}, {"year": 2021}]}, True),
    ({"$or": [{"lang": "en"}, {"year": 1}]}, False),
    ({"$or": [{"lang": "de"}, {"lang": {"$exists": False}}]}, True),
    ({"$or": [{"year": {"$gt": number}} for number in range(2_021, 4_000)]}, False),
    ({"$and": [{"lang": "de"}, {"year": 1}]}, False),
    ({"$and": [{"year": {"$gt": number}} for number in range(1_500)]}, True),
    ({"$not": {"lang": "en"}}, True),
    (_nest({"lang": "de"}, 5), True),
    (_nest({"lang": "en"}, 5), False),
    ({"$not": {"$or": [{"lang": "de"}, {"missing": 1}]}}, False),
    ({"$not": {"$not": {"missing": {"$gt": 1}}}}, False),
    ({"year": {"$not": {"$gt": 2000}}}, False),
    ({"lang": {"$not": {"$gt": 1}}}, True),
]
"""Filters, and whether they hold for `FACTS`."""

OTHERS: list[dict[str, Any]] = [
    {},
    {"lang": "en", "year": 2020.5, "old": True, "note": "null", "price": "2.5"},
    {"lang": None, "year": "2021", "old": 0, "note": False, "tags": "a"},
    {"lang": ["de"], "year": None, "old": "false", "missing": 3, "origin": "Zürich"},
    {"lang": 1, "year": -1, "missing": None, "big": 2**53, "digits": 10},
]
"""Metadata of other documents."""
