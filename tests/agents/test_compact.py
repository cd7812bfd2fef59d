"""`compact` takes as little from a long conversation as fits, and never the question, a call, or a call's result."""

import copy
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from hocket.agents.compact import compact, count_tokens_by_bytes
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, validate_history
from hocket.messages.roles import calls_of
from hocket.tokens import count_tokens_approximately
from tests.kit import assert_linear

LONG = "Let me think about it. " * 20


def make_call(id: str) -> Any:
    return {"name": "search", "args": {"query": "tea"}, "id": id, "type": "tool_call"}


def make_step(id: str, result: str = "r" * 2_000, thought: str = LONG) -> list[BaseMessage]:
    """A reply with a thought and a call, and the call's result."""
    return [AIMessage(thought, tool_calls=[make_call(id)]), ToolMessage(result, tool_call_id=id)]


def run() -> list[BaseMessage]:
    """An earlier exchange, a question, and three steps."""
    earlier = [HumanMessage("First? " * 100), AIMessage("First answer. " * 100)]
    steps = [*make_step("1"), *make_step("2"), *make_step("3")]
    return [SystemMessage("Be kind."), *earlier, HumanMessage("Now? " * 50), *steps]


def count(messages: Sequence[BaseMessage]) -> int:
    return count_tokens_approximately(messages)


def changed(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> list[int]:
    """Return the indices of the messages that are no longer there as they were."""
    same = set(map(id, after))
    return [index for index, message in enumerate(before) if id(message) not in same]


def test_what_fits_is_not_touched() -> None:
    messages = run()
    compaction = compact(messages, count(messages))
    assert (compaction.messages, compaction.saved, compaction.remaining) == (messages, 0, 0)
    assert changed(messages, compaction.messages) == []


@pytest.mark.parametrize(
    ("excess", "indices"),
    [
        (1, [5]),  # the oldest result
        (450, [5, 7]),  # the next
        (900, [4, 5, 7]),  # the oldest thought
        (1000, [4, 5, 6, 7]),
        (1150, [1, 2, 4, 5, 6, 7]),  # the exchange before the question
        (1600, [1, 2, 4, 5, 6, 7, 9]),  # and now the last exchange: its result,
        (2090, [1, 2, 4, 5, 6, 7, 8, 9]),  # its thought
    ],
)
def test_what_matters_least_goes_first_and_no_more_than_has_to(excess: int, indices: list[int]) -> None:
    messages = run()
    limit = count(messages) - excess
    compaction = compact(messages, limit)
    assert changed(messages, compaction.messages) == indices
    assert compaction.saved == count(messages) - count(compaction.messages) >= excess
    assert compaction.remaining == 0


def test_what_could_not_be_saved_is_said() -> None:
    """The question and the calls stay, whatever the limit."""
    messages = run()
    compaction = compact(messages, 0)
    assert compaction.remaining == count(compaction.messages) == count(messages) - compaction.saved
    assert [message.type for message in compaction.messages] == ["system", "human", *["ai", "tool"] * 3]
    assert compaction.messages[1] is messages[3]


def test_an_old_result_keeps_its_beginning_and_says_what_is_missing() -> None:
    compaction = compact(run(), 0)
    assert compaction.messages[3].text.startswith("r" * 200 + "\n[The result was too long: 1800 more characters")


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("zh", "推理摘要: 经考虑后决定使用工具search并获得结果"),
        ("en", "Summary of the reasoning: after some thought, search was called, and gave a result."),
    ],
)
def test_a_long_thought_becomes_one_line(language: Literal["en", "zh"], line: str) -> None:
    compaction = compact(run(), 0, language=language)
    assert [message.content for message in compaction.messages if isinstance(message, AIMessage)] == [line] * 3


@pytest.mark.parametrize(
    ("language", "line"),
    [("zh", "推理摘要: 经考虑后获得结果"), ("en", "Summary of the reasoning: after some thought, there was a result.")],
)
def test_a_thought_without_a_call_names_no_tool(language: Literal["en", "zh"], line: str) -> None:
    """And the answer, which is the last message, is no thought."""
    compaction = compact([HumanMessage("?"), AIMessage(LONG), AIMessage(LONG)], 0, language=language)
    assert [message.content for message in compaction.messages] == ["?", line, LONG]


def test_a_thought_of_50_tokens_is_not_long() -> None:
    """204 bytes are 51; a Chinese character has three."""
    for thought, is_long in (("x" * 203, False), ("x" * 204, True), ("想" * 67, False), ("想" * 68, True)):
        short = compact([HumanMessage("?"), *make_step("1", "", thought)], 0).messages[1]
        assert (short.content != thought) is is_long


def test_thoughts_in_blocks_and_beside_the_content_are_shortened_too() -> None:
    """What a provider has signed goes back as it came."""
    signed = {"type": "thinking", "thinking": LONG, "signature": "s"}
    message = AIMessage(
        [signed, {"type": "text", "text": LONG}, {"type": "text", "text": LONG}],
        tool_calls=[make_call("1")],
        additional_kwargs={"reasoning_content": LONG, "other": 1},
    )
    short = compact([HumanMessage("?"), message, ToolMessage("r", tool_call_id="1")], 0, language="zh").messages[1]
    line = "推理摘要: 经考虑后决定使用工具search并获得结果"
    assert short.content == [signed, {"type": "text", "text": line}]
    assert short.additional_kwargs == {"reasoning_content": line, "other": 1}


