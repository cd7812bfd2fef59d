"""How the pieces of a streamed message become one message. The only place that knows; `+` and `Collector` both use it.

Rules, each where LangChain's merge loses or invents data:

- Text is collected in lists and joined once, so that folding is linear in its length (see `pieces`).
- Response metadata is replaced, never concatenated ("stopstop") or summed (404 + 200); None never replaces a value.
  Log probabilities are the exception: every chunk brings those of its own tokens.
- Deltas in content blocks and additional kwargs are concatenated, except the keys that identify what they belong to.
- Usage is summed where it comes in increments and replaced where it is a running total (see `usage`).
- Tool calls are told apart by index and id, however a provider fills these (see `tool_call_fold`).

A fold goes on from its own result as if it had never stopped: whoever looks at the sum so far changes nothing.
"""

from collections.abc import Mapping
from typing import Any, cast

from hocket.messages.content import Fields, FieldsView
from hocket.messages.pieces import Content, Deltas, copy_containers
from hocket.messages.tool_call_fold import ToolCallFold
from hocket.messages.usage import UsageMetadata, add_report

__all__ = ["Fold", "leaves", "merge_facts"]

_COLLECTED_FACTS = frozenset({"logprobs"})


def merge_facts(*facts: FieldsView | None) -> Fields:
    """Return what providers said about one answer, later facts over earlier ones, in containers of its own."""
    merged: Fields = {}
    for more in facts:
        if more:
            _renew(merged, more)
    return merged


def _renew(held: Fields, facts: FieldsView, *, collect: bool = False) -> None:
    """Put ``facts`` over ``held``, which owns its mappings and lists."""
    for key, value in facts.items():
        if type(value) is str:
            held[key] = value
            continue
        before = held.get(key)
        if isinstance(value, Mapping):
            mine = cast(Fields, before) if isinstance(before, dict) else {}
            _renew(mine, cast(FieldsView, value), collect=collect or key in _COLLECTED_FACTS)
            held[key] = mine
        elif isinstance(value, list):
            items: list[Any] = copy_containers(value)
            if isinstance(before, list) and (collect or key in _COLLECTED_FACTS):
                cast("list[object]", before).extend(items)
            else:
                held[key] = items
        elif value is not None or key not in held:
            held[key] = value


def _rank(id_: str) -> int:
    """A provider's id says more than the run's, and that more than a generated one."""
    return 0 if not id_.startswith("lc_") else 1 if id_.startswith("lc_run-") else 2


class Fold:
    """The message so far. Takes the fields of chunks, gives the fields of their sum.

    Adding costs about a microsecond, whatever has been added before; `fields` costs the length of what came since the
    last call, and may be called at any time.
    """

    __slots__ = ("content", "facts", "id", "kwargs", "name", "position", "tool_calls", "usage")

    def __init__(self) -> None:
        self.content: Content = Content()
        self.kwargs: Deltas | None = None
        self.facts: Fields | None = None
        self.id: str | None = None
        self.name: str | None = None
        self.position: str | None = None
        self.tool_calls: ToolCallFold | None = None
        self.usage: UsageMetadata | None = None

    def add_text(self, text: str, id: str | None) -> None:
        """Add a text with an id, which is all that most chunks are."""
        if text:
            if self.content.blocks is None:
                self.content.text.append(text)
            else:
                self.content.add(text)
        if id is not self.id:
            self._take_id(id)

    def _take_id(self, id: str | None) -> None:
        if id and (self.id is None or _rank(id) < _rank(self.id)):
            self.id = id

    def add(self, fields: FieldsView) -> None:
        """Add the fields of one chunk. They are read now: editing the chunk later changes nothing here."""
        content, id = fields["content"], fields["id"]
        if type(content) is str:
            self.add_text(content, id)
        else:
            self.content.add(content)
            if id is not self.id:
                self._take_id(id)
        if "additional_kwargs" not in fields:
            return  # the chunk is bare
        if kwargs := fields["additional_kwargs"]:
            if self.kwargs is None:
                self.kwargs = Deltas(kwargs)
            else:
                self.kwargs.add(kwargs)
        if facts := fields["response_metadata"]:
            if self.facts is None:
                self.facts = {}
            _renew(self.facts, facts)
        name = fields["name"]
        if name is not None and self.name is None:
            self.name = name
        if "tool_call_chunks" not in fields:
            return
        if chunks := fields["tool_call_chunks"]:  # from here on what only a model's chunks have
            if self.tool_calls is None:
                self.tool_calls = ToolCallFold()
            for chunk in chunks:
                self.tool_calls.add(chunk)
        if report := fields["usage_metadata"]:
            self.usage = add_report(self.usage, report)
        if fields["chunk_position"] is not None:
            self.position = fields["chunk_position"]

    def fields(self) -> Fields:
        """Return the fields that every message has, folded, in containers of their own."""
        return {
            "content": self.content.value(),
            "additional_kwargs": self.kwargs.value() if self.kwargs else {},
            "response_metadata": merge_facts(self.facts),
            "name": self.name,
            "id": self.id,
        }

    def reply_fields(self) -> Fields:
        """Return what only a model's chunks have: each tool call as one chunk, the usage of the whole, the position."""
        return {
            "tool_call_chunks": self.tool_calls.value() if self.tool_calls else [],
            "usage_metadata": copy_containers(self.usage),
            "chunk_position": self.position,
        }


def leaves(tree: Any) -> list[Any]:
    """Return what a sum of sums adds up, in order: a sum is a pair of addends, anything else a leaf."""
    found: list[Any] = []
    waiting: list[Any] = [tree]
    while waiting:
        node: Any = waiting.pop()
        right: Any
        while type(node) is tuple:  # pyright: ignore[reportUnknownArgumentType]  # `type() is` forgets what is in it
            node, right = node  # pyright: ignore[reportUnknownVariableType]
            if type(right) is tuple:  # pyright: ignore[reportUnknownArgumentType]
                waiting.append(node)
                node = right  # pyright: ignore[reportUnknownVariableType]
            else:
                found.append(right)
        found.append(node)
    found.reverse()
    return found
