"""How the pieces of a streamed message become one message. The only place that knows; `+` and `Collector` both use it.

Rules, each where LangChain's merge loses or invents data:

- Text is collected in lists and joined once, so that folding is linear in its length (see `pieces`).
- Response metadata is replaced, never concatenated ("stopstop") or summed (404 + 200); None never replaces a value.
  Log probabilities are the exception: every chunk brings those of its own tokens.
- Deltas in content blocks and additional kwargs are concatenated, except the keys that identify what they belong to.
- Usage is summed where it comes in increments and replaced where it is a running total (see `usage`).
- Tool calls are told apart by index and id, however a provider fills these by the rules below.

A fold goes on from its own result as if it had never stopped: a look at the sum so far changes nothing.

Servers exist that number every call 0, that send no index or no id, that repeat id and name in each fragment, and that
send a finished call once more. The rules of tool calls keep them apart under all of these. They look at nothing but what the
calls say so far, so that folding may stop, show its result and go on from there.
"""

from collections.abc import Mapping
from typing import Any, cast

from hocket.messages.content import Fields, FieldsView
from hocket.messages.pieces import Content, Deltas, copy_containers
from hocket.messages.tool_calls import decode_arguments
from hocket.messages.usage import UsageMetadata, add_report

__all__ = ["Fold", "ToolCallFold", "leaves", "merge_facts"]


class _Call:
    """One call so far; ``args`` are the pieces of its arguments.

    ``is_later``: its index had a call before. Then its name is whole: one that grows to that of the call before it could not
    be told from it in the sum.
    """

    __slots__ = ("args", "extras", "id", "index", "is_later", "name")

    def __init__(self, *, is_later: bool) -> None:
        self.is_later: bool = is_later
        self.index: int | str | None = None
        self.id: str | None = None
        self.name: str | None = None
        self.args: list[str] | None = None
        self.extras: Deltas | None = None

    def text(self) -> str:
        """Return the arguments so far."""
        if not self.args:
            return ""
        if len(self.args) > 1:
            self.args[:] = ["".join(self.args)]
        return self.args[0]

    def is_whole(self) -> bool:
        """Whether the arguments are a JSON object, so that nothing can follow."""
        last = next((piece for piece in reversed(self.args or ()) if piece and not piece.isspace()), "")
        if not last.rstrip().endswith("}"):
            return False
        try:
            decode_arguments(self.text())
        except ValueError:
            return False
        return True

    def value(self) -> Fields:
        """Return the call as one chunk."""
        args = None if self.args is None else self.text()
        made = {"name": self.name, "args": args, "id": self.id, "index": self.index, "type": "tool_call_chunk"}
        return made if self.extras is None else {**made, "extras": self.extras.value()}


class ToolCallFold:
    """The tool calls of one reply.

    A fragment continues the latest call of its ``index``; without an index, the call with its ``id``; with neither and
    no name, the latest call of all. It starts a call when its id differs from the one that call has, or when it names a
    tool although that call has a name and arguments already: unless it repeats the id, or the name while the arguments
    are unfinished.
    """

    __slots__ = ("calls", "known")

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.known: dict[object, _Call] = {}
        """The latest call of each index, and of each pair of index and id."""

    def add(self, chunk: FieldsView) -> _Call:
        """Add one fragment, a tool call chunk, and return the call that it belongs to."""
        index, id_, name, args = chunk.get("index"), chunk.get("id"), chunk.get("name"), chunk.get("args")
        is_bare = index is not None and not id_ and not name  # most fragments are
        call = self.known.get(index) if is_bare else self._find_continued(index, id_, name)
        if call is None:
            call = self._start(index, id_)
        elif (id_ and not call.id) or (index is not None and call.index is None):
            self._identify(call, index, id_)
        if args is not None:
            if call.args is None:
                call.args = []
            if args and not (name and call.is_whole() and args == call.text()):  # else the whole call once more
                call.args.append(args)
        if name is not None and name != call.name:
            call.name = (call.name or "") + name
        if extras := chunk.get("extras"):
            if call.extras is None:
                call.extras = Deltas({})
            call.extras.add(extras)
        return call

    def _find_continued(self, index: int | str | None, id_: str | None, name: str | None) -> _Call | None:
        """The call that a fragment goes on with; None: it starts one."""
        if id_:
            call = self.known.get((index, id_)) or self._of_id(id_, any_index=index is None)
            if call is not None or index is None:
                return call
            call = self.known.get(index)
            if call is not None and call.id:
                return None
        elif index is not None:
            call = self.known.get(index)
        else:
            call = self.calls[-1] if self.calls and not name else None
        if call is not None and name and call.name and (call.args or call.is_later):
            return None if name != call.name or call.is_whole() else call
        return call

    def _of_id(self, id_: str, *, any_index: bool) -> _Call | None:
        calls = reversed(self.calls)
        return next((call for call in calls if call.id == id_ and (any_index or call.index is None)), None)

    def _start(self, index: int | str | None, id_: str | None) -> _Call:
        call = _Call(is_later=index in self.known)
        self.calls.append(call)
        if index is not None:
            self.known.pop(index, None)
        self._identify(call, index, id_)
        return call

    def _identify(self, call: _Call, index: int | str | None, id_: str | None) -> None:
        """Note what a fragment says of the call's identity, unless it is another call's."""
        call.id = call.id or id_ or None
        if call.index is None and index is not None and index not in self.known:
            call.index = index
            self.known[index] = call
        if call.index is not None and call.id:
            self.known[call.index, call.id] = call

    def value(self) -> list[Fields]:
        """Return the calls so far as tool call chunks, each with all of its arguments so far."""
        return [call.value() for call in self.calls]


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
