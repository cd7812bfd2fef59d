"""Figures that may only get better; `scripts/measure` prints them, `scripts/measure --lower` writes the better ones down."""

import pytest

from tests.measures.annotations import count_any_by_room
from tests.measures.names import find_double_names, is_participle
from tests.measures.passages import find_passages
from tests.measures.ratchets import Ratchets, measure_ratchets, read_ratchets

NEW_ROOM = 40.0
"""Words in a thousand lines that a room without a figure may have."""

SLACK = 2
"""Words over its figure that a room may have: so much the figure moves when a file loses some lines."""


@pytest.fixture(scope="module")
def now() -> Ratchets:
    """The house as it is."""
    return measure_ratchets()


def test_no_room_says_any_more_often() -> None:
    """`Any` is no type: a precise one, `object` for what is only passed on, a type variable or a `Protocol` says more."""
    limits = read_ratchets()["any_per_thousand_lines"]
    worse = {
        room: f"{count.per_thousand:.1f}, was {limits.get(room, NEW_ROOM)}"
        for room, count in count_any_by_room().items()
        if count.words > limits.get(room, NEW_ROOM) * count.lines / 1000 + SLACK
    }
    assert not worse, f"words Any in a thousand lines: {worse}"


def test_no_more_functions_are_bare_participles(now: Ratchets) -> None:
    """A function is an imperative verb (`resolve`, not `resolved`); a value is a noun; a predicate begins with `is_`."""
    assert _increases(read_ratchets()["bare_participles"], now["bare_participles"]) == {}


def test_no_more_public_names_are_defined_twice(now: Ratchets) -> None:
    """A name that two modules define means two things to whoever searches for it."""
    assert now["names_defined_twice"] <= read_ratchets()["names_defined_twice"], find_double_names()


def _increases(limits: dict[str, int], now: dict[str, int]) -> dict[str, str]:
    return {name: f"{count}, was {limits.get(name, 0)}" for name, count in now.items() if count > limits.get(name, 0)}


def test_no_circle_of_imports_grows(now: Ratchets) -> None:
    """Imports for typing count: a reader follows them too."""
    assert now["import_circles"] <= read_ratchets()["import_circles"]


def test_no_more_passages_stand_twice(now: Ratchets) -> None:
    """Six lines of code that stand in two places are changed in one of them only, some day."""
    assert now["pairs_of_passages"] <= read_ratchets()["pairs_of_passages"], find_passages()


@pytest.mark.parametrize("word", ["told", "settled", "kept", "rebuilt", "unsaid", "found", "observed"])
def test_a_participle_is_recognised(word: str) -> None:
    assert is_participle(word)


@pytest.mark.parametrize("word", ["embed", "feed", "read", "put", "is_cancelled", "need", "write_hosted", "resolve"])
def test_an_imperative_or_a_predicate_is_no_participle(word: str) -> None:
    """`read` and `put` are commands as well as past forms."""
    assert not is_participle(word)
