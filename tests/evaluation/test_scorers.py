"""Scorers that ask no model: what each says of answers, and what it refuses."""

import math
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from hocket.embeddings import DeterministicFakeEmbedding, Embeddings
from hocket.errors import InvalidInput
from hocket.evaluation import (
    Answer,
    Case,
    FoundDocument,
    Score,
    aevaluate,
    called,
    cites,
    close_to,
    contains,
    exact,
    fields,
    matches,
    mrr,
    ndcg_at,
    recall_at,
    schema,
    similar,
    within,
)
from hocket.evaluation.scorer import NamedScorer, apply_scorer


class Person(BaseModel):
    name: str
    born: int


def said(output: Any) -> Answer:
    """An answer as a run writes it: of data, the text is its JSON."""
    return Answer(output, output if isinstance(output, str) else repr(output).replace("'", '"'))


async def score(scorer: NamedScorer, answer: Answer, expected: Any = None, **metadata: Any) -> float | None:
    value = (await apply_scorer(scorer, answer, Case("q", expected, "c1", metadata))).value
    return None if value is None else float(value)


@pytest.mark.parametrize(
    ("scorer", "output", "expected", "value"),
    [
        (exact(), " Paris\n", "Paris", 1),
        (exact(), "paris", "Paris", 0),
        (exact(ignore_case=True), "STRASSE", "straße", 1),
        (exact(), "", "", 1),
        (exact(), "4", 4, 1),
        (exact(), 4, "4", 1),
        (exact(), {"a": [1, 2]}, {"a": (1, 2)}, 1),
        (exact(), '```json\n{"a": 1}\n```', {"a": 1}, 1),
        (exact(), {"a": True}, {"a": 1}, 0),
        (exact(), "a", ["a"], 0),
        (exact(), "a", None, None),
        (contains(), "It is PARIS.", "Paris", 1),
        (contains(ignore_case=False), "It is PARIS.", "Paris", 0),
        (contains(), "Paris, Lima", ["lima", "paris"], 1),
        (contains(), "Paris", ["lima", "paris"], 0),
        (contains(), "in 1815", 1815, 1),
        (contains(), "Paris", "", None),
        (contains(), "Paris", [], None),
        (matches(r"^\d+ apples?$"), "12 apples", None, 1),
        (matches("(?i)APPLES"), "12 apples", None, 1),
        (matches(re.compile("lima", re.IGNORECASE)), "Lima", None, 1),
        (matches("lima"), "Lima", "Lima", 0),
        (close_to(), "First 3, then 4.", 4, 1),
        (close_to(), "It is 1,234.5.", 1234.5, 1),
        (close_to(), "[1,2,3]", 3, 1),
        (close_to(), "x is \u22127.5e\u22123 m", -0.0075, 1),
        (close_to(), "3-5", 5, 1),
        (close_to(), "(-5)", -5, 1),
        (close_to(), "42", "42", 1),
        (close_to(), 42, 42.0, 1),
        (close_to(), "none", 4, 0),
        (close_to(), "1e400", math.inf, 1),
        (close_to(0.5), "4.5", 4, 1),
        (close_to(0.5), "4.6", 4, 0),
        (close_to(relative=0.1), "-110", -100, 1),
        (close_to(1, relative=0.1), "112", 100, 0),
        (close_to(), "4", None, None),
        (fields(), {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3}, 0.5),
        (fields(), '{"a": {"x": [1]}}', '{"a": {"x": [1]}}', 1),
        (fields(), {"a": 1}, {"a": True, "b": None}, 0),
        (fields(), "no", {"a": 1}, 0),
        (fields(), "[1]", {"a": 1}, 0),
        (fields(), "{}", {}, None),
        (fields(), "{}", "", None),
        (schema(Person), '{"name": "Ada", "born": 1815}', None, 1),
        (schema(Person), {"name": "Ada"}, None, 0),
        (schema({"type": "object", "required": ["a"]}), {"a": 1}, None, 1),
        (schema({"type": "object", "required": ["a"]}), "{}", None, 0),
        (schema(Person), "no", None, 0),
    ],
)
async def test_texts_and_data(scorer: NamedScorer, output: Any, expected: Any, value: float | None) -> None:
    assert await score(scorer, said(output), expected) == value


