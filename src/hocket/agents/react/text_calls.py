"""Names, inputs and call syntax: what a model may write behind ``Action:`` and ``Action Input:``."""

import re
from dataclasses import dataclass
from typing import Final

from hocket._json import JSON
from hocket.agents.react.json_text import Fault, read_json, read_json_object

__all__ = [
    "TextCall",
    "clean_name",
    "is_finish",
    "is_none",
    "read_call_syntax",
    "read_input",
    "read_literal",
    "split_arguments",
]

_FINISH: Final = frozenset({"finish", "final answer", "final_answer", "最终答案", "最终回答", "回答"})
_NONE: Final = frozenset({"无", "none", "n/a", "无需", "不需要"})
_LONGEST_NAME: Final = 200

_WRAPPED: Final = " \t\r\n\u00a0\u3000`\"'*“”.。"
_NAME: Final = r"[^\n()（）\[\]【】{}:：]{1,100}?"
_CALL: Final = re.compile(rf"(?:[\[【](?P<boxed>{_NAME})[\]】]|({_NAME}))([ \t]{{0,2}})([(（\[【])")
_BRACKETS: Final = {"(": "(（", "（": "(（", "[": "[【", "【": "[【"}
_CLOSING: Final = {"(": ")）", "（": ")）", "[": "]】", "【": "]】"}
_MARKS: Final = re.compile(r"\\.|[\"'“”()（）\[\]【】{},，]", re.DOTALL)
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9_]")
_KEYWORD: Final = re.compile(r"\s{0,64}([^\W\d]\w{0,63})\s{0,64}=(?!=)(.*)", re.DOTALL)
_FENCED: Final = re.compile(r"`{3,8}[^\n`]{0,64}\n(.*?)\n?[ \t]{0,8}`{3,8}", re.DOTALL)
_WORDS_OF_PYTHON: Final[dict[str, JSON]] = {"True": True, "False": False, "None": None}


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call of a tool, as the model wrote it.

    Attributes:
        tool: the name, cleaned.
        input: a text, or the JSON object that it was.
        args: arguments that were written with their names; None: they were not.
        parts: the arguments of call syntax, split at its commas; None: it is not call syntax.
    """

    tool: str
    input: str | dict[str, JSON]
    args: dict[str, JSON] | None = None
    parts: tuple[str, ...] | None = None


def clean_name(text: str) -> str:
    """Return the name of a tool without what models put around it: quotes, backticks, bold, brackets, a full stop."""
    name = (text.strip().split("\n", 1)[0])[:_LONGEST_NAME].strip(_WRAPPED)
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1].strip(_WRAPPED)
    return name


def is_finish(name: str) -> bool:
    """Whether the name of an action means that the run ends with its input as the answer."""
    return " ".join(name.lower().split()) in _FINISH


def is_none(name: str) -> bool:
    """Whether the name of an action means that there is none."""
    return name.lower() in _NONE


def read_input(text: str, mark: str = "") -> str | dict[str, JSON]:
    """Return an input: an object if it is one in JSON, fenced or not; else the text, without quotes around all of it.

    Args:
        mark: of emphasis that the label has left open; it is removed at the end.
    """
    text = text.strip()
    if mark:
        text = text.removesuffix(mark).rstrip()
    fenced = _FENCED.fullmatch(text)
    if fenced and (inner := read_json_object(fenced[1])) is not None:
        return inner
    if len(text) > 1 and text[0] in "\"'" and text[0] == text[-1] and text[0] not in text[1:-1]:
        text = text[1:-1]
    made = read_json_object(text)
    return text if made is None else made


def read_call_syntax(text: str) -> tuple[TextCall, int] | None:
    """Return the call that ``text`` begins with, in call syntax, and where it ends; None: there is none, or it is cut.

    Name and arguments may each be in brackets, as models copy them from a form: ``[search]([word])``.
    """
    head = _CALL.match(text)
    name = clean_name(head["boxed"] or head[2]) if head else ""
    if not head or not name:
        return None
    closing = _find_closing(text, head.end(), head[4])
    if closing is None or (head[3] and text[closing + 1 :].strip(_WRAPPED)):
        return None
    raw = text[head.end() : closing].strip()
    if head["boxed"] and raw[:1] in ("[", "【") and raw[-1] in _CLOSING[raw[0]]:
        raw = raw[1:-1].strip()
    value = read_input(raw)
    if isinstance(value, dict):
        return TextCall(name, value), closing + 1
    parts = split_arguments(raw)
    return TextCall(name, value, _read_keywords(parts), parts), closing + 1


def _find_closing(text: str, start: int, bracket: str) -> int | None:
    """Return where a bracket closes. An apostrophe may be no quote: where it opens one that never ends, it is none."""
    for quotes in ("\"'“", '"“'):
        quote, depth = "", 1
        for match in _MARKS.finditer(text, start):
            sign = match[0]
            if quote:
                quote = "" if sign == quote else quote
            elif sign in quotes and not _ASCII_WORD.match(text, match.start() - 1):
                quote = "”" if sign == "“" else sign
            elif sign in _BRACKETS[bracket]:
                depth += 1
            elif sign in _CLOSING[bracket]:
                depth -= 1
                if not depth:
                    return match.start()
    return None


def split_arguments(text: str) -> tuple[str, ...]:
    """Return the arguments of a call: what stands between its commas, those in quotes and brackets aside."""
    parts: list[str] = []
    quote, depth, start = "", 0, 0
    for match in _MARKS.finditer(text):
        sign = match[0]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'“" and not _ASCII_WORD.match(text, match.start() - 1):
            quote = "”" if sign == "“" else sign
        elif sign in "([{（【":
            depth += 1
        elif sign in ")]}）】":
            depth -= 1
        elif sign in ",，" and depth <= 0:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    last = text[start:].strip()
    return (*parts, last) if last or parts else ()


def _read_keywords(parts: tuple[str, ...]) -> dict[str, JSON] | None:
    """Return arguments that all have their names."""
    made: dict[str, JSON] = {}
    for part in parts:
        match = _KEYWORD.fullmatch(part)
        if match is None or match[1] in made:
            return None
        made[match[1]] = read_literal(match[2])
    return made or None


def read_literal(text: str) -> JSON:
    """Return the value that ``text`` writes down, in JSON or Python; text that is neither stands for itself."""
    text = text.strip()
    if text in _WORDS_OF_PYTHON:
        return _WORDS_OF_PYTHON[text]
    read = read_json(text)
    if not isinstance(read, Fault) and read[1] == len(text):
        return read[0]
    if len(text) > 1 and (text[0] + text[-1]) in ("''", '""', "“”"):
        return re.sub(r"\\([\\'\"])", r"\1", text[1:-1])
    return text
