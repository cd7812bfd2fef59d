"""JSON that is still being written: its value so far, at a cost that does not grow with the text before.

Parsing the text again at every piece is quadratic. So this reads every character once, and keeps the containers that are
still open on a stack. A snapshot copies these alone; values that are finished are shared between snapshots. Shown is only
what later text cannot change: a number or a word (``tru``) when it is finished, a key when its value begins, a string as
far as it goes, without half an escape. So every snapshot is a prefix of the final value.

This is no judge of validity: it falls silent at text that cannot be JSON, and the final text is parsed by `json`. It
takes what `json` takes with ``strict=False``, line breaks in strings for one, which models write.
"""

import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, cast

__all__ = ["MAX_DEPTH", "PartialJSON"]

MAX_DEPTH = 200
"""How many containers may be nested."""

_MISSING: Any = object()

_SPACE = re.compile(r"[ \t\r\n]*")
_ATOM = re.compile(r"[-+.0-9A-Za-z]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_PLAIN = re.compile(r'[^"\\]*')
_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB]")
_WORDS = {"true": True, "false": False, "null": None}

# What may come next.
_VALUE, _FIRST_ITEM, _FIRST_KEY, _KEY, _COLON, _NEXT, _IN_STRING, _IN_KEY, _IN_ATOM, _END, _LOST = range(11)