@pytest.mark.parametrize(
    ("scorer", "expected", "text"),
    [
        (contains(), {"a": 1}, "the case 'c1' expects {'a': 1}; contains() takes a text"),
        (close_to(), "many", "the case 'c1' expects 'many'; close_to() compares with a number"),
        (close_to(), True, "close_to() compares with a number"),
        (fields(), "Paris", "fields() needs an object"),
        (fields(), 0, "fields() needs an object"),
        (similar(DeterministicFakeEmbedding(size=4)), 1, "similar() compares with a text"),
    ],
)
async def test_an_expectation_of_no_use(scorer: NamedScorer, expected: Any, text: str) -> None:
    """It is no wrong answer: the score is missing, and the case is named."""
    with pytest.raises(InvalidInput, match=re.escape(text)):
        await score(scorer, said("a"), expected)


CALLS = [{"name": "f", "args": {"x": 1}}, {"name": "g", "args": {}}, {"name": "f", "args": {"x": 2}}]


@pytest.mark.parametrize(
    ("scorer", "wanted", "value"),
    [
        (called(), ["f", "g", "f"], 1),
        (called(), [*CALLS], 1),
        (called(), ["f", "g"], 0),
        (called(), ["g", "f", "f"], 0),
        (called(), [{"name": "f", "args": {"x": 3}}, "g", "f"], 0),
        (called(args=False), [{"name": "f", "args": {"x": 3}}, "g", "f"], 1),
        (called(), [], 0),
        (called(), None, None),
        (called("order"), ["f", "f"], 1),
        (called("order"), ["g", {"name": "f", "args": {"x": 1}}], 0),
        (called("subset"), ["f", {"name": "f", "args": {"x": 1}}], 1),
        (called("subset"), ["f", "f", "f"], 0),
        (called("subset"), ["h"], 0),
    ],
)
async def test_calls(scorer: NamedScorer, wanted: Any, value: float | None) -> None:
    assert await score(scorer, Answer(calls=CALLS), calls=wanted) == value


@pytest.mark.parametrize("wanted", ["f", [1], [{"args": {}}]])
async def test_wanted_calls_of_no_use(wanted: Any) -> None:
    with pytest.raises(InvalidInput, match="the case 'c1' has"):
        await score(called(), Answer(), calls=wanted)


async def test_what_was_found() -> None:
    """Hits are counted once: the second part of a source is none. The values of nDCG are computed by hand."""
    found = Answer(
        documents=[FoundDocument("1", "a"), FoundDocument("2", "b"), FoundDocument("3", "b"), FoundDocument("4")]
    )
    relevant = {"relevant": ["b", "4", "nowhere"]}
    assert [await score(recall_at(k), found, **relevant) for k in (1, 2, 3, 4, 9)] == [0, 1 / 3, 1 / 3, 2 / 3, 2 / 3]
    assert await score(mrr(), found, **relevant) == 0.5
    best = 1 + 1 / math.log2(3) + 0.5
    assert await score(ndcg_at(5), found, **relevant) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / best)
    assert await score(ndcg_at(1), found, relevant="a") == 1 and await score(mrr(), found, relevant=["z"]) == 0
    assert await score(recall_at(5), Answer(), **relevant) == 0
    for scorer in (recall_at(5), mrr(), ndcg_at(5)):
        assert await score(scorer, found) is await score(scorer, found, relevant=[]) is None
    assert await score(mrr(key="gold"), found, gold="a") == 1
    with pytest.raises(InvalidInput, match="has relevant = 7"):
        await score(mrr(), found, relevant=7)


async def test_citations() -> None:
    assert await score(cites(), Answer(citations=["a"])) == 1
    assert await score(cites(), Answer(citations=["a"], unsupported=[3])) == await score(cites(), Answer()) == 0


async def test_limits() -> None:
    """What is not known decides nothing, unless another limit is exceeded."""
    answer = Answer(seconds=2.0, cost=Decimal("0.1"), usage={"input_tokens": 5, "output_tokens": 5, "total_tokens": 10})
    assert await score(within(seconds=2, usd=0.1, tokens=10), answer) == 1
    assert [await score(one, answer) for one in (within(seconds=1.9), within(usd=0.09), within(tokens=9))] == [0, 0, 0]
    assert await score(within(seconds=3, usd=1), Answer(seconds=2.0)) is None
    assert await score(within(seconds=1, usd=1), Answer(seconds=2.0)) == 0


