"""Labels, such as ``Action:``, and the sections of a reply that they begin.

A label counts at the start of a line, in any of its languages, behind Markdown's decoration, with a number, with a colon
of either width. A search for it must be linear in the text, whatever the text: every quantifier here has a bound.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

__all__ = [
    "COLON",
    "LABEL",
    "WORDS",
    "Kind",
    "Section",
    "ThoughtFilter",
    "find_value",
    "make_sections",
    "may_become_label",
    "read_head",
    "split_text",
]

Kind = Literal["input", "action", "final", "observation", "thought"]
"""What a section holds."""

WORDS: Final[dict[Kind, tuple[str, ...]]] = {
    "input": ("action input", "行动输入", "动作输入"),
    "action": ("action", "行动", "动作"),
    "final": (
        *("the final answer is", "the answer is", "final answer", "answer"),
        *("最终答案", "最终回答", "回答"),
    ),
    "observation": ("observation", "观察结果", "观察"),
    "thought": ("thought", "思考", "推理"),
}
"""The words of each label. Of two that begin alike, the longer one stands first."""

BLANK: Final = "[ \t\u00a0\u3000\ufeff]"
_DECORATION: Final = r"(?:[ \t\u00a0\u3000\ufeff#>*_`•·-]|\d{1,3}[.)、]){0,24}"
_NUMBER: Final = rf"(?:{BLANK}{{0,8}}#?\d{{1,4}})?"
COLON: Final = rf"[*_`]{{0,3}}{_NUMBER}[*_`]{{0,3}}{BLANK}{{0,32}}[:：]"
"""What stands between the word of a label and its value."""


def _write_pattern(words: tuple[str, ...]) -> str:
    inner = rf"{BLANK}{{0,4}}\d{{0,4}}{BLANK}{{0,4}}"
    return "|".join(word.replace(" ", inner if word == "action input" else f"{BLANK}{{1,4}}") for word in words)


_KINDS: Final = "|".join(f"(?P<{kind}>{_write_pattern(words)})" for kind, words in WORDS.items())

LABEL: Final = re.compile(rf"^(?P<decoration>{_DECORATION})(?:{_KINDS}){COLON}", re.IGNORECASE | re.MULTILINE)
"""A label at the start of a line. The name of its last group is its kind."""

_STEP: Final = re.compile(
    rf"^(?P<decoration>{_DECORATION})(?:{_KINDS}){COLON}|^[ \t]{{0,3}}(?P<fence>```)", re.IGNORECASE | re.MULTILINE
)
_BARE_FENCE: Final = re.compile(r"^[ \t]{0,3}`{3,32}[ \t\r]{0,8}$", re.MULTILINE)
_OPEN_FENCE: Final = re.compile(r"\s{0,64}```")
_DECORATED: Final = re.compile(_DECORATION)
_NUMERAL: Final = re.compile(r"\d{0,3}[.)、]?")
_TAIL: Final = re.compile(r"[ \t\u00a0\u3000\ufeff*_`#\d]{0,80}")
_ALL_WORDS: Final = tuple(word for words in WORDS.values() for word in words)


@dataclass(frozen=True, slots=True)
class Section:
    """A label and its value, or the text before the first label.

    Attributes:
        kind: of the label; text before the first one is a thought.
        start: of the label in the text.
        value: where the value starts.
        end: of the value.
        mark: of Markdown's emphasis, if the label began with one that did not end at its colon.
    """

    kind: Kind
    start: int
    value: int
    end: int
    mark: str = ""

    def read(self, text: str) -> str:
        """Return the value."""
        return text[self.value : self.end].strip()


Head: TypeAlias = tuple[Kind, int, int, str]
"""Of a label: its kind, its place, that of its value, and the mark of emphasis that it leaves open."""


def split_text(text: str) -> list[Section]:
    """Return the sections of a reply, in order.

    Labels inside a fence of backticks are text, if the fence stands in the input of an action or in an answer, and is
    closed: code may have comments that look like labels.
    """
    closings = [match.start() for match in _BARE_FENCE.finditer(text)]

    def skip_fence(opening: int) -> int:
        index = bisect_left(closings, opening + 3)
        return closings[index] + 3 if index < len(closings) else opening

    heads: list[Head] = [("thought", 0, 0, "")]
    has_action = False
    shielded = 0  # labels before this place are text
    for match in _STEP.finditer(text):
        kind = match.lastgroup
        can_shield = heads[-1][0] == "final" or (heads[-1][0] == "input" and has_action)
        if match.start() < shielded:
            continue
        if kind == "fence":
            shielded = skip_fence(match.start("fence")) if can_shield else shielded
            continue
        heads.append(read_head(text, match))
        has_action = has_action or kind == "action"
        if kind == "final" or (kind == "input" and has_action):
            fence = _OPEN_FENCE.match(text, heads[-1][2])
            shielded = skip_fence(fence.end() - 3) if fence else shielded
    return make_sections(heads, len(text))


def make_sections(heads: Sequence[Head], end: int) -> list[Section]:
    """Return the sections that begin with these labels, each up to the next."""
    ends = [*(start for _, start, _, _ in heads[1:]), end]
    return [Section(kind, start, value, end, mark) for (kind, start, value, mark), end in zip(heads, ends, strict=True)]


def read_head(text: str, label: re.Match[str]) -> Head:
    """Return what a match of a pattern of labels says."""
    value, mark = find_value(text, label)
    return cast(Kind, label.lastgroup), label.start(), value, mark


def find_value(text: str, label: re.Match[str]) -> tuple[int, str]:
    """Return where the value of a label starts, and the mark of emphasis that is still open there."""
    decoration = label["decoration"]
    mark = decoration[len(decoration.rstrip("*_`")) :]
    if not mark or label[0].rstrip(":： \t\u00a0\u3000\ufeff").endswith(mark):
        return label.end(), ""
    if text.startswith(mark, label.end()):
        return label.end() + len(mark), ""
    return label.end(), mark


def may_become_label(line: str) -> bool:
    """Whether a line that has not ended yet, and holds no label, may hold one when more has come."""
    if len(line) > 240:
        return False
    rest = line[_end_of(_DECORATED, line) :].lower()
    if not rest or _NUMERAL.fullmatch(rest):
        return True
    words = " ".join(rest.split())
    for word in _ALL_WORDS:
        if word.startswith(words) or word.replace(" ", "").startswith(words):
            return True
        if words.startswith(word) and _TAIL.fullmatch(words, len(word)):
            return True
    # "Action 2 Inp…": a number inside the label
    return words.startswith("action") and "input".startswith(words.removeprefix("action").strip(" 0123456789"))


def _end_of(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


class ThoughtFilter:
    """Removes what a model thinks aloud, in ``<think>`` or ``<thinking>``, from a text that comes in pieces.

    A block that is never closed goes on to the end.
    """

    _OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
    _CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)

    def __init__(self) -> None:
        self._held = ""
        self._is_inside = False

    def feed(self, piece: str) -> str:
        """Return what is certain to stand outside of the blocks."""
        text = self._held + piece
        kept: list[str] = []
        place = 0
        while match := (self._CLOSING if self._is_inside else self._OPENING).search(text, place):
            if not self._is_inside:
                kept.append(text[place : match.start()])
            self._is_inside = not self._is_inside
            place = match.end()
        cut = max(place, _begin_of_tag(text, "</thinking>" if self._is_inside else "<thinking>"))
        if not self._is_inside:
            kept.append(text[place:cut])
        self._held = text[cut:]
        return "".join(kept)

    def close(self) -> str:
        """Return the rest."""
        rest = "" if self._is_inside else self._held
        self._held = ""
        return rest


def _begin_of_tag(text: str, tag: str) -> int:
    """Return where the beginning of a tag stands at the end of a text; the text's length, if there is none."""
    place = text.rfind("<", max(0, len(text) - len(tag)))
    if place < 0:
        return len(text)
    begun = text[place:].lower()
    other = tag.replace("ing", "")
    return place if tag.startswith(begun) or other.startswith(begun) else len(text)
