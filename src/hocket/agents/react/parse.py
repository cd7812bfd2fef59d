"""What a reply in text asks for: calls of tools, the end of the run, or, where neither can be read, an error with a code.

Position decides, not the order of patterns: labels first, then forms without labels, then labels inside a line. What a
model makes up after its own action is cut before. Nothing is repaired: a call that is half written is not made.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from hocket.agents.react.forms import Code, Item, find_forms, make_item
from hocket.agents.react.labels import (
    COLON,
    LABEL,
    WORDS,
    Head,
    Kind,
    Section,
    ThoughtFilter,
    find_value,
    make_sections,
    read_head,
    split_text,
)
from hocket.agents.react.text_calls import TextCall, clean_name, is_none, read_call_syntax, read_input
from hocket.messages.content import Fields

__all__ = ["ReActReply", "ReadReply", "read_text", "read_text_reply"]


@dataclass(frozen=True, slots=True)
class ReActReply:
    """A reply in text, as it was read.

    Attributes:
        kind: "action", "finish", or "error".
        calls: of an action: ``tool``, its name; ``input``, a text or an object; ``args``, arguments that were written
            with their names, where they were.
        thought: what the model said before.
        output: of a finish: the answer.
        code: of an error: "empty", "missing_action", "missing_action_input", "action_and_final", "invalid_json".
        detail: of an error: what is wrong, and where.
    """

    kind: Literal["action", "finish", "error"]
    calls: list[Fields] = field(default_factory=list[Fields])
    thought: str = ""
    output: str = ""
    code: Code | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ReadReply:
    """A `ReActReply` and its calls with all that was read of them."""

    reply: ReActReply
    calls: tuple[TextCall, ...] = ()


_ACTIONS: Final = ("call", "error")
_LONGEST_NAME: Final = 200  # characters between two labels in one line
_LONGEST_FENCE: Final = 160  # characters of a line that opens a fence, and the blanks behind it
_WHOLE_FENCE: Final = re.compile(r"\s{0,100}```[^\n`]{0,32}\n")
_FIRST_LINE: Final = re.compile(r"\s*+[^\n]*")
_LAST_FENCE: Final = re.compile(r"(?:^|\n)[ \t]{0,8}`{3,8}[^\n`{\[]{0,32}\s{0,100}$")


def _compile_inline(*kinds: Kind) -> re.Pattern[str]:
    """Return the pattern of labels inside a line."""
    groups = "|".join(f"(?P<{kind}>{'|'.join(WORDS[kind])})" for kind in kinds)
    return re.compile(rf"(?<![A-Za-z0-9_])(?P<decoration>[*_`]{{0,3}})(?:{groups}){COLON}", re.IGNORECASE)


_INLINE: Final = _compile_inline("input", "final")
_INLINE_FINAL: Final = _compile_inline("final")
_INLINE_ACTION: Final = _compile_inline("action")
_INLINE_INPUT: Final = _compile_inline("input")


def read_text_reply(text: str) -> ReadReply:
    """Return what a reply asks for, whatever the text: this never raises."""
    thoughts = ThoughtFilter()
    return read_text(thoughts.feed(text) + thoughts.close())


def read_text(text: str) -> ReadReply:
    """Return what a reply asks for from which the model's thinking aloud was removed."""
    text = _unwrap(text)
    if not text.strip():
        return ReadReply(ReActReply("error", code="empty"))
    sections = _split_inline(text, split_text(text))
    forms = [find_forms(text, one.value, one.end) if one.kind == "thought" else [] for one in sections]
    sections = _cut_inventions(text, sections, forms)
    items = _read_labels(text, sections)
    if not any(item.kind in _ACTIONS for item in items):
        items = sorted([*items, *itertools.chain(*forms[: len(sections)])], key=lambda item: item.start)
    if not any(item.kind in (*_ACTIONS, "final") for item in items):
        inline = _find_inline(text, sections)
        items += inline
        forms = [[item for item in inline if one.start <= item.start < one.end] for one in sections]
    thoughts = [(one.start, _read_thought(text, one, found)) for one, found in zip(sections, forms, strict=False)]
    return _decide(text[: sections[-1].end], items, [(start, thought) for start, thought in thoughts if thought])


def _unwrap(text: str) -> str:
    """Return a reply that stands in a fence of its own without the fence."""
    opening = _WHOLE_FENCE.match(text)
    stripped = text.rstrip()
    if opening and stripped.endswith("\n```") and LABEL.match(text, opening.end()):
        return stripped[opening.end() : -3]
    return text


def _split_inline(text: str, sections: Sequence[Section]) -> list[Section]:
    """Return the sections, those of actions split where another label stands in their first line."""
    made: list[Section] = []
    for one in sections:
        is_name = one.kind == "action" and read_call_syntax(one.read(text)) is None
        made += _split_action(text, one) if is_name else [one]
    return made


def _split_action(text: str, section: Section) -> list[Section]:
    """Return an action, and the answers and the input that stand in its first line that is not blank."""
    first = _FIRST_LINE.match(text, section.value, section.end)
    labels = [*_INLINE.finditer(text, section.value, first.end())] if first else []
    input = next((index for index, label in enumerate(labels) if label.lastgroup == "input"), len(labels))
    heads: list[Head] = [(section.kind, section.start, section.value, section.mark)]
    heads += [read_head(text, label) for label in labels[: input + 1]]
    return make_sections(heads, section.end)