class PartialJSON:
    """One JSON value, as its text comes in.

    Attributes:
        is_whole: whether the value has ended.
        is_lost: whether the text cannot be JSON, or is nested too deep: `is_too_deep` then, too.
        has_changed: whether `value` has more to show than when it was last called.
    """

    def __init__(self) -> None:
        self.has_changed: bool = False
        self.is_too_deep: bool = False
        self._state = _VALUE
        self._open: list[tuple[Any, str]] = []  # containers, each with the key under which a dict's value is open
        self._pieces: list[str] = []  # of the string, key or atom that is open
        self._half = ""  # of an escape, or of a pair of them
        self._key = ""
        self._root: Any = _MISSING

    @property
    def is_whole(self) -> bool:
        return self._state == _END

    @property
    def is_lost(self) -> bool:
        return self._state == _LOST

    @property
    def cost(self) -> int:
        """About how many values the next `value` will copy. A string of 16 characters counts as one."""
        if self._state == _END:
            return 1
        text = sum(map(len, self._pieces)) // 16 if self._state == _IN_STRING else 0
        return text + sum(len(container) + 1 for container, _ in self._open)

    def feed(self, text: str) -> int:
        """Read ``text`` on, as far as the end of the value.

        Returns:
            how many characters of it were read: all, unless the value has ended, or the text is no JSON there.
        """
        position, half = 0, len(self._half)
        if half:
            text, self._half = self._half + text, ""
        while position < len(text) and self._state < _END:
            if self._state in (_IN_STRING, _IN_KEY):
                position = self._read_string(text, position)
            elif self._state == _IN_ATOM:
                position = self._read_atom(text, position)
            else:
                position = cast("re.Match[str]", _SPACE.match(text, position)).end()
                if position < len(text):
                    position = self._read_mark(text[position], position)
        return max(position - half, 0)

    def close(self) -> None:
        """Take the text as ended: a number at the very end is whole now."""
        if self._state == _IN_ATOM:
            self._finish_atom()

    def value(self) -> Any:
        """Return what the text says so far, None if nothing. Finished parts are shared with other snapshots."""
        self.has_changed = False
        if self._root is not _MISSING:
            return self._root
        held: Any = _MISSING
        if self._state == _IN_STRING:
            self._pieces[:] = ["".join(self._pieces)]
            held = self._pieces[0]
        for container, key in reversed(self._open):
            copy = container.copy()
            if held is not _MISSING:
                _put(copy, key, held)
            held = copy
        return None if held is _MISSING else held

    def _read_mark(self, mark: str, position: int) -> int:
        """Read the character that a token begins with, or that stands between two; return the position after it."""
        state = self._state
        if state in (_VALUE, _FIRST_ITEM):
            return self._begin_value(mark, position)
        if mark == '"' and state in (_KEY, _FIRST_KEY):
            self._state = _IN_KEY
        elif mark == ":" and state == _COLON:
            self._state = _VALUE
            self._open[-1] = (self._open[-1][0], self._key)
        elif mark == "," and state == _NEXT:
            self._state = _KEY if isinstance(self._open[-1][0], dict) else _VALUE
        elif mark in "]}" and state in (_NEXT, _FIRST_KEY) and (mark == "}") == isinstance(self._open[-1][0], dict):
            self._finish(self._open.pop()[0])
        else:
            self._state = _LOST
            return position
        return position + 1

    def _begin_value(self, mark: str, position: int) -> int:
        if mark == '"':
            self._state = _IN_STRING
        elif mark in "{[":
            self._open.append(({}, "") if mark == "{" else ([], ""))
            self.is_too_deep = len(self._open) > MAX_DEPTH
            self._state = _LOST if self.is_too_deep else _FIRST_KEY if mark == "{" else _FIRST_ITEM
        elif mark == "]" and self._state == _FIRST_ITEM:
            self._finish(self._open.pop()[0])
            return position + 1
        elif _ATOM.fullmatch(mark):
            self._state = _IN_ATOM
            return position
        else:
            self._state = _LOST
            return position
        self.has_changed = True
        return position + 1

    def _read_string(self, text: str, position: int) -> int:
        """Read a string, or a key, on: to its end, or to that of the text."""
        start, has_escape, end = position, False, len(text)
        while True:
            position = cast("re.Match[str]", _PLAIN.match(text, position)).end()
            if position == end or text[position] == '"':
                break
            escape = _ESCAPE.match(text, position)
            if escape is None and _HALF_ESCAPE.fullmatch(text, position) is None:
                self._state = _LOST
                return position
            pair = escape is not None and _HIGH_SURROGATE.match(text, position) is not None
            if escape is None or (pair and end - position < 12 and '"' not in text[position + 6 :]):
                self._half, end = text[position:], position  # the next piece has the rest
                break
            has_escape, position = True, escape.end()
        self._take(text, start, position, has_escape)
        if position < end:
            self._end_string()
            return position + 1
        return len(text)

    def _take(self, text: str, start: int, end: int, has_escape: bool) -> None:
        if start < end:
            piece = text[start:end]
            self._pieces.append(scanstring(piece + '"', 0, False)[0] if has_escape else piece)  # pyright: ignore[reportUnknownArgumentType]  # json does not say that it is a text
            self.has_changed = self.has_changed or self._state == _IN_STRING

    def _end_string(self) -> None:
        text = "".join(self._pieces)
        self._pieces.clear()
        if self._state == _IN_KEY:
            self._key, self._state = text, _COLON
        else:
            self._finish(text)

    def _read_atom(self, text: str, position: int) -> int:
        match = cast("re.Match[str]", _ATOM.match(text, position))
        self._pieces.append(match[0])
        if match.end() < len(text):
            self._finish_atom()
        return match.end()

    def _finish_atom(self) -> None:
        text = "".join(self._pieces)
        self._pieces.clear()
        number = _NUMBER.fullmatch(text)
        try:
            if number is not None:
                self._finish(float(text) if number[1] or number[2] else int(text))
            else:
                self._finish(_WORDS[text])
        except (KeyError, ValueError):  # a word that is none of JSON's, a whole number of more digits than Python reads
            self._state = _LOST

    def _finish(self, value: Any) -> None:
        self.has_changed = True
        if self._open:
            container, key = self._open[-1]
            _put(container, key, value)
            self._state = _NEXT
        else:
            self._root, self._state = value, _END


def _put(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container.append(value)
