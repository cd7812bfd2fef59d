"""Actions that need no label: JSON, XML and a Chinese sentence, wherever in a text they stand.

The text is read once, from one beginning of a form to the next. What fails would be read again and again by a hostile
text, so the number of failures has a limit.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from hocket._json import JSON
from hocket.agents.react.json_text import Fault, read_json
from hocket.agents.react.text_calls import TextCall, clean_name, is_finish, is_none, read_input

__all__ = ["Code", "Item", "find_forms", "make_item"]

Code = Literal["empty", "missing_action", "missing_action_input", "action_and_final", "invalid_json"]
"""Why a reply could not be read."""

_TOOL_KEYS: Final = ("action", "tool", "name", "tool_name", "行动", "工具")
_INPUT_KEYS: Final = (
    *("action_input", "input", "args", "arguments", "parameters", "tool_input"),
    *("参数", "输入"),
)
_ATTEMPTS: Final = 32
_JSON_LIMIT: Final = 100  # blanks between the signs that JSON begins with

_BEGIN: Final = re.compile(
    r"(?P<call><tool_call>\s{0,100})"
    r"|<tool>(?P<tool>[^<]{0,200})</tool>\s{0,100}<tool_input>"
    r"|(?P<final><final_answer>)"
    r"|(?P<observation><observation>)"
    rf"|(?P<json>\[\s{{0,{_JSON_LIMIT}}}\{{\s{{0,{_JSON_LIMIT}}}\"|\{{\s{{0,{_JSON_LIMIT}}}\")"
    r"|使用工具[ \t\u3000:：]{0,8}(?P<named>[^\s，,。:：]{1,100})[ \t\u3000，,]{0,8}参数是[ \t\u3000:：]{0,8}"
)
_ACTION_KEY: Final = re.compile(r'"(?:action|tool|tool_name|行动|工具)"\s{0,8}:', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    """What a reply asks for at one place.

    Attributes:
        kind: a call of a tool; the answer that ends the run; an action that cannot be read; an input without an action,
            or an action without a name; or an action whose name means that there is none.
        start: its place in the text.
        end: where it ends.
        text: the answer; of an error, what is wrong.
        code: of an error.
        rest: of an answer behind a label, where it starts: it may go on behind the next label.
    """

    kind: Literal["call", "final", "error", "stray", "none"]
    start: int
    end: int
    call: TextCall | None = None
    text: str = ""
    code: Code | None = None
    rest: int | None = None


def make_item(call: TextCall, start: int, end: int) -> Item:
    """Return what a call asks for: some names of tools end the run, or mean nothing."""
    if not call.tool:
        return Item("stray", start, end)
    if is_none(call.tool):
        return Item("none", start, end)
    if is_finish(call.tool):
        return Item("final", start, end, text=_write_answer(call))
    return Item("call", start, end, call)


def _write_answer(call: TextCall) -> str:
    """Return the answer that a call of "finish" gives: its input, or the only value in it."""
    value: JSON = call.input
    values = call.args if call.args is not None else value if isinstance(value, dict) else None
    if values is not None and len(values) == 1:
        [value] = values.values()
    return _write_text(value).strip()


def find_forms(text: str, start: int, end: int) -> list[Item]:
    """Return what a part of a text asks for without labels, in order, up to the first observation that is made up."""
    part = text[start:end]
    items: list[Item] = []
    place, attempts = 0, 0
    while attempts < _ATTEMPTS and (match := _BEGIN.search(part, place)):
        if match["observation"] and items:
            break
        found = _read_form(part, match)
        items += found
        if found and found[-1].kind == "error":
            break
        attempts += not found
        place = found[-1].end if found else match.start() + 1
    return [replace(item, start=start + item.start, end=start + item.end) for item in items]


def _read_form(text: str, match: re.Match[str]) -> list[Item]:
    start = match.start()
    if match["json"]:
        return _read_actions(text, start, start, is_named=False)
    if match["call"]:
        return _read_actions(text, start, match.end(), is_named=True)
    if match["final"]:
        end, after = _find_end(text, match.end(), "</final_answer>")
        return [Item("final", start, after, text=text[match.end() : end].strip())]
    if match["tool"] is not None:
        end, after = _find_end(text, match.end(), "</tool_input>", "<observation>")
        return [make_item(TextCall(clean_name(match["tool"]), read_input(text[match.end() : end])), start, after)]
    if match["named"]:
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        return [make_item(TextCall(clean_name(match["named"]), read_input(text[match.end() : end])), start, end)]
    return []


def _find_end(text: str, start: int, *tags: str) -> tuple[int, int]:
    """Return where the first of the tags begins that is there, and where it ends; without any, the end of the text."""
    for tag in tags:
        place = text.find(tag, start)
        if place >= 0:
            return place, place + len(tag)
    return len(text), len(text)


def _read_actions(text: str, start: int, place: int, *, is_named: bool) -> list[Item]:
    """Return the actions in the JSON at ``place``; none, if it says nothing of actions.

    Args:
        is_named: whether the text around it says that it is an action.
    """
    read = read_json(text, place)
    if isinstance(read, Fault):
        if is_named or _ACTION_KEY.search(text, place, read.end):
            return [Item("error", start, len(text), text=read.text, code="invalid_json")]
        return []
    value, end = read
    objects = value if isinstance(value, list) else [value]
    calls = [_read_action(one, is_named=is_named) for one in objects]
    items = [make_item(call, start, end) for call in calls if call is not None]
    return items if len(items) == len(objects) else []


def _read_action(value: JSON, *, is_named: bool) -> TextCall | None:
    if not isinstance(value, dict):
        return None
    fields = {key.strip().lower(): one for key, one in value.items()}
    tool = next((key for key in _TOOL_KEYS if key in fields), None)
    held = next((key for key in _INPUT_KEYS if key in fields), None)
    if tool is None or (tool == "name" and held is None and not is_named):
        return None
    name, given = fields[tool], fields[held] if held else None
    if not isinstance(name, str | None):
        return None
    made = given if isinstance(given, dict) else read_input(_write_text(given))
    return TextCall("none" if name is None else clean_name(name), made)


def _write_text(value: JSON) -> str:
    """Return a value of JSON as an input in text."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
