"""Conversations cut to a length: with langchain-core's results, where no tool call is in question."""

from typing import Any

import pytest

from hocket.errors import InvalidInput
from hocket.language_models import FakeListChatModel
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from hocket.prompt_values import StringPromptValue
from hocket.tokens import count_tokens_approximately

TEXT = "This is a 4 token text. The full message is 10 tokens."
TALK: list[BaseMessage] = [
    SystemMessage(TEXT),
    HumanMessage(TEXT, id="first"),
    AIMessage(
        [
            {"type": "text", "text": "This is the FIRST 4 token block."},
            {"type": "text", "text": "This is the SECOND 4 token block."},
        ],
        id="second",
    ),
    HumanMessage(TEXT, id="third"),
    AIMessage(TEXT, id="fourth"),
]


def tens(messages: list[BaseMessage]) -> int:
    """Ten tokens a message, and four more for each block after the first."""
    return sum(10 if isinstance(message.content, str) else 6 + 4 * len(message.content) for message in messages)


def ids(messages: list[BaseMessage]) -> list[str]:
    return [message.id or message.type for message in messages]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_tokens": 30, "strategy": "first"}, ["system", "first"]),
        ({"max_tokens": 30}, ["third", "fourth"]),
        ({"max_tokens": 30, "include_system": True}, ["system", "third", "fourth"]),
        ({"max_tokens": 40, "include_system": True}, ["system", "third", "fourth"]),
        ({"max_tokens": 44, "include_system": True}, ["system", "second", "third", "fourth"]),
        ({"max_tokens": 44, "include_system": True, "start_on": "human"}, ["system", "third", "fourth"]),
        ({"max_tokens": 34, "end_on": "human"}, ["first", "second", "third"]),
        ({"max_tokens": 24, "end_on": HumanMessage}, ["second", "third"]),
        ({"max_tokens": 24, "strategy": "first", "end_on": ["system"]}, ["system"]),
        ({"max_tokens": 200}, ["system", "first", "second", "third", "fourth"]),
        ({"max_tokens": 200, "start_on": ("human", "ai")}, ["first", "second", "third", "fourth"]),
        ({"max_tokens": 9}, []),
        ({"max_tokens": 0}, []),
        ({"max_tokens": 200, "end_on": "tool"}, []),
        ({"max_tokens": 20, "start_on": "system"}, []),
    ],
)
def test_trims_by_tokens(options: dict[str, Any], expected: list[str]) -> None:
    """The longest end that fits, the system message counted; then the types that it must start and end on."""
    assert ids(trim_messages(TALK, token_counter=tens, **options)) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_tokens": 30, "strategy": "first"}, (2, ["This is the FIRST 4 token block."])),
        ({"max_tokens": 30}, (0, ["This is the SECOND 4 token block."])),
    ],
)
def test_a_message_of_blocks_is_shortened(options: dict[str, Any], expected: tuple[int, list[str]]) -> None:
    """To the blocks nearest to what is kept; with its id, and as a copy."""
    trimmed = trim_messages(TALK, token_counter=tens, allow_partial=True, **options)
    place, texts = expected
    assert (trimmed[place].id, trimmed[place].content) == ("second", [{"type": "text", "text": text} for text in texts])
    assert len(trimmed) == 3 and len(TALK[2].content) == 2


def words(messages: list[BaseMessage]) -> int:
    return sum(len(message.text.split()) for message in messages)


class Sentences:
    """A splitter of the kind that langchain-text-splitters has."""

    def split_text(self, text: str) -> list[str]:
        return text.replace("/", "/\n").split("\n")


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("one two\nthree\nfour", {}, "three\nfour"),
        ("one two\nthree\nfour", {"strategy": "first"}, "one two\n"),
        ("one two three", {}, None),
        ("one two three", {"text_splitter": lambda text: text.partition("one ")}, "two three"),
        ("one two/ three/ four five", {"text_splitter": Sentences()}, " four five"),
        (["one two three", {"type": "text", "text": "four five six\nseven"}], {}, "seven"),
        (["one\ntwo three", {"type": "text", "text": "four five six\nseven"}], {"strategy": "first"}, "one\n"),
        ([{"type": "image", "url": "https://e.x"}], {}, [{"type": "image", "url": "https://e.x"}]),
        ([{"type": "image", "url": "https://e.x"}, "one two three"], {}, None),
        ("one two three four\n \n", {}, None),
        ("", {}, ""),
    ],
)
def test_a_text_is_shortened(content: Any, options: dict[str, Any], expected: Any) -> None:
    """By lines, or as the splitter says; to nothing rather than to blanks, which providers refuse."""
    trimmed = trim_messages([HumanMessage(content)], max_tokens=2, token_counter=words, allow_partial=True, **options)
    assert [message.content for message in trimmed] == ([] if expected is None else [expected])


