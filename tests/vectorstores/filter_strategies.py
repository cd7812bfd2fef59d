"""Filters of every kind, and metadata that they tell apart."""

from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b"])
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
WHOLE = [0, 1, 1.0, -0.0, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, 1e23, 1e300, -1e17]
KEPT = [*WHOLE, 0.1, 5e-324, True, "1", "", "é", "z"]
VALUES = st.sampled_from(KEPT) | st.none() | st.booleans() | NUMBERS | TEXTS
ORDERED = VALUES.filter(lambda value: value is not None and not isinstance(value, bool))
CONDITIONS = st.one_of(
    VALUES,
    st.builds(lambda value: {"$ne": value}, VALUES),
    st.builds(lambda order, value: {order: value}, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), ORDERED),
    st.builds(lambda name, values: {name: values}, st.sampled_from(["$in", "$nin"]), st.lists(VALUES, max_size=4)),
    st.builds(lambda value: {"$exists": value}, st.booleans()),
)
FILTERS = st.recursive(
    st.dictionaries(KEYS, CONDITIONS, max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda one: {"$not": one}, inner),
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=4,
)
FACTS = [*({"a": one} for one in KEPT), {"b": [1]}, {"a": {"b": 1}}, {"a": None, "b": 1e23}, {}]
