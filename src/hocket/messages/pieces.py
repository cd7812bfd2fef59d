"""Strings, mappings and lists that arrive in pieces.

Pieces are kept as they come and joined when somebody asks, so that folding is linear in what arrives. Everything is
copied on its way in and on its way out: neither the one who brings a piece nor the one who takes the whole shares a
container with us.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from hocket.errors import InvalidInput
from hocket.load.dump import MAX_DEPTH
from hocket.messages.content import KNOWN_BLOCK_TYPES, Fields, FieldsView

__all__ = ["Blocks", "Content", "Deltas", "Text", "check_depth", "copy_containers", "merge_content"]

_KEPT = frozenset({"type", "id", "index"})  # the first says what a block is; a delta may call itself something else
_IDENTITY = _KEPT | {"name", "role", "mime_type", "url", "file_id", "status", "format"}  # never concatenated
_COUNTED = frozenset({"file_citation", "file_path"})  # whose ``index`` counts characters: each is one by itself
_KIN = {"tool_call_chunk": "tool_call", "invalid_tool_call": "tool_call", "server_tool_call_chunk": "server_tool_call"}
_PLACES = (int, str)  # what an ``index`` may be
_ATOMS = frozenset({str, int, float, bool, type(None)})


def copy_containers(value: Any) -> Any:
    """Copy lists and mappings all the way down and share everything else."""
    if type(value) in _ATOMS:
        return value
    if isinstance(value, dict):
        copy: dict[Any, Any] = value.copy() if type(value) is dict else dict(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # `isinstance` forgets what is in it
        for key, item in copy.items():
            if type(item) not in _ATOMS:
                copy[key] = copy_containers(item)
        return copy
    if isinstance(value, list):
        return [item if type(item) in _ATOMS else copy_containers(item) for item in value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return value


_CONTAINERS = (dict, list)  # a tuple: a union takes three times as long to ask for
_MANY = 100  # containers of one level, from which on those that are met twice are looked for


def check_depth(values: Iterable[object]) -> None:
    """Refuse values nested deeper than a record can hold: counting and merging them would end in a RecursionError.

    Raises:
        InvalidInput: mappings and lists lie in one another more than 128 deep, or one contains itself.
    """
    level: list[Any] = [value for value in values if isinstance(value, _CONTAINERS)]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for container in level:
            for item in container.values() if isinstance(container, dict) else container:  # pyright: ignore[reportUnknownVariableType]
                if type(item) not in _ATOMS and isinstance(item, _CONTAINERS):  # pyright: ignore[reportUnknownArgumentType]
                    inner.append(item)
        if not inner:
            return
        # Each once, where there are many: the same container may be met in many places, which doubles from level to level.
        level = inner if len(inner) < _MANY else list({id(item): item for item in inner}.values())
    raise InvalidInput(f"a message holds data nested more than {MAX_DEPTH} deep; flatten it, or send it as JSON text")


class Text(list[str]):
    """Pieces of a string."""

    def value(self) -> str:
        """Return the string so far."""
        if len(self) > 1:
            self[:] = ["".join(self)]
        return self[0] if self else ""


class Deltas:
    """A mapping whose values arrive in pieces.

    Strings are joined, mappings and lists go on inside, and any other value is replaced by a later one. What identifies
    the thing (`_IDENTITY`) is not joined either. None and "" say nothing new.
    """

    __slots__ = ("parts",)

    def __init__(self, first: FieldsView) -> None:
        self.parts: Fields = {}
        self.add(first)

    def add(self, delta: FieldsView) -> None:
        """Go on with ``delta``."""
        parts = self.parts
        for key, value in delta.items():
            held: Any = parts.get(key)
            if held is None:
                parts[key] = value if type(value) is str and key in _IDENTITY else _open(value)
            elif held is value or value is None or (type(value) is str and not value) or (key in _KEPT and held):
                continue  # a piece repeats its type and its place
            elif type(held) is Text and type(value) is str:
                held.append(value)
            elif type(held) is Deltas and isinstance(value, Mapping):
                held.add(cast(FieldsView, value))
            elif type(held) is Blocks and isinstance(value, list):
                held.extend(cast("list[object]", value))
            else:
                parts[key] = value if key in _IDENTITY and type(value) is str else _open(value)

    def value(self) -> Fields:
        """Return the mapping so far."""
        return {key: _close(part) for key, part in self.parts.items()}


class Blocks:
    """A list whose elements arrive in pieces: mappings with the same ``index`` are one element.

    Unless they have different ids, or are standard blocks of different kinds: servers exist that number all blocks 0.
    """

    __slots__ = ("by_index", "parts")

    def __init__(self, first: Sequence[Any] = ()) -> None:
        self.parts: list[Any] = []
        self.by_index: dict[int | str, Deltas] = {}
        self.extend(first)

    def extend(self, items: Sequence[Any]) -> None:
        """Go on with ``items``, elements or pieces of them."""
        for item in items:
            fields: Fields = item
            if not isinstance(item, dict):
                self.parts.append(_open(item))
                continue
            index = fields.get("index")
            if not isinstance(index, _PLACES):
                self._add_unnumbered(fields)
                continue
            held = self.by_index.get(index)
            if held is not None and (delta := _continuation(held.parts, fields)) is not None:
                held.add(delta)
            else:
                self.by_index[index] = block = Deltas(fields)
                self.parts.append(block)

    def _add_unnumbered(self, item: FieldsView) -> None:
        """Append a mapping, or, if it says something about a text and has none itself, join it to the text before it."""
        last = self.parts[-1] if self.parts else None
        if type(last) is Text and item.get("type") == "text" and "text" not in item:
            self.parts[-1] = Deltas({"type": "text", "text": last.value()})
            self.parts[-1].add(item)
        else:
            self.parts.append(Deltas(item))

    def add_text(self, text: str) -> None:
        """Append to a string at the end of the list, or add one."""
        if self.parts and type(self.parts[-1]) is Text:
            self.parts[-1].append(text)
        elif text:
            self.parts.append(Text([text]))

    def value(self) -> list[Any]:
        """Return the list so far."""
        return [_close(part) for part in self.parts]


def _continuation(held: FieldsView, item: FieldsView) -> FieldsView | None:
    """What ``item`` adds to the block of the same index that has the parts ``held``; None: it is another block."""
    id_ = item.get("id")
    if id_ and (held_id := held.get("id")) and held_id != id_:
        return None
    kind, held_kind = item.get("type"), held.get("type")
    if not isinstance(kind, str):
        return item
    if kind in _COUNTED:
        return None
    if kind == held_kind or not isinstance(held_kind, str):
        return item
    if not {kind, held_kind} <= KNOWN_BLOCK_TYPES:
        return item
    if kind == "non_standard":  # something more about a standard block, in its provider's words
        value: Any = item.get("value")
        facts = cast(Fields, value) if isinstance(value, dict) else {"value": value}
        return {"extras": {key: fact for key, fact in facts.items() if key != "type"}}
    return item if _KIN.get(kind, kind) == _KIN.get(held_kind, held_kind) else None


def _open(value: Any) -> Any:
    if isinstance(value, str):
        return Text([value])
    if isinstance(value, dict):
        return Deltas(cast(Fields, value))
    if isinstance(value, list):
        return Blocks(cast("list[object]", value))
    return value


def _close(part: Any) -> Any:
    return part.value() if isinstance(part, Text | Deltas | Blocks) else part


class Content:
    """Message content: one string until the first list arrives."""

    __slots__ = ("blocks", "text")

    def __init__(self) -> None:
        self.text: Text = Text()
        self.blocks: Blocks | None = None

    def add(self, content: str | list[Any]) -> None:
        """Go on with ``content``."""
        if isinstance(content, str):
            if self.blocks is None:
                self.text.append(content)
            else:
                self.blocks.add_text(content)
            return
        if self.blocks is None:
            self.blocks = Blocks()
            self.blocks.add_text(self.text.value())
        self.blocks.extend(content)

    def value(self) -> str | list[Any]:
        """Return the content so far."""
        return self.text.value() if self.blocks is None else self.blocks.value()


def merge_content(
    first_content: str | list[str | Fields], *contents: str | list[str | Fields]
) -> str | list[str | Fields]:
    """Join message contents: strings are concatenated, lists merged by ``index``, a string goes before or after a list.

    An empty string adds nothing. (LangChain returns ``[]`` for ``merge_content([], "x")``; this returns ``["x"]``.)
    """
    content = Content()
    content.add(first_content)
    for other in contents:
        content.add(other)
    return content.value()