# by count

CALL = {"name": "f", "args": {}, "id": "1", "type": "tool_call"}
CALLS = [
    SystemMessage("s"),
    HumanMessage("h"),
    AIMessage("", tool_calls=[CALL, {**CALL, "id": "2"}]),
    ToolMessage("r1", tool_call_id="1"),
    ToolMessage("r2", tool_call_id="2"),
    AIMessage("a"),
]


@pytest.mark.parametrize(
    ("limit", "last", "with_system", "first"),
    [(0, 0, 1, 0), (1, 1, 2, 1), (2, 1, 2, 2), (3, 1, 2, 2), (4, 4, 5, 2), (5, 5, 6, 5), (6, 6, 6, 6), (7, 6, 6, 6)],
)
def test_trims_by_count(limit: int, last: int, with_system: int, first: int) -> None:
    """A call goes with its results; the system message does not count; a limit of 0 keeps nothing."""
    assert trim_messages(CALLS, max_messages=limit) == CALLS[len(CALLS) - last :]
    assert len(kept := trim_messages(CALLS, max_messages=limit, include_system=True)) == with_system
    assert kept[0] is CALLS[0]
    assert trim_messages(CALLS, max_messages=limit, strategy="first") == CALLS[:first]
    assert trim_messages(CALLS, max_tokens=limit, token_counter=len) == CALLS[len(CALLS) - last :]


def test_types_to_start_and_end_on_part_no_pair() -> None:
    """What must come first, or last, is the first or last message of a turn."""
    assert trim_messages(CALLS, max_messages=9, end_on="ai") == CALLS
    assert trim_messages(CALLS[:-1], max_messages=9, end_on="ai") == []
    assert trim_messages(CALLS[:-1], max_messages=9, end_on=["ai", "tool"]) == CALLS[:-1]
    assert trim_messages(CALLS, max_messages=9, start_on="tool") == []
    assert trim_messages(CALLS, max_messages=9, strategy="first", end_on="human") == CALLS[:2]


def test_pairs_may_be_parted_on_request() -> None:
    """`keep_tool_pairs=False` cuts anywhere, as LangChain does."""
    assert trim_messages(CALLS, max_messages=2, keep_tool_pairs=False) == CALLS[4:]
    assert trim_messages(CALLS, max_messages=3, strategy="first", keep_tool_pairs=False) == CALLS[:3]
    assert trim_messages(CALLS, max_messages=9, keep_tool_pairs=False, start_on="tool") == CALLS[3:]
    assert trim_messages(CALLS, max_messages=9, keep_tool_pairs=False, end_on="human") == CALLS[:2]


def test_calls_that_wait_for_results_are_kept() -> None:
    """A conversation may end in calls: their results are still to come."""
    assert trim_messages(CALLS[:3], max_messages=1) == CALLS[2:3]


def test_a_message_of_calls_is_not_shortened() -> None:
    """A piece of it would be without some of them."""
    talk = [AIMessage("one\ntwo", tool_calls=[CALL]), HumanMessage("three")]
    assert trim_messages(talk, max_tokens=2, token_counter=words, allow_partial=True) == talk[1:]


def test_chunks_are_of_the_type_of_their_messages() -> None:
    """A name stands for both."""
    talk = [HumanMessage("h"), AIMessageChunk("a"), HumanMessage("h")]
    assert trim_messages(talk, max_messages=9, end_on="ai") == talk[:2]
    assert trim_messages(talk, max_messages=9, end_on=AIMessage) == talk[:2]


# what counts


def one(message: BaseMessage) -> int:
    return len(message.text)


def postponed(message: "BaseMessage") -> int:
    return len(message.text)


@pytest.mark.parametrize(
    "counter",
    [one, postponed, lambda messages: sum(len(message.text) for message in messages)],
    ids=["of a message", "of a message, annotated by a string", "of a list"],
)
def test_counters(counter: Any) -> None:
    """A function of a list; or of a message, if its parameter says so."""
    assert trim_messages(["aaa", "bb", "c"], max_tokens=4, token_counter=counter) == [
        HumanMessage("bb"),
        HumanMessage("c"),
    ]


def test_a_counter_of_messages_sees_each_once() -> None:
    """However often its sums are asked for."""
    seen: list[str] = []

    def counter(message: BaseMessage) -> int:
        seen.append(message.text)
        return 1

    talk = [HumanMessage(str(number)) for number in range(100)]
    assert len(trim_messages(talk, max_tokens=30, token_counter=counter)) == 30
    assert len(seen) == len({*seen})