class Directions(Embeddings):
    """Embeds a text as the direction that it names, in degrees."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[math.cos(math.radians(float(text))), math.sin(math.radians(float(text)))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


async def test_similar_texts() -> None:
    scorer = similar(Directions())
    assert await score(scorer, said("60"), "0") == pytest.approx(0.5)
    assert [await score(scorer, said(text), "0") for text in ("180", " ")] == [0, 0]
    assert await score(scorer, said("60")) is None


def test_names_and_versions() -> None:
    """A metric is called as the scorer is, or as it is told; whatever changes its scores is in its version."""
    plain = [
        exact(),
        contains(),
        matches("a"),
        close_to(),
        fields(),
        schema(Person),
        called(),
        cites(),
        mrr(),
        ndcg_at(5),
    ]
    names = ["exact", "contains", "matches", "close_to", "fields", "schema", "called", "cites", "mrr", "ndcg@5"]
    assert [one.name for one in plain] == [one.__name__ for one in plain] == names
    assert recall_at(5).name == "recall@5" and within(tokens=1).name == "within"
    assert {make(name="x").name for make in (exact, contains, close_to, fields, called, cites, mrr)} == {"x"}
    assert recall_at(5, name="x").name == ndcg_at(5, name="x").name == matches("a", name="x").name == "x"
    other = [
        exact(ignore_case=True),
        contains(ignore_case=False),
        matches("b"),
        close_to(1),
        called("order"),
        mrr(key="k"),
    ]
    assert not {(one.name, one.version) for one in plain} & {(one.name, one.version) for one in other}
    assert (
        recall_at(5).version != recall_at(6, name="recall@5").version and within(usd=1).version != within(usd=2).version
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: matches("("), "pattern is '(', and no regular expression"),
        (lambda: matches(1), "pattern is 1"),  # type: ignore[arg-type]
        (lambda: close_to(-1), "tolerance is -1"),
        (lambda: close_to(relative=math.nan), "relative is nan"),
        (lambda: recall_at(0), "k is 0"),
        (lambda: ndcg_at(True), "k is True"),
        (lambda: called("all"), "mode is 'all'; it is one of 'exact', 'order', 'subset'"),  # type: ignore[arg-type]
        (lambda: within(), "within() has no limit"),
        (lambda: within(seconds=-1), "seconds is -1"),
        (lambda: schema(list[int]), "an answer cannot be"),
        (lambda: similar("openai:e"), "embeddings is 'openai:e'"),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_no_use(make: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(text)):
        make()


def test_reasons() -> None:
    """A score that is not 1 says why, where more can be said than that."""
    case = Case("q", {"a": 1, "b": 2}, metadata={"calls": ["h"], "relevant": ["x"]})

    def reason(scorer: NamedScorer, answer: Answer, case: Case = case) -> str:
        found = scorer(answer, case)
        assert isinstance(found, Score)
        return found.reason

    assert reason(contains(), said("a"), Case("q", ["a", "b", "c"])) == "missing: b, c"
    assert reason(fields(), said({"b": 2})) == "wrong: a"
    assert "born" in reason(schema(Person), said({"name": "Ada"}))
    assert reason(close_to(), said("about 5"), Case("q", 4)) == "the number is 5"
    assert reason(called(), Answer(calls=CALLS[:1])) == "no call of h; made were f {'x': 1}"
    assert reason(called(), Answer(calls=[*CALLS, {"name": "h", "args": {}}]), Case("q", metadata={"calls": ["f"]}))
    assert reason(mrr(), Answer()) == "0 of 1 among 0 documents"
    assert reason(cites(), Answer(citations=["a"], unsupported=[7])) == "cites what is not there: 7"
    assert reason(within(seconds=1), Answer(seconds=2.5)) == "2.5 seconds of 1"


@pytest.mark.parametrize("piece", ["lorem ipsum ", "1", "1,", "1e", "-", "{", "\u00df"])
def test_an_answer_of_a_million_characters(piece: str) -> None:
    """It holds up the event loop for no longer than 50 ms."""
    answer = said(piece * (1_000_000 // len(piece)))
    for scorer, expected in (
        (exact(ignore_case=True), "a"),
        (contains(), "a" * 50),
        (close_to(), 5),
        (exact(), {"a": 1}),
    ):
        began = time.process_time()
        assert scorer(answer, Case("q", expected)) is not None
        assert time.process_time() - began < 0.05


async def test_in_a_run(tmp_path: Path) -> None:
    """What a scorer refuses is no answer's fault: that score is missing."""
    cases = [("1", 1), ("2", "many"), ("3", None)]
    report = await aevaluate(
        lambda text: text, cases, [close_to(), matches("[12]")], tmp_path / "new.jsonl", version="1"
    )
    assert report["close_to"].mean == 1 and (report["close_to"].cases, report.unscored) == (1, 1)
    assert report["matches"].mean == pytest.approx(2 / 3)
