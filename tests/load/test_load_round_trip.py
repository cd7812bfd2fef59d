"""Reading back gives what was written, whatever it looks like."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import hypothesis
import hypothesis.strategies as st
import pytest
from hypothesis import given
from pydantic import ConfigDict, Field

import hocket.load
from hocket.errors import InvalidInput
from hocket.load import Serializable, dumpd, dumps, load, loads
from tests.kit.amount import limit_examples


class Loadable(Serializable):
    """A base that opts in."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True


class WrittenMessage(Loadable):
    """Looks like a message: free content, extras allowed."""

    __module__ = "hocket.messages._pretend"
    model_config = ConfigDict(extra="allow")

    content: Any
    metadata: dict[Any, Any] = Field(default_factory=dict)
    tags: list[Any] | None = None
    cache: Any = Field(default=None, exclude=True)


class Tree(Loadable):
    """A user's class: a node with children."""

    value: Any = None
    children: list["Tree"] = Field(default_factory=list)


class Settings(Loadable):
    """Has a required field, a default, and a field with an alias."""

    size: int
    temperature: float = 1.0
    flag: Any = False
    model_name: str = Field(default="small", alias="model")


class Positional(Loadable):
    """Has an ``__init__`` of its own, as messages do."""

    content: str

    def __init__(self, content: str, **kwargs: Any) -> None:
        super().__init__(**{"content": content, **kwargs})


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
KEYS = st.sampled_from(["lc", "type", "id", "kwargs", "__lc_escaped__", "value"]) | st.text(max_size=4)
JSON = st.recursive(
    SCALARS | st.sampled_from(["constructor", "secret", "value", "not_implemented"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)
LOOKALIKES: list[dict[str, Any]] = [
    {"lc": 1, "type": "constructor", "id": ["hocket", "messages", "WrittenMessage"], "kwargs": {"content": "x"}},
    {"lc": 1, "type": "secret", "id": ["PATH"]},
    {"lc": 1, "type": "not_implemented", "id": ["x"], "repr": None},
    {"__lc_escaped__": {"lc": 1, "type": "secret", "id": ["PATH"]}},
    {"__lc_escaped__": {"lc": 1, "type": "constructor", "id": [*__name__.split("."), "Tree"], "kwargs": {}}},
    {"__lc_escaped__": 3},
    {"lc": {"lc": {"lc": 1}}},
]


class Colour(StrEnum):
    """An enum that is a string too."""

    RED = "red"


@given(JSON)
def test_json_data_round_trips(data: Any) -> None:
    """Any JSON data comes back equal, whatever its keys are."""
    assert loads(dumps(data)) == data
    assert load(dumpd(data)) == data


@given(JSON, JSON)
def test_json_data_in_fields_round_trips(content: Any, nested: Any) -> None:
    """The same holds in a field, in a free dict and in an extra, and the object comes back equal."""
    message = WrittenMessage.model_validate({"content": content, "metadata": {"lc": nested}, "lc": nested})

    loaded = loads(dumps(message), allowed_objects="messages")

    assert type(loaded) is WrittenMessage
    assert loaded == message


TREES = st.recursive(
    st.builds(Tree, value=JSON),
    lambda inner: st.builds(Tree, value=JSON | inner, children=st.lists(inner, max_size=3)),
    max_leaves=6,
)


@given(TREES)
@hypothesis.settings(max_examples=limit_examples(50))
def test_trees_of_objects_round_trip(tree: Tree) -> None:
    """Objects within objects come back as the same objects."""
    assert loads(dumps(tree), allowed_objects=[Tree]) == tree


VALUES = (
    st.binary(max_size=6)
    | st.uuids()
    | st.datetimes(timezones=st.none() | st.just(UTC))
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.frozensets(st.integers() | st.tuples(st.integers(), st.text(max_size=2)), max_size=3)
    | st.sets(st.text(max_size=2), max_size=3)
    | st.dictionaries(st.integers() | st.booleans() | st.tuples(st.text(max_size=2)), st.binary(max_size=2), max_size=3)
)


@given(st.lists(VALUES, max_size=3), JSON)
def test_values_without_a_json_form_round_trip(values: list[Any], data: Any) -> None:
    """Bytes, ids, times, numbers, sets and dicts with other keys come back equal and of the same type."""
    written: list[Any] = [*values, {"lc": values, "data": data}]

    loaded = loads(dumps(written))

    assert loaded == written
    assert [type(value) for value in loaded] == [type(value) for value in written]


def test_the_text_is_json_that_any_store_takes() -> None:
    """NaN, which JSON has not, survives; so do lone surrogates and NUL, in values and in keys, and no text holds them."""
    text = dumps({"\x00": [float("nan")], "k": "\ud83d"}, ensure_ascii=False, allow_nan=False)
    assert "\x00" not in text
    text.encode()
    loaded = loads(text)
    assert (loaded["k"], repr(loaded["\x00"])) == ("\ud83d", "[nan]")
    assert loads(dumps([10**400, "plain ü", 1.5])) == [10**400, "plain ü", 1.5]


def test_wire_form() -> None:
    """The form of each node is pinned, since data outlives the version that wrote it."""
    message = WrittenMessage(content="hi", metadata={"lc": 1}, tags=[("a", Colour.RED)])

    assert dumpd(message) == {
        "lc": 1,
        "type": "constructor",
        "id": ["hocket", "messages", "WrittenMessage"],
        "kwargs": {"content": "hi", "metadata": {"__lc_escaped__": {"lc": 1}}, "tags": [["a", "red"]]},
    }
    assert dumpd(object) == {"lc": 1, "type": "not_implemented", "id": ["builtins", "object"], "repr": None}
    values = {
        "bytes": (b"\x00\xff", "AP8="),
        "uuid": (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        "datetime": (datetime(2025, 1, 2, tzinfo=UTC), "2025-01-02T00:00:00+00:00"),
        "date": (date(2025, 1, 2), "2025-01-02"),
        "time": (time(1, 2), "01:02:00"),
        "timedelta": (timedelta(1, 2, 3), [1, 2, 3]),
        "decimal": (Decimal("1.10"), "1.10"),
        "path": (Path("a.gguf"), "a.gguf"),
        "set": ({"b", "a"}, ["a", "b"]),
        "frozenset": (frozenset({2, 1}), [1, 2]),
        "dict": ({1: "a", "1": "b"}, [[1, "a"], ["1", "b"]]),
        "float": (float("-inf"), "-inf"),
        "str": ("a\x00\ud83d", "YQDtoL0="),
    }
    for name, (value, payload) in values.items():
        assert dumpd(value) == {"lc": 1, "type": "value", "id": [name], "value": payload}
        assert loads(dumps(value), allowed_objects=[]) == value


def test_only_what_differs_from_its_default_is_written() -> None:
    """Defaults and excluded fields stay out; equal values of another type, and required ones, stay in."""
    assert dumpd(WrittenMessage(content=None, cache="big"))["kwargs"] == {"content": None}
    assert dumpd(Tree(value=False))["kwargs"] == {"value": False}
    assert dumpd(Settings(size=0, flag=0))["kwargs"] == {"size": 0, "flag": 0}
    assert dumpd(Settings(size=1, temperature=1))["kwargs"] == {"size": 1}


def test_values_that_cannot_be_compared_are_written() -> None:
    """A field whose value has no truth when compared (an array) is taken as changed."""

    class Array:
        def __eq__(self, other: object) -> bool:
            raise ValueError("ambiguous")

        __hash__ = None  # type: ignore[assignment]

    class Holder(Loadable):
        default: Any = Array()

    assert dumpd(Holder(default=Array()))["kwargs"]["default"]["type"] == "not_implemented"


def test_aliased_fields_and_own_init_load() -> None:
    """Fields are written by name and accepted by name; a class with its own ``__init__`` goes through it."""
    settings = Settings(size=1, model="large")

    assert dumpd(settings)["kwargs"] == {"size": 1, "model_name": "large"}
    assert loads(dumps(settings), allowed_objects=[Settings]) == settings
    assert load(dumpd(Positional("x")), allowed_objects=[Positional]) == Positional("x")


def test_dumps_options() -> None:
    """``pretty`` indents, ``json.dumps`` options pass, and ``default`` is refused."""
    assert dumps({"a": 1}, pretty=True) == '{\n  "a": 1\n}'
    assert dumps({"a": 1}, pretty=True, indent=1) == '{\n "a": 1\n}'
    assert dumps({"b": 1, "a": 2}, sort_keys=True) == '{"a": 2, "b": 1}'
    with pytest.raises(InvalidInput, match="default="):
        dumps({}, default=str)


@pytest.mark.parametrize("data", LOOKALIKES)
def test_user_data_never_becomes_a_node(data: dict[str, Any]) -> None:
    """A dict that looks like a node stays a dict: alone, in fields, in an extra, dumped twice."""
    message = WrittenMessage.model_validate({"content": [data], "metadata": {"a": data, 1: data}, "extra": data})

    loaded = loads(dumps(message), allowed_objects="all")

    assert loaded == message
    assert type(loaded.content[0]) is type(loaded.extra) is dict
    assert loads(dumps(dumpd(data))) == dumpd(data)
    assert loads(dumps(message.to_json())) == message.to_json()


def test_objects_in_user_data_survive() -> None:
    """Objects inside a dict that has to be wrapped come back too."""
    data = {"lc": 1, "kwargs": {"tree": Tree(value={"lc": b"x"})}}

    assert loads(dumps(data), allowed_objects=[Tree]) == data


def test_public_names() -> None:
    """What the package promises is there."""
    assert all(hasattr(hocket.load, name) for name in hocket.load.__all__)
