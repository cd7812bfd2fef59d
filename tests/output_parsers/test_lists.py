"""Lists out of answers, whole and in pieces."""

import itertools

import pytest
from hypothesis import given, strategies as st

from hocket.messages import AIMessageChunk
from hocket.output_parsers import (
    CommaSeparatedListOutputParser,
    ListOutputParser,
    MarkdownListOutputParser,
    NumberedListOutputParser,
)

COMMAS, NUMBERS, MARKDOWN = CommaSeparatedListOutputParser(), NumberedListOutputParser(), MarkdownListOutputParser()


@pytest.mark.parametrize(
    ("parser", "text", "items"),
    [
        (COMMAS, "foo, bar, baz", ["foo", "bar", "baz"]),
        (COMMAS, "foo,bar,baz\n", ["foo", "bar", "baz"]),
        (COMMAS, "foo , bar", ["foo", "bar"]),
        (COMMAS, '"a, b", c', ["a, b", "c"]),
        (COMMAS, '"say ""hi""",x', ['say "hi"', "x"]),
        (COMMAS, '"two\nlines", x', ["two\nlines", "x"]),
        (COMMAS, '"a" , b"c', ["a", 'b"c']),
        (COMMAS, "a,,b,", ["a", "", "b", ""]),
        (COMMAS, "a\r\nb, c\n\n", ["a", "b", "c"]),
        (COMMAS, '"never closed, x', ["never closed, x"]),
        (COMMAS, "", []),
        (COMMAS, " \n", []),
        (NUMBERS, "Here:\n\n1. foo\n\n2. bar\n10. 3. baz", ["foo", "bar", "3. baz"]),
        (NUMBERS, "no list", []),
        (NUMBERS, "1. a\r\n2. b\r\n", ["a", "b"]),
        (MARKDOWN, "Well:\n- foo\n  * bar\nand\n- baz\n", ["foo", "bar", "baz"]),
        (MARKDOWN, "-not -one", []),
    ],
)
def test_items_are_found(parser: ListOutputParser, text: str, items: list[str]) -> None:
    """Whole, and letter by letter; an answer in pieces is lists that add up, at least an empty one."""
    assert parser.invoke(text) == items
    shown = list(parser.transform(iter(text)))
    assert shown == ([[item] for item in items] or [[]])


@given(st.sampled_from([COMMAS, NUMBERS, MARKDOWN]), st.text(alphabet='a1 ,".-*\r\n', max_size=40), st.data())
def test_where_an_answer_is_cut_changes_nothing(parser: ListOutputParser, text: str, data: st.DataObject) -> None:
    """Every split gives the items of the whole."""
    cut = data.draw(st.integers(min_value=0, max_value=len(text)))
    pieces = parser.transform(iter([text[:cut], text[cut:]]))
    assert list(itertools.chain.from_iterable(pieces)) == parser.parse(text)


@given(st.lists(st.text()))
def test_quoted_items_come_back(items: list[str]) -> None:
    """What CSV can say is read: anything, in quotes."""
    text = ",".join('"' + item.replace('"', '""') + '"' for item in items)
    assert COMMAS.parse(text) == items


def test_an_item_is_shown_when_it_has_ended() -> None:
    """Not before: nobody sees half an item; and no later."""
    chunks = [AIMessageChunk("re"), AIMessageChunk("d, gr"), AIMessageChunk("een")]
    shown = []
    pieces = COMMAS.transform(shown.append(chunk) or chunk for chunk in chunks)  # type: ignore[func-returns-value]
    assert next(pieces) == ["red"]
    assert len(shown) == 2
    assert list(pieces) == [["green"]]


def test_a_pattern_of_ones_own() -> None:
    """The first group counts, or the match."""
    assert NumberedListOutputParser(pattern=r"\(\d+\) (.+)").parse("(1) a\n(2) b") == ["a", "b"]
    assert MarkdownListOutputParser(pattern=r"\w+").parse("a b\nc") == ["a", "b", "c"]


@pytest.mark.parametrize("parser", [COMMAS, NUMBERS, MARKDOWN])
def test_instructions_show_a_list_that_is_read(parser: ListOutputParser) -> None:
    """A model that copies the example is understood."""
    example = parser.get_format_instructions().partition("For example:")[2]
    assert parser.parse(example.strip()) == ["red", "green", "blue"][: len(parser.parse(example.strip()))]
    assert len(parser.parse(example.strip())) >= 2
