"""Why a request does not begin as the one before it, so that the provider's prompt cache is of no use to it.

A provider computes a prompt from its beginning: the tools, the system text, the messages. What stands behind the first
difference is computed, and paid, again. A message that did not change is mostly the same object, so each is compared by
identity first: that is all that a conversation without a break costs. What providers are not shown (ids, metadata), or do
not count as part of a prompt (marks for the cache, tools that load later), is no difference.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal, cast

from hocket._secrets import known_secrets, redact
from hocket.messages import BaseMessage, SystemMessage, convert_to_messages
from hocket.messages.content import FieldsView
from hocket.tokens.approximate import count_tokens_approximately
from hocket.tools import BaseTool, convert_to_openai_tool

__all__ = ["BreakCause", "PrefixBreak", "SentPrompt", "find_break", "measure_prefix"]

BreakCause = Literal["model", "tools", "options", "system", "messages", "compacted"]
"""What of a request is another one than before."""

_SHOWN = 40  # characters of each side of a difference
_PROMPTED = frozenset(
    {
        *("tool_choice", "parallel_tool_calls", "response_format", "output_config", "reasoning", "reasoning_effort"),
        *("thinking", "thinking_level", "thinking_budget", "think"),
    }
)
"""Options that change what the model reads; others, such as ``temperature``, leave the cache as it is."""

_UNSENT = frozenset({"id", "response_metadata", "usage_metadata", "artifact", "example", "chunk_position"})
_MARK = "cache_control"

_SEPARATORS = re.compile(r"[\s\"'`<>()\[\]{},;=|]")
_CLOCK = re.compile(
    r"\d{1,2}:\d\d|\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d{10}(\d{3})?(\.\d+)?$|(mon|tues|wednes|thurs|fri|satur|sun)day",
    re.IGNORECASE,
)
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b.{0,4}$", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}|(?=\w*\d)([0-9a-f]{16,}|[a-z]+_\w{8,}|[a-z0-9]{20,})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentPrompt:
    """A request, as far as it is part of the prompt.

    Args:
        messages: that were sent.
        tools: that the model was offered.
        options: of the call.
        model: that was asked. It is compared as it is.
        is_compacted: whether messages were cut or left out on purpose since the request before.
    """

    messages: Sequence[BaseMessage]
    tools: Sequence[BaseTool | FieldsView] = ()
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    model: object = None
    is_compacted: bool = False


@dataclass(frozen=True, slots=True)
class PrefixBreak:
    """A request that does not begin as the one before it.

    Attributes:
        step: the number of the request, from 1.
        cause: "model", "tools", "options" (those that change the prompt), "system" (the text), "messages", or
            "compacted": messages were made shorter to fit the window.
        detail: what is different, and where; of a text the first difference, with 40 characters of each side, and whether
            it looks like a time (``a clock?``) or an id (``an id?``). No secret is in it.
        lost_tokens: about how many tokens of the request before have to be read again.
    """

    step: int
    cause: BreakCause
    detail: str
    lost_tokens: int


def find_break(before: SentPrompt, after: SentPrompt, *, step: int) -> PrefixBreak | None:
    """Return why ``after`` does not begin as ``before`` does; None: it does.

    Args:
        before, after: two requests, one after the other.
        step: the number of ``after``.
    """
    if said := _compare_heads(before, after):
        return PrefixBreak(step, *said, count_tokens_approximately(before.messages, tools=[*before.tools]))
    if [*before.messages] == [
        *after.messages[: len(before.messages)]
    ]:  # a look at each, where they are the same objects
        return None
    olds, news = convert_to_messages(before.messages), convert_to_messages(after.messages)  # a hook may send pairs
    for at, old in enumerate(olds):
        new = news[at] if at < len(news) else None
        if old is new or (new is not None and _is_same(old, new)):
            continue
        cause, detail = _describe_change(olds, news, at)
        if after.is_compacted:
            cause, detail = "compacted", f"from message {at} on"
        return PrefixBreak(step, cause, detail, count_tokens_approximately(olds[at:]))
    return None


def measure_prefix(before: SentPrompt, after: SentPrompt) -> tuple[int, int]:
    """Return how many characters of ``before`` begin ``after``, and how many it has.

    Tools and options count as one piece, which is kept or not.
    """
    old, new = [*_write(before)], [*_write(after)]
    same = [*takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))]
    kept = sum(len(text) for text, _ in same)
    if 0 < len(same) < min(len(old), len(new)):
        kept += _find_difference(old[len(same)], new[len(same)])
    return kept, sum(map(len, old))


def _write(prompt: SentPrompt) -> Iterator[str]:
    """Yield a prompt in pieces."""
    yield json.dumps([_list_tools(prompt.tools), _find_prompted(prompt.options)], default=str)
    yield from map(_write_sent, prompt.messages)


# -- what stands before the messages


def _compare_heads(before: SentPrompt, after: SentPrompt) -> tuple[BreakCause, str] | None:
    if before.model is not after.model and before.model != after.model:
        return "model", _cut_secrets(f"{_name(before.model)} -> {_name(after.model)}")
    if before.tools is not after.tools and (
        detail := _compare_tools(_list_tools(before.tools), _list_tools(after.tools))
    ):
        return "tools", detail
    old, new = _find_prompted(before.options), _find_prompted(after.options)
    if old == new:
        return None
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return "options", ", ".join(changed)


def _name(model: object) -> str:
    return str(getattr(model, "model", None) or (model if isinstance(model, str) else type(model).__name__))


def _list_tools(tools: Sequence[BaseTool | FieldsView]) -> list[tuple[str, object]]:
    """Return names and descriptions of tools. One that loads later is no part of the prompt."""
    listed: list[tuple[str, object]] = []
    for one in tools:
        tool: FieldsView = one if isinstance(one, Mapping) else convert_to_openai_tool(one)
        inner = tool.get(str(tool.get("type")))
        told = cast(FieldsView, inner) if isinstance(inner, Mapping) else tool
        extras: FieldsView = tool.get("extras") or {}
        if not (tool.get("defer_loading") or extras.get("defer_loading")):
            listed.append((str(told.get("name") or tool.get("type")), _drop_marks(tool)))
    return listed


def _compare_tools(old: Sequence[tuple[str, object]], new: Sequence[tuple[str, object]]) -> str:
    """Return how tools differ; "": they do not."""
    if old == new:
        return ""
    before, after = dict(old), dict(new)
    found = {
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
        "changed": [name for name in before if name in after and before[name] != after[name]],
    }
    return "; ".join(f"{how}: {', '.join(names)}" for how, names in found.items() if names) or "reordered"


def _find_prompted(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if name in _PROMPTED and value is not None}


# -- messages


def _is_same(old: BaseMessage, new: BaseMessage) -> bool:
    one, other = _get_sent(old), _get_sent(new)
    return one == other or _drop_marks(one) == _drop_marks(other)


def _get_sent(message: BaseMessage) -> FieldsView:
    """Return of a message what a provider is shown."""
    _ = message.content  # a lazy sum of chunks becomes real
    return {name: value for name, value in message.__dict__.items() if name not in _UNSENT and value}


def _drop_marks(value: object) -> object:
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {name: _drop_marks(inner) for name, inner in items if name != _MARK}
    return [_drop_marks(inner) for inner in cast("list[object]", value)] if isinstance(value, list) else value


def _describe_change(old: Sequence[BaseMessage], new: Sequence[BaseMessage], at: int) -> tuple[BreakCause, str]:
    """Return of which kind the first difference of two conversations is, and how it looks."""
    one, other = old[at], new[at] if at < len(new) else None
    if other is None or (at + 1 < len(old) and _is_same(old[at + 1], other)):
        how = "removed"
    elif at + 1 < len(new) and _is_same(one, new[at + 1]):
        how = "inserted"
    else:
        how = "edited"
    is_system = isinstance(one, SystemMessage) or isinstance(other, SystemMessage)
    detail = how if is_system and at == 0 else f"message {at} {how}"
    if how == "edited" and other is not None and (shown := _show_difference(one, other)):
        detail = f"{detail} {shown}"
    return "system" if is_system else "messages", detail


def _show_difference(old: BaseMessage, new: BaseMessage) -> str:
    if old.type != new.type:
        return f"({old.type} -> {new.type})"
    texts = (old.text, new.text) if old.text != new.text else (_write_sent(old), _write_sent(new))
    one, other = map(_cut_secrets, texts)
    return _describe_difference(one, other)


def _write_sent(message: BaseMessage) -> str:
    return json.dumps(_drop_marks(_get_sent(message)), default=str, ensure_ascii=False)


def _describe_difference(old: str, new: str) -> str:
    """Return the first difference of two texts, and what the words look like in which it is; "": there is none."""
    if old == new:
        return ""
    at = _find_difference(old, new)
    begin = max((found.end() for found in _SEPARATORS.finditer(old, max(0, at - 80), at)), default=max(0, at - 80))
    shown = begin if at - begin < _SHOWN - 4 else at - _SHOWN // 2
    words = old[begin : begin + _SHOWN], new[begin : begin + _SHOWN]
    if all(map(_CLOCK.match, words)) or (_MONTH.search(old[max(0, begin - 16) : begin]) and words[0][:1].isdigit()):
        looks = " (a clock?)"
    else:
        looks = " (an id?)" if all(map(_ID.match, words)) else ""
    one, other = old[shown : shown + _SHOWN], new[shown : shown + _SHOWN]
    return f"at character {at}: {one!r} -> {other!r}{looks}"


def _find_difference(old: str, new: str) -> int:
    """Return at which character two texts begin to differ."""
    low, high = 0, min(len(old), len(new))
    while low < high:  # slices are compared far faster than characters
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[low:middle] == new[low:middle] else (low, middle - 1)
    return low


def _cut_secrets(text: str) -> str:
    return redact(text, known_secrets())
