"""Filters over many documents at once."""

from typing import Any

from hypothesis import given, settings

from hocket.documents import Document
from hocket.vectorstores import InMemoryVectorStore, SQLiteVectorStore
from hocket.vectorstores.columns import MISSING, Columns
from hocket.vectorstores.filters import is_met, parse_filter
from tests.kit.amount import limit_examples
from tests.vectorstores.filter_strategies import FACTS, FILTERS
from tests.vectorstores.models import Model


class Facts:
    """Metadata that become more, and what was read of them."""

    def __init__(self, facts: list[dict[str, Any]]) -> None:
        self.facts = facts
        self.read: list[tuple[str, int]] = []

    def read_values(self, key: str, start: int) -> list[object]:
        self.read.append((key, start))
        return [one.get(key, MISSING) for one in self.facts[start:]]


@given(FILTERS)
@settings(max_examples=limit_examples(300))
def test_they_mean_what_they_mean_of_one_document(filter: dict[str, Any]) -> None:
    """Whatever the filter, also for documents that came after it was first asked, and where values are many."""
    condition, columns = parse_filter(filter), Columns()
    facts = Facts(FACTS[:5])
    for more in ([], FACTS, [{"a": number, "b": str(number)} for number in range(300)], FACTS):
        facts.facts = [*facts.facts, *more]
        met = columns.find(condition, len(facts.facts), facts.read_values)
        assert list(met) == [is_met(condition, one) for one in facts.facts]


def test_values_are_read_once() -> None:
    """Those of documents that are new are read when somebody asks; of many keys the last ones are kept."""
    columns, facts = Columns(), Facts([{"a": 1}, {"a": 2}])
    for _ in range(2):
        assert columns.find(parse_filter({"a": {"$gt": 1}}), 2, facts.read_values) == b"\0\1"
        assert (
            columns.find(parse_filter({"a": {"$in": [1, 2]}, "z": {"$exists": False}}), 2, facts.read_values) == b"\1\1"
        )
    facts.facts.append({"a": 3})
    assert columns.find(parse_filter({"a": {"$ne": 1}}), 3, facts.read_values) == b"\0\1\1"
    assert facts.read == [("a", 0), ("z", 0), ("a", 2)]
    for number in range(100):
        columns.find(parse_filter({f"key {number}": 1}), 3, facts.read_values)
    columns.find(parse_filter({"a": 1, "key 99": 1}), 3, facts.read_values)
    assert facts.read[-1] == ("a", 0)


async def test_a_word_that_most_documents_have_spoils_no_search(tmp_path: Any) -> None:
    """In a file as in memory: the rare ones decide; where it is all that there is, it finds."""
    stores = [InMemoryVectorStore(Model()), SQLiteVectorStore(tmp_path / "one.db", Model())]
    texts = [f"the pump {'of the boiler ' * (number % 3)}{'E4711' if number in (7, 8) else ''}" for number in range(30)]
    for store in stores:
        await store.aadd_documents(
            [Document(text, id=str(number), metadata={"n": number}) for number, text in enumerate(texts)]
        )
    for query, k, filter in (
        ("the E4711", 2, None),
        ("the E4711", 5, None),
        ("the pump of", 4, None),
        ("the boiler", 3, {"n": {"$gt": 20}}),
        ("the", 3, None),
    ):
        memory, file = [await store.asearch_words(query, k, filter) for store in stores]
        assert [one.document.id for one in file] == [one.document.id for one in memory]
        assert all(abs(one.score - other.score) < 1e-5 for one, other in zip(file, memory, strict=True))
