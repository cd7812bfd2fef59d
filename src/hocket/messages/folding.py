"""How the pieces of a streamed message become one message. The only place that knows; `+` and `Collector` both use it.

Rules, each where LangChain's merge loses or invents data:

- Text is collected in lists and joined once, so that folding is linear in its length.
- Response metadata is replaced, never concatenated ("stopstop") or summed (404 + 200); None never replaces a value.
  Log probabilities are the exception: every chunk brings those of its own tokens.
- Deltas in content blocks and additional kwargs are concatenated, except the keys that identify what they belong to.
- Usage is summed where it comes in increments and replaced where it is a running total (see `usage`).
- Tool calls are told apart by index and id, however a provider fills these (see `ToolCallFold`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from hocket.messages.usage import UsageMetadata, add_usage, is_running_total

__all__ = ["Fold", "ToolCallFold", "UsageFold", "merge_content"]

_IDENTITY = frozenset({"type", "id", "index", "name", "role", "mime_type", "url", "file_id", "status", "format"})
_KEPT = frozenset({"type", "id", "index"})  # the first says what a block is; a delta may call itself something else
_COLLECTED_FACTS = frozenset({"logprobs"})


class _Text(list[str]):
    """Pieces of a string."""

    def value(self) -> str:
        if len(self) > 1:
            self[:] = ["".join(self)]
        return self[0] if self else ""


class _Deltas:
    """A mapping whose values arrive in pieces."""

    __slots__ = ("parts",)

    def __init__(self, first: Mapping[str, Any]) -> None:
        self.parts: dict[str, Any] = {}
        self.add(first)

    def add(self, delta: Mapping[str, Any]) -> None:
        parts = self.parts
        for key, value in delta.items():
            held = parts.get(key)
            if held is None:
                parts[key] = _opened(value)
            elif value is None or key in _KEPT:
                continue
            elif isinstance(held, _Text) and isinstance(value, str) and key not in _IDENTITY:
                held.append(value)
            elif isinstance(held, _Deltas) and isinstance(value, Mapping):
                held.add(cast("Mapping[str, Any]", value))
            elif isinstance(held, _Blocks) and isinstance(value, list):
                held.extend(value)
            else:
                parts[key] = _opened(value)

    def value(self) -> dict[str, Any]:
        return {key: _closed(part) for key, part in self.parts.items()}


class _Blocks:
    """A list whose elements arrive in pieces; elements with the same ``index`` are one element."""

    __slots__ = ("by_index", "parts")

    def __init__(self, first: Sequence[Any] = ()) -> None:
        self.parts: list[Any] = []
        self.by_index: dict[int | str, _Deltas] = {}
        self.extend(first)

    def extend(self, items: Sequence[Any]) -> None:
        for item in items:
            part = _opened(item)
            if isinstance(part, _Deltas):
                index = item.get("index")
                if isinstance(index, int | str):
                    held = self.by_index.get(index)
                    if held is not None and _same(held.parts.get("id"), item.get("id")):
                        held.add(item)
                        continue
                    self.by_index[index] = part
            self.parts.append(part)

    def add_text(self, text: str) -> None:
        """Append to a string at the end of the list, or add one."""
        if self.parts and isinstance(self.parts[-1], _Text):
            self.parts[-1].append(text)
        elif text:
            self.parts.append(_Text([text]))

    def value(self) -> list[Any]:
        return [_closed(part) for part in self.parts]


def _same(held: Any, other: Any) -> bool:
    return held is None or other is None or _closed(held) == other


def _opened(value: Any) -> Any:
    if isinstance(value, str):
        return _Text([value])
    if isinstance(value, dict):
        return _Deltas(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return _Blocks(value)
    return value


def _closed(part: Any) -> Any:
    return part.value() if isinstance(part, _Text | _Deltas | _Blocks) else part


class _Content:
    """Message content: one string until the first list arrives."""

    __slots__ = ("blocks", "text")

    def __init__(self) -> None:
        self.text = _Text()
        self.blocks: _Blocks | None = None

    def add(self, content: str | list[Any]) -> None:
        if isinstance(content, str):
            if self.blocks is None:
                self.text.append(content)
            else:
                self.blocks.add_text(content)
            return
        if self.blocks is None:
            self.blocks = _Blocks()
            self.blocks.add_text(self.text.value())
        self.blocks.extend(content)

    def value(self) -> str | list[Any]:
        return self.text.value() if self.blocks is None else self.blocks.value()


def merge_content(
    first_content: str | list[str | dict[str, Any]], *contents: str | list[str | dict[str, Any]]
) -> str | list[str | dict[str, Any]]:
    """Join message contents: strings are concatenated, lists merged by ``index``, a string goes before or after a list.

    An empty string adds nothing. (LangChain returns ``[]`` for ``merge_content([], "x")``; this returns ``["x"]``.)
    """
    content = _Content()
    content.add(first_content)
    for other in contents:
        content.add(other)
    return content.value()


def _renew(held: dict[str, Any], facts: Mapping[str, Any], *, collect: bool = False) -> None:
    """Put ``facts`` over ``held``, which owns its mappings and lists."""
    for key, value in facts.items():
        before = held.get(key)
        if isinstance(value, Mapping):
            mine = cast("dict[str, Any]", before) if isinstance(before, dict) else {}
            _renew(mine, cast("Mapping[str, Any]", value), collect=collect or key in _COLLECTED_FACTS)
            held[key] = mine
        elif isinstance(value, list):
            items = value
            collected = isinstance(before, list) and (collect or key in _COLLECTED_FACTS)
            held[key] = cast("list[Any]", before) + items if collected else list(items)
        elif value is not None or key not in held:
            held[key] = value


class ToolCallFold:
    """Tool calls out of their chunks, parallel ones kept apart.

    A chunk continues the latest call of its ``index``; without an index, the call with its ``id``; with neither and no
    name, the latest call of all. It starts a new call when its id differs from the one that call has, or when it names
    a tool although that call has arguments already (unless it only repeats the name of an unfinished call): servers
    exist that number every call 0, that give no ids, and that repeat id or name in each chunk.
    """

    __slots__ = ("by_index", "calls")

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.by_index: dict[int | str, dict[str, Any]] = {}

    def add(self, chunk: Mapping[str, Any]) -> None:
        index, id_, name, args = chunk.get("index"), chunk.get("id"), chunk.get("name"), chunk.get("args")
        call = self._continued(index, id_, name)
        if call is None:
            call = {"name": None, "args": None, "id": id_, "index": index}
            self.calls.append(call)
        if index is not None:
            self.by_index[index] = call
        call["id"] = call["id"] or id_
        if name is not None:
            self._add_name(call, name, repeated=bool(call["args"]) or (id_ is not None and id_ == call.get("named_by")))
            call["named_by"] = id_
        if args is not None:
            if call["args"] is None:
                call["args"] = _Text()
            if args:
                call["args"].append(args)

    def _continued(self, index: Any, id_: str | None, name: str | None) -> dict[str, Any] | None:
        if index is not None:
            call = self.by_index.get(index)
        elif id_:
            return next((call for call in reversed(self.calls) if call["id"] == id_), None)
        else:
            call = self.calls[-1] if self.calls and not name else None
        if call is None or (id_ and call["id"] and id_ != call["id"]):
            return None
        if name and call["args"] and not (id_ and id_ == call["id"]):
            unfinished = not call["args"][-1].rstrip().endswith("}")
            return call if name == _closed(call["name"]) and unfinished else None
        return call

    @staticmethod
    def _add_name(call: dict[str, Any], name: str, *, repeated: bool) -> None:
        if call["name"] is None:
            call["name"] = _Text()
        if not (repeated and name == call["name"].value()):
            call["name"].append(name)

    def value(self) -> list[dict[str, Any]]:
        """Return the calls so far as tool call chunks."""
        return [
            {
                "name": _closed(call["name"]),
                "args": _closed(call["args"]),
                "id": call["id"],
                "index": call["index"],
                "type": "tool_call_chunk",
            }
            for call in self.calls
        ]


class UsageFold:
    """The usage of a stream out of its reports."""

    __slots__ = ("before", "latest")

    def __init__(self) -> None:
        self.before: UsageMetadata | None = None
        self.latest: UsageMetadata | None = None

    def add(self, report: UsageMetadata) -> None:
        if self.latest is not None and not is_running_total(self.latest, report):
            self.before = add_usage(self.before, self.latest)
        self.latest = report

    def value(self) -> UsageMetadata | None:
        if self.latest is None:
            return None
        return add_usage(self.before, self.latest)


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
        self.content = _Content()
        self.kwargs: _Deltas | None = None
        self.facts: dict[str, Any] | None = None
        self.id: str | None = None
        self.name: str | None = None
        self.position: str | None = None
        self.tool_calls: ToolCallFold | None = None
        self.usage: UsageFold | None = None

    def add(self, fields: Mapping[str, Any]) -> None:
        """Add the fields of one chunk. They are read now: editing the chunk later changes nothing here."""
        content = fields["content"]
        if content or content.__class__ is not str:
            self.content.add(content)
        if kwargs := fields["additional_kwargs"]:
            if self.kwargs is None:
                self.kwargs = _Deltas(kwargs)
            else:
                self.kwargs.add(kwargs)
        if facts := fields["response_metadata"]:
            if self.facts is None:
                self.facts = {}
            _renew(self.facts, facts)
        id_ = fields["id"]
        if id_ is not None and id_ is not self.id and (self.id is None or _rank(id_) < _rank(self.id)):
            self.id = id_
        self.name = self.name or fields["name"]
        if "tool_call_chunks" in fields:
            self._add_spoken(fields)

    def _add_spoken(self, fields: Mapping[str, Any]) -> None:
        """What only a model's chunks have."""
        if chunks := fields["tool_call_chunks"]:
            if self.tool_calls is None:
                self.tool_calls = ToolCallFold()
            for chunk in chunks:
                self.tool_calls.add(chunk)
        if report := fields["usage_metadata"]:
            if self.usage is None:
                self.usage = UsageFold()
            self.usage.add(report)
        self.position = self.position or fields["chunk_position"]

    def fields(self) -> dict[str, Any]:
        """Return the fields that every message has, folded, in containers of their own."""
        facts: dict[str, Any] = {}
        if self.facts:
            _renew(facts, self.facts)
        return {
            "content": self.content.value(),
            "additional_kwargs": self.kwargs.value() if self.kwargs else {},
            "response_metadata": facts,
            "name": self.name,
            "id": self.id,
        }

    def tool_call_chunks(self) -> list[dict[str, Any]]:
        """Return the tool calls, folded, each as one chunk with all of its arguments so far."""
        return self.tool_calls.value() if self.tool_calls else []

    def usage_metadata(self) -> UsageMetadata | None:
        """Return the usage of the whole."""
        return self.usage.value() if self.usage else None
