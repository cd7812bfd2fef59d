"""The steps of a runnable as a graph, to look at: as Mermaid's text, as characters, as JSON. LangChain's names.

A node is a step, or the schema of what goes in or comes out. Its id is random until the graph is drawn; then it is the
node's name, numbered where several have it.

Boxes in layers are Mermaid's to draw (`hocket.runnables.graph_mermaid`); here are plain lines of text, an edge each.
"""

import collections
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import UUID, uuid4

from pydantic import BaseModel

from hocket.errors import InvalidInput
from hocket.runnables.type_schemas import write_json_schema
from hocket.runnables.verbs import RunnableVerbs

if TYPE_CHECKING:
    from hocket.runnables.config import RunnableConfig

__all__ = [
    "CurveStyle",
    "Edge",
    "Graph",
    "GraphSource",
    "Node",
    "NodeStyles",
    "chain_graphs",
    "draw_ascii",
    "is_uuid",
    "join_graphs",
]

NodeData = type[BaseModel] | RunnableVerbs[Any, Any] | None
"""What a node stands for."""


class CurveStyle(Enum):
    """How Mermaid draws edges."""

    BASIS = "basis"
    BUMP_X = "bumpX"
    BUMP_Y = "bumpY"
    CARDINAL = "cardinal"
    CATMULL_ROM = "catmullRom"
    LINEAR = "linear"
    MONOTONE_X = "monotoneX"
    MONOTONE_Y = "monotoneY"
    NATURAL = "natural"
    STEP = "step"
    STEP_AFTER = "stepAfter"
    STEP_BEFORE = "stepBefore"


@dataclass
class NodeStyles:
    """How Mermaid draws nodes: CSS for those at the beginning and the end, and for all others."""

    default: str = "fill:#f2f0ff,line-height:1.2"
    first: str = "fill-opacity:0"
    last: str = "fill:#bfb6fc"


class Node(NamedTuple):
    """A step, or a schema.

    Attributes:
        id, name: of the node.
        data: the runnable, or the model of an input or output.
        metadata: for the code that draws it.
    """

    id: str
    name: str
    data: NodeData = None
    metadata: dict[str, Any] | None = None

    def copy(self, *, id: str | None = None, name: str | None = None) -> "Node":
        """Return this node with another id or name."""
        return self._replace(id=id or self.id, name=name or self.name)


class Edge(NamedTuple):
    """What comes out of one node goes into another.

    Attributes:
        source, target: ids of the nodes.
        data: a label.
        conditional: whether it goes there in some runs only.
    """

    source: str
    target: str
    data: object = None
    conditional: bool = False

    def copy(self, *, source: str | None = None, target: str | None = None) -> "Edge":
        """Return this edge between other nodes."""
        return self._replace(source=source or self.source, target=target or self.target)


class GraphSource(Protocol):
    """A runnable, as far as the graph of a chain needs it."""

    def get_graph(self, config: "RunnableConfig | None" = None) -> "Graph": ...


def is_uuid(value: str) -> bool:
    """Whether a text is a UUID, as the ids are that a graph makes."""
    try:
        UUID(value)
    except ValueError:
        return False
    return True


