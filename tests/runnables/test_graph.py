"""Chains as graphs: what is in them, and how they are drawn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import InvalidInput
from hocket.language_models import FakeListChatModel
from hocket.output_parsers import StrOutputParser
from hocket.prompts import ChatPromptTemplate
from hocket.runnables import CurveStyle, Graph, NodeStyles, RunnableLambda, RunnableParallel, RunnablePassthrough

PROMPT = ChatPromptTemplate([("human", "{x}")])
MODEL = FakeListChatModel(responses=["a"])

CHAIN = """\
      +-------------+
      | PromptInput |
      +-------------+
             *
             *
             *
  +--------------------+
  | ChatPromptTemplate |
  +--------------------+
             *
             *
             *
   +-------------------+
   | FakeListChatModel |
   +-------------------+
             *
             *
             *
+-------------------------+
| FakeListChatModelOutput |
+-------------------------+"""

LONG_WAY = """\
      +---+
      | a |
      +---+
        **
       *    *
      *        *
+-----------+   *
| bbbbbbbbb |   *
+-----------+   *
      *        *
       *    *
        **
      +---+
      | c |
      +---+"""


def test_a_chain_is_drawn_with_characters(capsys: pytest.CaptureFixture[str]) -> None:
    (PROMPT | MODEL).get_graph().print_ascii()
    assert capsys.readouterr().out.rstrip("\n") == CHAIN


def test_an_edge_passes_a_layer_beside_its_boxes_and_one_that_leads_back_is_left_out() -> None:
    graph = Graph()
    first, middle, last = (graph.add_node(None, name) for name in ("a", "bbbbbbbbb", "c"))
    for source, target in ((first, middle), (middle, last), (first, last), (last, first)):
        graph.add_edge(source, target)
    assert graph.draw_ascii() == LONG_WAY


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12))
def test_every_name_is_in_the_drawing_whatever_the_edges(pairs: list[tuple[int, int]]) -> None:
    graph = Graph()
    nodes = [graph.add_node(None, f"node{number}") for number in range(8)]
    for source, target in pairs:
        graph.add_edge(nodes[source], nodes[target])
    drawing = graph.draw_ascii()
    assert all(f"| node{number} |" in drawing for number in range(8))


def test_mermaid_has_styles_and_labels() -> None:
    graph = Graph()
    start, end = graph.add_node(None, "a b"), graph.add_node(None, "*c*")
    graph.add_edge(start, end, "one two three", conditional=True)
    text = graph.draw_mermaid(
        curve_style=CurveStyle.BASIS, node_colors=NodeStyles(first="fill:#fff"), wrap_label_n_words=2
    )
    assert "    curve: basis\n" in text and "\tclassDef first fill:#fff\n" in text
    assert "\ta\\20b([a b]):::first\n\t\\2ac\\2a([<p>*c*</p>]):::last\n" in text
    assert "\ta\\20b -. &nbsp;one two&nbsp<br>&nbspthree&nbsp; .-> \\2ac\\2a;\n" in text


def test_a_graph_is_data() -> None:
    data = (PROMPT | MODEL).get_graph().to_json(with_schemas=True)
    assert [node["type"] for node in data["nodes"]] == ["schema", "runnable", "runnable", "schema"]
    assert data["nodes"][0]["data"]["required"] == ["x"]
    assert data["nodes"][1]["data"]["name"] == "ChatPromptTemplate"
    assert data["edges"] == [{"source": 0, "target": 1}, {"source": 2, "target": 3}, {"source": 1, "target": 2}]


def test_jupyter_draws_a_chain_without_asking_anybody() -> None:
    for chain in (PROMPT | MODEL, RunnableParallel(a=PROMPT, b=MODEL)):
        bundle = chain._repr_mimebundle_()  # type: ignore[attr-defined]
        assert bundle["text/vnd.mermaid"] == chain.get_graph().draw_mermaid()
        assert bundle["text/markdown"].startswith("```mermaid\n---\nconfig:")
        assert bundle["text/plain"] == repr(chain)
    graph = PROMPT.get_graph()
    assert graph._repr_mimebundle_()["text/plain"] == graph.draw_ascii()


def test_nodes_are_added_once_and_edges_between_nodes_that_are_there() -> None:
    graph = Graph()
    node = graph.add_node(None, "a")
    with pytest.raises(InvalidInput, match="'a' already"):
        graph.add_node(None, "a")
    other = Graph().add_node(None, "b")
    with pytest.raises(InvalidInput, match="'b' is not in the graph"):
        graph.add_edge(node, other)
    assert not Graph() and graph
    graph.remove_node(node)
    assert graph.nodes == {} and graph.draw_ascii() == ""


def test_a_graph_in_a_graph_may_have_a_prefix() -> None:
    inner = Graph()
    inner.add_edge(inner.add_node(None, "a"), inner.add_node(None, "b"))
    outer = Graph()
    first, last = outer.extend(inner, prefix="in")
    assert first is not None and last is not None
    assert (first.id, last.id, outer.edges[0].target) == ("in:a", "in:b", "in:b")


def test_branches_stand_side_by_side() -> None:
    chain = {"context": RunnableLambda(lambda x: x, name="find"), "question": RunnablePassthrough()} | PROMPT | MODEL
    lines = (chain | StrOutputParser()).get_graph().draw_ascii().splitlines()
    assert any("| find |" in line and "| Passthrough |" in line for line in lines)
