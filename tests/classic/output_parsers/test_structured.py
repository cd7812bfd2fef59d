"""Fields of an object, and parts of an answer."""

import pytest

from hocket.classic.output_parsers import (
    BooleanOutputParser,
    CombiningOutputParser,
    RegexParser,
    ResponseSchema,
    StructuredOutputParser,
)
from hocket.errors import InvalidHook, InvalidInput, OutputParserException

CITY = StructuredOutputParser.from_response_schemas(
    [
        ResponseSchema(name="city", description="a capital"),
        ResponseSchema(name="size", description="people", type="number"),
    ]
)


OSLO = '{"city": "Oslo", "size": 7}'


@pytest.mark.parametrize("text", [f"```json\n{OSLO}\n```", f"Here:\n```json\n{OSLO}\n```", OSLO])
def test_the_fields_of_an_object(text: str) -> None:
    assert CITY.parse(text) == {"city": "Oslo", "size": 7}
    assert CITY.invoke(text) == {"city": "Oslo", "size": 7}


@pytest.mark.parametrize(
    ("text", "problem"),
    [('```json\n{"city": "Oslo"}\n```', "has no 'size'"), ("Oslo", "is not JSON"), ("```json\n[1]\n```", "no object")],
)
def test_an_answer_without_them_is_refused(text: str, problem: str) -> None:
    with pytest.raises(OutputParserException, match=problem):
        CITY.parse(text)


def test_the_instructions_name_the_fields() -> None:
    assert '    "city": string,  // a capital\n    "size": number,  // people' in CITY.get_format_instructions()


PARTS = CombiningOutputParser([CITY, RegexParser(regex=r"Score: (\d+)", output_keys=["score"])])


def test_each_part_has_its_parser() -> None:
    """langchaingo's: parts are what empty lines separate."""
    text = '```json\n{"city": "Oslo", "size": 7}\n```\n\nScore: 9\n'
    assert PARTS.parse(text) == {"city": "Oslo", "size": 7, "score": "9"}
    assert "Part 2: Your answer must match" in PARTS.get_format_instructions()


@pytest.mark.parametrize("text", ["Score: 9", '{"city": "Oslo", "size": 7}\n\nScore: 9\n\nmore', ""])
def test_the_number_of_parts_is_checked(text: str) -> None:
    with pytest.raises(OutputParserException, match="must have 2 parts"):
        PARTS.parse(text)


def test_what_cannot_be_combined() -> None:
    with pytest.raises(InvalidInput, match="at least 2"):
        CombiningOutputParser([CITY])
    with pytest.raises(InvalidInput, match="cannot be one of those"):
        CombiningOutputParser([CITY, PARTS])
    with pytest.raises(InvalidHook, match="BooleanOutputParser returned bool"):
        CombiningOutputParser([CITY, BooleanOutputParser()]).parse('{"city": "Oslo", "size": 7}\n\nYES')
