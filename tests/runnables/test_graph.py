"""Chains as graphs: what is in them, and how they are drawn."""

import pytest

from hocket.errors import InvalidInput
from hocket.language_models import FakeListChatModel
from hocket.output_parsers import StrOutputParser
from hocket.prompts import ChatPromptTemplate
from hocket.runnables import CurveStyle, Graph, NodeStyles, RunnableLambda, RunnableParallel, RunnablePassthrough

PROMPT = ChatPromptTemplate([("human", "{x}")])
MODEL = FakeListChatModel(responses=["a"])


def test_a_chain_is_printed_a_line_for_each_edge(capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of its steps."""
    (PROMPT | MODEL).get_graph().print_ascii()
    assert capsys.readouterr().out.splitlines() == [
        "PromptInput --> ChatPromptTemplate",
        "ChatPromptTemplate --> FakeListChatModel",
        "FakeListChatModel --> FakeListChatModelOutput",
    ]


def test_every_edge_is_printed_also_one_that_leads_back_and_nodes_of_one_name_are_told_apart() -> None:
    """A conditional edge is dotted, and a node without an edge has its own line."""
    graph = Graph()
    first, second, last, _ = (graph.add_node(None, name) for name in ("a", "b", "c", "alone"))
    for source, target in ((first, second), (second, last), (last, first)):
        graph.add_edge(source, target, conditional=target is first)
    assert graph.draw_ascii() == "a --> b\nb --> c\nc -.-> a\nalone"
    twice = (RunnableLambda(lambda x: x, name="same") | RunnableLambda(lambda x: x, name="same")).get_graph()
    assert "same_1 --> same_2" in twice.draw_ascii().splitlines()


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
    output = "Parallel<context,question>Output"
    assert {f"find --> {output}", f"Passthrough --> {output}", f"{output} --> ChatPromptTemplate"} < set(lines)
