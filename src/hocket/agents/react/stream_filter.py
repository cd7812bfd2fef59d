"""The final answer of a reply in text, shown while it comes."""

import re
from typing import Literal

from hocket.agents.react.labels import LABEL, ThoughtFilter, find_value, may_become_label
from hocket.agents.react.parse import read_text

__all__ = ["FinalAnswerFilter"]

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class FinalAnswerFilter:
    """Of a reply that comes in pieces, shows the final answer and nothing else, wherever the pieces are cut.

    An answer behind a label at the start of a line is shown as it comes; only what may be the beginning of another label
    waits for what follows. Answers in another form, such as JSON, are shown by `close`. When the reply is closed, what
    was shown is the output that `ReActFormat.parse` returns. There is one exception: a model may give a second answer
    behind a second label. The parser takes the last one, and what was shown cannot be taken back: the other one
    follows it, on a line of its own.
    """

    def __init__(self) -> None:
        self._thoughts = ThoughtFilter()
        self._said: list[str] = []  # all but `_line`
        self._line = ""  # the beginning of a line that may become a label
        self._is_plain = False  # whether the line that has begun holds no label
        self._state: Literal["before", "answer", "after"] = "before"
        self._shown: list[str] = []
        self._blanks: list[str] = []  # they are shown if more follows

    def feed(self, text: str) -> str:
        """Return what the next piece adds to the answer."""
        return self._take(self._thoughts.feed(text))

    def close(self) -> str:
        """Return the rest of the answer. The reply is over."""
        last = self._take(self._thoughts.close())
        reply = read_text("".join([*self._said, self._line])).reply
        shown = "".join(self._shown)
        if reply.kind != "finish" or shown.startswith(reply.output):
            return last
        return last + (reply.output[len(shown) :] if reply.output.startswith(shown) else f"\n{reply.output}")

    def _take(self, text: str) -> str:
        lines = _LINE.findall(self._line + text)
        self._line = ""
        return "".join([self._take_line(line) for line in lines])

    def _take_line(self, line: str) -> str:
        """Return what a line, or the part of it that is there, adds to the answer."""
        start = 0
        if not self._is_plain and self._state != "after":
            label = LABEL.match(line)
            is_cut = not line.endswith("\n")
            if is_cut and (may_become_label(line) if label is None else _may_go_on(line, label)):
                self._line = line
                return ""
            if label:
                start = self._enter(line, label)
        self._said.append(line)
        self._is_plain = not line.endswith("\n")
        return self._show(line[start:]) if self._state == "answer" else ""

    def _enter(self, line: str, label: re.Match[str]) -> int:
        """Note which section a label begins; return where its value starts."""
        if self._state == "answer":
            self._state = "after"  # where the answer ends depends on what follows
        elif label.lastgroup == "final":
            reply = read_text("".join([*self._said, label[0]])).reply
            self._state = "answer" if reply.kind == "finish" else "after"
        return find_value(line, label)[0]

    def _show(self, text: str) -> str:
        """Return the text, with the blanks before it; blanks at the edges of the answer are left out."""
        stripped = text.rstrip()
        if not stripped:
            self._blanks.append(text)
            return ""
        added = ("".join(self._blanks) + stripped) if self._shown else stripped.lstrip()
        self._blanks = [text[len(stripped) :]]
        self._shown.append(added)
        return added


def _may_go_on(line: str, label: re.Match[str]) -> bool:
    """Whether emphasis that the label has begun may end behind its colon, in what has not come yet."""
    _, mark = find_value(line, label)
    return bool(mark) and mark.startswith(line[label.end() :])
