"""Texts as the words that are searched for: the same ones in every store, whatever its database makes of a text.

A word is a run of letters, digits and marks, in lower case and without the accents of Latin, Greek and Cyrillic letters.
What hyphens, dots and underscores join is a word as well as its parts are, if it has a digit or an underscore in it: so
``ERR_CONN-17`` is found as itself before what has only ``17``, and by ``conn``, too. Scripts that put no spaces between
words give each character, and each pair of neighbours.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator

__all__ = ["split_query", "split_words"]

_LONGEST = 200
"""Characters of a word at most; a longer one, such as a picture in base64, is cut."""

_MOST_ASKED = 200
"""Words of a question at most; the first ones count."""

_JOINTS = "-._"
_PART = re.compile(r"[^-._]+")
_SAYS_MORE = re.compile(r"[_\d]")
_UNSPACED = re.compile(
    "(["
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # Kana
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"  # Chinese characters, Hangul
    "]+)"
)


def split_words(text: str) -> list[str]:
    """Return the words of a text, in order, each as often as it is there.

    Examples:
        >>> split_words("Café: ERR_CONN-17!")
        ['cafe', 'err_conn-17', 'err', 'conn', '17']
    """
    return [word[:_LONGEST] for run in text.casefold().translate(_FOLDS).split() for word in _split_run(run)]


def split_query(query: str) -> list[str]:
    """Return the words that a question searches for, each once."""
    return list(dict.fromkeys(split_words(query)))[:_MOST_ASKED]


def _split_run(run: str) -> Iterable[str]:
    if run.isalnum() and run.isascii():  # most are
        return (run,)
    if run.isascii():
        return _split_joined(run)
    return _split_scripts(run)


def _split_scripts(run: str) -> Iterator[str]:
    """Yield the words of a run, some of whose characters may belong to a script without spaces."""
    for place, piece in enumerate(_UNSPACED.split(run)):
        if place % 2 == 0:
            yield from _split_joined(piece)
        else:
            yield from piece
            yield from map("".join, itertools.pairwise(piece))


def _split_joined(run: str) -> list[str]:
    """Return the words of a run that hyphens, dots and underscores may join."""
    parts: list[str] = _PART.findall(run)
    whole = run.strip(_JOINTS)
    return [whole, *parts] if len(parts) > 1 and _SAYS_MORE.search(whole) else parts


class _Folds(dict[int, str]):
    """What each character becomes, by its number; worked out when it is first met."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        if character in _JOINTS:
            folded = character
        elif "\u0300" <= character <= "\u036f":  # an accent after its letter
            folded = ""
        else:
            parts = unicodedata.normalize("NFKD", character).casefold()
            plain = "".join(part for part in parts if not "\u0300" <= part <= "\u036f")
            folded = "".join(
                part if unicodedata.category(part)[0] in "LNM" else " " for part in unicodedata.normalize("NFC", plain)
            )
        self[number] = folded
        return folded


_FOLDS = _Folds()
