"""A graph drawn with characters: nodes as boxes in layers, from top to bottom, with lines between the layers.

A node's layer is the longest way to it. An edge that passes a layer has a point there, as narrow as a character, so that
no line crosses a box. In a layer, nodes stand in the order of the middles of those before them.
"""

import collections
from collections.abc import Iterable, Mapping
from typing import Protocol

__all__ = ["draw_ascii"]

_GAP = 3  # columns between two boxes
_ROWS = 3  # of lines between two layers


class _Linking(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def conditional(self) -> bool: ...


def draw_ascii(vertices: Mapping[str, str], edges: Iterable[_Linking]) -> str:
    """Return a graph drawn with characters.

    Args:
        vertices: names by ids.
        edges: between them. A conditional one is dotted; one that leads back is left out.
    """
    depths = _find_depths(vertices, edges)
    ahead = [edge for edge in edges if depths[edge.source] < depths[edge.target]]
    links = list(dict.fromkeys((edge.source, edge.target, "." if edge.conditional else "*") for edge in ahead))
    layers: list[list[str]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    for key, depth in depths.items():
        layers[depth].append(key)
    steps = _split_links(links, depths, layers)
    middles = _place(layers, steps, {key: len(name) + 4 for key, name in vertices.items()})
    height = len(layers) * (_ROWS + 3) - _ROWS
    width = max((middle + len(vertices.get(key, "")) + 4 for key, middle in middles.items()), default=0)
    canvas = [[" "] * width for _ in range(height)]
    for depth, (source, target, mark) in steps:
        _draw_line(canvas, depth * (_ROWS + 3) + 3, middles[source], middles[target], mark)
        if target not in vertices:  # on, through the next layer
            for row in range((depth + 1) * (_ROWS + 3), (depth + 1) * (_ROWS + 3) + 3):
                canvas[row][middles[target]] = mark
    for key, name in vertices.items():
        _draw_box(canvas, depths[key] * (_ROWS + 3), middles[key], name)
    return "\n".join("".join(row).rstrip() for row in canvas)


def _find_depths(vertices: Mapping[str, str], edges: Iterable[_Linking]) -> dict[str, int]:
    """Return how many steps the longest way to each node has. Edges that lead back are not looked at."""
    targets: dict[str, list[str]] = collections.defaultdict(list)
    for edge in edges:
        targets[edge.source].append(edge.target)
    order: list[str] = []
    states: dict[str, int] = {}  # 1: begun, 2: done
    back: set[tuple[str, str]] = set()
    for root in vertices:
        stack = [(root, iter(targets[root]))] if root not in states else []
        states.setdefault(root, 1)
        while stack:
            key, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                states[key] = 2
                order.append(key)
                stack.pop()
            elif following not in states:
                states[following] = 1
                stack.append((following, iter(targets[following])))
            elif states[following] == 1:
                back.add((key, following))
    depths = dict.fromkeys(vertices, 0)
    for key in reversed(order):
        for target in targets[key]:
            if (key, target) not in back:
                depths[target] = max(depths[target], depths[key] + 1)
    return depths


def _split_links(
    links: list[tuple[str, str, str]], depths: dict[str, int], layers: list[list[str]]
) -> list[tuple[int, tuple[str, str, str]]]:
    """Return the edges in steps from one layer to the next, with the upper layer; points are put into the layers."""
    steps: list[tuple[int, tuple[str, str, str]]] = []
    for number, (source, target, mark) in enumerate(links):
        before = source
        for depth in range(depths[source], depths[target] - 1):
            point = f"\0{number}:{depth}"
            layers[depth + 1].append(point)
            steps.append((depth, (before, point, mark)))
            before = point
        steps.append((depths[target] - 1, (before, target, mark)))
    return steps


def _place(
    layers: list[list[str]], steps: list[tuple[int, tuple[str, str, str]]], widths: dict[str, int]
) -> dict[str, int]:
    """Return the column of the middle of each node, and of each point of an edge."""
    before: dict[str, list[str]] = collections.defaultdict(list)
    for _, (source, target, _mark) in steps:
        before[target].append(source)
    total = max((sum(widths.get(key, 1) + _GAP for key in layer) - _GAP for layer in layers), default=0)
    middles: dict[str, int] = {}
    for layer in layers:
        ranks = {key: sum(middles[one] for one in before[key]) / len(before[key]) for key in layer if before[key]}
        layer.sort(key=lambda key: ranks.get(key, total / 2))  # used at once
        column = (total - sum(widths.get(key, 1) + _GAP for key in layer) + _GAP) // 2
        for key in layer:
            middles[key] = column + widths.get(key, 1) // 2
            column += widths.get(key, 1) + _GAP
    return middles


def _draw_line(canvas: list[list[str]], row: int, start: int, end: int, mark: str) -> None:
    for number in range(_ROWS):
        canvas[row + number][start + round((end - start) * (number + 0.5) / _ROWS)] = mark


def _draw_box(canvas: list[list[str]], row: int, middle: int, name: str) -> None:
    left = middle - (len(name) + 4) // 2
    border = f"+{'-' * (len(name) + 2)}+"
    for number, text in enumerate((border, f"| {name} |", border)):
        canvas[row + number][left : left + len(text)] = text