def _cut_inventions(text: str, sections: Sequence[Section], forms: Sequence[Sequence[Item]]) -> list[Section]:
    """Return the sections before the first observation that follows an action: the model cannot know it."""
    has_acted = False
    for index, (one, found) in enumerate(zip(sections, forms, strict=True)):
        if one.kind == "observation" and has_acted:
            return list(sections[:index])
        if one.kind == "action":
            name = clean_name(one.read(text))
            has_acted = has_acted or (name != "" and not is_none(name))
        has_acted = has_acted or any(item.kind == "call" for item in found)
    return list(sections)


def _read_labels(text: str, sections: Sequence[Section]) -> list[Item]:
    """Return what the labels ask for."""
    items: list[Item] = []
    waiting: Section | None = None  # an action whose input has not come yet
    for one in sections:
        if one.kind == "input":
            items.append(_read_labelled(text, waiting, one) if waiting else Item("stray", one.start, one.end))
            waiting = None
        elif one.kind in ("action", "final"):
            items += _read_alone(text, waiting) if waiting else []
            waiting = one if one.kind == "action" else None
            if one.kind == "final":
                items.append(Item("final", one.start, one.end, text=one.read(text), rest=one.value))
    return items + (_read_alone(text, waiting) if waiting else [])


def _read_labelled(text: str, action: Section, input: Section) -> Item:
    """Return what an action asks for that has a label for its input."""
    written = action.read(text).removesuffix(action.mark)
    call = read_call_syntax(written)
    name = call[0].tool if call else clean_name(written)
    return make_item(TextCall(name, read_input(input.read(text), input.mark)), action.start, input.end)


def _read_alone(text: str, action: Section) -> list[Item]:
    """Return what an action asks for that has no label for its input: call syntax or JSON, or else it is an error."""
    written = action.read(text).removesuffix(action.mark)
    call = read_call_syntax(written)
    if call:
        return [make_item(call[0], action.start, action.end)]
    found = find_forms(text, action.value, action.end)
    if found:
        return found
    rest = written.partition("\n")[2].strip()
    made = make_item(TextCall(clean_name(written), rest), action.start, action.end)
    if made.kind == "call" or (made.kind == "final" and not rest):
        return [Item("error", action.start, action.end, text=clean_name(written), code="missing_action_input")]
    return [made]


def _find_inline(text: str, sections: Sequence[Section]) -> list[Item]:
    """Return what labels inside lines of thoughts ask for: an action with its input, or else the last answer."""
    thoughts = [one for one in sections if one.kind == "thought"]
    for one in thoughts:
        for action in _INLINE_ACTION.finditer(text, one.value, one.end):
            line_end = text.find("\n", action.end(), action.end() + _LONGEST_NAME)
            end = min(one.end, action.end() + _LONGEST_NAME) if line_end < 0 else line_end
            label = _INLINE_INPUT.search(text, action.end(), end)
            if label:
                name = clean_name(text[find_value(text, action)[0] : label.start()])
                value, mark = find_value(text, label)
                return [make_item(TextCall(name, read_input(text[value : one.end], mark)), action.start(), one.end)]
    finals = [match for one in thoughts for match in _INLINE_FINAL.finditer(text, one.value, one.end)]
    if not finals:
        return []
    value, _ = find_value(text, finals[-1])
    return [Item("final", finals[-1].start(), len(text), text=text[value:].strip(), rest=value)]


def _read_thought(text: str, section: Section, forms: Sequence[Item]) -> str:
    """Return the text of a thought before the first form in it, and before the fence of that."""
    if section.kind != "thought":
        return ""
    if not forms:
        return section.read(text)
    before = text[section.value : forms[0].start]
    fence = _LAST_FENCE.search(before, max(0, len(before) - _LONGEST_FENCE))
    return (before[: fence.start()] if fence else before).strip()


def _decide(text: str, items: Sequence[Item], thoughts: Sequence[tuple[int, str]]) -> ReadReply:
    """Return what all items together ask for."""
    finals = [item for item in items if item.kind == "final"]
    actions = [item for item in items if item.kind in _ACTIONS]
    if finals and (not actions or finals[0].start < actions[0].start):
        final = finals[-1] if not actions else [one for one in finals if one.start < actions[0].start][-1]
        is_open = final.rest is not None and not actions
        output = text[final.rest :].strip() if is_open else final.text
        said = "\n".join(thought for start, thought in thoughts if start <= final.start)
        return ReadReply(ReActReply("finish", thought=said, output=output))
    thought = "\n".join(thought for _, thought in thoughts)
    if finals:
        return ReadReply(ReActReply("error", thought=thought, code="action_and_final"))
    error = next((item for item in actions if item.kind == "error"), None)
    if error or not actions:
        code = error.code if error else "missing_action"
        return ReadReply(ReActReply("error", thought=thought, code=code, detail=error.text if error else ""))
    calls = tuple(item.call for item in actions if item.call)
    return ReadReply(ReActReply("action", [_describe(call) for call in calls], thought), calls)


def _describe(call: TextCall) -> Fields:
    fields: Fields = {"tool": call.tool, "input": call.input}
    return fields if call.args is None else {**fields, "args": call.args}
