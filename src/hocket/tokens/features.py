"""What a tokenizer's count of a text depends on, in numbers: how many words, letters, signs, characters of each script.

Byte-pair tokenizers cut text into words, numbers, runs of signs and of white space, and these into pieces. So the number
of tokens is close to a sum over such things, each at a price of its own, and far from the number of characters: by
characters alone code, tables and prose differ by half. Computed by counting in byte strings, some 10 ns a character.
"""

from hocket.tokens.scripts import foreign

__all__ = ["PRICES", "features"]

PRICES = (
    (0.07, 0.1),  # ASCII letters
    (0.75, 0.5),  # words of them
    (0.4, 0.3),  # digits
    (0.4, 0.3),  # signs
    (0.2, 0.3),  # runs of signs
    (0.02, 0.1),  # spaces
    (0.5, 0.4),  # lines
    (0.3, 0.3),  # indented lines
    (0.5, 0.4),  # other Latin letters, and punctuation beyond ASCII
    (0.75, 0.5),  # Chinese characters and kana
    (0.6, 0.4),  # Hangul
    (0.3, 0.2),  # Cyrillic
    (0.4, 0.4),  # other alphabets
    (2.0, 1.5),  # all other characters
)
"""What a text's `features` are, and about how many tokens one of each takes in OpenAI's encodings, give or take."""

_CLASSES = bytes(
    0x20
    if at in b"\t\v\f "
    else 0x0A
    if at in b"\r\n"
    else 0x30
    if chr(at).isdigit()
    else 0x61
    if chr(at).isalpha()
    else 0x2E
    for at in range(128)
) + bytes(128)


def features(text: str) -> list[int]:
    """Return how many a text has of each of the things that `PRICES` lists."""
    ascii = text.encode("ascii", "ignore")
    classes = b" %b " % ascii.translate(_CLASSES)
    count = classes.count
    scripts = foreign(text)
    return [
        count(b"a"),
        count(b" a") + count(b"\na") + count(b".a") + count(b"0a"),
        count(b"0"),
        count(b"."),
        count(b". ") + count(b".\n") + count(b".a") + count(b".0"),
        count(b" ") - 2,
        count(b"\n"),
        count(b"\n "),
        len(text) - len(ascii) - sum(scripts),
        *scripts,
    ]
