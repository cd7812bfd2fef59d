"""The JSON in a model's answer: its place, and its value.

Models put JSON into a fence of backticks, with words around it, or write it plainly. An answer that does not begin like
JSON is searched for a fence; the text before and after a fence is prose, and ignored. Everywhere else, text after the
value is refused: a model that went on writing may have meant something else.
"""

import json
import re
from typing import Any, cast

from hocket.errors import OutputParserException
from hocket.output_parsers.partial_json import MAX_DEPTH, PartialJSON

__all__ = ["JSONDocument"]

_FENCE = "```"
_INFO = re.compile(r"`*(?:[A-Za-z]\w{0,20})?")  # what follows the fence in its line: a language
_WORDS = frozenset({"true", "false", "null"})

_SEEK, _PROSE, _IN_INFO, _IN_VALUE, _AFTER, _OVER = range(6)


class JSONDocument:
    """One answer, as it comes in.

    Attributes:
        partial: the value so far.
        length: of the answer so far, in characters.
    """

    def __init__(self) -> None:
        self.partial: PartialJSON = PartialJSON()
        self.length: int = 0
        self._text: list[str] = []  # of the whole answer
        self._body: list[str] = []  # of what has to be JSON
        self._held = ""  # what cannot be judged before more has come
        self._state = _SEEK
        self._is_fenced = False

    def feed(self, piece: str) -> None:
        """Read the answer on."""
        self.length += len(piece)
        self._text.append(piece)
        if self._state == _SEEK:
            piece = self._begin(piece)
        if self._state == _PROSE:
            piece = self._seek_fence(piece)
        if self._state == _IN_INFO:
            piece = self._skip_info(piece)
        if self._state == _IN_VALUE:
            piece = self._read_value(piece)
        if self._state == _AFTER:
            self._read_end(piece)

    def close(self) -> Any:
        """Return the value of the whole answer, in containers of its own.

        Raises:
            OutputParserException: the answer is not JSON, or nested too deep.
        """
        self.partial.close()
        try:
            if self.partial.is_too_deep:
                raise ValueError(f"more than {MAX_DEPTH} containers are nested")
            return json.loads("".join(self._body), strict=False, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            text = "".join(self._text)
            shown = text if len(text) <= 200 else f"{text[:100]} … {text[-100:]}"
            raise OutputParserException(
                f"the answer is not JSON: {error}. It reads: {shown!r}", llm_output=text
            ) from None

    def _begin(self, piece: str) -> str:
        piece = piece.lstrip()
        if piece:
            self._state = _IN_VALUE if piece[0] in '{["-0123456789' else _PROSE
        return piece

    def _seek_fence(self, piece: str) -> str:
        self._body.append(piece)  # without a fence, all of it has to be JSON: a bare true, say
        seen = self._held + piece
        at = seen.find(_FENCE)
        if at < 0:
            self._held = seen[-2:]
            return ""
        self._body.clear()
        self._held, self._state, self._is_fenced = "", _IN_INFO, True
        return seen[at + len(_FENCE) :]

    def _skip_info(self, piece: str) -> str:
        seen = self._held + piece
        end = cast("re.Match[str]", _INFO.match(seen)).end()
        if end == len(seen):  # the word may go on
            self._held = seen
            return ""
        self._held, self._state = "", _IN_VALUE
        return seen if seen[:end] in _WORDS else seen[end:]

    def _read_value(self, piece: str) -> str:
        read = self.partial.feed(piece)
        if not self.partial.is_whole:
            self._body.append(piece)
            return ""
        self._body.append(piece[:read])
        self._state = _AFTER
        return piece[read:]

    def _read_end(self, piece: str) -> None:
        """Look for the end of the fence; anything else after the value but space is left to be refused."""
        self._held = (self._held + piece).lstrip()
        if self._is_fenced and self._held.startswith(_FENCE):
            self._state = _OVER
        elif self._held and not (self._is_fenced and _FENCE.startswith(self._held)):
            self._body.append(self._held)
            self._state = _OVER


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
