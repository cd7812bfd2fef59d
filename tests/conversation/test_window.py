"""What of a conversation is sent: a conversation that providers take, and that fits."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket import ScriptedChatModel, Turn
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.classic.memory import (
    ConversationBufferWindowMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    ConversationTokenBufferMemory,
)
from hocket.conversation import Conversation
from hocket.errors import ContextLengthExceeded
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, validate_history
from hocket.tokens import count_tokens_approximately
from tests.kit import HookCall, hook_model


def turn(index: int, calls: int, words: int = 3) -> list[BaseMessage]:
    """A question, ``calls`` calls with their results, and an answer."""
    made: Any = [{"name": "look", "args": {}, "id": f"{index}.{call}"} for call in range(calls)]
    asking = [AIMessage("", tool_calls=made)] if calls else []
    results = [ToolMessage("seen " * words, tool_call_id=call["id"]) for call in made]
    return [HumanMessage(f"question {index}"), *asking, *results, AIMessage("answer " * words)]


turns = st.lists(st.integers(0, 3), max_size=8).map(
    lambda calls: [message for index, made in enumerate(calls) for message in turn(index, made)]
)


def sent(messages: list[BaseMessage], **limits: Any) -> list[BaseMessage]:
    model = ScriptedChatModel(script=["so"])
    Conversation(model, history=InMemoryChatMessageHistory(messages), **limits).send("now?")
    return model.requests[0].messages


@given(messages=turns, most=st.integers(1, 20))
def test_any_window_of_messages_is_valid(messages: list[BaseMessage], most: int) -> None:
    """It begins with a user's message, no call is without its results, and it has no more messages than it may."""
    window = sent(messages, max_messages=most, system="be brief")
    assert [type(window[0]), type(window[1]), window[-1].text] == [SystemMessage, HumanMessage, "now?"]
    assert validate_history(window) == []
    assert len(window) - 1 <= most


@given(messages=turns, most=st.integers(30, 200))
def test_any_window_of_tokens_is_valid(messages: list[BaseMessage], most: int) -> None:
    """And has no more tokens than it may, the system's text and the question included."""
    window = sent(messages, max_tokens=most, system="be brief")
    assert validate_history(window) == []
    assert [type(window[1]), window[-1].text] == [HumanMessage, "now?"]
    assert count_tokens_approximately(window) <= most


@given(messages=turns)
def test_without_a_limit_everything_is_sent(messages: list[BaseMessage]) -> None:
    """As it was said."""
    assert [message.text for message in sent(messages)] == [*(message.text for message in messages), "now?"]


def test_the_question_is_always_sent() -> None:
    """Whole, whatever the limit says."""
    model = ScriptedChatModel(script=["so"])
    Conversation(model, max_tokens=5, history=InMemoryChatMessageHistory(turn(1, 0))).send("word " * 100)
    assert [message.text for message in model.requests[0].messages] == ["word " * 100]


def test_a_system_message_in_the_history() -> None:
    """Stays first, outside of the window, unless the conversation has a text of its own."""
    history = [SystemMessage("stored"), *turn(1, 0), *turn(2, 0)]
    assert [message.text for message in sent(history, max_messages=1)] == ["stored", "now?"]
    assert [message.text for message in sent(history, max_messages=1, system="mine")] == ["mine", "now?"]


def test_a_system_message_that_is_said() -> None:
    """Is what is asked, and is sent, where nothing was said before."""
    model = ScriptedChatModel(script=["one", "two"])
    Conversation(model).send(SystemMessage("Greet."))
    Conversation(model, system="Be brief.").send(SystemMessage("Greet."))
    assert [[message.text for message in request.messages] for request in model.requests] == [
        ["Greet."],
        ["Be brief.", "Greet."],
    ]


def test_a_full_window_moves_on_by_a_quarter_and_stays() -> None:
    """A beginning that changed with every turn would have all of it computed anew."""
    model = ScriptedChatModel(script=["answer " * 5] * 30)
    conversation = Conversation(model, max_tokens=200)
    for index in range(30):
        conversation.send(f"{index} " * 4)
    firsts = [request.messages[0].text for request in model.requests]
    assert all(count_tokens_approximately(request.messages) <= 200 for request in model.requests)
    assert 3 <= len(set(firsts)) <= 8
    assert len(conversation.history.messages) == 60


def test_the_window_of_the_model_is_the_limit() -> None:
    """As its profile says, less room for the answer; what the caller says may be less."""
    for options, most in (({}, 150), ({"max_tokens": 100}, 100), ({"max_tokens": 500}, 150)):
        model = ScriptedChatModel(script=["answer " * 5] * 30, profile={"max_input_tokens": 200})
        conversation = Conversation(model, **options)
        for index in range(20):
            conversation.send(f"{index} " * 4)
        sizes = [count_tokens_approximately(request.messages) for request in model.requests]
        assert most * 0.7 < max(sizes) <= most