def test_with_an_aim_old_results_and_thoughts_go_further() -> None:
    """Down to the aim, or all of them; nothing else is touched where that is enough for the limit."""
    messages = run()
    limit = count(messages) - 1
    assert changed(messages, compact(messages, limit, aim=limit - 500).messages) == [5, 7]
    assert changed(messages, compact(messages, limit, aim=0).messages) == [4, 5, 6, 7]
    assert changed(messages, compact(messages, limit + 1, aim=0).messages) == []
    assert changed(messages, compact(messages, limit - 1_149, aim=0).messages) == [1, 2, 4, 5, 6, 7]


def test_what_was_cut_is_left_alone_until_nothing_old_is_left() -> None:
    """The next compaction begins behind it; when it cannot be avoided, only a line is left of it."""
    question = HumanMessage("?")
    steps = [message for number in range(6) for message in make_step(str(number), thought="")]
    first = compact([question, *steps], count([question, *steps]) - 1, aim=2_000).messages
    cut = changed([question, *steps], first)
    assert cut == [2, 4, 6]
    longer = [*first, *(message for number in range(6, 9) for message in make_step(str(number), thought=""))]
    second = compact(longer, count(longer) - 1, aim=3_000).messages
    assert changed(longer, second) == [8, 10]
    last = compact(longer, 300).messages
    assert last[2].text == "[This result is left out: the conversation is too long. Ask again if you need it.]"
    assert last[-1].text.startswith("r" * 200)
    again = compact(last, 300).messages
    assert compact(again, 300).messages == again


def test_exchanges_go_whole() -> None:
    """A question with its calls and answer; what the system said in between stays."""
    old = [HumanMessage("a" * 400), *make_step("1", "r", "t"), SystemMessage("!"), AIMessage("A")]
    messages = [*old, HumanMessage("b"), AIMessage("B"), HumanMessage("c")]
    compaction = compact(messages, count(messages) - 1)
    assert [message.text for message in compaction.messages] == ["!", "b", "B", "c"]


def test_questions_in_a_row_are_one() -> None:
    messages = [HumanMessage("a" * 400), AIMessage("A"), HumanMessage("b" * 400), HumanMessage("c" * 400)]
    assert [message.text[0] for message in compact(messages, 0).messages] == ["b", "c"]


def test_bytes_are_counted_as_utf8() -> None:
    """Texts, names and arguments; a quarter of their bytes."""
    assert count_tokens_by_bytes([HumanMessage("你好世界")]) == 3
    assert count_tokens_by_bytes([HumanMessage("abcdefg")]) == 1
    assert count_tokens_by_bytes(make_step("1", "abcd", "efgh")) == (4 + 4 + len('search{"query": "tea"}')) // 4
    assert count_tokens_by_bytes([HumanMessage("\ud800")]) == 0
    messages = run()
    compaction = compact(messages, 900, count_tokens_by_bytes)
    assert count_tokens_by_bytes(compaction.messages) <= 900
    assert compaction.remaining == 0


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput, match="max_tokens is -1"):
        compact([], -1)
    with pytest.raises(InvalidInput, match="language is 'fr'"):
        compact([], 1, language="fr")  # type: ignore[arg-type]  # unknown
    with pytest.raises(InvalidInput, match="token counter"):
        compact([], 1, "exact")  # type: ignore[arg-type]  # unknown


TEXTS = st.sampled_from(["short", "想" * 100, LONG, "r" * 500])
TURNS = st.one_of(
    st.builds(lambda text: [HumanMessage(text)], TEXTS),
    st.builds(lambda text: [AIMessage(text)], TEXTS),
    st.builds(lambda text: [SystemMessage(text)], TEXTS),
    st.builds(lambda text, results: ("calls", text, results), TEXTS, st.lists(TEXTS, min_size=1, max_size=3)),
)


def build(turns: list[Any]) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for number, turn in enumerate(turns):
        if isinstance(turn, list):
            messages += turn
            continue
        ids = [f"{number}-{place}" for place in range(len(turn[2]))]
        messages.append(AIMessage(turn[1], tool_calls=[make_call(id) for id in ids]))
        messages += [ToolMessage(text, tool_call_id=id) for id, text in zip(ids, turn[2], strict=True)]
    return messages


@given(
    st.lists(TURNS, max_size=12).map(build), st.integers(0, 2_000), st.sampled_from([count, count_tokens_by_bytes, len])
)
def test_any_conversation_stays_one(messages: list[BaseMessage], limit: int, counter: Any) -> None:
    """Valid, never larger, with its question, its calls since, and the system's words; and what came is not changed."""
    before = copy.deepcopy(messages)
    compaction = compact(messages, limit, counter)
    after = compaction.messages

    assert messages == before
    assert validate_history(after) == []
    assert counter(after) == counter(messages) - compaction.saved <= counter(messages)
    assert compaction.remaining == max(0, counter(after) - limit)
    questions = [index for index, message in enumerate(messages) if message.type == "human"]
    question = questions[-1] if questions else 0
    assert not questions or any(message is messages[question] for message in after)
    since = {call["id"] for message in messages[question:] for call in calls_of(message)}
    assert since <= {call["id"] for message in after for call in calls_of(message)}
    assert [message for message in after if message.type == "system"] == [m for m in messages if m.type == "system"]
    if counter(messages) <= limit:
        assert changed(messages, after) == []


def test_the_work_grows_with_the_length() -> None:
    def do(steps: int) -> None:
        messages = [m for number in range(steps) for m in (HumanMessage("?"), *make_step(str(number), "r" * 300))]
        compact(messages, 0, count_tokens_by_bytes)

    assert_linear(do, 800)
