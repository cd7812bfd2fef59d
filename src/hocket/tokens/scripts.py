"""How much a text weighs, counted in Latin characters.

Tokenizers are trained on English above all: a token holds some four Latin characters, but often less than one Chinese
character. Dividing the length of any text by four, as LangChain does, counts a Chinese conversation at a quarter of what
it costs. Here a character of another script counts as several Latin ones. The weights lie between what OpenAI's encodings
of 2023 (cl100k) and 2024 (o200k) take for the same paragraph in 20 languages, tokens for a character:

    script                                         cl100k       o200k        here      weight
    Latin, and punctuation                         0.20-0.49    0.20-0.32    0.25      1
    Cyrillic                                       0.45         0.24         0.375     1.5
    Greek, Hebrew, Arabic, of India, Thai,
    Georgian, Armenian, and symbols                0.71-1.86    0.25-0.40    0.5       2
    Hangul                                         0.97         0.53         0.75      3
    Chinese characters, kana                       1.02-1.45    0.68-0.95    1         4
    all others: Ethiopic, emoji, ...               2.39-2.57    1.48-1.80    2         8

Nothing here runs character by character in Python, and a string knows by itself whether it is ASCII.
"""

import re

__all__ = ["foreign", "weight"]

_FOREIGN = re.compile("[^\u0000-\u036f\u1e00-\u1eff\u2000-\u20cf]+")

_SCRIPTS: dict[str, tuple[re.Pattern[str], float]] = {
    "han": (re.compile("[\u2e80-\u312f\u31a0-\ua4cf\uf900-\ufaff\uff00-\uff9f\U00020000-\U0003ffff]+"), 4),
    "hangul": (re.compile("[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]+"), 3),
    "cyrillic": (re.compile("[\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f]+"), 1.5),
    "alphabets": (
        re.compile(
            "[\u0370-\u03ff\u0530-\u10ff\u1780-\u17ff\u1c90-\u1cbf\u1f00-\u1fff\u20d0-\u2bff\ufb00-\ufdff\ufe70-\ufeff]+"
        ),
        2,
    ),
}
"""Where each script's characters are, and how many Latin ones each of them weighs."""

_WEIGHTS = (*(each for _, each in _SCRIPTS.values()), 8)


def foreign(text: str) -> list[int]:
    """Return how many characters of each foreign script a text has: Han, Hangul, Cyrillic, other alphabets, all others."""
    rest = "" if text.isascii() else "".join(_FOREIGN.findall(text))
    counts: list[int] = []
    for characters, _ in _SCRIPTS.values():
        others = characters.sub("", rest) if rest else rest
        counts.append(len(rest) - len(others))
        rest = others
    return [*counts, len(rest)]


def weight(text: str) -> float:
    """Return how many Latin characters ``text`` weighs: its length, if it is written in Latin letters."""
    if text.isascii():
        return len(text)
    return len(text) + sum(count * (each - 1) for count, each in zip(foreign(text), _WEIGHTS, strict=True))
