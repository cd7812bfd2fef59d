"""Where a request is marked for the prompt cache of Anthropic's API, and how many marks it may have. Pure functions.

A mark has all that stands before it cached, in the order tools, system, messages. The API looks for an older prompt at
the marks of a new one: so the end of the request before is marked again, and no look-back over many blocks is needed.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, cast

from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.providers.anthropic.content import MARK

__all__ = ["check_marks", "place_marks"]

MARKS = 4
"""Blocks that may be marked for the cache, at most."""

_UNMARKED = frozenset({"thinking", "redacted_thinking", "mcp_tool_listing", "fallback"})
"""Types of blocks that have no place for a mark. (The official SDK's types.)"""


def place_marks(body: FieldsView, further: FieldsView, lifetime: bool | Literal["5m", "1h"] | None) -> Fields:
    """Return a body with marks: at the last tool, the last instruction, the end of the request before and its own end.

    A body that has a mark of the user's own is returned as it is, and so is any where ``lifetime`` is None or False.

    Args:
        body: of a finished request. It is not changed.
        further: fields that go over the body's: the call's ``extra_body``.
        lifetime: how long a prompt stays in the cache; True: as long as the API says, which is five minutes.
    """
    if not lifetime or _count_marks({**body, **further}):
        return dict(body)
    mark: Fields = {"type": "ephemeral", **({"ttl": lifetime} if lifetime == "1h" else {})}
    marked = dict(body)
    for name in ("tools", "system"):
        if name in body:
            marked[name] = _mark_last(body[name], mark)
    turns: list[Fields] = [*body["messages"]]
    reply = max((at for at, turn in enumerate(turns) if turn["role"] == "assistant"), default=0)
    for at in {max(0, reply - 1), len(turns) - 1}:
        turns[at] = {**turns[at], "content": _mark_last(turns[at]["content"], mark)}
    return {**marked, "messages": turns}


def _mark_last(content: str | Sequence[Fields], mark: Fields) -> list[Fields]:
    """Return content with a mark on the last of its parts that takes one. A deferred tool takes none."""
    parts: list[Fields] = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
    for at in reversed(range(len(parts))):
        if parts[at].get("type") not in _UNMARKED and not parts[at].get("defer_loading"):
            parts[at] = {**parts[at], MARK: mark}
            break
    return parts


def check_marks(body: FieldsView) -> None:
    """Refuse a body with more marks than the API takes.

    Raises:
        InvalidInput: there are more than four.
    """
    marked = _count_marks(body)
    if marked > MARKS:
        raise InvalidInput(
            f"{marked} blocks are marked for the cache ({MARK}), and the API takes {MARKS}; a mark covers all that stands "
            "before it, so keep the last ones"
        )


def _count_marks(body: FieldsView) -> int:
    turns = [turn["content"] for turn in body["messages"]]
    parts = [body, *_dicts_in([body.get("system"), body.get("tools"), *turns])]
    return sum(MARK in part for part in parts)


def _dicts_in(contents: Iterable[object]) -> list[FieldsView]:
    """Return the blocks of contents, those inside of tools' results too."""
    found: list[FieldsView] = []
    for content in contents:
        for block in cast("Sequence[object]", content) if isinstance(content, list) else ():
            if isinstance(block, dict):
                part = cast(Fields, block)
                found += [part, *_dicts_in([part.get("content")])]
    return found