@pytest.mark.parametrize("limit", [0, 1, 37, 999, 1000, 5000])
def test_a_counter_of_lists_is_called_rarely(limit: int) -> None:
    """O(log n) times; and not on long lists when a short one is kept."""
    lengths: list[int] = []

    def counter(messages: list[BaseMessage]) -> int:
        lengths.append(len(messages))
        return len(messages)

    talk = [HumanMessage("x")] * 1000
    assert len(trim_messages(talk, max_tokens=limit, token_counter=counter)) == min(limit, 1000)
    assert len(lengths) <= 15
    assert max(lengths) <= 16 * limit + 16


def test_models_count() -> None:
    """By their own `get_num_tokens_from_messages`; and without a model there is an approximation."""
    model = FakeListChatModel(responses=["x"], custom_get_token_ids=lambda text: [0] * len(text))
    talk = [HumanMessage("a" * 50), HumanMessage("b")]
    limit = model.get_num_tokens_from_messages(talk[1:])
    assert trim_messages(talk, max_tokens=limit, token_counter=model) == talk[1:]
    limit = count_tokens_approximately(talk[1:])
    assert trim_messages(talk, max_tokens=limit, token_counter="approximate") == talk[1:]


def test_the_list_that_is_returned_is_what_is_counted() -> None:
    """In its order, with the system message: what a counter adds for a list is added once."""
    seen: list[list[str]] = []

    def counter(messages: list[BaseMessage]) -> int:
        seen.append([message.text for message in messages])
        return 10 + len(messages)

    kept = trim_messages([SystemMessage("s"), "a", "b", "c"], max_tokens=13, token_counter=counter, include_system=True)
    assert [message.text for message in kept] == ["s", "b", "c"] and ["s", "b", "c"] in seen


# as a step, and what is refused


async def test_a_step_of_a_chain() -> None:
    """Without messages, it waits for them; a prompt value is read, too."""
    for options in ({"max_messages": 1}, {"max_tokens": 1, "token_counter": len}):
        step = trim_messages(**options)  # type: ignore[call-overload]
        assert step.invoke(CALLS) == CALLS[-1:]
        assert await step.ainvoke(StringPromptValue(text="x")) == [HumanMessage("x")]
        assert step.get_name() == "trim_messages"
    model = FakeListChatModel(responses=["fine"])
    assert (await (trim_messages(max_messages=1) | model).ainvoke(CALLS)).text == "fine"


async def counts_later(messages: list[BaseMessage]) -> int:
    return len(messages)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "pass max_tokens.* or max_messages"),
        ({"max_tokens": 1, "max_messages": 1, "token_counter": len}, "one of the two"),
        ({"max_tokens": 1}, "needs a token_counter"),
        ({"max_messages": 1, "token_counter": len}, "token_counter goes with max_tokens"),
        ({"max_messages": 1, "allow_partial": True}, "allow_partial goes with max_tokens"),
        ({"max_messages": -1}, "max_messages is -1"),
        ({"max_tokens": -5, "token_counter": len}, "max_tokens is -5"),
        ({"max_messages": 1, "strategy": "middle"}, "'middle' is unknown"),
        ({"max_messages": 1, "strategy": "first", "start_on": "human"}, "start_on goes with strategy='last'"),
        ({"max_messages": 1, "strategy": "first", "include_system": True}, "include_system goes with"),
        ({"max_messages": 1, "start_on": "user"}, "no message is of type 'user'.*human"),
        ({"max_messages": 1, "end_on": ["ai", "hunan"]}, "no message is of type 'hunan'"),
        ({"max_tokens": 1, "token_counter": "exact"}, "no token counter is called 'exact'"),
        ({"max_tokens": 1, "token_counter": 5}, "cannot count with int 5"),
        ({"max_tokens": 1, "token_counter": counts_later}, "is async"),
    ],
)
def test_what_is_refused(options: dict[str, Any], complaint: str) -> None:
    """Options that contradict each other, or mean nothing: when a step is made, already."""
    with pytest.raises(InvalidInput, match=complaint):
        trim_messages(CALLS, **options)
    with pytest.raises(ValueError, match=complaint):
        trim_messages(**options)  # type: ignore[call-overload]


def test_a_system_message_that_is_too_long() -> None:
    """It is neither dropped in silence nor sent over the limit."""
    with pytest.raises(InvalidInput, match="alone takes 3 tokens, more than max_tokens=2"):
        trim_messages([SystemMessage("a b c"), "d"], max_tokens=2, token_counter=words, include_system=True)
