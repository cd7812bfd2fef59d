"""Counting without a tokenizer: langchain-core's figures for Latin text, honest ones for the rest."""

import time

import pytest
from hypothesis import given, strategies as st

from hocket.errors import InvalidInput
from hocket.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    count_tokens_approximately,
)
from hocket.tokens.scripts import weight
from hocket.tools import tool

CONVERSATION: list[BaseMessage] = [
    SystemMessage("You are kind."),
    HumanMessage("Hello, für dich: naïve “quotes” — yes…", name="Bob"),
    AIMessage("", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c1"}]),
    ToolMessage("42", tool_call_id="c1"),
    AIMessage(
        [{"type": "text", "text": "hi there"}, {"type": "tool_use", "id": "a", "name": "f", "input": {}}],
        tool_calls=[{"name": "f", "args": {}, "id": "a"}],
    ),
    HumanMessage([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]),
    ChatMessage("x", role="critic"),
    AIMessage(
        "done",
        usage_metadata={"input_tokens": 50, "output_tokens": 150, "total_tokens": 200},
        response_metadata={"model_provider": "x"},
    ),
]


def test_latin_text_counts_as_in_langchain() -> None:
    """Message by message, the figures that langchain-core 1.7.2 gives for the same conversation."""
    assert [count_tokens_approximately([message]) for message in CONVERSATION] == [8, 15, 22, 5, 22, 90, 5, 7]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 174),
        ({"chars_per_token": 3.3, "extra_tokens_per_message": 1.5}, 176),
        ({"count_name": False}, 173),
        ({"tokens_per_image": 10}, 99),
        ({"use_usage_metadata_scaling": True}, 200),
        ({"tools": [{"type": "function", "function": {"name": "x", "parameters": {}}}]}, 191),
    ],
    ids=["default", "rates", "no names", "images", "scaled", "tools"],
)
def test_options_count_as_in_langchain(options: dict[str, object], expected: int) -> None:
    """Each option changes the count as it does in langchain-core 1.7.2."""
    assert count_tokens_approximately(CONVERSATION, **options) == expected  # type: ignore[arg-type]


def test_message_likes_are_taken() -> None:
    """What a model takes can be counted."""
    assert count_tokens_approximately(["hi"]) == count_tokens_approximately([("user", "hi")]) == 5


def test_usage_scales_only_where_one_provider_answered() -> None:
    """The correction is at most a quarter, and none if providers differ or none is named."""
    usage = {"input_tokens": 500, "output_tokens": 500, "total_tokens": 1000}
    named = [AIMessage("a", usage_metadata=usage, response_metadata={"model_provider": name}) for name in "xy"]
    plain = count_tokens_approximately(["a"] * 2)
    assert count_tokens_approximately(["a", named[0]], use_usage_metadata_scaling=True) > plain * 1.25
    for others in ([named[0], named[1]], [named[0], AIMessage("a")], [AIMessage("a", usage_metadata=usage)] * 2):
        unscaled = count_tokens_approximately(others)
        assert count_tokens_approximately(others, use_usage_metadata_scaling=True) == unscaled


def test_tools_of_any_form_count() -> None:
    """A function made a tool counts as the JSON that describes it."""

    @tool
    def multiply(a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b

    alone = count_tokens_approximately(["hi"])
    assert 30 < count_tokens_approximately(["hi"], tools=[multiply]) - alone < 80


@pytest.mark.parametrize("chars_per_token", [0, -1.0, float("nan")], ids=str)
def test_a_rate_that_makes_no_sense_is_refused(chars_per_token: float) -> None:
    """No division by zero, no negative count."""
    with pytest.raises(InvalidInput, match="chars_per_token must be above 0"):
        count_tokens_approximately(["hi"], chars_per_token=chars_per_token)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello", 5),
        ("grün, naïve, Łódź", 17),
        ("你好世界", 16),
        ("ありがとう", 20),
        ("안녕", 6),
        ("привет", 9),
        ("γειά", 8),
        ("مرحبا", 10),
        ("नमस्ते", 12),
        ("สวัสดี", 12),
        ("😀", 8),
        ("hi 你", 7),
        ("\ud800", 8),
    ],
    ids=[
        "latin",
        "accents",
        "han",
        "kana",
        "hangul",
        "cyrillic",
        "greek",
        "arabic",
        "hindi",
        "thai",
        "emoji",
        "mixed",
        "half",
    ],
)
def test_scripts_weigh_what_they_cost(text: str, expected: float) -> None:
    """A character counts as the number of Latin ones that its script's weight says."""
    assert weight(text) == expected


@given(st.lists(st.text(st.characters(max_codepoint=0x36F)), max_size=6))
def test_latin_characters_weigh_one(texts: list[str]) -> None:
    """Whatever is written in Latin letters weighs its length, so that LangChain's figures stay."""
    assert weight("".join(texts)) == len("".join(texts))


@given(st.text(), st.text())
def test_weight_is_a_sum(one: str, other: str) -> None:
    """Where a text is cut does not change what it weighs, and nothing weighs less than its length."""
    assert weight(one) + weight(other) == weight(one + other) >= len(one + other)


def test_counting_is_quick_and_linear() -> None:
    """A conversation of 8 million characters, of which 2 are Chinese, is counted in well under a second or two."""
    messages = [HumanMessage("word " * 120_000 if turn % 4 else "汉字" * 100_000) for turn in range(12)]
    started = time.thread_time()
    assert count_tokens_approximately(messages) > 1_500_000
    assert time.thread_time() - started < 2