@dataclass
class Graph:
    """Nodes by their ids, and edges between them."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    edges: list[Edge] = field(default_factory=list[Edge])

    def __bool__(self) -> bool:
        return bool(self.nodes)

    # -- making

    def next_id(self) -> str:
        """Return a new id."""
        return uuid4().hex

    def add_node(self, data: NodeData, id: str | None = None, *, metadata: dict[str, Any] | None = None) -> Node:
        """Add a node, and return it.

        Raises:
            InvalidInput: there is one with this ``id``.
        """
        if id is not None and id in self.nodes:
            raise InvalidInput(f"the graph has a node {id!r} already")
        key = id or self.next_id()
        node = self.nodes[key] = Node(key, _name_node(key, data), data, metadata)
        return node

    def remove_node(self, node: Node) -> None:
        """Remove a node, and its edges."""
        del self.nodes[node.id]
        self.edges = [edge for edge in self.edges if node.id not in (edge.source, edge.target)]

    def add_edge(self, source: Node, target: Node, data: object = None, conditional: bool = False) -> Edge:
        """Add an edge, and return it.

        Raises:
            InvalidInput: a node is not in the graph.
        """
        for node in (source, target):
            if node.id not in self.nodes:
                raise InvalidInput(f"the node {node.id!r} is not in the graph")
        self.edges.append(Edge(source.id, target.id, data, conditional))
        return self.edges[-1]

    def extend(self, graph: "Graph", *, prefix: str = "") -> tuple[Node | None, Node | None]:
        """Add the nodes and edges of another graph; return its first and its last node.

        Args:
            graph: the other.
            prefix: of its ids, unless all are random.
        """
        lead = "" if not prefix or all(is_uuid(one) for one in graph.nodes) else f"{prefix}:"
        self.nodes |= {lead + key: node.copy(id=lead + key) for key, node in graph.nodes.items()}
        self.edges += [edge.copy(source=lead + edge.source, target=lead + edge.target) for edge in graph.edges]
        first, last = graph.first_node(), graph.last_node()
        return first and first.copy(id=lead + first.id), last and last.copy(id=lead + last.id)

    # -- its ends

    def first_node(self) -> Node | None:
        """Return the one node that no edge leads to; None, if there are none or several."""
        return self._find_end({edge.target for edge in self.edges})

    def last_node(self) -> Node | None:
        """Return the one node that no edge leads away from; None, if there are none or several."""
        return self._find_end({edge.source for edge in self.edges})

    def trim_first_node(self) -> None:
        """Remove the first node, if there is exactly one behind it, which is the first then."""
        node = self.first_node()
        if node is not None and len([edge for edge in self.edges if edge.source == node.id]) == 1:
            targets = {edge.target for edge in self.edges if edge.source != node.id}
            if self._find_end(targets | {node.id}) is not None:
                self.remove_node(node)

    def trim_last_node(self) -> None:
        """Remove the last node, if there is exactly one before it, which is the last then."""
        node = self.last_node()
        if node is not None and len([edge for edge in self.edges if edge.target == node.id]) == 1:
            sources = {edge.source for edge in self.edges if edge.target != node.id}
            if self._find_end(sources | {node.id}) is not None:
                self.remove_node(node)

    def _find_end(self, others: Iterable[str]) -> Node | None:
        found = [node for key, node in self.nodes.items() if key not in others]
        return found[0] if len(found) == 1 else None

    # -- looking at it

    def reid(self) -> "Graph":
        """Return this graph with names for ids, numbered where several nodes have one."""
        keys_by_name: dict[str, list[str]] = collections.defaultdict(list)
        for key, node in self.nodes.items():
            keys_by_name[node.name].append(key)
        ids = {
            key: key if not is_uuid(key) else name if len(keys) == 1 else f"{name}_{number}"
            for name, keys in keys_by_name.items()
            for number, key in enumerate(keys, 1)
        }
        return Graph(
            {ids[key]: node.copy(id=ids[key]) for key, node in self.nodes.items()},
            [edge.copy(source=ids[edge.source], target=ids[edge.target]) for edge in self.edges],
        )

    def to_json(self, *, with_schemas: bool = False) -> dict[str, list[dict[str, Any]]]:
        """Return the graph as data; nodes are numbered.

        Args:
            with_schemas: write out the JSON schemas of inputs and outputs.
        """
        numbers: dict[str, Any] = {key: n if is_uuid(key) else key for n, key in enumerate(self.nodes)}
        edges = [
            {
                "source": numbers[edge.source],
                "target": numbers[edge.target],
                **({} if edge.data is None else {"data": edge.data}),
                **({"conditional": True} if edge.conditional else {}),
            }
            for edge in self.edges
        ]
        nodes = [{"id": numbers[key], **_describe_node(node, with_schemas)} for key, node in self.nodes.items()]
        return {"nodes": nodes, "edges": edges}

    def draw_mermaid(
        self,
        *,
        with_styles: bool = True,
        curve_style: CurveStyle = CurveStyle.LINEAR,
        node_colors: NodeStyles | None = None,
        wrap_label_n_words: int = 9,
    ) -> str:
        """Return the graph as text for Mermaid, which Jupyter, GitHub and GitLab draw.

        Args:
            with_styles: whether shapes, names and colours of nodes are in it, too.
            curve_style: how edges are drawn.
            node_colors: how nodes are drawn.
            wrap_label_n_words: words in a line of an edge's label.
        """
        from hocket.runnables.graph_mermaid import draw_mermaid

        graph = self.reid()
        return draw_mermaid(
            graph.nodes,
            graph.edges,
            first_node=getattr(graph.first_node(), "id", None),
            last_node=getattr(graph.last_node(), "id", None),
            with_styles=with_styles,
            curve_style=curve_style.value,
            styles=vars(node_colors or NodeStyles()),
            words_in_line=wrap_label_n_words,
        )

    def draw_ascii(self) -> str:
        """Return the graph as plain text, a line for each edge: ``prompt --> model``; `draw_mermaid` is for pictures."""
        graph = self.reid()
        return draw_ascii({key: key for key in graph.nodes}, graph.edges)

    def print_ascii(self) -> None:
        """Print `draw_ascii`."""
        print(self.draw_ascii())

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return self.make_mime_bundle()

    def make_mime_bundle(self) -> dict[str, str]:
        """Return what Jupyter shows, by media type: Mermaid's text, which it draws, or plain text. Nothing is sent."""
        mermaid = self.draw_mermaid()
        return {
            "text/plain": self.draw_ascii(),
            "text/markdown": f"```mermaid\n{mermaid}```",
            "text/vnd.mermaid": mermaid,
        }


