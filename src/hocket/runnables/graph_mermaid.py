"""A graph as text for Mermaid (https://mermaid.js.org): the same text as LangChain's."""

import string
from collections.abc import Mapping, Sequence
from typing import Protocol

__all__ = ["draw_mermaid"]

_PLAIN = frozenset(string.ascii_letters + string.digits + "_-")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class _Linking(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def data(self) -> object: ...
    @property
    def conditional(self) -> bool: ...


def draw_mermaid(
    nodes: Mapping[str, _Named],
    edges: Sequence[_Linking],
    *,
    first_node: str | None = None,
    last_node: str | None = None,
    with_styles: bool = True,
    curve_style: str = "linear",
    styles: Mapping[str, str] | None = None,
    words_in_line: int = 9,
) -> str:
    """Return a graph as text for Mermaid.

    Args:
        nodes: by their ids.
        edges: between them.
        first_node, last_node: ids of those that are drawn as ends.
        with_styles: whether nodes are described, and not only named by their edges.
        curve_style: how edges are drawn.
        styles: CSS by the names ``default``, ``first`` and ``last``.
        words_in_line: of an edge's label.
    """
    lines: list[str] = []
    if with_styles:
        lines += ["---", "config:", "  flowchart:", f"    curve: {curve_style}", "---"]
    lines.append("graph TD;")
    if with_styles:
        lines += [f"\t{_draw_node(key, node.name, key == first_node, key == last_node)}" for key, node in nodes.items()]
    for edge in edges:
        lines.append(f"\t{_write_id(edge.source)}{_draw_line(edge, words_in_line)}{_write_id(edge.target)};")
    if with_styles:
        lines += [f"\tclassDef {name} {style}" for name, style in (styles or {}).items()]
    return "\n".join(lines) + "\n"


def _draw_node(key: str, name: str, is_first: bool, is_last: bool) -> str:
    label = f"<p>{name}</p>" if name[:1] in tuple("*_`") and name[-1:] in tuple("*_`") else name
    if is_last:
        return f"{_write_id(key)}([{label}]):::last"
    if is_first:
        return f"{_write_id(key)}([{label}]):::first"
    return f"{_write_id(key)}({label})"


def _draw_line(edge: _Linking, words_in_line: int) -> str:
    if edge.data is None:
        return " -.-> " if edge.conditional else " --> "
    words = str(edge.data).split()
    rows = [" ".join(words[at : at + words_in_line]) for at in range(0, len(words), words_in_line)]
    label = "&nbsp<br>&nbsp".join(rows) if len(rows) > 1 else str(edge.data)
    return f" -. &nbsp;{label}&nbsp; .-> " if edge.conditional else f" -- &nbsp;{label}&nbsp; --> "


def _write_id(key: str) -> str:
    """Return a text as an id: other characters than letters, digits, ``_`` and ``-`` by their code."""
    return "".join(char if char in _PLAIN else f"\\{ord(char):x}" for char in key)
