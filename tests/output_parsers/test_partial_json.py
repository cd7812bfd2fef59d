"""Partial JSON: every snapshot is a prefix of the final value, and the last one is that value."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.output_parsers.partial_json import MAX_DEPTH, PartialJSON

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
layouts = st.sampled_from([{}, {"indent": 1}, {"ensure_ascii": False}, {"separators": (",", ":")}])


def extends(later: Any, earlier: Any) -> bool:
    """Whether ``earlier`` may have been shown when all that was to come is ``later``."""
    if isinstance(earlier, str):
        return isinstance(later, str) and later.startswith(earlier)
    if isinstance(earlier, list):
        return isinstance(later, list) and len(later) >= len(earlier) and all(map(extends, later, earlier))
    if isinstance(earlier, dict):
        same_keys = isinstance(later, dict) and list(later)[: len(earlier)] == list(earlier)
        return same_keys and all(extends(later[key], value) for key, value in earlier.items())
    return type(later) is type(earlier) and later == earlier


def pieces(text: str, cuts: list[int]) -> list[str]:
    """Cut a text at these places."""
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in itertools.pairwise(places)]


@given(values, layouts, st.lists(st.integers(min_value=0, max_value=10_000), max_size=30))
def test_snapshots_never_contradict_the_value(value: Any, layout: dict[str, Any], cuts: list[int]) -> None:
    """However a text is cut, and wherever one looks: what was shown stays, the end is the value, nothing is lost."""
    text = json.dumps(value, **layout)
    partial, shown = PartialJSON(), []
    for piece in pieces(text, cuts):
        assert partial.feed(piece) == len(piece)
        if partial.has_changed:
            shown.append(partial.value())
    partial.close()

    assert partial.is_whole
    assert partial.value() == value
    for earlier, later in itertools.pairwise([*shown, value]):
        assert extends(later, earlier)


@given(st.text(alphabet='{}[]",:\\ue0d83-+.1tfn \n\x00😀', max_size=40))
def test_any_text_is_read_as_json_reads_it(text: str) -> None:
    """Whatever the text: the value ends where `json` says that it ends, or neither of the two reads it."""
    partial = PartialJSON()
    read = sum(partial.feed(character) for character in text)
    partial.close()
    stripped = text.lstrip(" \t\r\n")
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(stripped)
    except ValueError:
        assert not partial.is_whole
    else:
        atom = isinstance(value, int | float | None)  # `json` ends those where they cannot go on: 1 in 1.x
        assert atom or (partial.is_whole and partial.value() == value)
        assert atom or read == len(text) - len(stripped) + end


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1', {}),
        ('{"a": 1,', {"a": 1}),
        ('{"a": tr', {}),
        ('{"a', {}),
        ('{"a":', {}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x\\u00e', {"a": "x"}),
        ('["\\ud83d', [""]),
        ('["\\ud83d\\ude00', ["😀"]),
        ('["\\ud83d"', ["\ud83d"]),
        ('[{"a": [', [{"a": []}]),
        ('"ab', "ab"),
        ('["line\nbreak', ["line\nbreak"]),
        ("", None),
    ],
)
def test_only_what_stands_firm_is_shown(text: str, value: Any) -> None:
    """Numbers and words when they have ended, keys with their value, strings without half an escape."""
    partial = PartialJSON()
    partial.feed(text)
    assert partial.value() == value


@pytest.mark.parametrize(
    "text", ["]", "{]", '{"a" 1}', "[1 2]", "[1,]", "{,}", "[nope ]", '["\\x"]', "01 ", "[-]", "[1e]"]
)
def test_what_cannot_be_json_ends_it(text: str) -> None:
    """A text that is no JSON is noticed, and no more of it is read."""
    partial = PartialJSON()
    partial.feed(text + "      ")
    assert partial.is_lost
    assert partial.feed("1") == 0


def test_finished_parts_are_shared_and_open_ones_are_not() -> None:
    """A snapshot stays as it is while the text goes on, and costs no copy of what has ended."""
    partial = PartialJSON()
    partial.feed('{"done": [1, 2], "open": [3')
    first = partial.value()
    partial.feed(", 4")
    second = partial.value()

    assert first == {"done": [1, 2], "open": []}
    assert second == {"done": [1, 2], "open": [3]}
    assert first["done"] is second["done"]


def test_nesting_is_limited() -> None:
    """A text that does nothing but open is given up; one that is as deep as allowed is not."""
    deep, too_deep = PartialJSON(), PartialJSON()
    deep.feed("[" * MAX_DEPTH)
    too_deep.feed("[" * (MAX_DEPTH + 1))
    assert not deep.is_lost
    assert too_deep.is_lost
    assert too_deep.is_too_deep