def test_the_estimate_is_corrected_by_what_the_model_counts() -> None:
    """A text that has twice the tokens that it seems to have gets half the room."""
    counted: list[int] = []

    def answer(call: HookCall) -> AIMessage:
        counted.append(2 * count_tokens_approximately(call.input))
        usage: Any = {"input_tokens": counted[-1], "output_tokens": 1, "total_tokens": counted[-1] + 1}
        return AIMessage("answer " * 5, usage_metadata=usage)

    conversation = Conversation(hook_model(answer), max_tokens=400)
    for index in range(40):
        conversation.send(f"{index} " * 4)
    assert 250 < max(counted) <= 400


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_what_the_model_finds_too_long_is_halved(streams: bool) -> None:
    """Until it fits; and the next turn begins there."""
    too_long = ContextLengthExceeded("too long")
    history = InMemoryChatMessageHistory([message for index in range(8) for message in turn(index, 0)])
    model = ScriptedChatModel(script=[too_long, too_long, "so", "well"])
    conversation = Conversation(model, history=history)
    for question in ("now?", "then?"):
        if streams:
            async for _ in conversation.astream(question):
                pass
        else:
            await conversation.asend(question)
    assert [len(request.messages) for request in model.requests] == [17, 9, 5, 7]
    assert model.requests[-1].messages[0].text == "question 6"


async def test_a_question_that_is_too_long_by_itself() -> None:
    """Is the model's to refuse."""
    model = ScriptedChatModel(script=[ContextLengthExceeded("too long")] * 3)
    conversation = Conversation(model, history=InMemoryChatMessageHistory([*turn(1, 0), *turn(2, 0)]))
    with pytest.raises(ContextLengthExceeded):
        await conversation.asend("now?")
    assert [len(request.messages) for request in model.requests] == [5, 3, 1]
    assert len(conversation.history.messages) == 4


def test_a_memory_says_what_is_sent() -> None:
    """Its history has everything."""
    model = ScriptedChatModel(script=["one", "two", "three"])
    memory = ConversationBufferWindowMemory(k=1)
    conversation = Conversation(model, memory=memory, system="be brief")
    for question in ("1?", "2?", "3?"):
        conversation.send(question)
    assert [message.text for message in model.requests[2].messages] == ["be brief", "2?", "two", "3?"]
    assert len(memory.chat_memory.messages) == 6


async def test_a_summary_stands_with_the_instructions() -> None:
    """In one message of the system: some providers take no second one."""
    writer = ScriptedChatModel(script=["They met."])
    model = ScriptedChatModel(script=["answer " * 5] * 4)
    memory = ConversationSummaryBufferMemory(llm=writer, max_token_limit=60)
    conversation = Conversation(model, memory=memory, system="be brief")
    for index in range(4):
        await conversation.asend(f"question {index}")
    asked = model.requests[-1].messages
    assert [message.type for message in asked] == ["system", "human", "ai", "human"]
    assert asked[0].text == "be brief\n\nThey met."


MEMORIES = [
    lambda: ConversationBufferWindowMemory(k=0),
    lambda: ConversationTokenBufferMemory(max_token_limit=0),
    lambda: ConversationSummaryMemory(llm=ScriptedChatModel(script=["They met."] * 9)),
]


@pytest.mark.parametrize("make", MEMORIES, ids=["window", "tokens", "summary"])
async def test_results_of_calls_find_their_calls(make: Any) -> None:
    """However little a memory shows: calls that wait for results are shown until these have come."""
    call: Any = {"name": "look", "args": {}, "id": "c1"}
    again: Any = {"name": "look", "args": {}, "id": "c2"}
    model = ScriptedChatModel(script=["hi", Turn(tool_calls=[call]), Turn(tool_calls=[again]), "so", "well"])
    conversation = Conversation(model, memory=make())
    for message in ("hello", "look!", ToolMessage("a", tool_call_id="c1"), ToolMessage("b", tool_call_id="c2"), "and?"):
        await conversation.asend(message)
    asked = [[message.type for message in request.messages if message.type != "system"] for request in model.requests]
    assert asked[2:] == [["human", "ai", "tool"], ["human", "ai", "tool", "ai", "tool"], ["human"]]


def test_a_history_that_somebody_else_has_shortened() -> None:
    """Is sent as it is now."""
    model = ScriptedChatModel(script=["answer " * 5] * 22)
    conversation = Conversation(model, max_tokens=100)
    for index in range(20):
        conversation.send(f"question {index}")
    conversation.history.clear()
    conversation.send("again?")
    conversation.send("and?")
    assert [message.text for message in model.requests[-1].messages][::2] == ["again?", "and?"]
