"""A graph as plain lines of text, an edge each. Boxes in layers are Mermaid's to draw (`hocket.runnables.graph_mermaid`)."""

from collections.abc import Iterable, Mapping
from typing import Protocol

__all__ = ["draw_ascii"]


class _Linking(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def conditional(self) -> bool: ...


def draw_ascii(vertices: Mapping[str, str], edges: Iterable[_Linking]) -> str:
    """Return a graph as lines: ``prompt --> model`` for an edge, ``prompt`` for a node that has none.

    Args:
        vertices: names by ids; the edges from a node are listed where it stands here.
        edges: between them. A conditional one is written ``-.->``.
    """
    listed = list(edges)
    linked = {key for edge in listed for key in (edge.source, edge.target)}
    lines = [
        line
        for key, name in vertices.items()
        for line in (
            *(
                f"{name} {'-.->' if one.conditional else '-->'} {vertices[one.target]}"
                for one in listed
                if one.source == key
            ),
            *(() if key in linked else (name,)),
        )
    ]
    return "\n".join(lines)