def chain_graphs(steps: Iterable[GraphSource], config: "RunnableConfig | None" = None) -> Graph:
    """Return the graphs of steps as one, each behind the one before; only the ends have their schemas."""
    graph = Graph()
    remaining = list(steps)
    for number, step in enumerate(remaining):
        part = step.get_graph(config)
        if number > 0:
            part.trim_first_node()
        if number < len(remaining) - 1:
            part.trim_last_node()
        before = graph.last_node()
        first, _ = graph.extend(part)
        if first is None:
            raise InvalidInput(f"the graph of {step!r} has no single first node")
        if before is not None:
            graph.add_edge(before, first)
    return graph


def join_graphs(
    branches: Iterable[GraphSource],
    input_schema: type[BaseModel],
    output_schema: type[BaseModel],
    config: "RunnableConfig | None" = None,
) -> Graph:
    """Return the graphs of branches as one, side by side between an input and an output."""
    graph = Graph()
    top, bottom = graph.add_node(input_schema), graph.add_node(output_schema)
    for branch in branches:
        part = branch.get_graph(config)
        part.trim_first_node()
        part.trim_last_node()
        first, last = graph.extend(part)
        if first is None or last is None:
            raise InvalidInput(f"the graph of {branch!r} has no single first and last node")
        graph.add_edge(top, first)
        graph.add_edge(last, bottom)
    return graph


def _name_node(key: str, data: NodeData) -> str:
    if data is None or not is_uuid(key):
        return key
    return (data.__name__ if inspect.isclass(data) else data.get_name()).removeprefix("Runnable")


def _describe_node(node: Node, with_schemas: bool) -> dict[str, Any]:
    data = node.data
    told: dict[str, Any] = {} if node.metadata is None else {"metadata": node.metadata}
    if data is None:
        return told
    if inspect.isclass(data):
        return {"type": "schema", "data": write_json_schema(data) if with_schemas else node.name, **told}
    path = [*type(data).__module__.split("."), type(data).__name__]
    return {"type": "runnable", "data": {"id": path, "name": node.name}, **told}


def draw_ascii(vertices: Mapping[str, str], edges: Iterable[Edge]) -> str:
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
