"""What of a document's text a model is shown.

Some characters nobody sees, and a model reads them: text can be hidden in them, turned around by them, or cut into words
that a filter does not know. So they are dropped: control characters but for the end of a line and the tab, format
characters (zero-width ones, marks of direction, tags), fillers, selectors of variants, and halves of characters. Where
they belong to the writing, as in Persian or in an emoji of several parts, the text stays readable.
"""

import re

__all__ = ["clean_line", "clean_text"]

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # control characters
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # format characters, tags, selectors of variants
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0f"  # fillers and selectors that take no room
    "\ud800-\udfff"  # halves of characters: no server takes them
    "]+"
)


def clean_text(text: str) -> str:
    """Return a text without characters that nobody sees; every end of a line becomes a newline."""
    return _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))


def clean_line(text: str, limit: int) -> str:
    """Return a text as one line of at most ``limit`` characters, clean."""
    line = " ".join(clean_text(text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
