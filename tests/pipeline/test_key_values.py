"""Cache keys of what JSON has no word for: told apart by what it is, or by identity, and never by accident."""

import copy
import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, TypedDict
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict

from hocket._pipeline import cache_key
from hocket.language_models import FakeListChatModel
from hocket.messages import AIMessage, HumanMessage

MODEL = FakeListChatModel(responses=["hi"])


def key(value: Any) -> str:
    """Return the key of a call with this value as an argument."""
    return MODEL._get_llm_string(value=value)


class Colour(Enum):
    RED = 1
    BLUE = 2


class Tool(BaseModel):
    id: str = "1"
    city: str = ""
    options: dict[Any, Any] = {}


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")


class Weather(TypedDict):
    city: str


class Forecast(TypedDict):
    city: str
    days: int


@dataclass
class Settings:
    depth: int = 1


def get_weather(city: str) -> str:
    """Tell the weather."""
    return city


def get_forecast(city: str) -> str:
    """Tell the weather."""
    return city


class Box:
    """Cannot be written down."""

    def method(self) -> None: ...


ODD: list[Any] = [
    b"ab",
    "6162",
    bytearray(b"abc"),
    {"a", "b"},
    ["a", "b"],
    frozenset({"a"}),
    Colour.RED,
    Colour.BLUE,
    "RED",
    1,
    Decimal("1"),
    Decimal("1.0"),
    date(2026, 1, 1),
    datetime(2026, 1, 1),
    "2026-01-01",
    UUID(int=1),
    Path("/a"),
    "/a",
    Tool(),
    Tool(id="2"),
    Tool(city="b"),
    Tool(options={1: "a", "b": 2}),
    Tool(options={"1": "a", "b": 2}),
    Loose(a=1),  # type: ignore[call-arg]
    Loose(a=2),  # type: ignore[call-arg]
    Tool,
    Loose,
    Weather,
    Forecast,
    Settings(1),
    Settings(2),
    get_weather,
    get_forecast,
    len,
    max,
    partial(get_weather, "a"),
    partial(get_weather, "b"),
    {"a": 1},
    HumanMessage("hi"),
    AIMessage("hi"),
    {1: "a", "b": 2},
    {(1, 2): "a"},
    {"(1, 2)": "a"},
    float("inf"),
    None,
]


def test_values_that_json_has_no_word_for_are_told_apart() -> None:
    """By what they are, not by what they look like."""
    made = [key(value) for value in ODD]
    assert len(set(made)) == len(made)
    assert made == [key(copy.deepcopy(value)) for value in ODD]


def test_the_order_in_a_set_does_not_matter() -> None:
    """It has none."""
    assert key({"a", "b", "c"}) == key({"c", "b", "a"})


def lambdas() -> tuple[Callable[[], int], Callable[[], int]]:
    return (lambda: 1), (lambda: 2)


def test_what_cannot_be_written_down_counts_by_identity() -> None:
    """The same object is the same; another one, however like it, is not."""
    one, other = lambdas()
    for first, second in [(one, other), (Box(), Box()), (object, Box), (iter([1]), iter([1]))]:
        assert key(first) != key(second)
    for value in (one, Box(), threading.current_thread()):
        assert key(value) == key(value)
    box = Box()
    assert key(box.method) == key(box.method)
    assert key(box.method) != key(Box().method)


@pytest.mark.parametrize("make", [Box, lambda: lambda: 1, lambda: iter(()), object, lambda: Box().method])
def test_a_new_object_at_an_old_address_is_a_new_object(make: Callable[[], Any]) -> None:
    """Addresses are used again as soon as an object dies; keys must not be."""
    seen = set()
    for _ in range(50):
        seen.add(key(make()))
        gc.collect(0)
    assert len(seen) == 50


def test_a_mark_is_forgotten_with_its_object() -> None:
    """A service that passes a new object with every call does not grow."""
    gc.collect()
    before = len(cache_key._marks)
    for _ in range(100):
        key(Box())
    assert len(cache_key._marks) == before


def test_another_process_has_other_marks() -> None:
    """What counts by identity never hits in a cache that processes share; what is written down does."""
    script = (
        "from hocket.language_models import FakeListChatModel as M; m = M(responses=['a']);"
        "print(m._get_llm_string(v=print), m._get_llm_string(v=lambda: 1))"
    )
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True) for _ in range(2)]
    (shared, own), (shared_too, other) = (run.stdout.split() for run in runs)
    assert shared == shared_too
    assert own != other


def cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def deep() -> Any:
    value: Any = []
    for _ in range(5000):
        value = [value]
    return value


class Unschematic(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    box: Box


@pytest.mark.parametrize("value", [cycle(), deep(), Unschematic, Unschematic(box=Box()), object(), {Box(): 1, "a": 2}])
def test_nothing_stops_a_key_from_being_made(value: Any) -> None:
    """At worst it is one that never hits; a cache must not cost an answer."""
    assert len(key(value)) == 32
    assert key(value) != key(None)
