"""Booleans and patterns out of answers."""

from collections.abc import Callable

import pytest
from pydantic import ValidationError

from hocket.classic.output_parsers import BooleanOutputParser, RegexDictParser, RegexParser
from hocket.output_parsers import NumberedListOutputParser, OutputParserException


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("YES", True),
        ("no.", False),
        ("Yes, I know", True),
        ("**No**", False),
        ("I say: yes!", True),
        ('"TRUE"', True),
        ("`false`", False),
    ],
)
def test_a_word_says_yes_or_no(text: str, value: bool) -> None:
    """In any case, as a word of its own."""
    assert BooleanOutputParser().invoke(text) is value


@pytest.mark.parametrize("text", ["", "maybe", "YES and NO", "true or no", "yesterday", "I know"])
def test_an_answer_that_says_neither_or_both_is_refused(text: str) -> None:
    """Rather than guessed."""
    with pytest.raises(OutputParserException, match="YES or NO") as caught:
        BooleanOutputParser().parse(text)
    assert caught.value.llm_output == text


def test_words_of_ones_own() -> None:
    """They are words, not patterns."""
    parser = BooleanOutputParser(true_val="+1", false_val="-1")
    assert parser.parse("I give it +1") is True
    assert parser.parse("-1") is False


def test_groups_get_names() -> None:
    """The first match counts; a group that took no part is empty."""
    parser = RegexParser(regex=r"(\w+):(\w+)?", output_keys=["key", "value"])
    assert parser.invoke("x a:b c:d") == {"key": "a", "value": "b"}
    assert parser.invoke("a:") == {"key": "a", "value": ""}


def test_an_answer_without_a_match_goes_under_a_default_or_is_refused() -> None:
    """As it is told."""
    keys = ["a", "b"]
    assert RegexParser(regex=r"(x)(y)", output_keys=keys, default_output_key="b").parse("z") == {"a": "", "b": "z"}
    with pytest.raises(OutputParserException, match="does not match"):
        RegexParser(regex=r"(x)(y)", output_keys=keys).parse("z")


@pytest.mark.parametrize(
    "make",
    [
        lambda: RegexParser(regex="(", output_keys=[]),
        lambda: RegexParser(regex="(a)", output_keys=["a", "b"]),
        lambda: RegexDictParser(regex_pattern="{}(", output_key_to_format={}),
        lambda: NumberedListOutputParser(pattern="["),
    ],
)
def test_patterns_are_checked_when_the_parser_is_made(make: Callable[[], object]) -> None:
    """Not when the first answer comes."""
    with pytest.raises(ValidationError):
        make()


def test_labels_get_names() -> None:
    """Each label once; a value that means none is left out; a label is no pattern."""
    parser = RegexDictParser(output_key_to_format={"act": "Action", "arg": "Input (text)"}, no_update_value="N/A")
    assert parser.invoke("Action: search\nInput (text): cats.") == {"act": "search", "arg": "cats"}
    assert parser.invoke("Action: search\nInput (text): N/A") == {"act": "search"}
    for text in ("Action: a", "Action: a\nAction: b\nInput (text): c"):
        with pytest.raises(OutputParserException, match="once"):
            parser.parse(text)


def test_instructions() -> None:
    """A model is told what is looked for."""
    assert "YES or NO" in BooleanOutputParser().get_format_instructions()
    assert r"(\d)" in RegexParser(regex=r"(\d)", output_keys=["n"]).get_format_instructions()
    assert "Action: <act>" in RegexDictParser(output_key_to_format={"act": "Action"}).get_format_instructions()
