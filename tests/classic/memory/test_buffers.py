"""Memories that show what was said as it was said."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket import FakeListChatModel
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.classic.memory import (
    BaseChatMemory,
    BaseMemory,
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationSummaryBufferMemory,
    ConversationTokenBufferMemory,
)
from hocket.errors import HistoryError, InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, validate_history
from hocket.tokens import count_tokens_approximately

MEMORIES: list[Callable[..., BaseChatMemory]] = [
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationTokenBufferMemory,
    lambda **options: ConversationSummaryBufferMemory(llm=FakeListChatModel(responses=[]), **options),
]
each_memory = pytest.mark.parametrize("make", MEMORIES, ids=["buffer", "window", "tokens", "summary"])


def save(memory: BaseMemory, *turns: int) -> None:
    for turn in turns:
        memory.save_context({"foo": f"bar{turn}"}, {"bar": f"foo{turn}"})


def said(*turns: int) -> list[BaseMessage]:
    return [message for turn in turns for message in (HumanMessage(f"bar{turn}"), AIMessage(f"foo{turn}"))]


@each_memory
def test_the_interface(make: Callable[..., BaseChatMemory]) -> None:
    """One variable; text by default, messages on request; what is cleared is gone."""
    memory = make()
    assert memory.memory_variables == [memory.memory_key] == ["history"]
    assert memory.load_memory_variables({}) == {"history": ""}
    memory.save_context({"foo": "bar"}, {"bar": "foo"})
    assert memory.load_memory_variables({}) == {"history": "Human: bar\nAI: foo"}
    memory.clear()
    assert memory.load_memory_variables() == {"history": ""}

    memory = make(return_messages=True, memory_key="past")
    assert memory.load_memory_variables() == {"past": []}
    save(memory, 1)
    assert memory.load_memory_variables() == {"past": said(1)}

    memory = make(human_prefix="Ada", ai_prefix="Bot")
    save(memory, 1)
    assert memory.load_memory_variables() == {"history": "Ada: bar1\nBot: foo1"}


@each_memory
async def test_the_async_interface(make: Callable[..., BaseChatMemory]) -> None:
    """Does the same."""
    memory = make()
    await memory.asave_context({"foo": "bar"}, {"bar": "foo"})
    assert await memory.aload_memory_variables({}) == {"history": "Human: bar\nAI: foo"}
    await memory.aclear()
    assert await memory.aload_memory_variables() == {"history": ""}


@each_memory
def test_a_history_that_is_there_already(make: Callable[..., BaseChatMemory]) -> None:
    """Is shown; its system message, too."""
    memory = make(chat_memory=InMemoryChatMessageHistory([SystemMessage("be brief"), *said(1)]))
    assert memory.load_memory_variables() == {"history": "System: be brief\nHuman: bar1\nAI: foo1"}


def test_a_class_that_defines_the_async_verbs() -> None:
    """Has the sync ones, too."""

    class Fixed(BaseMemory):
        memory_variables = ["mood"]  # type: ignore[assignment]  # noqa: RUF012
        saved: list[Any] = []  # noqa: RUF012

        async def aload_memory_variables(self, inputs: Any = None, config: Any = None) -> dict[str, Any]:
            return {"mood": "good"}

        async def asave_context(self, inputs: Any, outputs: Any) -> None:
            self.saved.append((inputs, outputs))

        async def aclear(self) -> None:
            self.saved.clear()

    memory = Fixed()
    assert memory.load_memory_variables() == {"mood": "good"}
    memory.save_context({"a": "b"}, {})
    assert memory.saved == [({"a": "b"}, {})]
    memory.clear()
    assert memory.saved == []


BAD: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    ({}, {"a": "1", "b": "2"}, {"out": "x"}, "a memory takes one input, and these came: 'a', 'b'; .*input_key="),
    ({}, {}, {"out": "x"}, "takes one input, and these came: none"),
    ({}, {"a": "1"}, {"out": "x", "why": "y"}, "takes one output, and these came: 'out', 'why'; .*output_key="),
    ({}, {"a": "1"}, {}, "takes one output"),
    ({"input_key": "q"}, {"a": "1"}, {"out": "x"}, "input_key is 'q', and the inputs are 'a'"),
    ({"output_key": "r"}, {"a": "1"}, {"out": "x"}, "output_key is 'r', and the outputs are 'out'"),
    ({}, {"a": 1}, {"out": "x"}, "the input must be a text, a message or a list of messages, not int"),
    ({}, {"a": "1"}, {"out": None}, "the output must be a text, a message or a list of messages, not None"),
    ({}, {"a": "1"}, {"out": ""}, "the output says nothing"),
    ({}, {"a": " "}, {"out": "x"}, "the input says nothing"),
    ({}, {"a": "1"}, {"out": []}, "the output says nothing"),
]


@pytest.mark.parametrize(("options", "inputs", "outputs", "message"), BAD, ids=[row[3][:40] for row in BAD])
async def test_a_bad_value_stores_nothing(options: Any, inputs: Any, outputs: Any, message: str) -> None:
    """Not the input either, if it is the output that is bad."""
    memory = ConversationBufferMemory(**options)
    with pytest.raises(InvalidInput, match=message):
        memory.save_context(inputs, outputs)
    with pytest.raises(InvalidInput, match=message):
        await memory.asave_context(inputs, outputs)
    assert memory.chat_memory.messages == []


def test_which_values_are_meant() -> None:
    """Those that are named; memory's own variable and ``stop`` are no input."""
    memory = ConversationBufferMemory(input_key="q", output_key="a")
    memory.save_context({"q": "1?", "mood": "good"}, {"a": "one", "why": "because"})
    memory = ConversationBufferMemory(chat_memory=memory.chat_memory)
    memory.save_context({"q": "2?", "history": "...", "stop": ["x"]}, {"a": "two"})
    assert memory.load_memory_variables() == {"history": "Human: 1?\nAI: one\nHuman: 2?\nAI: two"}


