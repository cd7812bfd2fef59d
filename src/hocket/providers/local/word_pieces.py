"""WordPiece, the way in which BERT and the embedding models made of it cut a text into tokens.

A text is cleaned, put in lower case without accents, and cut at white space, punctuation and around each Chinese character;
each word is then the longest beginning that the vocabulary has, and so on with the rest of it. The rules are those of
BERT's own tokenizer for uncased models (Devlin et al., 2019); the vocabulary beside this file is that of its English model
(Google, Apache License 2.0).
"""

import functools
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["END", "START", "UNKNOWN", "Vocabulary", "cut_word_pieces", "read_vocabulary"]

START = "[CLS]"
END = "[SEP]"
UNKNOWN = "[UNK]"

Vocabulary = Mapping[str, int]
"""The number of each token."""

_LONGEST_WORD = 100  # characters; a longer one is unknown
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")  # Unicode calls some of them symbols


@functools.cache
def read_vocabulary(path: Path | None = None) -> Vocabulary:
    """Return the vocabulary in a file of one token a line; None: BERT's.

    Raises:
        OSError: the file cannot be read.
    """
    lines = (path or Path(__file__).with_name("vocabulary.txt")).read_text("utf-8").splitlines()
    return {token: number for number, token in enumerate(lines)}


def cut_word_pieces(text: str, vocabulary: Vocabulary) -> list[int]:
    """Return the numbers of the tokens of ``text``, without those that mark its start and end."""
    unknown = vocabulary[UNKNOWN]
    return [number for word in _split_words(text) for number in _cut_word(word, vocabulary) or (unknown,)]


def _cut_word(word: str, vocabulary: Vocabulary) -> list[int] | None:
    """Return the tokens of a word; None: there are none for it."""
    if len(word) > _LONGEST_WORD:
        return None
    numbers: list[int] = []
    start, mark = 0, ""
    while start < len(word):
        ends = range(len(word), start, -1)
        end = next((end for end in ends if mark + word[start:end] in vocabulary), None)
        if end is None:
            return None
        numbers.append(vocabulary[mark + word[start:end]])
        start, mark = end, "##"
    return numbers


def _split_words(text: str) -> Iterator[str]:
    """Yield words and marks of punctuation, in lower case and without accents."""
    spaced = "".join(map(_replace_character, text))
    plain = unicodedata.normalize("NFD", spaced.lower())
    for word in "".join(character for character in plain if unicodedata.category(character) != "Mn").split():
        yield from "".join(map(_set_apart, word)).split()


@functools.lru_cache(4_096)
def _replace_character(character: str) -> str:
    """Return what stands for a character: nothing for a control character, spaces around a Chinese one."""
    code = ord(character)
    if character in "\t\n\r" or unicodedata.category(character) == "Zs":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(character) in ("Cc", "Cf", "Co"):
        return ""
    return f" {character} " if any(first <= code <= last for first, last in _CJK) else character


@functools.lru_cache(4_096)
def _set_apart(character: str) -> str:
    """Return a mark of punctuation between spaces, and anything else as it is."""
    is_mark = character in _ASCII_PUNCTUATION or unicodedata.category(character).startswith("P")
    return f" {character} " if is_mark else character
