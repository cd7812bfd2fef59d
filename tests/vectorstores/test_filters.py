"""What filters mean, by the table that every store is held to, and what is no filter."""

import functools
from typing import Any

import pytest

from hocket.errors import InvalidInput
from hocket.testing.conformance.vectorstores.filters import FACTS, HOLDS
from hocket.vectorstores.filters import is_met, parse_filter


@pytest.mark.parametrize(("given", "holds"), HOLDS, ids=lambda value: str(value)[:50])
def test_a_filter_holds_or_not(given: dict[str, Any], holds: bool) -> None:
    assert is_met(parse_filter(given), FACTS) is holds


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "a filter is a mapping"),
        ({"year": {"$gtt": 1}}, r"no operator '\$gtt' on 'year'; did you mean '\$gt"),
        ({"$nor": []}, r"no operator '\$nor' between filters"),
        ({"year": {}}, "is empty"),
        ({"year": [1]}, "takes texts, finite numbers"),
        ({"year": float("nan")}, "takes texts, finite numbers"),
        ({"year": {"$gt": None}}, "only texts and numbers have an order"),
        ({"year": {"$in": 3}}, r"\$in takes a list"),
        ({"year": {"$exists": 1}}, "it is True or False"),
        ({"$or": []}, "at least one filter"),
        ({3: 1}, "keys are texts"),
        ({"year": 2**63}, "64 bits"),
        (functools.reduce(lambda inner, _: {"$not": inner}, range(200), {"a": 1}), "more than 24 mappings"),
        ({"year": {"$in": ["a\0"]}}, "on 'year' holds a NUL"),
        ({"\ud800": 1}, "lone surrogate"),
    ],
    ids=str,
)
def test_what_is_no_filter_is_refused(given: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        parse_filter(given)