def test_a_turn_is_one_append() -> None:
    """With the calls and results in between; one that fails stores nothing."""
    appended: list[list[str]] = []

    class Counting(BaseChatMessageHistory):
        messages: list[BaseMessage] = []  # type: ignore[misc]  # noqa: RUF012

        def add_messages(self, messages: Any) -> None:
            appended.append([message.type for message in messages])
            raise HistoryError("the disk is full")

    memory = ConversationBufferMemory(chat_memory=Counting())
    call: Any = {"name": "look", "args": {}, "id": "c1"}
    outputs = [AIMessage("", tool_calls=[call]), ToolMessage("seen", tool_call_id="c1"), AIMessage("so")]
    with pytest.raises(HistoryError):
        memory.save_context({"q": HumanMessage("1?")}, {"a": outputs})
    assert appended == [["human", "ai", "tool", "ai"]]


WINDOWS: list[tuple[str, list[BaseMessage], list[BaseMessage]]] = [
    ("nothing was said", [], []),
    ("as many as may be", said(1), said(1)),
    ("a question more", [*said(1), HumanMessage("bar2")], [HumanMessage("bar2")]),
    ("an exchange more", said(1, 2), said(2)),
]


@pytest.mark.parametrize(("name", "messages", "shown"), WINDOWS, ids=[row[0] for row in WINDOWS])
def test_a_window_of_one_exchange(name: str, messages: list[BaseMessage], shown: list[BaseMessage]) -> None:
    """Begins with a question; where others count two messages for each, it would begin with an answer."""
    history = InMemoryChatMessageHistory(messages)
    memory = ConversationBufferWindowMemory(k=1, return_messages=True, chat_memory=history)
    assert memory.load_memory_variables() == {"history": shown}


def test_a_window_of_two_exchanges() -> None:
    """The history keeps all of them."""
    memory = ConversationBufferWindowMemory(k=2)
    save(memory, 1, 2, 3)
    assert memory.load_memory_variables() == {"history": "Human: bar2\nAI: foo2\nHuman: bar3\nAI: foo3"}
    assert memory.chat_memory.messages == said(1, 2, 3)
    memory.k = 0
    assert memory.load_memory_variables() == {"history": ""}
    assert ConversationBufferWindowMemory().k == 5


class WordyModel(FakeListChatModel):
    """To it, every message is ten tokens."""

    def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int:
        return 10 * len(messages)


@pytest.mark.parametrize(
    ("llm", "limit"), [(None, 25), (WordyModel(responses=[]), 40)], ids=["approximately", "by a model"]
)
async def test_a_window_of_tokens(llm: Any, limit: int) -> None:
    """The last exchanges that fit; a single one that does not is not shown."""
    memory = ConversationTokenBufferMemory(max_token_limit=2000, llm=llm)
    save(memory, 1, 2, 3)
    assert len(memory.load_memory_variables()["history"].splitlines()) == 6
    memory.max_token_limit = limit
    assert await memory.aload_memory_variables() == {"history": "Human: bar2\nAI: foo2\nHuman: bar3\nAI: foo3"}
    memory.max_token_limit = 1
    assert await memory.aload_memory_variables() == {"history": ""}


def test_limits() -> None:
    """Below nothing there is nothing."""
    with pytest.raises(InvalidInput, match="k is -1"):
        ConversationBufferWindowMemory(k=-1)
    with pytest.raises(InvalidInput, match="max_token_limit is -1"):
        ConversationTokenBufferMemory(max_token_limit=-1)


def exchange(index: int, calls: int) -> list[BaseMessage]:
    made: Any = [{"name": "look", "args": {}, "id": f"{index}.{call}"} for call in range(calls)]
    results = [ToolMessage("seen", tool_call_id=call["id"]) for call in made]
    asking = [AIMessage("", tool_calls=made)] if calls else []
    return [HumanMessage(f"question {index}"), *asking, *results, AIMessage("answer")]


@given(
    calls=st.lists(st.integers(0, 3), max_size=6), k=st.integers(0, 6), limit=st.integers(0, 120), greets=st.booleans()
)
def test_any_window_is_a_valid_conversation(calls: list[int], k: int, limit: int, greets: bool) -> None:
    """No call is without its results; where something was left out, it begins with a question."""
    greeting = [AIMessage("welcome")] if greets else []
    messages = [*greeting, *(message for index, made in enumerate(calls) for message in exchange(index, made))]
    history = InMemoryChatMessageHistory(messages)
    memories = [
        ConversationBufferWindowMemory(k=k, chat_memory=history, return_messages=True),
        ConversationTokenBufferMemory(max_token_limit=limit, chat_memory=history, return_messages=True),
    ]
    for memory in memories:
        shown = memory.load_memory_variables()["history"]
        assert validate_history(shown) == []
        assert shown == messages[len(messages) - len(shown) :]
        assert not shown or len(shown) == len(messages) or isinstance(shown[0], HumanMessage)
    assert count_tokens_approximately(shown) <= limit
