"""Structured queries as filters of the stores, and what they find there."""

import pytest

from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import InvalidInput
from hocket.structured_query import Comparator, Comparison, FilterDirective, Operation, Operator, StructuredQuery
from hocket.vectorstores import FilterTranslator, InMemoryVectorStore

YEARS = [("a", 2019, "de"), ("b", 2020, "de"), ("c", 2021, "en"), ("d", 2022, "en")]


def compare(comparator: Comparator, value: object, attribute: str = "year") -> Comparison:
    """Return a condition."""
    return Comparison(comparator, attribute, value)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (compare(Comparator.EQ, 2020), "b"),
        (compare(Comparator.NE, 2020), "acd"),
        (compare(Comparator.GT, 2020), "cd"),
        (compare(Comparator.GTE, 2020), "bcd"),
        (compare(Comparator.LT, 2020), "a"),
        (compare(Comparator.LTE, 2020), "ab"),
        (compare(Comparator.IN, [2019, 2022]), "ad"),
        (compare(Comparator.NIN, [2019, 2022]), "bc"),
        (Operation(Operator.AND, [compare(Comparator.GT, 2019), compare(Comparator.EQ, "de", "lang")]), "b"),
        (Operation(Operator.OR, [compare(Comparator.EQ, 2019), compare(Comparator.EQ, "en", "lang")]), "acd"),
        (Operation(Operator.NOT, [Operation(Operator.AND, [compare(Comparator.LT, 2021)])]), "cd"),
        (compare(Comparator.GTE, {"type": "date", "date": "2021-01-01"}, "day"), "cd"),
    ],
)
async def test_a_store_finds_what_the_condition_says(condition: FilterDirective, found: str) -> None:
    """Every comparator and operator means in a store what its name says."""
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    for text, year, lang in YEARS:
        facts = {"year": year, "lang": lang, "day": f"{year}-06-01"}
        await store.aadd_documents([Document(text, metadata=facts)])
    query, arguments = FilterTranslator().visit_structured_query(StructuredQuery("q", condition, limit=9))
    documents = await store.asimilarity_search(query, **arguments)
    assert sorted(one.page_content for one in documents) == list(found)


def test_a_query_without_conditions_has_no_filter() -> None:
    """Neither a filter nor a number is made up."""
    assert FilterTranslator().visit_structured_query(StructuredQuery("q", None)) == ("q", {})


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (compare(Comparator.LIKE, "x"), "does not translate 'like'; it translates eq"),
        (compare(Comparator.CONTAIN, "x"), "does not translate 'contain'"),
        (Operation(Operator.NOT, []), "exactly one argument, and has 0"),
        (Operation(Operator.NOT, [compare(Comparator.EQ, 1)] * 2), "exactly one argument, and has 2"),
        (Operation(Operator.OR, []), "at least one argument, and has 0"),
    ],
)
def test_what_has_no_equal_is_refused(condition: FilterDirective, said: str) -> None:
    """A condition is never left out in silence."""
    with pytest.raises(InvalidInput, match=said):
        condition.accept(FilterTranslator())
