"""Numbers in an answer, and the documents that they stand for."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket import init_chat_model
from hocket.chains import Citation, annotate_answer, find_citations
from hocket.documents import Document
from hocket.messages import AIMessage, HumanMessage

BOILER = Document("Bleed it in May.", metadata={"source": "/docs/rules.pdf", "page": 2, "start_index": 40, "x": [1]})
CAT = Document("Feed the cat.")


def read(text: str) -> tuple[list[tuple[int, str]], list[int]]:
    """Return numbers and marks of two documents, and the numbers that name nothing."""
    citations, unsupported = find_citations(text, [BOILER, CAT])
    return [(one.number, text[one.start : one.end]) for one in citations], unsupported


@pytest.mark.parametrize(
    ("text", "citations", "unsupported"),
    [
        ("Nothing.", [], []),
        ("In May [1].", [(1, "[1]")], []),
        ("a[1][2], again [1]", [(1, "[1]"), (2, "[2]"), (1, "[1]")], []),
        ("a [1, 2] b [1;2]", [(1, "[1, 2]"), (2, "[1, 2]"), (1, "[1;2]"), (2, "[1;2]")], []),
        ("a [1-3]", [(1, "[1-3]"), (2, "[1-3]")], [3]),
        ("a [7] b [7] c [0]", [], [7, 0]),
        ("in [2024]", [], [2024]),
        ("五月【1】。", [(1, "【1】")], []),
        ("a [1-999999]", [(1, "[1-999999]")], [999999]),
        ("a [01]", [(1, "[01]")], []),
        ("[x] [] [1.5] [-1] [¹] [1234567]", [], []),
    ],
)
def test_what_is_a_citation(text: str, citations: list[tuple[int, str]], unsupported: list[int]) -> None:
    assert read(text) == (citations, unsupported)


@given(st.text(st.sampled_from("[]【】0123456789,- ;x")), st.integers(0, 3))
def test_each_names_a_document_that_was_shown(text: str, count: int) -> None:
    """Whatever a model writes."""
    shown = [Document(str(number)) for number in range(1, count + 1)]
    citations, unsupported = find_citations(text, shown)
    for one in citations:
        assert one.document is shown[one.number - 1]
        assert text[one.start] in "[【"
        assert str(one.number) in text[one.start : one.end] or "-" in text[one.start : one.end]
    assert all(not 1 <= number <= count for number in unsupported)
    assert len({*unsupported}) == len(unsupported)


def test_only_what_was_shown_is_supported() -> None:
    """By number: number 2 did not fit, say."""
    citations, unsupported = find_citations("[1][2][3]", {1: BOILER, 3: CAT})
    assert ([one.number for one in citations], unsupported) == ([1, 3], [2])


def test_a_citation_knows_the_place() -> None:
    (one,) = find_citations("[1]", [BOILER])[0]
    assert one == Citation(BOILER, 1, 0, 3)
    assert (one.document.metadata["page"], one.source) == (2, "rules.pdf, page 2")


def test_a_message_has_langchains_citations() -> None:
    text = "In May [1]."
    message = annotate_answer(text, find_citations(text, [BOILER])[0])
    assert message.text == text
    (block,) = message.content_blocks
    assert block == {
        "type": "text",
        "text": text,
        "annotations": [
            {
                "type": "citation",
                "title": "rules.pdf, page 2",
                "start_index": 7,
                "end_index": 10,
                "cited_text": "Bleed it in May.",
                "extras": {"number": 1, "source": "/docs/rules.pdf", "page": 2, "start_index": 40},
            }
        ],
    }
    assert annotate_answer("x", []) == AIMessage("x")


@pytest.mark.parametrize(
    "name",
    [
        "openai:gpt-5.2",
        "openai-responses:gpt-5.2",
        "anthropic:claude-sonnet-5-5",
        "google:gemini-3.8-flash",
        "mistralai:mistral-medium-latest",
        "cohere:command-a-03-2025",
        "ollama:qwen3:8b",
    ],
)
def test_an_answer_with_citations_goes_back_to_every_provider(name: str) -> None:
    """As its text: they are ours, and no server could find their sources."""
    key = {} if name.startswith("ollama") else {"api_key": "x"}
    model: Any = init_chat_model(name, **key)
    message = annotate_answer("In May [1].", find_citations("In May [1].", [BOILER])[0])
    sent = model.render([HumanMessage("When?"), message, HumanMessage("Why?")]).content.decode()
    assert "In May [1]." in sent
    assert "rules.pdf" not in sent and "Bleed" not in sent
